/* SPDX-License-Identifier: MIT */
/*
 * memory WHAT [hold]: allocates and frees in known ways, for --memory; with hold it then waits for
 * a line of input. Prints the expected results, one per line: "KIND ALLOCATIONS FREES FAILED LIVE
 * PEAK" and "unfreed FUNCTION COUNT BYTES".
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app.h"

#define APART __attribute__((noinline))
#define MB 1000000ull

static CUresult result;
#define FAILS(call) EXPECT((result = (call)), "it worked")

/* GPUprobe's article: three arrays of 8,000,000 bytes, two kernels 1,000 times each, one leak. */
APART static CUdeviceptr allocate_array(void)
{
	CUdeviceptr d;

	CK(cuMemAlloc_v2(&d, 8 * MB));
	return d;
}

static void article(void)
{
	CUdeviceptr array[3];
	CUfunction add, nothing;

	app_context(0);
	add = app_kernel("softgpu_add");
	nothing = app_kernel("nothing");
	for (int i = 0; i < 3; i++)
		array[i] = allocate_array();
	for (int i = 0; i < 1000; i++) {
		app_add(add, array[0], 1, NULL);
		CK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	}
	CK(cuCtxSynchronize());
	CK(cuMemFree_v2(array[0]));
	CK(cuMemFree_v2(array[1]));
	puts("device 3 2 0 8000000 24000000");
	puts("unfreed allocate_array 1 8000000");
}

/* ---- what goes wrong ---- */

APART static CUdeviceptr leak_small(void)
{
	CUdeviceptr d;

	CK(cuMemAlloc_v2(&d, 1000));
	return d;
}

APART static CUdeviceptr leak_large(void)
{
	CUdeviceptr d;

	CK(cuMemAlloc_v2(&d, 5 * MB));
	return d;
}

APART static void free_again(CUdeviceptr d)
{
	FAILS(cuMemFree_v2(d));
	FAILS(cuMemFree_v2(d));
}

APART static void free_unknown(void)
{
	FAILS(cuMemFree_v2(0x123456000));
}

APART static void ask_too_much(void)
{
	CUdeviceptr d;

	for (int i = 0; i < 3; i++)
		FAILS(cuMemAlloc_v2(&d, 1ull << 60));
}

static void *free_elsewhere(void *arg)
{
	CUcontext ctx;

	CK(cuDevicePrimaryCtxRetain(&ctx, 0));
	CK(cuCtxSetCurrent(ctx));
	CK(cuMemFree_v2(*(CUdeviceptr *)arg));
	return NULL;
}

static void wrong(void)
{
	CUdeviceptr d;
	pthread_t thread;

	app_context(0);
	for (int i = 0; i < 10; i++)
		leak_small();
	leak_large();
	CK(cuMemAlloc_v2(&d, 3 * MB));
	CK(cuMemFree_v2(d));
	free_again(d);
	free_unknown();
	ask_too_much();
	CK(cuMemFree_v2(0)); /* no error, and no free */
	CK(cuMemAlloc_v2(&d, 2 * MB));
	pthread_create(&thread, NULL, free_elsewhere, &d);
	pthread_join(thread, NULL);
	puts("device 13 2 3 5010000 8010000");
	puts("unfreed leak_large 1 5000000");
	puts("unfreed leak_small 10 10000");
	puts("double-free free_again 2");
	puts("unknown-free free_unknown 1");
	puts("failed ask_too_much 3");
}

/* ---- every kind ---- */

APART static void pools(void)
{
	CUmemoryPool pool, standard;
	CUmemPoolProps props = {.allocType = 1, .location = {1, 0}};
	CUdeviceptr a, b, c;
	CUstream s;

	CK(cuDeviceGetDefaultMemPool(&standard, 0));
	CK(cuMemPoolCreate(&pool, &props));
	CK(cuStreamCreate(&s, 1));
	CK(cuMemAllocAsync(&a, 4 * MB, s));
	CK(cuMemAllocFromPoolAsync(&b, 3 * MB, pool, s));
	CK(cuMemFreeAsync(b, NULL));
	CK(cuMemAllocFromPoolAsync(&b, 3 * MB, pool, s)); /* the same memory once more */
	CK(cuMemFreeAsync(a, s));
	CK(cuMemFree_v2(b));
	CK(cuMemAllocAsync(&c, 1 * MB, s)); /* never freed */
	CK(cuStreamSynchronize(s));
	CK(cuMemPoolTrimTo(standard, 0));
	CK(cuMemPoolDestroy(pool));
	puts("async 4 3 0 1000000 7000000");
	puts("unfreed pools 1 1000000");
}

