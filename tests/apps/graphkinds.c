/* SPDX-License-Identifier: MIT */
/*
 * Creates and changes graphs in every way. Each kernel counts its runs on the GPU, and --by-kernel
 * must have the same counts. Lines: "kernel NAME direct built captured conditional" and "graphs
 * N"; for --graphs "order N NODES EDGES LONGEST", of graph N. Also runs on a real GPU.
 */
#include <string.h>
#include "app.h"

enum { A, B, C, KERNELS };
enum how { DIRECT, BUILT, CAPTURED, CONDITIONAL, HOWS };

static const char *const names[KERNELS] = {"softgpu_add_a", "softgpu_add_b", "softgpu_add_c"};
static unsigned want[KERNELS][HOWS], graphs;
static CUfunction kernel[KERNELS];
static CUdeviceptr counter;
static CUstream stream;

static void **params_of(int k)
{
	static unsigned long long at[KERNELS], one = 1;
	static void *params[KERNELS][2];

	at[k] = counter + 4 * (unsigned)k;
	params[k][0] = &at[k];
	params[k][1] = &one;
	return params[k];
}

static CUDA_KERNEL_NODE_PARAMS node_params(int k)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = kernel[k],
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 32,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params_of(k)};
}

static CUgraphNode add_behind(CUgraph g, int k, const CUgraphNode *after, size_t n)
{
	CUDA_KERNEL_NODE_PARAMS p = node_params(k);
	CUgraphNode node;

	CK(cuGraphAddKernelNode_v2(&node, g, after, n, &p));
	return node;
}

static CUgraphNode add(CUgraph g, int k)
{
	return add_behind(g, k, NULL, 0);
}

/* "abc" */
static CUgraph graph_of(const char *kinds)
{
	CUgraph g;

	CK(cuGraphCreate(&g, 0));
	for (; *kinds; kinds++)
		add(g, *kinds - 'a');
	return g;
}

static CUgraphNode node_at(CUgraph g, size_t i)
{
	CUgraphNode nodes[64];
	size_t n = 64;

	CK(cuGraphGetNodes(g, nodes, &n));
	EXPECT(i < n, "%zu of %zu", i, n);
	return nodes[i];
}

static CUgraphExec exec_of(CUgraph g)
{
	CUgraphExec e;

	CK(cuGraphInstantiateWithFlags(&e, g, 0));
	graphs++;
	return e;
}

static void check_counts(int line)
{
	unsigned have[KERNELS];

	CK(cuStreamSynchronize(stream));
	CK(cuMemcpyDtoH_v2(have, counter, sizeof(have)));
	for (int k = 0; k < KERNELS; k++) {
		unsigned sum = 0;

		for (int h = 0; h < HOWS; h++)
			sum += want[k][h];
		EXPECT(have[k] == sum, "line %d: %s ran %u times, not %u", line, names[k], have[k],
		       sum);
	}
}

/* Launches E, which runs KINDS each time. */
static void launch_as(int line, CUgraphExec e, unsigned times, const char *kinds, enum how how)
{
	for (unsigned i = 0; i < times; i++)
		CK(cuGraphLaunch(e, stream));
	for (; *kinds; kinds++)
		want[*kinds - 'a'][how] += times;
	check_counts(line);
}

#define LAUNCH(e, times, kinds) launch_as(__LINE__, e, times, kinds, BUILT)

static void drop(CUgraph g, CUgraphExec e)
{
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
}

static void set_kernel(CUgraphExec e, CUgraphNode node, int k)
{
	CUDA_KERNEL_NODE_PARAMS p = node_params(k);

	CK(cuGraphExecKernelNodeSetParams_v2(e, node, &p));
}

static CUresult update(CUgraphExec e, const char *kinds)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph g = graph_of(kinds);
	CUresult r = cuGraphExecUpdate_v2(e, g, &info);

	CK(cuGraphDestroy(g));
	return r;
}

/* What a graph says later does not change what was made of it. */
static void templates(void)
{
	CUgraph g = graph_of("abc");
	CUgraphExec before = exec_of(g), after;
	CUDA_KERNEL_NODE_PARAMS p = node_params(C);

	CK(cuGraphKernelNodeSetParams_v2(node_at(g, 0), &p));
	CK(cuGraphDestroyNode(node_at(g, 1)));
	after = exec_of(g);
	LAUNCH(before, 2, "abc");
	LAUNCH(after, 3, "cc");
	CK(cuGraphExecDestroy(before));
	drop(g, after);
}

