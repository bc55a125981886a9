/* SPDX-License-Identifier: MIT */
/*
 * Graphs of every origin: captured, built from nodes, with a child graph, updated as a whole and
 * by node, with a conditional body, and captured ones of 1 to 2000 nodes. Lines: "kernel NAME
 * DIRECT CAPTURED BUILT" with launches per kernel, and "length NODES LAUNCHES" for each length.
 */
#include "common.cuh"

__global__ void first(int *p)
{
	atomicAdd(p, 1);
}
__global__ void second(int *p)
{
	atomicAdd(p, 100);
}
__global__ void body(int *p)
{
	atomicAdd(p, 10000);
}

enum { KINDS = 3, LAUNCHES = 4 };
static unsigned direct[KINDS], captured[KINDS], built[KINDS];
static int *data;

static cudaKernelNodeParams params_of(void (*kernel)(int *), void **args)
{
	cudaKernelNodeParams p = {};

	p.func = (void *)kernel;
	p.gridDim = dim3(1);
	p.blockDim = dim3(32);
	p.kernelParams = args;
	return p;
}

static void launch(cudaGraphExec_t exec, cudaStream_t s, int times, unsigned *of, int n, int m)
{
	for (int i = 0; i < times; i++)
		CHECK(cudaGraphLaunch(exec, s));
	of[0] += times * n;
	of[1] += times * m;
	CHECK(cudaStreamSynchronize(s));
}

static cudaGraph_t capture(cudaStream_t s, int n, int m)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < n; i++)
		first<<<1, 32, 0, s>>>(data);
	for (int i = 0; i < m; i++)
		second<<<2, 64, 0, s>>>(data);
	CHECK(cudaStreamEndCapture(s, &graph));
	return graph;
}

static void lengths(cudaStream_t s)
{
	static const int sizes[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000};

	for (int n : sizes) {
		cudaGraph_t graph = capture(s, n, 0);
		cudaGraphExec_t exec;

		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		CHECK(cudaGraphUpload(exec, s));
		launch(exec, s, LAUNCHES, captured, n, 0);
		printf("length %d %d\n", n, LAUNCHES);
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(graph));
	}
}

/* Two nodes and a child graph of three; then the first node becomes the other kernel. */
static void nodes(cudaStream_t s)
{
	void *args[] = {&data};
	cudaKernelNodeParams p = params_of(first, args), q = params_of(second, args);
	cudaGraph_t graph, child;
	cudaGraphNode_t a, b, c;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphCreate(&child, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphAddKernelNode(&c, child, NULL, 0, &q));
	CHECK(cudaGraphAddKernelNode(&a, graph, NULL, 0, &p));
	CHECK(cudaGraphAddKernelNode(&b, graph, &a, 1, &p));
	CHECK(cudaGraphAddChildGraphNode(&c, graph, &b, 1, child));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec, s, 3, built, 2, 3);
	CHECK(cudaGraphExecKernelNodeSetParams(exec, a, &q));
	launch(exec, s, 2, built, 1, 4);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphDestroy(child));
}

static void update(cudaStream_t s)
{
	cudaGraph_t one = capture(s, 3, 0), other;
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, one, 0));
	launch(exec, s, 2, captured, 3, 0);
	other = capture(s, 0, 3);
	CHECK(cudaGraphExecUpdate(exec, other, &info));
	launch(exec, s, 5, captured, 0, 3);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(one));
	CHECK(cudaGraphDestroy(other));
}

/* A body that runs once a launch; that it does is known to the GPU alone. */
static void conditional(cudaStream_t s)
{
	cudaGraphNodeParams p = {};
	cudaGraphConditionalHandle handle;
	void *args[] = {&data};
	cudaKernelNodeParams k = params_of(body, args), f = params_of(first, args);
	cudaGraphNode_t node, inner, before;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	CHECK(cudaGraphAddKernelNode(&before, graph, NULL, 0, &f));
	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = handle;
	p.conditional.type = cudaGraphCondTypeIf;
	p.conditional.size = 1;
	CHECK(cudaGraphAddNode(&node, graph, &before, NULL, 1, &p));
	CHECK(cudaGraphAddKernelNode(&inner, p.conditional.phGraph_out[0], NULL, 0, &k));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec, s, 6, built, 1, 0);
	printf("conditional body 6\n");
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

int main(void)
{
	static const char *const names[] = {"first(int *)", "second(int *)", "body(int *)"};
	cudaStream_t s;
	int result = 0;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&data, sizeof(*data)));
	CHECK(cudaMemset(data, 0, sizeof(*data)));
	for (int i = 0; i < 9; i++)
		first<<<1 + i % 2, 32, 0, s>>>(data);
	body<<<1, 1, 0, s>>>(data);
	direct[0] = 9;
	direct[2] = 1;
	lengths(s);
	nodes(s);
	update(s);
	conditional(s);
	CHECK(cudaMemcpy(&result, data, sizeof(result), cudaMemcpyDeviceToHost));
	printf("result %d\n", result);
	for (int i = 0; i < KINDS; i++)
		printf("kernel %u %u %u %s\n", direct[i], captured[i], built[i], names[i]);
	return 0;
}
