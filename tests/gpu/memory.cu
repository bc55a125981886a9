/* SPDX-License-Identifier: MIT */
/*
 * Allocates memory of every kind and frees some of it. Prints the expected results of --memory:
 * "MEMORY ALLOCATIONS FREES LIVE-BYTES PEAK-BYTES", then "unfreed FUNCTION ALLOCATIONS BYTES" and
 * "twice FUNCTION CALLS".
 */
#include "common.cuh"
#include <cuda.h>

#define APART __attribute__((noinline))
#define MB 1000000ull

__global__ void part1(double *p)
{
	p[threadIdx.x] += 1;
}

__global__ void part2(double *p)
{
	p[threadIdx.x] *= 2;
}

/* The case of GPUprobe's article. */
APART void article()
{
	double *array[3];

	for (auto &p : array)
		CHECK(cudaMalloc(&p, 8 * MB));
	for (int i = 0; i < 1000; i++) {
		part1<<<1, 32>>>(array[0]);
		part2<<<1, 32>>>(array[1]);
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(array[0]));
	CHECK(cudaFree(array[1]));
}

/* Returns an error, which is what it is for. */
APART void free_again()
{
	void *p;

	CHECK(cudaMalloc(&p, 3 * MB));
	CHECK(cudaFree(p));
	if (cudaFree(p) == cudaSuccess)
		printf("a second free worked\n");
	cudaGetLastError();
}

APART void ask_too_much()
{
	void *p;

	if (cudaMalloc(&p, 1ull << 50) == cudaSuccess)
		printf("it was given all it asked for\n");
	cudaGetLastError();
}

APART void pools()
{
	cudaMemPool_t pool;
	cudaStream_t s;
	void *a, *b;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMallocAsync(&a, 4 * MB, s));
	CHECK(cudaMallocAsync(&b, 2 * MB, s));
	CHECK(cudaFreeAsync(a, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolTrimTo(pool, 0));
}

APART void others()
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	static char mine[1 << 16];
	cudaArray_t array;
	size_t pitch;
	void *p;

	CHECK(cudaMallocManaged(&p, 5 * MB));
	CHECK(cudaFree(p));
	CHECK(cudaMallocHost(&p, 6000));
	CHECK(cudaHostRegister(mine, sizeof(mine), 0));
	CHECK(cudaHostUnregister(mine));
	CHECK(cudaMallocArray(&array, &format, 1000, 100));
	CHECK(cudaMallocPitch(&p, &pitch, 1000, 10));
	CHECK(cudaFree(p));
}

/* A graph leaves what it allocated, and frees it when it is launched again. */
APART void graph()
{
	cudaGraphExec_t exec;
	cudaStream_t s;
	cudaGraph_t g;
	void *p;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK(cudaMallocAsync(&p, 7 * MB, s));
	CHECK(cudaMemsetAsync(p, 0, 7 * MB, s));
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&exec, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
}

#define DRIVER(call)                                                 \
	do {                                                         \
		CUresult result_ = (call);                           \
		if (result_) {                                       \
			printf("line %d: %d\n", __LINE__, result_);  \
			exit(1);                                     \
		}                                                    \
	} while (0)

/* Memory without addresses: its handle is given up, and its mapping keeps it. */
APART void physical()
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	DRIVER(cuMemCreate(&handle, 4 << 20, &prop, 0));
	DRIVER(cuMemAddressReserve(&at, 4 << 20, 0, 0, 0));
	DRIVER(cuMemMap(at, 4 << 20, 0, handle, 0));
	DRIVER(cuMemRelease(handle));
	DRIVER(cuMemCreate(&handle, 2 << 20, &prop, 0));
	DRIVER(cuMemRelease(handle));
}

int main()
{
	CHECK(cudaFree(0));
	article();
	free_again();
	ask_too_much();
	pools();
	others();
	graph();
	physical();
	printf("device 5 4 8000000 24000000\n"
	       "async 2 1 2000000 6000000\n"
	       "managed 1 1 0 5000000\n"
	       "host 1 0 6000 6000\n"
	       "registered 1 1 0 65536\n"
	       "array 1 0 400000 400000\n"
	       "graph 2 1 7000000 7000000\n"
	       "physical 2 1 4194304 6291456\n"
	       "reserved 1 0 4194304 4194304\n"
	       "unfreed article 1 8000000\n"
	       "unfreed pools 1 2000000\n"
	       "unfreed graph 1 7000000\n"
	       "unfreed others 2 406000\n"
	       "unfreed physical 2 8388608\n"
	       "twice free_again 1\n"
	       "failed ask_too_much 1\n");
	return 0;
}
