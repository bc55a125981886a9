/* SPDX-License-Identifier: MIT */
/*
 * Work of known GPU time, by CUDA events, to be compared with timing=work. Prints a line of JSON
 * for each piece of work, in order of submission:
 *
 *	gputime each		kernels of 1 us to 10 ms, copies of 4 KiB to 1 GiB, one after the other
 *	gputime both [ms]	kernels and copies on two streams, which overlap in part
 *
 * `event_ns` is the time between two events around the work; `inner_ns` of a kernel is the time by
 * the GPU's clock from its first to its last instruction.
 */
#include <cstring>
#include <vector>
#include "common.cuh"

#define TIMES 5
#define LEAD_NS 100000

__global__ void spin(uint64_t ns, uint64_t *inner)
{
	uint64_t begin, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < ns);
	*inner = now - begin;
}

struct Events {
	cudaEvent_t begin, end;

	Events()
	{
		CHECK(cudaEventCreate(&begin));
		CHECK(cudaEventCreate(&end));
	}
};

static double ns_between(cudaEvent_t from, cudaEvent_t to)
{
	float ms;

	CHECK(cudaEventElapsedTime(&ms, from, to));
	return ms * 1e6;
}

static void kernel(uint64_t ns, bool say)
{
	static Events e;
	static uint64_t *inner;
	uint64_t took;

	/* Not the host's: the kernel would not be over before that has it. */
	if (!inner)
		CHECK(cudaMalloc(&inner, sizeof(*inner)));
	/* The GPU is busy until all of it is there: else events tell how fast the host was. */
	spin<<<1, 1>>>(LEAD_NS, inner);
	CHECK(cudaEventRecord(e.begin));
	spin<<<1, 1>>>(ns, inner);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(e.end));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&took, inner, sizeof(took), cudaMemcpyDeviceToHost));
	if (say)
		printf("{\"what\": \"kernel\", \"asked_ns\": %llu, \"inner_ns\": %llu, \"event_ns\": %.0f}\n",
		       (unsigned long long)ns, (unsigned long long)took,
		       ns_between(e.begin, e.end));
}

static void copy(char *device, char *host, size_t bytes, bool up, bool say)
{
	static Events e;

	CHECK(cudaEventRecord(e.begin));
	CHECK(up ? cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice)
		 : cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaEventRecord(e.end));
	CHECK(cudaDeviceSynchronize());
	if (say)
		printf("{\"what\": \"%s\", \"bytes\": %zu, \"event_ns\": %.0f}\n",
		       up ? "HtoD" : "DtoH", bytes, ns_between(e.begin, e.end));
}

static void each()
{
	const size_t most = 1ul << 30;
	char *device, *host;

	CHECK(cudaMalloc(&device, most));
	CHECK(cudaMallocHost(&host, most));
	memset(host, 1, most);
	for (int i = 0; i < 3; i++) {
		kernel(0, false);
		copy(device, host, 1 << 20, true, false);
		copy(device, host, 1 << 20, false, false);
	}
	for (uint64_t ns : {0, 1000, 3000, 10000, 50000, 100000, 1000000, 10000000})
		for (int i = 0; i < TIMES; i++)
			kernel(ns, true);
	for (size_t bytes = 4096; bytes <= most; bytes *= 4)
		for (int i = 0; i < TIMES; i++) {
			copy(device, host, bytes, true, true);
			copy(device, host, bytes, false, true);
		}
}

/* MS of kernels on one stream; beside them, from their middle on, as much of copies on another.
 * Where each began and ended, by one clock of events. */
static void both(int ms)
{
	const size_t bytes = 64 << 20;
	std::vector<Events> kernels(ms), copies(ms);
	cudaStream_t compute, transfer;
	uint64_t *inner;
	char *device, *host;
	Events base;

	CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&device, bytes));
	CHECK(cudaMallocHost(&host, bytes));
	CHECK(cudaMalloc(&inner, sizeof(*inner)));
	memset(host, 1, bytes);
	spin<<<1, 1, 0, compute>>>(1000, inner);
	CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, transfer));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaEventRecord(base.begin, compute));
	for (int i = 0; i < ms; i++) {
		CHECK(cudaEventRecord(kernels[i].begin, compute));
		spin<<<1, 1, 0, compute>>>(1000000, inner);
		CHECK(cudaEventRecord(kernels[i].end, compute));
	}
	CHECK(cudaEventSynchronize(kernels[ms / 2].end));
	for (int i = 0; i < ms; i++) {
		CHECK(cudaEventRecord(copies[i].begin, transfer));
		CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, transfer));
		CHECK(cudaEventRecord(copies[i].end, transfer));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ms; i++) {
		printf("{\"what\": \"kernel\", \"begin_ns\": %.0f, \"end_ns\": %.0f}\n",
		       ns_between(base.begin, kernels[i].begin),
		       ns_between(base.begin, kernels[i].end));
		printf("{\"what\": \"HtoD\", \"begin_ns\": %.0f, \"end_ns\": %.0f}\n",
		       ns_between(base.begin, copies[i].begin),
		       ns_between(base.begin, copies[i].end));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "each")) {
		each();
	} else if (argc > 1 && !strcmp(argv[1], "both")) {
		both(argc > 2 ? atoi(argv[2]) : 20);
	} else {
		printf("usage: gputime each | both [ms]\n");
		return 2;
	}
	return 0;
}
