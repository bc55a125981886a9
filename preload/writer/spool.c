/* SPDX-License-Identifier: MIT */
/* The spool: the thread buffers in a file, which survives a kill. Every page is allocated on disk
 * and touched before it is used, so that a doorbell meets neither a full disk nor a page fault. */
#include <string.h>
#include "preload/live/live.h"
#include "preload/writer/session.h"

#define CHANNEL_OFFSET 4096ull
#define DONE_OFFSET (CHANNEL_OFFSET + NVS_SPOOL_CHANNELS * sizeof(struct nvs_spool_channel))
#define DONE_END (DONE_OFFSET + NVS_SPOOL_CHANNELS * sizeof(struct nvs_spool_done))

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

_Static_assert(sizeof(struct nvs_spool) <= CHANNEL_OFFSET, "the header has room");
_Static_assert(sizeof(struct nvs_spool_buffer) <= 4096, "a buffer's head is one page");

/* Buffers begin on a page. */
static uint64_t buffer_offset(void)
{
	return nvs_page_up(DONE_END);
}

static uint64_t buffer_stride(const struct nvs_recorder *session)
{
	return nvs_page_bytes() + session->buffer_bytes;
}

uint32_t nvs_spool_scaled_count(const struct nvs_recorder *session, uint32_t n)
{
	uint64_t fit = (uint64_t)n * NVS_USUAL_BUFFER / session->buffer_bytes;

	return !fit ? 1 : fit < n ? (uint32_t)fit : n;
}

/* At least three: the first thread's buffer, the keeper's, and one in reserve. */
static uint32_t first_buffers(const struct nvs_recorder *session)
{
	uint32_t n = nvs_spool_scaled_count(session, NVS_FIRST_BUFFERS);

	return n > 2 ? n : 3;
}

/* Storing a zero to fresh pages changes nothing and makes them writable in the page table. */
static void touch_pages(void *at, size_t size)
{
	volatile char *p = at;

	if (!nvs_sys_madvise(at, size, MADV_POPULATE_WRITE))
		return;
	for (size_t i = 0; i < size; i += nvs_page_bytes())
		p[i] = 0;
}

