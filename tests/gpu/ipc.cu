/* SPDX-License-Identifier: MIT */
/*
 * Memory and an event of one process used by another, each on its own GPU if there are two. This
 * process fills the memory; the other one, started by exec, waits for the event, adds, and prints
 * what it read.
 */
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include "common.cuh"

#define WORDS (1u << 18)

__global__ void fill(uint32_t *to)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < WORDS)
		to[i] = i * 2654435761u;
}

__global__ void add_one(uint32_t *to)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < WORDS)
		to[i]++;
}

struct handles {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
};

static void move(int fd, void *data, size_t bytes, bool out)
{
	ssize_t r = out ? write(fd, data, bytes) : read(fd, data, bytes);

	if (r != (ssize_t)bytes) {
		perror("pipe");
		exit(1);
	}
}

static int other(int from, int to)
{
	handles h;
	uint32_t *memory;
	cudaEvent_t event;
	int count;

	CHECK(cudaGetDeviceCount(&count));
	CHECK(cudaSetDevice(0));
	move(from, &h, sizeof(h), false);
	CHECK(cudaIpcOpenMemHandle((void **)&memory, h.memory, cudaIpcMemLazyEnablePeerAccess));
	CHECK(cudaIpcOpenEventHandle(&event, h.event));
	CHECK(cudaStreamWaitEvent(0, event, 0));
	for (int i = 0; i < 10; i++)
		add_one<<<WORDS / 256, 256>>>(memory);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcCloseMemHandle(memory));
	char done = 1;
	move(to, &done, 1, true);
	return 0;
}

int main(int argc, char **argv)
{
	int there[2], back[2], count, status;
	handles h;
	uint32_t *memory;
	cudaEvent_t event;
	char done;

	if (argc == 3)
		return other(atoi(argv[1]), atoi(argv[2]));
	if (pipe(there) || pipe(back))
		return 1;
	pid_t pid = fork(); /* before CUDA, as it wants */
	if (!pid) {
		char in[16], out[16];

		snprintf(in, sizeof(in), "%d", there[0]);
		snprintf(out, sizeof(out), "%d", back[1]);
		execl("/proc/self/exe", argv[0], in, out, (char *)NULL);
		_exit(127);
	}
	CHECK(cudaGetDeviceCount(&count));
	CHECK(cudaSetDevice(count - 1));
	CHECK(cudaMalloc(&memory, WORDS * 4));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
	fill<<<WORDS / 256, 256>>>(memory);
	CHECK(cudaEventRecord(event));
	CHECK(cudaIpcGetMemHandle(&h.memory, memory));
	CHECK(cudaIpcGetEventHandle(&h.event, event));
	move(there[1], &h, sizeof(h), true);
	move(back[0], &done, 1, false);
	if (waitpid(pid, &status, 0) != pid || status) {
		printf("the other process ended with %d\n", status);
		return 1;
	}
	print_device_checksum("both", memory, WORDS * 4);
	CHECK(cudaFree(memory));
	return 0;
}
