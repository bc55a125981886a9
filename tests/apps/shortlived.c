/* SPDX-License-Identifier: MIT */
/* shortlived N [AT_ONCE]: N threads, at most AT_ONCE (8) at a time, each of which submits three
 * times and ends. Counts what the GPU executed. */
#include <pthread.h>
#include "app.h"

static CUcontext context;
static CUfunction add;
static CUdeviceptr words;
static CUstream streams[4];

static void *work(void *arg)
{
	uint64_t i = (uint64_t)arg;

	CK(cuCtxSetCurrent(context));
	CK(cuMemsetD32Async(words + 256 + i % 64 * 4, (unsigned)i, 1, streams[i % 4]));
	app_add(add, words + i % 4 * 4, 1, streams[i % 4]);
	CK(cuMemsetD32Async(words + 256 + i % 64 * 4, (unsigned)i, 1, streams[i % 4]));
	return NULL;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : 5000,
		 at_once = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
	pthread_t *t = calloc(at_once, sizeof(*t));
	uint32_t total = 0;

	context = app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&words, 4096));
	CK(cuMemsetD32_v2(words, 0, 1024));
	for (int i = 0; i < 4; i++)
		CK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	CK(cuCtxSynchronize());
	for (uint32_t i = 0; i < n; i += at_once) {
		uint32_t k = n - i < at_once ? n - i : at_once;

		for (uint32_t j = 0; j < k; j++)
			EXPECT(!pthread_create(&t[j], NULL, work, (void *)(uint64_t)(i + j)),
			       "thread %u", i + j);
		for (uint32_t j = 0; j < k; j++)
			pthread_join(t[j], NULL);
	}
	CK(cuCtxSynchronize());
	for (int i = 0; i < 4; i++)
		total += app_word(words + i * 4);
	EXPECT(total == n, "%u threads counted of %u", total, n);
	printf("shortlived ok: %u threads\n", n);
	return 0;
}