APART static void host(void)
{
	static char mine[8192] __attribute__((aligned(4096)));
	CUdeviceptr managed;
	void *p, *q;

	CK(cuMemAllocHost_v2(&p, 6000));
	CK(cuMemHostAlloc(&q, 7000, 0));
	CK(cuMemFreeHost(p));
	CK(cuMemHostRegister_v2(mine, 8192, 0));
	CK(cuMemHostUnregister(mine));
	FAILS(cuMemHostUnregister(mine));
	CK(cuMemAllocManaged(&managed, 9000, 1));
	CK(cuMemFree_v2(managed));
	CK(cuMemAllocManaged(&managed, 9500, 1));
	puts("host 2 1 0 7000 13000");
	puts("registered 1 1 0 0 8192");
	puts("managed 2 1 0 9500 9500");
	puts("unfreed host 2 16500");
	puts("double-free host 1");
}

APART static void physical(void)
{
	CUmemAllocationProp prop = {.type = 1, .location = {1, 0}};
	CUmemAccessDesc access = {.location = {1, 0}, .flags = 3};
	CUmemGenericAllocationHandle kept, gone;
	CUdeviceptr at;

	CK(cuMemCreate(&kept, 4 << 20, &prop, 0));
	CK(cuMemCreate(&gone, 2 << 20, &prop, 0));
	CK(cuMemAddressReserve(&at, 8 << 20, 0, 0, 0));
	CK(cuMemMap(at, 4 << 20, 0, kept, 0));
	CK(cuMemMap(at + (4 << 20), 2 << 20, 0, gone, 0));
	CK(cuMemSetAccess(at, 4 << 20, &access, 1));
	CK(cuMemSetAccess(at + (4 << 20), 2 << 20, &access, 1));
	CK(cuMemRelease(gone)); /* lives on by its mapping */
	CK(cuMemRelease(kept));
	CK(cuMemUnmap(at + (4 << 20), 2 << 20));
	puts("physical 2 1 0 4194304 6291456");
	puts("reserved 1 0 0 8388608 8388608");
	puts("unfreed physical 2 12582912");
}

APART static void arrays(void)
{
	CUDA_ARRAY3D_DESCRIPTOR box = {.Width = 16, .Height = 16, .Depth = 4, 0x20, 4, 0};
	CUDA_ARRAY_DESCRIPTOR flat = {.Width = 1000, .Height = 0, .Format = 0x20, .NumChannels = 1};
	CUdeviceptr pitched;
	CUarray a, b;
	size_t pitch;

	CK(cuArrayCreate_v2(&a, &flat));
	CK(cuArray3DCreate_v2(&b, &box));
	CK(cuArrayDestroy(a));
	CK(cuMemAllocPitch_v2(&pitched, &pitch, 1000, 3, 4));
	CK(cuMemFree_v2(pitched));
	puts("array 2 1 0 16384 20384");
	puts("unfreed arrays 1 16384");
}