static void children(void)
{
	CUgraph g = graph_of("a"), child = graph_of("bc"), other = graph_of("aa"), inside;
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUgraphNode node, in;
	CUgraphExec e;

	CK(cuGraphAddChildGraphNode(&node, g, NULL, 0, child));
	add(g, B);
	e = exec_of(g);
	LAUNCH(e, 2, "abcb");
	CK(cuGraphExecChildGraphNodeSetParams(e, node, other));
	LAUNCH(e, 5, "aaab");
	/* By the handle that it has in the graph which E was made of. */
	CK(cuGraphChildGraphNodeGetGraph(node, &inside));
	in = node_at(inside, 1);
	set_kernel(e, in, C);
	LAUNCH(e, 7, "aacb");
	p.graph.graph = child;
	CK(cuGraphExecNodeSetParams(e, node, &p));
	LAUNCH(e, 3, "abcb");
	CK(cuGraphNodeSetEnabled(e, in, 0));
	LAUNCH(e, 2, "abb");
	CK(cuGraphDestroy(child));
	CK(cuGraphDestroy(other));
	drop(g, e);
}

static void updates(void)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = node_params(C)};
	CUgraph g = graph_of("ab");
	CUgraphNode first = node_at(g, 0), second = node_at(g, 1);
	CUgraphExec e = exec_of(g);

	CK(update(e, "cc"));
	LAUNCH(e, 3, "cc");
	/* Still by the handles of the graph it was made of. */
	set_kernel(e, first, A);
	LAUNCH(e, 2, "ac");
	CK(cuGraphNodeSetEnabled(e, second, 0));
	LAUNCH(e, 4, "a");
	CK(update(e, "bb"));
	LAUNCH(e, 1, "b"); /* an update leaves it off */
	CK(cuGraphNodeSetEnabled(e, second, 1));
	LAUNCH(e, 2, "bb");
	EXPECT(update(e, "abc") == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
	       "another topology is taken");
	LAUNCH(e, 2, "bb");
	CK(cuGraphExecNodeSetParams(e, first, &p));
	LAUNCH(e, 3, "cb");
	drop(g, e);
}

static void clones(void)
{
	CUDA_KERNEL_NODE_PARAMS p = node_params(C);
	CUgraph g = graph_of("ab"), clone;
	CUgraphExec e, of_clone;
	CUgraphNode node;

	CK(cuGraphClone(&clone, g));
	CK(cuGraphNodeFindInClone(&node, node_at(g, 1), clone));
	CK(cuGraphKernelNodeSetParams_v2(node, &p));
	e = exec_of(g);
	of_clone = exec_of(clone);
	LAUNCH(e, 2, "ab");
	LAUNCH(of_clone, 3, "ac");
	drop(g, e);
	drop(clone, of_clone);
}

static void conditionals(void)
{
	for (unsigned value = 0; value < 2; value++) {
		CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
		CUgraph g = graph_of("a"), body;
		CUgraphNode node;
		CUgraphExec e;

		CK(cuCtxGetCurrent(&p.conditional.ctx));
		CK(cuGraphConditionalHandleCreate(&p.conditional.handle, g, p.conditional.ctx,
						  value, CU_GRAPH_COND_ASSIGN_DEFAULT));
		p.conditional.type = CU_GRAPH_COND_TYPE_IF;
		p.conditional.size = 1;
		CK(cuGraphAddNode_v2(&node, g, NULL, NULL, 0, &p));
		body = p.conditional.phGraph_out[0];
		add(body, B);
		e = exec_of(g);
		want[B][CONDITIONAL] += value ? 4 : 0;
		LAUNCH(e, 4, "a");
		drop(g, e);
		/* Told as what may have run: the trace does not see the condition. */
		printf("maybe %s %u\n", names[B], 4u);
	}
}

/* a, then b and c, then c, which need not wait for all of b. */
static CUgraph diamond(void)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = node_params(C)};
	CUgraphEdgeData data[2] = {{.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
				    .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC}};
	CUgraphNode first, middle[2], last;
	CUgraph g;

	CK(cuGraphCreate(&g, 0));
	first = add(g, A);
	middle[0] = add_behind(g, B, &first, 1);
	middle[1] = add_behind(g, C, &first, 1);
	CK(cuGraphAddNode_v2(&last, g, middle, data, 2, &p));
	return g;
}

static void order(unsigned nodes, unsigned edges, unsigned longest)
{
	printf("order %u %u %u %u\n", graphs - 1, nodes, edges, longest);
}

