/* SPDX-License-Identifier: MIT */
/*
 * One process on all GPUs: a context on each; kernel launches, counted on the host and by the GPU;
 * copies between each pair of GPUs without and with peer access; and memory of a pool that the
 * other GPUs may read. Lines: "launches GPU N", "peer FROM TO COPIES BYTES", and checksums.
 */
#include <vector>
#include "common.cuh"

#define WORDS (1u << 20)
#define ROUNDS 50

__global__ void fill(uint32_t *to, uint32_t seed, unsigned long long *runs)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < WORDS)
		to[i] = i * 2654435761u + seed;
	if (!i)
		atomicAdd(runs, 1ull);
}

/* Adds what lies on another GPU. */
__global__ void add(uint32_t *to, const uint32_t *from, unsigned long long *runs)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < WORDS)
		to[i] += from[i];
	if (!i)
		atomicAdd(runs, 1ull);
}

struct gpu {
	uint32_t *mine, *other;
	unsigned long long *runs;
	cudaStream_t stream;
	unsigned long long launches;
};

static void launch_fill(gpu &g, uint32_t seed)
{
	fill<<<WORDS / 256, 256, 0, g.stream>>>(g.mine, seed, g.runs);
	CHECK(cudaGetLastError());
	g.launches++;
}

static void launch_add(gpu &g, const uint32_t *from)
{
	add<<<WORDS / 256, 256, 0, g.stream>>>(g.mine, from, g.runs);
	CHECK(cudaGetLastError());
	g.launches++;
}

/* Every pair, COPIES times; the sum of what arrived. */
static void copy_all(std::vector<gpu> &gpus, const char *how, int copies)
{
	for (int from = 0; from < (int)gpus.size(); from++)
		for (int to = 0; to < (int)gpus.size(); to++) {
			if (from == to)
				continue;
			CHECK(cudaSetDevice(from));
			launch_fill(gpus[from], (uint32_t)(from * 16 + to));
			for (int i = 0; i < copies; i++)
				CHECK(cudaMemcpyPeerAsync(gpus[to].other, to, gpus[from].mine, from,
							  WORDS * 4, gpus[from].stream));
			CHECK(cudaStreamSynchronize(gpus[from].stream));
			CHECK(cudaSetDevice(to));
			printf("peer-%s %d %d %d %zu\n", how, from, to, copies,
			       (size_t)copies * WORDS * 4);
			print_device_checksum("arrived", gpus[to].other, WORDS * 4);
		}
}

/* A pool on GPU 0 that the others may use. */
static void pool(std::vector<gpu> &gpus)
{
	cudaMemPool_t pool;
	uint32_t *shared;
	std::vector<cudaMemAccessDesc> access(gpus.size() - 1);

	CHECK(cudaSetDevice(0));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	for (size_t i = 1; i < gpus.size(); i++) {
		access[i - 1].location.type = cudaMemLocationTypeDevice;
		access[i - 1].location.id = (int)i;
		access[i - 1].flags = cudaMemAccessFlagsProtReadWrite;
	}
	CHECK(cudaMemPoolSetAccess(pool, access.data(), access.size()));
	CHECK(cudaMallocAsync((void **)&shared, WORDS * 4, gpus[0].stream));
	CHECK(cudaMemcpyAsync(shared, gpus[0].mine, WORDS * 4, cudaMemcpyDeviceToDevice,
			      gpus[0].stream));
	CHECK(cudaStreamSynchronize(gpus[0].stream));
	for (size_t i = 1; i < gpus.size(); i++) {
		CHECK(cudaSetDevice((int)i));
		launch_fill(gpus[i], 7);
		launch_add(gpus[i], shared);
		CHECK(cudaStreamSynchronize(gpus[i].stream));
		print_device_checksum("pool", gpus[i].mine, WORDS * 4);
	}
	CHECK(cudaSetDevice(0));
	CHECK(cudaFreeAsync(shared, gpus[0].stream));
	CHECK(cudaStreamSynchronize(gpus[0].stream));
}

/* CUDA's numbers need not be the driver's: this says which GPU is meant. */
static void print_uuid(int device)
{
	cudaDeviceProp p;

	CHECK(cudaGetDeviceProperties(&p, device));
	printf("uuid %d GPU-", device);
	for (int i = 0; i < 16; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
		       (unsigned char)p.uuid.bytes[i]);
	printf("\n");
}

int main()
{
	int count;

	CHECK(cudaGetDeviceCount(&count));
	printf("gpus %d\n", count);
	std::vector<gpu> gpus(count);
	for (int i = 0; i < count; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaMalloc(&gpus[i].mine, WORDS * 4));
		CHECK(cudaMalloc(&gpus[i].other, WORDS * 4));
		CHECK(cudaMalloc(&gpus[i].runs, 8));
		CHECK(cudaMemset(gpus[i].runs, 0, 8));
		CHECK(cudaStreamCreate(&gpus[i].stream));
		gpus[i].launches = 0;
	}
	/* In turns, and on each another number, so that a GPU cannot be taken for its neighbour. */
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < count; i++)
			for (int k = 0; k <= i; k++) {
				CHECK(cudaSetDevice(i));
				launch_fill(gpus[i], (uint32_t)round);
			}
	copy_all(gpus, "staged", 3);
	int direct = 1;
	for (int from = 0; from < count; from++)
		for (int to = 0; to < count; to++) {
			int can = 0;

			if (from == to)
				continue;
			CHECK(cudaDeviceCanAccessPeer(&can, from, to));
			direct &= can;
			CHECK(cudaSetDevice(from));
			if (can)
				CHECK(cudaDeviceEnablePeerAccess(to, 0));
		}
	printf("direct %d\n", direct);
	if (direct) {
		copy_all(gpus, "direct", 5);
		for (int i = 0; i < count; i++) {
			CHECK(cudaSetDevice(i));
			launch_add(gpus[i], gpus[(i + 1) % count].other);
			CHECK(cudaStreamSynchronize(gpus[i].stream));
			print_device_checksum("read", gpus[i].mine, WORDS * 4);
		}
		pool(gpus);
	}
	for (int i = 0; i < count; i++) {
		unsigned long long runs;

		CHECK(cudaSetDevice(i));
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaMemcpy(&runs, gpus[i].runs, 8, cudaMemcpyDeviceToHost));
		if (runs != gpus[i].launches)
			printf("GPU %d ran %llu of %llu\n", i, runs, gpus[i].launches);
		printf("launches %d %llu\n", i, gpus[i].launches);
		print_uuid(i);
	}
	return 0;
}
