/* SPDX-License-Identifier: MIT */
/*
 * Eight threads that launch kernels until there are ten million submissions (or the number given).
 * stdout: how many kernels ran. stderr: the process's anonymous memory in KiB after a quarter,
 * half, three quarters and all.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include "common.cuh"

enum { THREADS = 8, BURST = 512 };

__global__ void count(unsigned long long *counter)
{
	if (threadIdx.x == 0)
		++*counter;
}

static std::atomic<long> bursts_done;

static void launch_all(unsigned long long *counter, cudaStream_t stream, long bursts)
{
	for (long b = 0; b < bursts; b++) {
		for (int i = 0; i < BURST; i++)
			count<<<1, 32, 0, stream>>>(counter);
		CHECK(cudaStreamSynchronize(stream));
		bursts_done++;
	}
	CHECK(cudaGetLastError());
}

static long rss_anon()
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	long launches = argc > 1 ? atol(argv[1]) : 10000000;
	long bursts = (launches + THREADS * BURST - 1) / (THREADS * BURST);
	unsigned long long *counters, host[THREADS * 16];
	std::thread threads[THREADS];
	cudaStream_t streams[THREADS];
	cudaFuncAttributes attributes;

	/* Loads the kernel's code now, not within its first launch. */
	CHECK(cudaFuncGetAttributes(&attributes, count));
	CHECK(cudaMalloc(&counters, sizeof(host)));
	CHECK(cudaMemset(counters, 0, sizeof(host)));
	for (int i = 0; i < THREADS; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(launch_all, counters + 16 * i, streams[i], bursts);
	for (int quarter = 1; quarter <= 4; quarter++) {
		while (bursts_done < THREADS * bursts * quarter / 4)
			std::this_thread::sleep_for(std::chrono::milliseconds(5));
		fprintf(stderr, "rss-anon %d %ld\n", quarter, rss_anon());
	}
	for (std::thread &thread : threads)
		thread.join();
	CHECK(cudaMemcpy(host, counters, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < THREADS; i++)
		printf("thread %d: %llu kernels ran\n", i, host[16 * i]);
	return 0;
}
