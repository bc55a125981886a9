// SPDX-License-Identifier: MIT
// Host time of single CUDA calls: each line is `name microseconds`, the median of many bursts.
// Bursts are short and followed by an untimed synchronise, so that neither a full GPFIFO nor the
// GPU affects the result.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "common.cuh"

using Clock = std::chrono::steady_clock;

__global__ void nothing(int *p)
{
	if (p)
		*p += 1;
}

static double microseconds(Clock::time_point from, Clock::time_point to)
{
	return std::chrono::duration<double, std::micro>(to - from).count();
}

static double median(std::vector<double> &v)
{
	std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
	return v[v.size() / 2];
}

// Microseconds of one ISSUE, over BURSTS bursts of LENGTH; each burst ends with an untimed SETTLE.
static double measure(int bursts, int length, const std::function<void()> &issue,
		      const std::function<void()> &settle)
{
	std::vector<double> each;

	for (int b = -2; b < bursts; b++) {
		auto from = Clock::now();
		for (int i = 0; i < length; i++)
			issue();
		auto to = Clock::now();
		settle();
		if (b >= 0)
			each.push_back(microseconds(from, to) / length);
	}
	return median(each);
}

static double threads_launching(int threads, int bursts, int length)
{
	std::vector<std::thread> all;
	std::vector<double> each(threads);

	for (int t = 0; t < threads; t++)
		all.emplace_back([=, &each] {
			cudaStream_t s;
			CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
			each[t] = measure(
				bursts, length, [&] { nothing<<<1, 32, 0, s>>>(nullptr); },
				[&] { CHECK(cudaStreamSynchronize(s)); });
			CHECK(cudaStreamDestroy(s));
		});
	for (auto &t : all)
		t.join();
	return median(each);
}

int main(int argc, char **argv)
{
	int scale = argc > 1 ? std::atoi(argv[1]) : 1;
	cudaStream_t s;
	char *device, *host;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&device, 1 << 20));
	CHECK(cudaMallocHost(&host, 1 << 20));
	std::memset(host, 0, 1 << 20);
	auto sync = [&] { CHECK(cudaStreamSynchronize(s)); };
	auto launch = [&] { nothing<<<1, 32, 0, s>>>(nullptr); };

	launch();
	sync();
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 100; i++)
		launch();
	CHECK(cudaStreamEndCapture(s, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphUpload(exec, s));
	sync();
	// The library's own thread patches what it has seen within a moment; a real program is long
	// past it.
	std::this_thread::sleep_for(std::chrono::milliseconds(400));

	std::printf("launch %.3f\n", measure(40 * scale, 512, launch, sync));
	std::printf("launch+sync %.3f\n", measure(
						  40 * scale, 50,
						  [&] {
							  launch();
							  sync();
						  },
						  [] {}));
	std::printf(
		"h2d-64 %.3f\n",
		measure(
			40 * scale, 256,
			[&] {
				CHECK(cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, s));
			},
			sync));
	std::printf("h2d-64k %.3f\n",
		    measure(
			    40 * scale, 64,
			    [&] {
				    CHECK(cudaMemcpyAsync(device, host, 65536,
							  cudaMemcpyHostToDevice, s));
			    },
			    sync));
	std::printf("graph-100 %.3f\n",
		    measure(
			    40 * scale, 16, [&] { CHECK(cudaGraphLaunch(exec, s)); }, sync));
	std::printf("8-threads %.3f\n", threads_launching(8, 20 * scale, 256));
	CHECK(cudaDeviceSynchronize());
	return 0;
}
