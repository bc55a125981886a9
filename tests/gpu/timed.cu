// SPDX-License-Identifier: MIT
// timed events|ranges: kernels of about 1 us to 10 ms and pinned copies of 4 KiB to 1 GiB, each
// alone on the GPU. `events` prints a line `name nanoseconds` for each: the median time between
// two CUDA events around it, less the time between two events around nothing. `ranges` does the
// same work without events, each piece in an NVTX range of that name. Other work of the same kind
// precedes each piece on the same channel. Otherwise the first event would be reached while the
// host still submits the work, or waits for another channel.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <vector>

#include "common.cuh"

static const int WARM = 3, TIMES = 15;

__global__ void spin(long long cycles)
{
	long long from = clock64();

	while (clock64() - from < cycles)
		;
}

static cudaStream_t stream;
static cudaEvent_t begun, ended;
static bool by_events;

using Work = std::function<void()>;

static double between(const Work &ahead, const Work &work)
{
	std::vector<double> all;

	for (int i = -WARM; i < TIMES; i++) {
		float ms = 0;

		ahead();
		CHECK(cudaEventRecord(begun, stream));
		work();
		CHECK(cudaEventRecord(ended, stream));
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaEventElapsedTime(&ms, begun, ended));
		if (i >= 0)
			all.push_back(ms * 1e6);
	}
	std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
	return all[all.size() / 2];
}

static void timed(const std::string &name, const Work &ahead, const Work &work)
{
	if (by_events) {
		double nothing = between(ahead, [] {});

		std::printf("%s %.0f %.0f\n", name.c_str(), between(ahead, work) - nothing, nothing);
		return;
	}
	for (int i = -WARM; i < TIMES; i++) {
		ahead();
		nvtxRangePushA(i < 0 ? "warm" : name.c_str());
		work();
		nvtxRangePop();
		CHECK(cudaStreamSynchronize(stream));
	}
}

int main(int argc, char **argv)
{
	size_t most = 1ull << 30;
	char *device, *host;

	by_events = argc > 1 && !std::strcmp(argv[1], "events");
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&begun));
	CHECK(cudaEventCreate(&ended));
	CHECK(cudaMalloc(&device, most));
	CHECK(cudaMallocHost(&host, most));
	// The clocks go up under work, and there is memory for times by then.
	spin<<<1, 32, 0, stream>>>(400000000);
	CHECK(cudaStreamSynchronize(stream));
	for (double us : {1, 3, 10, 30, 100, 1000, 10000})
		timed(
			"kernel-" + std::to_string(int(us)) + "us",
			[] { spin<<<1, 32, 0, stream>>>(200000); },
			[=] { spin<<<1, 32, 0, stream>>>((long long)(us * 1800)); });
	auto htod = [=](size_t bytes) {
		return [=] {
			CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
		};
	};
	auto dtoh = [=](size_t bytes) {
		return [=] {
			CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
		};
	};
	for (size_t bytes = 4096; bytes <= most; bytes *= 8) {
		timed("htod-" + std::to_string(bytes), htod(8 << 20), htod(bytes));
		timed("dtoh-" + std::to_string(bytes), dtoh(8 << 20), dtoh(bytes));
	}
	return 0;
}