/* A graph that frees what it allocates, one that is captured and leaves it, launched twice. */
APART static void graph_memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {.poolProps = {.allocType = 1, .location = {1, 0}},
					.bytesize = 2 * MB};
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = p};
	CUgraphNode alloc, freed;
	CUgraphExec exec;
	CUdeviceptr left;
	CUgraph g;
	CUstream s;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
	CK(cuGraphAddMemFreeNode(&freed, g, &alloc, 1, p.dptr));
	/* The same by what makes nodes of any type: one that frees what it allocates, one that does
	 * neither, and what the driver refuses. */
	CK(cuGraphAddNode_v2(&alloc, g, NULL, NULL, 0, &any));
	any = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {any.alloc.dptr}};
	CK(cuGraphAddNode_v2(&freed, g, &alloc, NULL, 1, &any));
	any = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EMPTY};
	CK(cuGraphAddNode_v2(&freed, g, NULL, NULL, 0, &any));
	any.type = 99;
	EXPECT(cuGraphAddNode_v2(&freed, g, NULL, NULL, 0, &any), "a node of no type");
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < 3; i++)
		CK(cuGraphLaunch(exec, NULL));
	CK(cuStreamCreate(&s, 1));
	CK(cuStreamBeginCapture_v2(s, 0));
	CK(cuMemAllocAsync(&left, 3 * MB, s));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphInstantiateWithFlags(&exec, g, 1)); /* AUTO_FREE_ON_LAUNCH */
	CK(cuGraphLaunch(exec, s));
	CK(cuGraphLaunch(exec, s));
	CK(cuCtxSynchronize());
	puts("graph 8 7 0 3000000 3000000");
	puts("unfreed graph_memory 1 3000000");
}

static void kinds(void)
{
	app_context(0);
	pools();
	host();
	physical();
	arrays();
	graph_memory();
	puts("device 1 1 0 0 3072");
}

/* ---- whose end is another's ---- */

APART static void in_a_context(void)
{
	CUcontext ctx;
	CUdeviceptr d;
	void *p;

	CK(cuCtxCreate_v2(&ctx, 0, 0));
	CK(cuMemAlloc_v2(&d, 6 * MB));
	CK(cuMemAllocHost_v2(&p, 4096));
	CK(cuMemAlloc_v2(&d, 1 * MB));
	CK(cuMemFree_v2(d));
	CK(cuCtxDestroy_v2(ctx));
}

static void contexts(void)
{
	CUcontext ctx = app_context(0), again;

	in_a_context();
	CK(cuCtxSetCurrent(ctx));
	leak_large();
	/* Retained twice: the first release leaves it alone. */
	CK(cuDevicePrimaryCtxRetain(&again, 0));
	CK(cuDevicePrimaryCtxRelease_v2(0));
	leak_small();
	CK(cuDevicePrimaryCtxReset_v2(0));
	app_context(0);
	leak_small();
	puts("device 5 1 0 1000 7000000");
	puts("host 1 0 0 0 4096");
	puts("unfreed leak_small 1 1000");
	puts("with-context in_a_context 2 6004096");
	puts("with-context leak_large 1 5000000");
	puts("with-context leak_small 1 1000");
}

/* Each of two processes has what it allocated itself, and one opens memory of the other. */
static void processes(void)
{
	CUipcMemHandle handle;
	CUdeviceptr d, again;
	int way[2];
	pid_t child;

	EXPECT(!pipe(way), "no pipe");
	child = fork();
	if (!child) {
		EXPECT(read(way[0], &handle, sizeof(handle)) == sizeof(handle), "nothing came");
		app_context(0);
		leak_small();
		CK(cuIpcOpenMemHandle_v2(&d, handle, 1));
		CK(cuIpcOpenMemHandle_v2(&again, handle, 1));
		CK(cuIpcCloseMemHandle(d));
		FAILS(cuIpcCloseMemHandle(d));
		exit(0);
	}
	app_context(0);
	CK(cuMemAlloc_v2(&d, 2 * MB));
	CK(cuIpcGetMemHandle(&handle, d));
	EXPECT(write(way[1], &handle, sizeof(handle)) == sizeof(handle), "nothing went");
	waitpid(child, NULL, 0);
	CK(cuMemFree_v2(d));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} what[] = {{"article", article},
		    {"wrong", wrong},
		    {"kinds", kinds},
		    {"contexts", contexts},
		    {"processes", processes}};

	for (size_t i = 0; argc >= 2 && i < sizeof(what) / sizeof(*what); i++)
		if (!strcmp(argv[1], what[i].name)) {
			what[i].run();
			if (argc > 2)
				puts("done"), fflush(stdout), getchar();
			return 0;
		}
	return 2;
}
