/* SPDX-License-Identifier: MIT */
/*
 * allocator: a program with its own allocator, in which the main thread waits for another thread.
 * That thread frees memory and closes descriptors meanwhile, the second time from within the
 * loader's list of libraries. Both locks are then held by threads that may wait for the holder of
 * a tool's lock. Runs on any GPU.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "app.h"

#define ROOM (256ul << 20)
#define LIMIT 20 /* seconds */

static _Alignas(64) char room[ROOM];
static size_t used;
static __thread int is_main;
static int busy, stuck;
static sem_t asked, answered;
static unsigned questions;

/* What an allocator, or any library, may do while it holds a lock of its own. */
static int give_back(struct dl_phdr_info *info, size_t size, void *arg)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page, 4096);
	close_range(60000, 60000, 0);
	return 1;
}

static void *answer(void *arg)
{
	for (;;) {
		while (sem_wait(&asked))
			;
		give_back(NULL, 0, NULL);
		dl_iterate_phdr(give_back, NULL);
		sem_post(&answered);
	}
	return NULL;
}

/* Neither waits nor allocates once it is stuck: the program is to come to its end. */
static void ask(void)
{
	struct timespec end;
	int err = errno;

	if (!is_main || busy || stuck)
		return;
	busy = 1;
	questions++;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LIMIT;
	sem_post(&asked);
	while (sem_timedwait(&answered, &end) && !stuck)
		stuck = errno == ETIMEDOUT;
	busy = 0;
	errno = err;
}

void *aligned_alloc(size_t align, size_t size)
{
	size_t at, next;

	ask();
	align = align < 16 ? 16 : align;
	do {
		at = __atomic_load_n(&used, __ATOMIC_RELAXED);
		next = ((at + 16 + align - 1) & ~(align - 1)) + size;
		if (next > ROOM)
			return NULL;
	} while (!__atomic_compare_exchange_n(&used, &at, next, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	memcpy(room + next - size - 16, &size, sizeof(size));
	return room + next - size;
}

void *malloc(size_t size)
{
	return aligned_alloc(16, size);
}

void *memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size)
{
	return aligned_alloc(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	*p = aligned_alloc(align, size);
	return *p ? 0 : ENOMEM;
}

/* Nothing is used twice. */
void *calloc(size_t n, size_t size)
{
	return aligned_alloc(16, n * size);
}

void *realloc(void *old, size_t size)
{
	void *p = aligned_alloc(16, size);
	size_t had = 0;

	if (old)
		memcpy(&had, (char *)old - 16, sizeof(had));
	return p && old ? memcpy(p, old, had < size ? had : size) : p;
}

void free(void *p)
{
}

int main(void)
{
	pthread_t thread;
	CUdeviceptr p;
	CUcontext ctx;

	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	pthread_create(&thread, NULL, answer, NULL);
	CK(cuInit(0));
	is_main = 1;
	CK(cuCtxCreate_v2(&ctx, 0, 0));
	CK(cuMemAlloc_v2(&p, 4096));
	CK(cuMemsetD32_v2(p, 7, 1024));
	CK(cuCtxSynchronize());
	CK(cuCtxDestroy_v2(ctx));
	is_main = 0;
	EXPECT(questions > 10, "it asked %u times", questions);
	printf("%s\n", stuck ? "stuck in the allocator" : "allocator ok");
	return 0;
}
