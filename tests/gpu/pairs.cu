// SPDX-License-Identifier: MIT
// 5,000 pairs of cudaMalloc and cudaFree of 100 bytes, without the first 500, as GPUprobe's author
// measured them: prints the mean of the others in microseconds. With the benchmark's library (make
// bench-library) blocks alternate between recording off and on, in one process: "without A with
// B".
#include "common.cuh"
#include <chrono>
#include <dlfcn.h>

static double pair()
{
	auto start = std::chrono::steady_clock::now();
	void *p;

	CHECK(cudaMalloc(&p, 100));
	CHECK(cudaFree(p));
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

int main()
{
	enum { PAIRS = 5000, DROPPED = 500, BLOCK = 60, COLD = 10 }; // each turn begins with cold code
	auto turn = (int (*)(int))dlsym(RTLD_DEFAULT, "nvs_bench_switch");
	auto calls = (void (*)(int))dlsym(RTLD_DEFAULT, "nvs_bench_device_calls");
	double sum[2] = {0, 0};
	int n[2] = {0, 0};

	CHECK(cudaFree(0));
	for (int i = 0; i < (turn ? 2 : 1) * PAIRS; i++) {
		int on = turn ? i / BLOCK % 2 : 0;
		double us;

		if (turn && i % BLOCK == 0 && turn(on)) {
			fprintf(stderr, "pairs: the switch failed\n");
			return 1;
		}
		if (turn)
			calls(on);
		us = pair();
		if (i < DROPPED || (turn && i % BLOCK < COLD))
			continue;
		sum[on] += us;
		n[on]++;
	}
	if (turn)
		printf("without %.4f with %.4f\n", sum[0] / n[0], sum[1] / n[1]);
	else
		printf("pair %.4f\n", sum[0] / n[0]);
	return 0;
}
