// SPDX-License-Identifier: MIT
// spin: kernels run until the host, or a later launch on another stream, releases them. Meanwhile
// that stream launches, copies, and is waited for. Ends only if none of that waits for the kernel.
// Prints what was done.

#include "common.cuh"

__global__ void spin(volatile int *go, unsigned *done)
{
	while (!*go)
		;
	atomicAdd(done, 1);
}

__global__ void let_go(volatile int *go)
{
	*go = 1;
}

__global__ void meanwhile(unsigned *done)
{
	atomicAdd(done + 1, 1);
}

int main()
{
	cudaStream_t a, b;
	unsigned *done, *seen;
	int *host, *device;

	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&done, 8));
	CHECK(cudaMalloc(&device, 4));
	CHECK(cudaMemset(done, 0, 8));
	CHECK(cudaMallocHost(&seen, 8));
	CHECK(cudaMallocHost(&host, 4));
	// What their first launches load is no part of what follows.
	let_go<<<1, 1, 0, b>>>(device);
	spin<<<1, 1, 0, a>>>(device, done + 1);
	meanwhile<<<1, 1, 0, b>>>(done);
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < 5; round++) {
		*(volatile int *)host = 0;
		spin<<<1, 1, 0, a>>>(host, done);
		for (int i = 0; i < 40; i++) {
			meanwhile<<<1, 1, 0, b>>>(done);
			CHECK(cudaMemcpyAsync(seen, done, 8, cudaMemcpyDeviceToHost, b));
			if (i % 4 == 0)
				CHECK(cudaStreamSynchronize(b));
		}
		CHECK(cudaStreamSynchronize(b));
		printf("by the host: spins %d, meanwhile %u\n", cudaStreamQuery(a) == cudaErrorNotReady, seen[1]);
		*(volatile int *)host = 1;
		CHECK(cudaStreamSynchronize(a));
		CHECK(cudaMemset(device, 0, 4));
		CHECK(cudaDeviceSynchronize());
		spin<<<1, 1, 0, a>>>(device, done);
		let_go<<<1, 1, 0, b>>>(device);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaMemcpy(seen, done, 8, cudaMemcpyDeviceToHost));
	printf("%u let go, %u meanwhile\n", seen[0], seen[1]);
	return 0;
}
