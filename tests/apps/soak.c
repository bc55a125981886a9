/* SPDX-License-Identifier: MIT */
/*
 * soak: for each number N on its standard input, does what a service does in a second, and prints
 * the launches that it has made so far: a context with a module of its own comes and goes, and in
 * it four threads, each of which has a stream, allocates and frees, and launches N / 4 kernels. At
 * each answer nothing of it is left.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "app.h"

enum { THREADS = 4, BATCH = 64 };

static CUcontext context;
static CUfunction add, nothing;
static CUdeviceptr words;
static _Atomic unsigned long long launches;

static void *work(void *arg)
{
	unsigned long n = *(unsigned long *)arg;
	CUdeviceptr own;
	CUstream s;

	CK(cuCtxSetCurrent(context));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned long i = 0; i < n; i++) {
		if (i % BATCH == 0)
			CK(cuMemAlloc_v2(&own, 4096));
		if (i % 2)
			app_add(add, words, 1, s);
		else
			CK(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
		if (i % BATCH == BATCH - 1 || i + 1 == n) {
			CK(cuStreamSynchronize(s));
			CK(cuMemFree_v2(own));
		}
	}
	atomic_fetch_add(&launches, n);
	CK(cuStreamDestroy_v2(s));
	return NULL;
}

static void one_second(unsigned long n)
{
	pthread_t threads[THREADS];
	CUmodule module;
	CUdevice device;

	CK(cuDeviceGet(&device, 0));
	CK(cuCtxCreate_v2(&context, 0, device));
	CK(cuModuleLoadData(&module, app_ptx));
	CK(cuModuleGetFunction(&add, module, "softgpu_add"));
	CK(cuModuleGetFunction(&nothing, module, "nothing"));
	CK(cuMemAlloc_v2(&words, 4096));
	n /= THREADS;
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, work, &n), "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CK(cuMemFree_v2(words));
	CK(cuModuleUnload(module));
	CK(cuCtxDestroy_v2(context));
}

int main(void)
{
	char line[32];

	CK(cuInit(0));
	while (fgets(line, sizeof(line), stdin)) {
		one_second(strtoul(line, NULL, 10));
		printf("%llu\n", atomic_load(&launches));
		fflush(stdout);
	}
	return 0;
}
