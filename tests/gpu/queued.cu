/* SPDX-License-Identifier: MIT */
/*
 * Copies of pinned memory queued one after the other, in each direction. Prints "direction bytes
 * copies", and to stderr the milliseconds on the host until all were done, which are an upper
 * bound for the GPU's time and close to it. Then a batch, if this CUDA supports them, and its
 * bytes.
 */
#include <chrono>
#include <cstring>
#include "common.cuh"

static char *device, *pinned;
static cudaStream_t stream;

static const size_t most = 64 << 20;

static void copy(cudaMemcpyKind kind, size_t bytes)
{
	bool down = kind == cudaMemcpyHostToDevice;

	CHECK(cudaMemcpyAsync(down ? device : pinned, down ? pinned : device, bytes, kind, stream));
}

static void queued(const char *name, cudaMemcpyKind kind, size_t bytes, int copies)
{
	auto begin = std::chrono::steady_clock::now();

	for (int i = 0; i < copies; i++)
		copy(kind, bytes);
	CHECK(cudaStreamSynchronize(stream));
	std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
	printf("%s %zu %d\n", name, bytes, copies);
	fprintf(stderr, "%s %zu %.4f\n", name, bytes, ms.count());
}

#if CUDART_VERSION >= 12080
static void batch(void)
{
	size_t sizes[4] = {4096, 8192, 65536, 1 << 20}, first = 0;
	cudaMemcpyAttributes attributes = {};
	void *to[4], *from[4];

	for (int i = 0; i < 4; i++) {
		to[i] = device + (2 << 20) * i;
		from[i] = pinned + (2 << 20) * i;
	}
	attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#if CUDART_VERSION >= 13000
	CHECK(cudaMemcpyBatchAsync(to, (const void **)from, sizes, 4, &attributes, &first, 1,
				   stream));
#else
	size_t failed;

	CHECK(cudaMemcpyBatchAsync(to, from, sizes, 4, &attributes, &first, 1, &failed, stream));
#endif
	CHECK(cudaStreamSynchronize(stream));
	printf("batch %d\n", 4096 + 8192 + 65536 + (1 << 20));
}
#endif

int main()
{
	CHECK(cudaMalloc(&device, most));
	CHECK(cudaMallocHost(&pinned, most));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	memset(pinned, 1, most);
	/* What the first one sets up is no part of what follows. */
	copy(cudaMemcpyHostToDevice, 4096);
	copy(cudaMemcpyDeviceToHost, 4096);
	CHECK(cudaStreamSynchronize(stream));
	for (size_t bytes = 256 << 10; bytes <= most; bytes *= 4) {
		queued("HtoD", cudaMemcpyHostToDevice, bytes, 40);
		queued("DtoH", cudaMemcpyDeviceToHost, bytes, 40);
	}
#if CUDART_VERSION >= 12080
	batch();
#endif
	return 0;
}
