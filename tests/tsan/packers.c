/* SPDX-License-Identifier: MIT */
/*
 * Under ThreadSanitizer: the writer's compression threads. Frames of every size are submitted,
 * written and waited for in any order of calls, from memory that is reused as soon as allowed.
 * Each frame must arrive complete, in order, once. Ends with `N passed, N failed`; a race fails
 * it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "preload/base/ownthread.h"
#include "preload/writer/packer.h"

#define FRAMES 600
#define LARGEST (256u << 10)

static uint64_t expected, wrong;
static _Atomic int begun;

/* ---- what the packers need of the library ---- */

void *nvs_alloc(size_t size)
{
	return calloc(1, size);
}

void nvs_free(void *p, size_t size)
{
	free(p);
}

struct thread {
	void (*run)(void *arg);
	void *arg;
};

static void *begin(void *arg)
{
	struct thread t = *(struct thread *)arg;

	free(arg);
	t.run(t.arg);
	return NULL;
}

int nvs_own_thread(const char *name, size_t stack, void (*run)(void *), void *arg)
{
	struct thread *t = malloc(sizeof(*t));
	pthread_t id;

	*t = (struct thread){run, arg};
	if (pthread_create(&id, NULL, begin, t))
		abort();
	pthread_detach(id);
	return 0;
}

/* ---- the test ---- */

static void on_begin(void *arg)
{
	begun++;
}

static uint64_t word_of(uint64_t frame, size_t i)
{
	return (frame * 2654435761u + i / 7) & 0xffffff;
}

static void on_commit(void *arg, const struct nvs_frame *frame, const void *packed, ssize_t size)
{
	static uint64_t words[LARGEST / 8];

	if (size < 0 || frame->counts.records != expected + 1 ||
	    ZSTD_decompress(words, sizeof(words), packed, (size_t)size) != frame->size)
		wrong++;
	for (size_t i = 0; i < frame->size / 8; i++)
		wrong += words[i] != word_of(expected, i);
	expected++;
}

static uint32_t random_of(uint32_t n)
{
	static uint32_t x = 20240229;

	x = x * 1664525u + 1013904223u;
	return (x >> 8) % n;
}

static void give(struct nvs_packers *all, struct nvs_frame *frame, uint64_t *words, uint64_t number)
{
	*frame = (struct nvs_frame){.data = words, .counts = {.records = number + 1}};
	frame->size = 8 * (1 + random_of(random_of(4) ? 500 : LARGEST / 8));
	for (size_t i = 0; i < frame->size / 8; i++)
		words[i] = word_of(number, i);
	if (random_of(4))
		nvs_packers_give(all, frame);
	else
		nvs_packers_write(all, frame);
	if (!random_of(8))
		nvs_packers_wait(all);
}

int main(void)
{
	static uint64_t words[NVS_PACKERS + 1][LARGEST / 8];
	static struct nvs_frame frames[NVS_PACKERS + 1];
	struct nvs_packers *all = calloc(1, sizeof(*all));
	int failed;

	*all = (struct nvs_packers){.begin = on_begin, .commit = on_commit};
	if (nvs_packers_init(all, LARGEST))
		abort();
	nvs_packers_start(all, NVS_PACKERS);
	for (uint64_t n = 0; n < FRAMES; n++)
		give(all, &frames[n % (NVS_PACKERS + 1)], words[n % (NVS_PACKERS + 1)], n);
	nvs_packers_finish(all);
	failed = (expected != FRAMES) + (wrong != 0) + (all->running != NVS_PACKERS) +
		 (nvs_packers_cpu_ns(all) == 0);
	printf("%llu of %d frames, %llu wrong\n", (unsigned long long)expected, FRAMES,
	       (unsigned long long)wrong);
	printf("%d passed, %d failed\n", 4 - failed, failed);
	return failed != 0;
}
