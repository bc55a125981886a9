/* SPDX-License-Identifier: MIT */
/*
 * Four threads that launch 20,000 kernels each, as fast as possible, each in its own stream:
 * 80,000 submissions, and a counter per thread that shows whether every kernel ran.
 */
#include <thread>
#include "common.cuh"

enum { THREADS = 4, LAUNCHES = 20000 };

__global__ void count(unsigned *counter)
{
	if (threadIdx.x == 0)
		++*counter;
}

static void launch_all(unsigned *counter, cudaStream_t stream)
{
	for (int i = 0; i < LAUNCHES; i++)
		count<<<1, 32, 0, stream>>>(counter);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(stream));
}

int main()
{
	unsigned *counters, host[THREADS * 64];
	cudaFuncAttributes attributes;
	std::thread threads[THREADS];
	cudaStream_t streams[THREADS];

	CHECK(cudaMalloc(&counters, sizeof(host)));
	CHECK(cudaMemset(counters, 0, sizeof(host)));
	/* Loads the kernel's code now, not within its first launch. */
	CHECK(cudaFuncGetAttributes(&attributes, count));
	for (int i = 0; i < THREADS; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(launch_all, counters + 64 * i, streams[i]);
	for (std::thread &thread : threads)
		thread.join();
	CHECK(cudaMemcpy(host, counters, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < THREADS; i++)
		printf("thread %d: %u kernels ran\n", i, host[64 * i]);
	return 0;
}
