/* SPDX-License-Identifier: MIT */
/*
 * counted CUBIN HOW [TIMES]: runs each kernel of tests/sass/kernels.h TIMES times, and prints a
 * checksum of the memory that each has written. HOW:
 *   direct, captured, built   how kernels are launched
 *   unread                    exits without having waited for any kernel
 *   killed                    killed after the first half
 *   profiled                  every other kernel is between cuProfilerStart and cuProfilerStop
 *   early                     loads the code before there is a context, as the CUDA runtime does
 *                             with CUDA_MODULE_LOADING=EAGER
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "app.h"

#define WORDS 1024

struct victim {
	const char *name;
	unsigned gx, gy, bx, by, shared;
	int n, k;
};

static const struct victim victims[] = {
#define KERNEL(name, gx, gy, bx, by, shared, n, k) {#name, gx, gy, bx, by, shared, n, k},
#include "tests/sass/kernels.h"
#undef KERNEL
};

static CUdeviceptr out, in;
static CUstream stream;
static const char *how;

static void launch(const struct victim *v, CUfunction f, CUgraph graph)
{
	int n = v->n, k = v->k;
	void *params[] = {&out, &in, &n, &k};
	CUDA_KERNEL_NODE_PARAMS p = {.func = f,
				     .gridDimX = v->gx,
				     .gridDimY = v->gy,
				     .gridDimZ = 1,
				     .blockDimX = v->bx,
				     .blockDimY = v->by,
				     .blockDimZ = 1,
				     .sharedMemBytes = v->shared,
				     .kernelParams = params};
	CUgraphNode node;

	if (graph)
		CK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &p));
	else
		CK(cuLaunchKernel(f, v->gx, v->gy, 1, v->bx, v->by, 1, v->shared, stream, params,
				  NULL));
}

static void launch_graph(const struct victim *v, CUfunction f)
{
	CUgraphExec exec;
	CUgraph graph;

	if (*how == 'c') {
		CK(cuStreamBeginCapture_v2(stream, 0));
		launch(v, f, NULL);
		CK(cuStreamEndCapture(stream, &graph));
	} else {
		CK(cuGraphCreate(&graph, 0));
		launch(v, f, graph);
	}
	CK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CK(cuGraphLaunch(exec, stream));
	CK(cuStreamSynchronize(stream));
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(graph));
}

static void print(const char *name)
{
	uint64_t sum = 0xcbf29ce484222325ull;
	uint32_t words[WORDS];

	CK(cuStreamSynchronize(stream));
	CK(cuMemcpyDtoH_v2(words, out, sizeof(words)));
	for (int i = 0; i < WORDS; i++)
		sum = (sum ^ words[i]) * 0x100000001b3ull;
	printf("%s %016llx\n", name, (unsigned long long)sum);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const size_t n = sizeof(victims) / sizeof(*victims);
	int times = argc > 3 ? atoi(argv[3]) : 1;
	uint32_t words[WORDS];
	bool early;
	CUlibrary library;
	CUmodule m;

	if (argc < 3)
		return 2;
	how = argv[2];
	early = !strcmp(how, "early");
	CK(cuInit(0));
	if (early)
		CK(cuLibraryLoadFromFile(&library, argv[1], NULL, NULL, 0, NULL, NULL, 0));
	app_context(0);
	if (!early)
		CK(cuModuleLoad(&m, argv[1]));
	CK(cuMemAlloc_v2(&out, sizeof(words)));
	CK(cuMemAlloc_v2(&in, sizeof(words)));
	CK(cuStreamCreate(&stream, 1));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i * 2654435761u ^ i >> 3;
	CK(cuMemcpyHtoD_v2(in, words, sizeof(words)));
	for (size_t i = 0; i < n; i++) {
		CUfunction f;

		if (!strcmp(how, "killed") && i == n / 2)
			raise(SIGKILL);
		if (early)
			CK(cuLibraryGetKernel((CUkernel *)&f, library, victims[i].name));
		else
			CK(cuModuleGetFunction(&f, m, victims[i].name));
		CK(cuMemsetD32_v2(out, 0, WORDS));
		CK(cuCtxSynchronize());
		if (!strcmp(how, "profiled") && i % 2)
			CK(cuProfilerStart());
		for (int k = 0; k < times; k++)
			if (*how == 'c' || *how == 'b')
				launch_graph(&victims[i], f);
			else
				launch(&victims[i], f, NULL);
		if (!strcmp(how, "profiled")) {
			CK(cuStreamSynchronize(stream));
			CK(cuProfilerStop());
		}
		if (strcmp(how, "unread"))
			print(victims[i].name);
	}
	return 0;
}
