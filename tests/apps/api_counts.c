/* SPDX-License-Identifier: MIT */
/*
 * Makes calls of many kinds on three threads and counts them; the reports must have the counts
 * that it prints. Lines: "api NAME calls failed", "kernel NAME launches", "copy DIRECTION calls
 * bytes" (batch: several in one call), "graph launches", and "thread-calls N" per thread, in any
 * order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "app.h"

enum { APIS = 64, WORKERS = 3, ROUNDS = 40 };

static struct {
	const char *name;
	_Atomic unsigned calls, failed;
} counts[APIS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned own;

static CUresult counted(const char *name, CUresult result)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; counts[i].name && strcmp(counts[i].name, name); i++)
		;
	counts[i].name = name;
	pthread_mutex_unlock(&lock);
	counts[i].calls++;
	counts[i].failed += result && !(result == 600 && strstr(name, "Query"));
	own++;
	return result;
}

#define C(fn, ...) counted(#fn, fn(__VA_ARGS__))

static _Atomic unsigned launches[2], copies[3];
static _Atomic unsigned long long copied[3];
static unsigned batch_calls;
static unsigned long long batched;
static CUcontext context;
static CUfunction kernels[2];

static void launch(int which, unsigned blocks, CUstream s, CUdeviceptr d)
{
	unsigned long long p = d, v = 1;
	void *args[] = {&p, &v};

	CK(C(cuLaunchKernel, kernels[which], blocks, 1, 1, 32, 1, 1, 0, s, which ? NULL : args,
	     NULL));
	launches[which]++;
}

static void copy(int direction, CUdeviceptr d, void *host, size_t bytes)
{
	if (direction == 0)
		CK(C(cuMemcpyHtoD_v2, d, host, bytes));
	else if (direction == 1)
		CK(C(cuMemcpyDtoH_v2, host, d, bytes));
	else
		CK(C(cuMemcpyDtoD_v2, d, d + (1 << 20), bytes));
	copies[direction]++;
	copied[direction] += bytes;
}

static void *work(void *arg)
{
	static const size_t sizes[] = {4, 100, 4096, 70000, 200000};
	char *host = calloc(1, 1 << 20);
	CUdeviceptr d, none;
	CUstream s;
	CUevent e;

	CK(C(cuCtxSetCurrent, context));
	CK(C(cuStreamCreate, &s, 1));
	CK(C(cuEventCreate, &e, 0));
	CK(C(cuMemAlloc_v2, &d, 2 << 20));
	CK(C(cuMemsetD8_v2, d, 0, 2 << 20));
	for (int i = 0; i < ROUNDS; i++) {
		launch(i % 3 == 0, 1 + (unsigned)i % 4, s, d);
		copy(i % 3, d, host, sizes[i % 5]);
		if (C(cuMemAlloc_v2, &none, i % 10 ? 0 : 1ull << 60) == CUDA_SUCCESS)
			abort();
		CK(C(cuEventRecord, e, s));
		C(cuStreamQuery, s);
	}
	CK(C(cuStreamSynchronize, s));
	CK(C(cuEventDestroy_v2, e));
	CK(C(cuStreamDestroy_v2, s));
	CK(C(cuMemFree_v2, d));
	free(host);
	return (void *)(uintptr_t)own;
}

static void graphs(void)
{
	CUgraphExec exec;
	CUgraph graph;
	CUdeviceptr d;
	CUstream s;

	CK(C(cuStreamCreate, &s, 1));
	CK(C(cuMemAlloc_v2, &d, 4096));
	CK(C(cuStreamBeginCapture_v2, s, 0));
	for (int i = 0; i < 5; i++) {
		unsigned long long p = d, v = 1;
		void *args[] = {&p, &v};

		CK(C(cuLaunchKernel, kernels[0], 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
	}
	CK(C(cuStreamEndCapture, s, &graph));
	CK(C(cuGraphInstantiateWithFlags, &exec, graph, 0));
	for (int i = 0; i < 7; i++)
		CK(C(cuGraphLaunch, exec, s));
	CK(C(cuStreamSynchronize, s));
	CK(C(cuGraphExecDestroy, exec));
	CK(C(cuGraphDestroy, graph));
	CK(C(cuMemFree_v2, d));
	CK(C(cuStreamDestroy_v2, s));
}

/* Many copies by one call: the bytes of all of them are told. */
static void batches(void)
{
	enum { N = 5 };
	CUmemcpyAttributes attributes = {.srcAccessOrder = 1};
	CUDA_MEMCPY3D_BATCH_OP ops[N];
	CUdeviceptr d, to[N], from[N];
	size_t sizes[N], zero = 0;
	char *host;
	CUstream s;

	CK(C(cuStreamCreate, &s, 1));
	CK(C(cuMemAlloc_v2, &d, 1 << 20));
	CK(C(cuMemHostAlloc, (void **)&host, 1 << 20, 0));
	for (unsigned n = 1; n <= N; n++) {
		for (unsigned i = 0; i < n; i++) {
			sizes[i] = 1000 * (i + 1) * n;
			to[i] = i % 2 ? (uintptr_t)host + i * 65536 : d + i * 65536;
			from[i] = i % 2 ? d + i * 65536 : (uintptr_t)host + i * 65536;
			ops[i] = (CUDA_MEMCPY3D_BATCH_OP){.src = {1, {{.ptr = from[i]}}},
							  .width = 100 + i,
							  .height = 3,
							  .dst = {1, {{.ptr = to[i]}}},
							  .depth = n,
							  .srcAccessOrder = 1};
			batched += sizes[i] + (100 + i) * 3ull * n;
		}
		CK(C(cuMemcpyBatchAsync_v2, to, from, sizes, n, &attributes, &zero, 1, s));
		CK(C(cuMemcpy3DBatchAsync_v2, n, ops, 0, s));
		batch_calls += 2;
	}
	CK(C(cuStreamSynchronize, s));
	CK(C(cuMemFreeHost, host));
	CK(C(cuMemFree_v2, d));
	CK(C(cuStreamDestroy_v2, s));
}

static void print_all(void)
{
	static const char *const directions[] = {"HtoD", "DtoH", "DtoD"};

	for (int i = 0; i < APIS && counts[i].name; i++)
		printf("api %s %u %u\n", counts[i].name, counts[i].calls, counts[i].failed);
	printf("kernel softgpu_add %u\nkernel nothing %u\n", launches[0], launches[1]);
	for (int i = 0; i < 3; i++)
		printf("copy %s %u %llu\n", directions[i], copies[i], copied[i]);
	printf("copy batch %u %llu\n", batch_calls, batched);
	printf("graph 7\n");
}

int main(void)
{
	pthread_t threads[WORKERS];
	CUmodule module;
	void *n;

	CK(C(cuInit, 0));
	CK(C(cuDevicePrimaryCtxRetain, &context, 0));
	CK(C(cuCtxSetCurrent, context));
	CK(C(cuModuleLoadData, &module, app_ptx));
	CK(C(cuModuleGetFunction, &kernels[0], module, "softgpu_add"));
	CK(C(cuModuleGetFunction, &kernels[1], module, "nothing"));
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], &n);
		printf("thread-calls %u\n", (unsigned)(uintptr_t)n);
	}
	graphs();
	batches();
	CK(C(cuModuleUnload, module));
	CK(C(cuDevicePrimaryCtxRelease_v2, 0));
	printf("thread-calls %u\n", own);
	print_all();
	return 0;
}