/* What waits for what; also where others come, or one goes. */
static void orders(void)
{
	CUgraph g = diamond(), outer, clone;
	CUgraphNode node, before;
	CUgraphExec e = exec_of(g);
	CUgraphExecUpdateResultInfo info;

	order(4, 4, 3);
	CK(cuGraphClone(&clone, g));
	CK(cuGraphExecUpdate_v2(e, clone, &info));
	CK(cuGraphDestroy(clone));
	LAUNCH(e, 2, "abcc");
	CK(cuGraphExecDestroy(e));
	CK(cuGraphCreate(&outer, 0));
	before = add(outer, B);
	CK(cuGraphAddChildGraphNode(&node, outer, &before, 1, g));
	add_behind(outer, A, &node, 1);
	add(outer, A);
	e = exec_of(outer);
	order(4, 6, 5);
	LAUNCH(e, 1, "babccaa");
	drop(outer, e);
	CK(cuGraphDestroyNode(node_at(g, 1)));
	e = exec_of(g);
	order(3, 2, 3);
	LAUNCH(e, 1, "acc");
	drop(g, e);
	/* In more than one record of edges. */
	CK(cuGraphCreate(&g, 0));
	node = add(g, A);
	for (int i = 0; i < 200; i++)
		node = add_behind(g, A, &node, 1);
	e = exec_of(g);
	order(201, 200, 201);
	drop(g, e);
}

/* Handles come again and mean something else. */
static void again(void)
{
	for (int i = 0; i < 60; i++) {
		static const char *const kinds[] = {"a", "bc", "cab"};
		CUgraph g = graph_of(kinds[i % 3]);
		CUgraphExec e = exec_of(g);

		LAUNCH(e, 1, kinds[i % 3]);
		drop(g, e);
	}
}

static void captures(void)
{
	CUgraphExec e;
	CUgraph g;

	CK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int k = 0; k < KERNELS; k++)
		CK(cuLaunchKernel(kernel[k], 1, 1, 1, 32, 1, 1, 0, stream, params_of(k), NULL));
	CK(cuStreamEndCapture(stream, &g));
	e = exec_of(g);
	launch_as(__LINE__, e, 3, "abc", CAPTURED);
	set_kernel(e, node_at(g, 1), C);
	launch_as(__LINE__, e, 2, "acc", CAPTURED);
	drop(g, e);
}

static void direct(void)
{
	CUlaunchAttribute cluster = {.id = 4, .value.clusterDim = {1, 1, 1}};
	CUlaunchConfig c = {.gridDimX = 1,
			    .gridDimY = 1,
			    .gridDimZ = 1,
			    .blockDimX = 32,
			    .blockDimY = 1,
			    .blockDimZ = 1,
			    .hStream = stream};

	CK(cuLaunchKernel(kernel[A], 1, 1, 1, 32, 1, 1, 0, stream, params_of(A), NULL));
	CK(cuLaunchKernelEx(&c, kernel[B], params_of(B), NULL));
	c.attrs = &cluster;
	c.numAttrs = 1;
	CK(cuLaunchKernelEx(&c, kernel[B], params_of(B), NULL));
	CK(cuLaunchCooperativeKernel(kernel[C], 1, 1, 1, 32, 1, 1, 0, stream, params_of(C)));
	CK(cuLaunchKernel_ptsz(kernel[C], 1, 1, 1, 32, 1, 1, 0, stream, params_of(C), NULL));
	want[A][DIRECT]++;
	want[B][DIRECT] += 2;
	want[C][DIRECT] += 2;
	check_counts(__LINE__);
}

static void load(void)
{
	static char text[8192];
	CUmodule m;
	int n = snprintf(text, sizeof(text), ".version 7.0\n.target sm_70\n.address_size 64\n");

	for (int k = 0; k < KERNELS; k++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      ".visible .entry %s(.param .u64 p, .param .u64 v)\n{\n"
			      "	.reg .pred %%q;\n	.reg .b32 %%r<5>;\n	.reg .b64 %%d<3>;\n"
			      "	ld.param.u64 %%d1, [p];\n	ld.param.u64 %%d2, [v];\n"
			      "	mov.u32 %%r1, %%tid.x;\n	setp.ne.u32 %%q, %%r1, 0;\n	"
			      "@%%q bra done;\n"
			      "	cvt.u32.u64 %%r3, %%d2;\n	cvta.to.global.u64 %%d1, %%d1;\n"
			      "	atom.global.add.u32 %%r4, [%%d1], %%r3;\ndone:\n	ret;\n}\n",
			      names[k]);
	CK(cuModuleLoadData(&m, text));
	for (int k = 0; k < KERNELS; k++)
		CK(cuModuleGetFunction(&kernel[k], m, names[k]));
}

int main(void)
{
	app_context(0);
	load();
	CK(cuMemAlloc_v2(&counter, 4096));
	CK(cuMemsetD32_v2(counter, 0, 1024));
	CK(cuCtxSynchronize());
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	direct();
	templates();
	children();
	updates();
	clones();
	conditionals();
	again();
	orders();
	captures();
	for (int k = 0; k < KERNELS; k++)
		printf("kernel %s %u %u %u\n", names[k], want[k][DIRECT], want[k][BUILT],
		       want[k][CAPTURED]);
	printf("graphs %u\n", graphs);
	return 0;
}
