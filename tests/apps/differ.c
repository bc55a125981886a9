/* SPDX-License-Identifier: MIT */
/*
 * differ [CHANGE]: a short program with one optional change, for nvsnoop-report --diff:
 *   launch   one more launch in the middle
 *   size     one copy is larger
 *   shape    one launch has another grid
 *   order    a copy is after a launch instead of before it
 *   node     a captured graph has one more node
 *   value    one launch has another parameter
 *   byte     a copy has other bytes
 *   pinned   a copy is from page-locked memory
 *   few      the same, of 64 bytes
 *   threads  three threads launch at the same time
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "app.h"

enum { THREADS = 3, LAUNCHES = 10 };

static CUcontext context;
static CUdeviceptr memory;

static void launch(CUfunction f, uint32_t blocks, uint64_t v, CUstream s)
{
	void *params[] = {&memory, &v};

	CK(cuLaunchKernel(f, blocks, 1, 1, 32, 1, 1, 0, s, params, NULL));
}

static __attribute__((noinline)) void copy(size_t bytes, bool pinned, char byte)
{
	static char plain[8192];
	void *host = plain;

	plain[1000] = byte;
	if (pinned)
		CK(cuMemAllocHost_v2(&host, sizeof(plain)));
	CK(cuMemcpyHtoD_v2(memory + 4096, host, bytes));
}

static __attribute__((noinline)) void graph(CUfunction f, int nodes, CUstream s)
{
	CUgraphExec exec;
	CUgraph g;

	CK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < nodes; i++)
		launch(f, 1, 1, s);
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	CK(cuGraphLaunch(exec, s));
	CK(cuStreamSynchronize(s));
}

static void *worker(void *arg)
{
	CUstream s;

	CK(cuCtxSetCurrent(context));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < LAUNCHES; i++)
		launch(arg, 1, 1, s);
	CK(cuStreamSynchronize(s));
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool order = !strcmp(what, "order"), few = !strcmp(what, "few");
	pthread_t thread[THREADS];
	CUfunction add;
	CUstream s;

	context = app_context(0);
	CK(cuMemAlloc_v2(&memory, 1 << 20));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	add = app_kernel("softgpu_add");
	for (int i = 0; i < LAUNCHES; i++) {
		if (i == 5 && !order)
			copy(!strcmp(what, "size") ? 4100
			     : few		   ? 64
						   : 4096,
			     few || !strcmp(what, "pinned"), !strcmp(what, "byte"));
		launch(add, i == 7 && !strcmp(what, "shape") ? 2 : 1,
		       i == 7 && !strcmp(what, "value") ? 2 : 1, s);
		if (i == 5 && order)
			copy(4096, false, 0);
		if (i == 5 && !strcmp(what, "launch"))
			launch(add, 1, 1, s);
	}
	graph(add, !strcmp(what, "node") ? 4 : 3, s);
	for (int i = 0; i < THREADS && !strcmp(what, "threads"); i++)
		pthread_create(thread + i, NULL, worker, add);
	for (int i = 0; i < THREADS && !strcmp(what, "threads"); i++)
		pthread_join(thread[i], NULL);
	CK(cuCtxSynchronize());
	puts("done");
	return 0;
}
