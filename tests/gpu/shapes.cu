/* SPDX-License-Identifier: MIT */
/*
 * Prints the work that it requests, to be compared with the trace: 200 launches of random shapes,
 * copies of random sizes, and graphs of 1 to 1000 kernels. One line each; the seed is fixed.
 */
#include <cstring>
#include <vector>
#include "common.cuh"

static uint32_t seed = 20240611;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

__global__ void shaped(int *ran)
{
	extern __shared__ int room[];

	if (!threadIdx.x && !threadIdx.y && !threadIdx.z && !blockIdx.x && !blockIdx.y &&
	    !blockIdx.z)
		++*ran;
	if (ran == nullptr)
		room[0] = 1;
}

static void launches(int *ran, cudaStream_t stream)
{
	for (int i = 0; i < 200; i++) {
		dim3 block(1 + random_below(64), 1 + random_below(4), 1 + random_below(4));
		dim3 grid(1 + random_below(5000), 1 + random_below(60), 1 + random_below(20));
		uint32_t shared = random_below(384) * 128;

		printf("launch %u %u %u %u %u %u %u\n", grid.x, grid.y, grid.z, block.x, block.y,
		       block.z, shared);
		shaped<<<grid, block, shared, stream>>>(ran);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaStreamSynchronize(stream));
}

static void copies(char *device, char *pinned, char *pageable, cudaStream_t stream)
{
	for (int i = 0; i < 60; i++) {
		size_t bytes = 1 + random_below(i % 3 ? 40000 : 3000000);

		printf("pinned-h2d %zu\n", bytes);
		CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
		bytes = 1 + random_below(i % 3 ? 40000 : 3000000);
		printf("pinned-d2h %zu\n", bytes);
		CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < 30; i++) {
		size_t bytes = 1 + random_below(i % 2 ? 90000 : 3000000);

		printf("pageable-h2d %zu\n", bytes);
		CHECK(cudaMemcpy(device, pageable, bytes, cudaMemcpyHostToDevice));
		bytes = 1 + random_below(i % 2 ? 90000 : 3000000);
		printf("pageable-d2h %zu\n", bytes);
		CHECK(cudaMemcpy(pageable, device, bytes, cudaMemcpyDeviceToHost));
	}
}

static void graphs(int *ran, cudaStream_t stream)
{
	for (int length : {1, 2, 3, 5, 10, 20, 50, 100, 200, 333, 500, 1000}) {
		cudaGraph_t graph;
		cudaGraphExec_t exec;

		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		for (int i = 0; i < length; i++)
			shaped<<<1, 32, 0, stream>>>(ran);
		CHECK(cudaStreamEndCapture(stream, &graph));
		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		CHECK(cudaGraphUpload(exec, stream));
		for (int r = 0; r < 3; r++) {
			printf("graph %d\n", length);
			CHECK(cudaGraphLaunch(exec, stream));
			CHECK(cudaStreamSynchronize(stream));
		}
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(graph));
	}
}

int main()
{
	char *device, *pinned, *pageable = (char *)malloc(4 << 20);
	cudaFuncAttributes attributes;
	cudaStream_t stream;
	int *ran, host;

	CHECK(cudaMalloc(&ran, sizeof(*ran)));
	CHECK(cudaMemset(ran, 0, sizeof(*ran)));
	CHECK(cudaMalloc(&device, 4 << 20));
	CHECK(cudaMallocHost(&pinned, 4 << 20));
	memset(pinned, 1, 4 << 20);
	memset(pageable, 2, 4 << 20);
	CHECK(cudaFuncSetAttribute(shaped, cudaFuncAttributeMaxDynamicSharedMemorySize, 384 * 128));
	CHECK(cudaFuncGetAttributes(&attributes, shaped));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaDeviceSynchronize());
	launches(ran, stream);
	copies(device, pinned, pageable, stream);
	graphs(ran, stream);
	CHECK(cudaMemcpy(&host, ran, sizeof(host), cudaMemcpyDeviceToHost));
	printf("ran %d\n", host);
	return 0;
}
