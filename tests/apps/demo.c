/* SPDX-License-Identifier: MIT */
/*
 * The demo: a short program of the CUDA driver API with copies of several sizes, memsets, launches
 * on two streams, events, and a graph that a second thread launches. Its output is the same on
 * every GPU and on the software GPU. Its parts are separate functions (not inlined), so that
 * reports can name them.
 */
#include <pthread.h>
#include <string.h>
#include "app.h"

#define PART static __attribute__((noinline)) void

#define N (1u << 20)

static uint64_t sum(const unsigned char *p, size_t n)
{
	uint64_t s = 0;

	while (n--)
		s = s * 31 + *p++;
	return s;
}

/* To the device and back, pageable. */
PART copies(CUdeviceptr d, unsigned char *host, unsigned char *back)
{
	static const size_t sizes[] = {4, 64, 4096, 65536, 65540, 262144, N};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			host[k] = (unsigned char)(k * 7 + i);
		memset(back, 0, sizes[i]);
		CK(cuMemcpyHtoD_v2(d, host, sizes[i]));
		CK(cuMemcpyDtoH_v2(back, d, sizes[i]));
		EXPECT(!memcmp(host, back, sizes[i]), "copy of %zu bytes", sizes[i]);
	}
	printf("copies ok, sum %016llx\n", (unsigned long long)sum(back, N));
}

/* Page-locked memory, asynchronously, and within the device. */
PART streams(CUdeviceptr d, CUdeviceptr e, CUstream s)
{
	unsigned char *pinned;

	CK(cuMemAllocHost_v2((void **)&pinned, N));
	for (size_t k = 0; k < N; k++)
		pinned[k] = (unsigned char)(k * 13);
	CK(cuMemcpyHtoDAsync_v2(d, pinned, N, s));
	CK(cuMemcpyHtoDAsync_v2(d + 256, pinned, 64, s));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, s));
	CK(cuMemsetD8Async(e + 4096, 0x5a, 4096, s));
	CK(cuMemsetD32Async(e + 65536, 0x01020304, 65536, s));
	CK(cuMemcpyDtoHAsync_v2(pinned, e, N, s));
	CK(cuStreamSynchronize(s));
	printf("stream ok, sum %016llx\n", (unsigned long long)sum(pinned, N));
	CK(cuMemFreeHost(pinned));
}

PART kernels(CUdeviceptr d, CUstream s, CUstream q)
{
	CUfunction add = app_kernel("softgpu_add");
	volatile uint32_t *gate;
	CUevent a, b;
	float ms;

	CK(cuMemAllocHost_v2((void **)&gate, sizeof(*gate)));
	*gate = 0;
	CK(cuEventCreate(&a, 0));
	CK(cuEventCreate(&b, 0));
	CK(cuMemsetD32_v2(d, 0, 2));
	CK(cuCtxSynchronize()); /* the first launch has nothing to wait for */
	/* Closed until all is asked for: a wait for what is done already would send nothing. */
	CK(cuStreamWaitValue32_v2(s, (CUdeviceptr)(uintptr_t)gate, 1, 0));
	CK(cuEventRecord(a, s));
	for (int i = 1; i <= 20; i++)
		app_add(add, d, (uint64_t)i, s);
	CK(cuEventRecord(b, s));
	CK(cuStreamWaitEvent(q, b, 0));
	for (int i = 0; i < 5; i++)
		app_add(add, d, 1000, q);
	*gate = 1;
	CK(cuEventSynchronize(b));
	CK(cuStreamSynchronize(q));
	CK(cuEventElapsedTime(&ms, a, b));
	printf("kernels ok, count %u\n", app_word(d));
	EXPECT(app_word(d) == 5210 && ms >= 0, "kernels did not all run, or out of order");
	CK(cuEventDestroy_v2(a));
	CK(cuEventDestroy_v2(b));
	CK(cuMemFreeHost((void *)(uintptr_t)gate));
}

/* Three launches as a graph, which runs twice. */
PART graph(CUdeviceptr d, CUstream q)
{
	CUfunction add = app_kernel("softgpu_add");
	CUgraphExec exec;
	CUgraph g;

	CK(cuMemsetD32_v2(d, 0, 2));
	CK(cuCtxSynchronize());
	CK(cuStreamBeginCapture_v2(q, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 3; i++)
		app_add(add, d, 100, q);
	CK(cuStreamEndCapture(q, &g));
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < 2; i++) {
		CK(cuGraphLaunch(exec, q));
		CK(cuStreamSynchronize(q));
	}
	printf("graph ok, count %u\n", app_word(d));
	EXPECT(app_word(d) == 600, "the graph did not run twice");
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(g));
}

struct worker {
	CUcontext context;
	CUdeviceptr d;
	CUstream q;
};

static void *worker(void *arg)
{
	struct worker *w = arg;

	pthread_setname_np(pthread_self(), "worker");
	CK(cuCtxSetCurrent(w->context));
	graph(w->d, w->q);
	return NULL;
}

int main(void)
{
	unsigned char *host = malloc(N), *back = malloc(N);
	CUcontext ctx = app_context(0);
	CUdeviceptr d, e;
	CUstream s, q;
	pthread_t thread;

	CK(cuMemAlloc_v2(&d, N));
	CK(cuMemAlloc_v2(&e, N));
	CK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	CK(cuStreamCreate(&q, CU_STREAM_NON_BLOCKING));
	copies(d, host, back);
	streams(d, e, s);
	kernels(d, s, q);
	pthread_create(&thread, NULL, worker, &(struct worker){ctx, d, q});
	pthread_join(thread, NULL);
	CK(cuCtxSynchronize());
	CK(cuStreamDestroy_v2(s));
	CK(cuStreamDestroy_v2(q));
	CK(cuMemFree_v2(d));
	CK(cuMemFree_v2(e));
	CK(cuDevicePrimaryCtxRelease_v2(0));
	free(host);
	free(back);
	puts("demo ok");
	return 0;
}
