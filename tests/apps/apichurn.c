/* SPDX-License-Identifier: MIT */
/*
 * apichurn N: creates and destroys graphs of all kinds, streams, events, modules and kernels in
 * two threads, one of which destroys while the other launches. Nothing is kept, so memory use must
 * stay constant: prints its private memory after a quarter, half and all of N rounds. Lines: "rss
 * KIB KIB KIB", "kernel NAME launches".
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "app.h"

static CUcontext context;
static _Atomic unsigned launches, graph_launches;
static CUdeviceptr counter;

static unsigned long rss(void)
{
	unsigned long kib = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			kib = strtoul(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static CUgraphNode add(CUgraph g, CUfunction f)
{
	static unsigned long long one = 1;
	void *params[] = {&counter, &one};
	CUDA_KERNEL_NODE_PARAMS p = {.func = f,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = params};
	CUgraphNode node;

	CK(cuGraphAddKernelNode_v2(&node, g, NULL, 0, &p));
	return node;
}

static void add_conditional(CUgraph g, CUfunction f)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphNode node;

	p.conditional.ctx = context;
	CK(cuGraphConditionalHandleCreate(&p.conditional.handle, g, context, 0,
					  CU_GRAPH_COND_ASSIGN_DEFAULT));
	p.conditional.type = CU_GRAPH_COND_TYPE_IF;
	p.conditional.size = 1;
	CK(cuGraphAddNode_v2(&node, g, NULL, NULL, 0, &p));
	add(p.conditional.phGraph_out[0], f);
}

static void graphs(CUfunction f, CUstream s)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph g, child, other;
	CUgraphNode node;
	CUgraphExec e;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphCreate(&child, 0));
	add(child, f);
	add(g, f);
	CK(cuGraphAddChildGraphNode(&node, g, NULL, 0, child));
	CK(cuGraphClone(&other, g));
	CK(cuGraphInstantiateWithFlags(&e, g, 0));
	CK(cuGraphExecUpdate_v2(e, other, &info));
	CK(cuGraphExecChildGraphNodeSetParams(e, node, child));
	CK(cuGraphLaunch(e, s));
	graph_launches += 2;
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(other));
	CK(cuGraphDestroy(child));
	CK(cuGraphDestroy(g));
}

static void conditional(CUfunction f, CUstream s)
{
	CUgraphExec e;
	CUgraph g;

	CK(cuGraphCreate(&g, 0));
	add(g, f);
	add_conditional(g, f);
	CK(cuGraphInstantiateWithFlags(&e, g, 0));
	CK(cuGraphLaunch(e, s));
	graph_launches++;
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
}

static void captured(CUfunction f, CUstream s)
{
	unsigned long long one = 1;
	void *params[] = {&counter, &one};
	CUstream other;
	CUgraph g;

	CK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuStreamDestroy_v2(other));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphDestroy(g));
}

static void one_round(void)
{
	CUfunction f;
	CUmodule m;
	CUstream s;
	CUevent e;

	CK(cuModuleLoadData(&m, app_ptx));
	CK(cuModuleGetFunction(&f, m, "softgpu_add"));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuEventCreate(&e, 0));
	app_add(f, counter, 1, s);
	launches++;
	CK(cuEventRecord(e, s));
	graphs(f, s);
	conditional(f, s);
	captured(f, s);
	CK(cuEventSynchronize(e));
	CK(cuEventDestroy_v2(e));
	CK(cuStreamSynchronize(s));
	CK(cuStreamDestroy_v2(s));
	CK(cuModuleUnload(m));
}

static void *work(void *rounds)
{
	CK(cuCtxSetCurrent(context));
	for (uintptr_t i = 0; i < (uintptr_t)rounds; i++)
		one_round();
	return NULL;
}

static void run(uintptr_t rounds)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(rounds / 2)))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	uintptr_t rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	unsigned long at[3];

	context = app_context(0);
	CK(cuMemAlloc_v2(&counter, 4096));
	CK(cuMemsetD32_v2(counter, 0, 1024));
	/* It need not be done when the call returns, and the streams do not wait for it. */
	CK(cuCtxSynchronize());
	run(rounds / 4);
	at[0] = rss();
	run(rounds / 4);
	at[1] = rss();
	run(rounds / 2);
	at[2] = rss();
	EXPECT(app_word(counter) == launches + graph_launches, "%u launches, not %u",
	       app_word(counter), launches + graph_launches);
	printf("kernel softgpu_add %u %u\n", launches, graph_launches);
	printf("rss %lu %lu %lu\n", at[0], at[1], at[2]);
	return 0;
}
