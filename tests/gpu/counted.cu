/* SPDX-License-Identifier: MIT */
/*
 * Runs each kernel of tests/sass/kernels.cu and full.cu once, launched in the given way: direct,
 * captured, built, child, conditional, updated. Prints a checksum per kernel. The output and the
 * instruction counts are the same for all ways.
 */
#include <cstring>
#include "../sass/kernels.cu"
#include "../sass/full.cu"
#include "common.cuh"

#define WORDS (1 << 18)

struct victim {
	const char *name;
	void (*kernel)(u32 *, const u32 *, int, int);
	dim3 grid, block;
	size_t shared;
	int n, k;
};

static const victim victims[] = {
#define KERNEL(name, gx, gy, bx, by, shared, n, k) \
	{#name, name, dim3(gx, gy), dim3(bx, by), shared, n, k},
#include "../sass/kernels.h"
#include "../sass/full.h"
#undef KERNEL
};

static u32 *out, *in;
static cudaStream_t stream;

struct arguments {
	u32 *o;
	const u32 *a;
	int n, k;
	void *list[4];
};

static void fill(arguments *args, const victim &v)
{
	*args = arguments{out, in, v.n, v.k, {}};
	args->list[0] = &args->o;
	args->list[1] = &args->a;
	args->list[2] = &args->n;
	args->list[3] = &args->k;
}

static cudaKernelNodeParams params_of(const victim &v, arguments *args)
{
	cudaKernelNodeParams p = {};

	fill(args, v);
	p.func = (void *)v.kernel;
	p.gridDim = v.grid;
	p.blockDim = v.block;
	p.sharedMemBytes = (unsigned)v.shared;
	p.kernelParams = args->list;
	return p;
}

static void direct(const victim &v)
{
	arguments args;

	fill(&args, v);
	CHECK(cudaLaunchKernel((const void *)v.kernel, v.grid, v.block, args.list, v.shared, stream));
}

static void run(cudaGraph_t graph, const victim *changed)
{
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	size_t one = 1;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	if (changed) {
		arguments args;
		cudaKernelNodeParams p = params_of(*changed, &args);

		CHECK(cudaGraphGetNodes(graph, &node, &one));
		CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &p));
	}
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

static cudaGraph_t built(const victim &v)
{
	arguments args;
	cudaKernelNodeParams p = params_of(v, &args);
	cudaGraphNode_t node;
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
	return graph;
}

static cudaGraph_t captured(const victim &v)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	direct(v);
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraph_t child(const victim &v)
{
	cudaGraph_t inner = built(v), graph;
	cudaGraphNode_t node;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
	CHECK(cudaGraphDestroy(inner));
	return graph;
}

static cudaGraph_t conditional(const victim &v)
{
	cudaGraphNodeParams p = {};
	cudaGraphNode_t node;
	cudaGraph_t graph;
	arguments args;
	cudaKernelNodeParams k = params_of(v, &args);

	CHECK(cudaGraphCreate(&graph, 0));
	p.type = cudaGraphNodeTypeConditional;
	CHECK(cudaGraphConditionalHandleCreate(&p.conditional.handle, graph, 1,
					       cudaGraphCondAssignDefault));
	p.conditional.type = cudaGraphCondTypeIf;
	p.conditional.size = 1;
	CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p));
	CHECK(cudaGraphAddKernelNode(&node, p.conditional.phGraph_out[0], NULL, 0, &k));
	return graph;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "direct";
	int times = argc > 2 ? atoi(argv[2]) : 1;
	u32 *words = (u32 *)malloc(WORDS * 4);

	for (u32 i = 0; i < WORDS; i++)
		words[i] = i * 2654435761u ^ i >> 3;
	CHECK(cudaMalloc(&out, WORDS * 4));
	CHECK(cudaMalloc(&in, WORDS * 4));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMemcpy(in, words, WORDS * 4, cudaMemcpyHostToDevice));
	for (const victim &v : victims)
		for (int i = 0; i < times; i++) {
			/* A cluster is no thing to be changed into. */
			const victim &first = strcmp(v.name, "cluster") ? victims[0] : v;

			CHECK(cudaMemset(out, 0, WORDS * 4));
			CHECK(cudaDeviceSynchronize());
			if (!strcmp(how, "direct"))
				direct(v);
			else if (!strcmp(how, "captured"))
				run(captured(v), NULL);
			else if (!strcmp(how, "built"))
				run(built(v), NULL);
			else if (!strcmp(how, "child"))
				run(child(v), NULL);
			else if (!strcmp(how, "conditional"))
				run(conditional(v), NULL);
			else
				run(built(first), &v);
			CHECK(cudaDeviceSynchronize());
			if (!i)
				print_device_checksum(v.name, out, WORDS * 4);
		}
	return 0;
}
