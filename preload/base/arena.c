/* SPDX-License-Identifier: MIT */
/*
 * The library's own allocator, separate from the program's heap. It cuts 1 MiB chunks, mapped with
 * MADV_DONTFORK so that a forked child does not inherit them, into size classes with one free list
 * each. Pieces above 64 KiB are mapped one by one.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/base/sys.h"

#define CHUNK (1u << 20)
#define LARGEST (64u << 10)

/* Classes 0, 1, 2, 3, ... hold 16, 24, 32, 48, ... bytes. */
static unsigned class_of(size_t bytes)
{
	unsigned log = bytes <= 16 ? 4 : 64 - (unsigned)__builtin_clzl(bytes - 1);

	if (log > 4 && bytes <= (3ull << (log - 2)))
		return (log - 4) * 2 - 1;
	return (log - 4) * 2;
}

static size_t class_bytes(unsigned class)
{
	return class & 1 ? 24ull << (class / 2) : 16ull << (class / 2);
}

static void *map_pages(size_t bytes)
{
	int err = errno;
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		syscall(SYS_madvise, p, bytes, MADV_DONTFORK);
	errno = err;
	return p == MAP_FAILED ? NULL : p;
}

static size_t round_to_pages(size_t bytes)
{
	return nvs_page_up(bytes);
}

/*
 * The arena lock is held for a few instructions, or while the kernel maps a chunk. Signals are
 * blocked so that a handler of the program cannot wait for the thread it interrupted. nvs_lock()
 * has blocked them already.
 */
static void lock_arena(struct nvs_state_arena *a, uint64_t *saved)
{
	if (!nvs_lock_is_mine())
		*saved = nvs_sys_block_async();
	nvs_sys_lock(&a->lock);
}

static void unlock_arena(struct nvs_state_arena *a, const uint64_t *saved)
{
	nvs_sys_unlock(&a->lock);
	if (!nvs_lock_is_mine())
		nvs_sys_sigmask(SIG_SETMASK, saved, NULL);
}

static void *take_piece(struct nvs_state_arena *a, unsigned class)
{
	size_t bytes = class_bytes(class);
	void *p = a->free[class];

	if (p) {
		memcpy(&a->free[class], p, sizeof(void *));
		return p;
	}
	if ((size_t)(a->end - a->next) < bytes) {
		uint8_t *chunk = map_pages(CHUNK);

		if (!chunk)
			return NULL;
		a->next = chunk;
		a->end = chunk + CHUNK;
	}
	p = a->next;
	a->next += (bytes + 15) & ~15ull;
	if (a->next > a->end)
		a->next = a->end;
	return p;
}

void *nvs_alloc(size_t bytes)
{
	struct nvs_state_arena *a = &nvs_state()->arena;
	uint64_t saved = 0;
	unsigned class;
	void *p;

	if (bytes > LARGEST)
		return map_pages(round_to_pages(bytes));
	class = class_of(bytes);
	lock_arena(a, &saved);
	p = take_piece(a, class);
	unlock_arena(a, &saved);
	return p ? memset(p, 0, class_bytes(class)) : NULL;
}

void nvs_free(void *p, size_t bytes)
{
	struct nvs_state_arena *a = &nvs_state()->arena;
	uint64_t saved = 0;
	unsigned class;

	if (!p)
		return;
	if (bytes > LARGEST) {
		int err = errno;

		syscall(SYS_munmap, p, round_to_pages(bytes));
		errno = err;
		return;
	}
	class = class_of(bytes);
	lock_arena(a, &saved);
	memcpy(p, &a->free[class], sizeof(void *));
	a->free[class] = p;
	unlock_arena(a, &saved);
}

void *nvs_realloc(void *p, size_t old_bytes, size_t bytes)
{
	void *q;

	if (p && old_bytes <= LARGEST && bytes <= LARGEST &&
	    class_of(old_bytes) == class_of(bytes)) {
		if (bytes > old_bytes)
			memset((uint8_t *)p + old_bytes, 0, bytes - old_bytes);
		return p;
	}
	q = nvs_alloc(bytes);
	if (!q)
		return NULL;
	if (p) {
		memcpy(q, p, old_bytes < bytes ? old_bytes : bytes);
		nvs_free(p, old_bytes);
	}
	return q;
}
