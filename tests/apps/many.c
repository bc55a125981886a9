/* SPDX-License-Identifier: MIT */
/*
 * many own|shared THREADS N [KILL]: every thread makes N submissions in its own stream (and
 * channel), or all share one stream. Most submissions set a word, every 50th is a launch that
 * increments a counter; the GPU's memory is checked at the end. N 0: runs until killed, and prints
 * one line when all threads are running. KILL: the first thread kills the program with SIGKILL
 * instead of its submission of that number.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "app.h"

struct thread {
	pthread_t id;
	uint32_t number;
	CUstream stream;
	CUdeviceptr words; /* [0] the last fill, [16] the launches of this thread */
	uint64_t n, launches;
};

static uint64_t kill_at;
static CUcontext context;
static CUfunction add;
static pthread_barrier_t start;

static void *work(void *arg)
{
	struct thread *t = arg;

	CK(cuCtxSetCurrent(context));
	pthread_barrier_wait(&start);
	if (!t->n && !t->number) {
		puts("running");
		fflush(stdout);
	}
	for (uint64_t i = 1; !t->n || i <= t->n; i++) {
		if (i == kill_at && !t->number)
			kill(getpid(), SIGKILL);
		if (i % 50 == 0) {
			app_add(add, t->words + 64, 1, t->stream);
			t->launches++;
		} else {
			CK(cuMemsetD32Async(t->words, (unsigned)i, 1 + i % 8, t->stream));
		}
	}
	/* None goes before the last is done: all of them are there at once. */
	pthread_barrier_wait(&start);
	return NULL;
}

int main(int argc, char **argv)
{
	uint32_t nthreads = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	struct thread *t = calloc(nthreads + 1, sizeof(*t));
	bool shared = argc > 1 && !strcmp(argv[1], "shared");
	CUstream one;

	kill_at = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	if (argc < 4 || !nthreads || (!shared && strcmp(argv[1], "own"))) {
		fprintf(stderr, "usage: many own|shared THREADS N [KILL]\n");
		return 2;
	}
	context = app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	pthread_barrier_init(&start, NULL, nthreads);
	for (uint32_t i = 0; i < nthreads; i++) {
		t[i].number = i;
		t[i].n = n;
		t[i].stream = one;
		if (!shared)
			CK(cuStreamCreate(&t[i].stream, CU_STREAM_NON_BLOCKING));
		CK(cuMemAlloc_v2(&t[i].words, 512));
		CK(cuMemsetD32_v2(t[i].words, 0, 32));
		CK(cuCtxSynchronize());
	}
	for (uint32_t i = 0; i < nthreads; i++)
		pthread_create(&t[i].id, NULL, work, &t[i]);
	for (uint32_t i = 0; i < nthreads; i++)
		pthread_join(t[i].id, NULL);
	CK(cuCtxSynchronize());
	for (uint32_t i = 0; i < nthreads; i++) {
		uint32_t last = (uint32_t)(n % 50 ? n : n - 1);

		EXPECT(app_word(t[i].words) == last, "thread %u: last fill is %u, not %u", i,
		       app_word(t[i].words), last);
		EXPECT(app_word(t[i].words + 64) == t[i].launches,
		       "thread %u: %u launches counted of %llu", i, app_word(t[i].words + 64),
		       (unsigned long long)t[i].launches);
	}
	printf("many ok: %u threads, %llu submissions each, %s\n", nthreads, (unsigned long long)n,
	       shared ? "one channel" : "a channel each");
	return 0;
}