/* fd -1: memory without a file, and without a limit on file size. */
static void *map_shared(void *at, size_t size, int fd, uint64_t offset)
{
	int flags = MAP_SHARED | (at ? MAP_FIXED : 0) | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *p = nvs_sys_mmap(at, size, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (!p)
		return NULL;
	nvs_sys_madvise(p, size, MADV_DONTFORK);
	touch_pages(p, size);
	return p;
}

/* Maps the data of a buffer a second time, right after the first. */
static bool map_twice(uint8_t *data, size_t size, int fd, uint64_t offset)
{
	long p;

	if (fd >= 0)
		return map_shared(data + size, size, fd, offset);
	/* With length 0, mremap() maps shared memory again. */
	p = nvs_syscall(SYS_mremap, (long)data, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			(long)(data + size), 0);
	if (p != (long)(data + size))
		return false;
	nvs_sys_madvise(data + size, size, MADV_DONTFORK);
	touch_pages(data + size, size);
	return true;
}

/*
 * Maps one thread buffer: its head page, its data twice, a guard page, the trap's stack, and space
 * for known stacks. The space is reserved here because a thread that allocates it later may find
 * the address space used up, or use up what the program needs next.
 */
static uint8_t *map_buffer(const struct nvs_recorder *session, int fd, uint64_t offset,
			   uint8_t **stack_top)
{
	uint64_t bytes = session->buffer_bytes, page = nvs_page_bytes(), shared = page + 2 * bytes;
	uint64_t total = shared + page + NVS_TRAP_STACK_BYTES + NVS_KNOWN_STACKS_BYTES;
	uint8_t *base, *stack;

	/* Buffers added later must not take address space that the program needs. */
	base = nvs_buffer_count() >= first_buffers(session)
		       ? nvs_sys_reserve(total)
		       : nvs_sys_mmap(NULL, total, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!base)
		return NULL;
	/* The parts touched later must not be locked in memory by the program's mlockall(). */
	if (!nvs_session_is_confined())
		nvs_syscall(SYS_munlock, (long)base, total, 0, 0, 0, 0);
	stack = base + shared + page;
	if (!map_shared(base, page + bytes, fd, offset) ||
	    !map_twice(base + page, bytes, fd, offset + page) ||
	    !nvs_sys_mmap(stack, NVS_TRAP_STACK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0) ||
	    nvs_syscall(SYS_mprotect, (long)stack + NVS_TRAP_STACK_BYTES, NVS_KNOWN_STACKS_BYTES,
			PROT_READ | PROT_WRITE, 0, 0, 0)) {
		nvs_sys_munmap(base, total);
		return NULL;
	}
	nvs_sys_madvise(stack, NVS_TRAP_STACK_BYTES + NVS_KNOWN_STACKS_BYTES, MADV_DONTFORK);
	*stack_top = stack + NVS_TRAP_STACK_BYTES;
	return base;
}

/* Adds thread buffer NUMBER from FD at OFFSET. */
static int add_buffer(struct nvs_recorder *session, int fd, uint64_t offset, uint32_t number)
{
	uint8_t *base, *stack_top;
	struct nvs_spool_buffer *shared;

	base = map_buffer(session, fd, offset, &stack_top);
	if (!base)
		return -ENOMEM;
	shared = (void *)base;
	shared->buffer = number;
	shared->thread = NVS_NONE;
	nvs_buffer_set_slot(nvs_live_slot(number + 1));
	return nvs_buffer_add(shared, base + nvs_page_bytes(), session->buffer_bytes, stack_top,
			      stack_top);
}

/* Adds buffers in memory if the file cannot grow; the writer notices and records it. */
static int grow_anonymous(struct nvs_recorder *session, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = add_buffer(session, -1, 0, nvs_buffer_count());
	session->crash_safe = false;
	return err;
}

int nvs_spool_grow(struct nvs_recorder *session, uint32_t n)
{
	uint32_t first = nvs_buffer_count();
	uint64_t from = buffer_offset() + first * buffer_stride(session), to;
	int fd = nvs_outfile_fd(&session->spool), err = 0;

	if (first + n > NVS_MAX_BUFFERS)
		n = NVS_MAX_BUFFERS - first;
	if (!n)
		return -ENOSPC;
	to = from + n * buffer_stride(session);
	nvs_live_add_slots(first + n + 1);
	/* Once a buffer is outside the file, all further ones are: the file has the first ones. */
	if (fd < 0 || nvs_session_is_confined() || session->head->buffers != first ||
	    nvs_file_allocate(fd, from, to))
		return grow_anonymous(session, n);
	for (uint32_t i = 0; i < n && !err; i++) {
		err = add_buffer(session, fd, from + i * buffer_stride(session), first + i);
		if (!err)
			__atomic_store_n(&session->head->buffers, first + i + 1, __ATOMIC_RELEASE);
	}
	return err;
}

static void fill_head(struct nvs_recorder *session)
{
	struct nvs_spool *head = session->head;

	head->version = NVS_SPOOL_VERSION;
	head->kind = NVS_SPOOL_BUFFERS;
	memcpy(head->session, session->id, sizeof(head->session));
	head->pid = session->pid;
	head->buffer_bytes = session->buffer_bytes;
	head->page_bytes = nvs_page_bytes();
	head->buffer_offset = buffer_offset();
	head->channel_offset = CHANNEL_OFFSET;
	head->done_offset = DONE_OFFSET;
	head->channels = NVS_SPOOL_CHANNELS;
	for (uint32_t i = 0; i < NVS_SPOOL_CHANNELS; i++)
		session->channels[i].channel = NVS_NONE;
	/* Stored last: it makes the spool valid. */
	__atomic_store_n(&head->magic, NVS_SPOOL_MAGIC, __ATOMIC_RELEASE);
}

static int lay_out(struct nvs_recorder *session)
{
	uint8_t *p;
	int err = 0;

	if (session->spool.fd >= 0)
		err = nvs_file_allocate(session->spool.fd, 0,
					buffer_offset() +
						first_buffers(session) * buffer_stride(session));
	if (err)
		return err;
	p = map_shared(NULL, buffer_offset(), session->spool.fd, 0);
	if (!p)
		return -ENOMEM;
	session->head = (void *)p;
	session->channels = (void *)(p + CHANNEL_OFFSET);
	session->done = (void *)(p + DONE_OFFSET);
	return 0;
}

int nvs_spool_create(struct nvs_recorder *session, const char *path, bool replace)
{
	int err = -ENOENT;

	if (path) {
		err = nvs_outfile_create(&session->spool, path, O_RDWR, replace);
		if (err == -EEXIST)
			return err;
		if (!err && lay_out(session)) {
			nvs_outfile_unlink(&session->spool);
			nvs_outfile_close(&session->spool);
			err = -ENOSPC;
		}
	}
	session->crash_safe = !err;
	if (err) {
		session->spool.fd = -1;
		session->spool.path[0] = '\0';
		err = lay_out(session);
	}
	if (err)
		return err;
	fill_head(session);
	return nvs_spool_grow(session, first_buffers(session));
}

void nvs_spool_discard(struct nvs_recorder *session)
{
	nvs_outfile_unlink(&session->spool);
	nvs_outfile_close(&session->spool);
}

struct nvs_spool_channel *nvs_session_channel_slot(uint32_t number)
{
	struct nvs_recorder *session = nvs_session();

	for (uint32_t i = 0; session && session->channels && i < NVS_SPOOL_CHANNELS; i++) {
		struct nvs_spool_channel *slot =
			&session->channels[(session->next_slot + i) % NVS_SPOOL_CHANNELS];

		if (slot->channel != NVS_NONE)
			continue;
		session->next_slot = (session->next_slot + i + 1) % NVS_SPOOL_CHANNELS;
		memset(slot, 0, sizeof(*slot));
		__atomic_store_n(&slot->channel, number, __ATOMIC_RELEASE);
		return slot;
	}
	return NULL;
}

void nvs_session_channel_free(struct nvs_spool_channel *slot)
{
	if (slot)
		__atomic_store_n(&slot->channel, NVS_NONE, __ATOMIC_RELEASE);
}

/* A reader uses an entry only if it has an address: the address is 0 while the meaning of the
 * values changes. */
void nvs_session_channel_done(const struct nvs_spool_channel *slot,
			      const struct nvs_spool_done *now)
{
	const struct nvs_recorder *session = nvs_session();
	struct nvs_spool_done *done;

	if (!session || !session->done)
		return;
	done = &session->done[slot - session->channels];
	if (done->channel != now->channel || done->address != now->address) {
		__atomic_store_n(&done->address, 0, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
	}
	done->channel = now->channel;
	__atomic_store_n(&done->value[1], now->value[1], __ATOMIC_RELAXED);
	__atomic_store_n(&done->value[0], now->value[0], __ATOMIC_RELEASE);
	done->get = now->get;
	done->time = now->time;
	__atomic_store_n(&done->address, now->address, __ATOMIC_RELEASE);
}
