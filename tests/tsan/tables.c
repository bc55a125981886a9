/* SPDX-License-Identifier: MIT */
/*
 * Under ThreadSanitizer: the base of preload's tables. Threads take the one lock, also
 * recursively, change rows of ranges under it, and allocate and free from the arena without it,
 * while children are forked repeatedly that must find none of it held. Ends with `N passed, N
 * failed`; a race fails it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "preload/rm/rm.h"
#include "preload/base/state.h"

#define THREADS 6
#define ROUNDS 3000

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

static struct nvs_address_spans spans;
static uint64_t changes; /* under the lock */
static _Atomic uint64_t wrong;

static void change(uint32_t x, struct nvs_address_span *mine, int *there)
{
	sigset_t saved, again;

	nvs_lock(&saved);
	nvs_lock(&again);
	if (*there) {
		nvs_spans_remove(&spans, mine);
	} else {
		mine->start = (uint64_t)(x % 1000) << 12;
		mine->end = mine->start + 0x3000;
		if (nvs_spans_add(&spans, mine))
			wrong++;
	}
	*there = !*there;
	changes++;
	nvs_unlock(&again);
	if (!nvs_lock_is_mine())
		wrong++;
	nvs_unlock(&saved);
	if (nvs_lock_is_mine())
		wrong++;
}

static void *work(void *arg)
{
	uint32_t seed = 1 + (uint32_t)(uintptr_t)arg;
	struct nvs_address_span mine[4];
	uint8_t *p[8] = {NULL};
	size_t size[8] = {0};
	int there[4] = {0};

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t x = (seed = seed * 1664525 + 1013904223) >> 8, k = x % 8;

		change(x, &mine[x % 4], &there[x % 4]);
		for (size_t b = 0; b < size[k]; b += 16)
			if (p[k][b] != (uint8_t)(k + 1))
				wrong++;
		nvs_free(p[k], size[k]);
		size[k] = x % 50 ? x % 3000 : 60000; /* larger ones are mmap and munmap, which TSan
							is not told of */
		p[k] = nvs_alloc(size[k] + 1);
		if (!p[k] || p[k][0] || p[k][size[k]])
			wrong++;
		size[k]++;
		memset(p[k], (int)k + 1, size[k]);
	}
	for (int k = 0; k < 8; k++)
		nvs_free(p[k], size[k]);
	for (int k = 0; k < 4; k++)
		if (there[k])
			change(0, &mine[k], &there[k]);
	return NULL;
}

/* What a child finds is a library just loaded: no lock is held by a thread that it does not have.
 *  */
static void fork_some(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();
		sigset_t saved;
		int status;

		if (!pid) {
			void *p;

			alarm(10);
			nvs_lock(&saved);
			p = nvs_alloc(100);
			nvs_free(p, 100);
			nvs_unlock(&saved);
			_exit(p && !*nvs_slot(NVS_SLOT_RM) ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

int main(void)
{
	pthread_t threads[THREADS];

	*nvs_slot(NVS_SLOT_RM) = &spans;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	fork_some();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!wrong && !spans.n);
	CHECK(changes >= (uint64_t)THREADS * ROUNDS);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
