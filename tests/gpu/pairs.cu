// SPDX-License-Identifier: MIT
// 5,000 pairs of cudaMalloc and cudaFree of 100 bytes, the first 500 dropped, as GPUprobe's author measured them: prints
// the mean of the others in microseconds.
#include "common.cuh"
#include <chrono>

int main()
{
	enum { PAIRS = 5000, DROPPED = 500 };
	double sum = 0;

	CHECK(cudaFree(0));
	for (int i = 0; i < PAIRS; i++) {
		auto start = std::chrono::steady_clock::now();
		void *p;

		CHECK(cudaMalloc(&p, 100));
		CHECK(cudaFree(p));
		if (i >= DROPPED)
			sum += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
	}
	printf("pair %.4f\n", sum / (PAIRS - DROPPED));
	return 0;
}
