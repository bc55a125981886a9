/* SPDX-License-Identifier: MIT */
/*
 * ranks SKIPS HANGS: one rank of a job (RANK). Each step is two kernels and a collective with
 * NCCL's name. The rank SKIPS omits one collective. In the rank HANGS one collective never
 * completes, and the rank is killed while it waits for it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "app.h"

#define STEPS 10
#define SKIPPED 4 /* step */
#define STUCK 7

static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry forward()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry backward()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n";

static const char *const names[] = {"forward", "backward",
				    "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};

static void *kill_it(void *arg)
{
	int tid = *(int *)arg;
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	/* It sleeps nowhere but in the call that waits. */
	while (state != 'S') {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
	kill(getpid(), SIGKILL);
	return NULL;
}

int main(int argc, char **argv)
{
	int rank = atoi(getenv("RANK")), tid = (int)syscall(SYS_gettid);
	bool skips = rank == atoi(argv[1]), hangs = rank == atoi(argv[2]);
	CUfunction function[3];
	pthread_t thread;
	CUstream stream;
	CUdeviceptr gate;
	CUmodule module;

	app_context(0);
	CK(cuModuleLoadData(&module, ptx));
	for (int i = 0; i < 3; i++)
		CK(cuModuleGetFunction(function + i, module, names[i]));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc_v2(&gate, 4096));
	CK(cuMemsetD32_v2(gate, 0, 1024));
	CK(cuCtxSynchronize());
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 3; i++) {
			if (i == 2 && skips && step == SKIPPED)
				continue;
			/* Nobody ever writes there. */
			if (i == 2 && hangs && step == STUCK)
				CK(cuStreamWaitValue32_v2(stream, gate, 1, 0));
			CK(cuLaunchKernel(function[i], 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		}
		if (hangs && step == STUCK && pthread_create(&thread, NULL, kill_it, &tid))
			abort();
		CK(cuStreamSynchronize(stream));
	}
	return 0;
}
