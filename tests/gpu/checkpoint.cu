/* SPDX-License-Identifier: MIT */
/*
 * checkpoint: launches kernels, directly and in a graph. Another process, which runs without the
 * library, takes it to a checkpoint and restores it, twice. Prints each step's result and a
 * checksum of the memory that the kernels have written. Exits with 77 if the driver does not
 * support checkpoints.
 *
 * checkpoint take PID: that other process.
 */
#include <cuda.h>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include "common.cuh"

enum { ROUNDS = 3, LAUNCHES = 100, THREADS = 64, NOT_HERE = 77 };

__global__ void mix(unsigned *p, unsigned v)
{
	p[threadIdx.x] = p[threadIdx.x] * 7 + v;
}

#if CUDA_VERSION >= 12080
static int take(int pid)
{
	CUcheckpointLockArgs lock = {};
	CUcheckpointCheckpointArgs checkpoint = {};
	CUcheckpointRestoreArgs restore = {};
	CUcheckpointUnlockArgs unlock = {};

	lock.timeoutMs = 20000;
	if (cuInit(0) || cuCheckpointProcessLock(pid, &lock))
		return NOT_HERE;
	if (cuCheckpointProcessCheckpoint(pid, &checkpoint))
		return 2;
	if (cuCheckpointProcessRestore(pid, &restore))
		return 3;
	return cuCheckpointProcessUnlock(pid, &unlock) ? 4 : 0;
}
#else
static int take(int)
{
	return NOT_HERE;
}
#endif

/* By a process of its own: what is locked cannot unlock itself. */
static int be_taken(const char *self)
{
	char pid[16];
	int status;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	child = fork();
	if (!child) {
		unsetenv("LD_PRELOAD");
		execl(self, self, "take", pid, nullptr);
		_exit(NOT_HERE);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	unsigned *p;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	if (argc > 2)
		return take(atoi(argv[2]));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&p, THREADS * sizeof(*p)));
	CHECK(cudaMemset(p, 1, THREADS * sizeof(*p)));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	mix<<<1, THREADS, 0, stream>>>(p, 11);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int round = 0; round < ROUNDS; round++) {
		usleep(100000); /* what looks after the process is ready, after a restoration too */
		for (int i = 0; i < LAUNCHES; i++)
			mix<<<1, THREADS, 0, stream>>>(p, (unsigned)i);
		CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		if (round == ROUNDS - 1)
			break;
		int result = be_taken("/proc/self/exe");
		if (result == NOT_HERE && round == 0)
			return NOT_HERE;
		printf("checkpoint %d: %d\n", round, result);
		fflush(stdout);
		if (result)
			return 1;
	}
	print_device_checksum("mix", p, THREADS * sizeof(*p));
	return 0;
}
