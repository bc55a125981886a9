/* SPDX-License-Identifier: MIT */
/*
 * gpufault KIND HOW [THEN]: launches of which one faults, as the kernel's name says. The kinds are
 * below; none: no fault.
 *
 *   HOW   direct; streams: the same kernel runs on four, all of which wait when it faults; graph=N:
 * in the middle of N nodes, on a stream of its own THEN  exit (the default), destroy: the context,
 * context: goes on in another one, kill: itself, when a line was read, unread: the same without a
 * call that could see the fault
 *
 * Prints "fault LAUNCH NODE ADDRESS": the number of the launch call, from 0, the node or -1, and
 * what is accessed; then the results of the call that waits and of the next one. Software GPU only.
 */
#include <signal.h>
#include <string.h>
#include "app.h"
#include "tests/softgpu/gpu/builtin.h"

#define STREAMS 4

#define ENTRY(name)                                                            \
	".visible .entry " name                                                \
	"_softgpu_fault(.param .u64 kind, .param .u64 at, .param .u64 gate)\n" \
	"{\n"                                                                  \
	"	ret;\n"                                                              \
	"}\n"

static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry good()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n" ENTRY("none") ENTRY("address") ENTRY("freed") ENTRY("misaligned")
				  ENTRY("trap") ENTRY("assert") ENTRY("instruction") ENTRY("stack")
					  ENTRY("shared");

static const struct {
	const char *name;
	enum sg_fault_kind kind;
} kinds[] = {
	{"none", SG_FAULT_NONE},
	{"address", SG_FAULT_STORE},
	{"freed", SG_FAULT_STORE},
	{"misaligned", SG_FAULT_MISALIGNED},
	{"trap", SG_FAULT_TRAP},
	{"assert", SG_FAULT_ASSERT},
	{"instruction", SG_FAULT_INSTRUCTION},
	{"stack", SG_FAULT_STACK},
	{"shared", SG_FAULT_SHARED},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static CUfunction good, bad;
static uint64_t kind, at, none = SG_FAULT_NONE;
static uint32_t *gate;
static int launches;

static void launch(CUstream stream, CUfunction f, uint64_t *what, uint64_t wait)
{
	void *params[] = {what, &at, &wait};

	CK(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, stream, f == good ? NULL : params, NULL));
	launches++;
}

/* An address whose memory has gone, or to which none was ever given. */
static void choose_address(const char *name)
{
	CUdeviceptr p;

	CK(cuMemAlloc_v2(&p, 32 << 20));
	at = p + 0x1001;
	if (!strcmp(name, "freed")) {
		CK(cuMemFree_v2(p));
		at = p + 0x1000;
	} else if (!strcmp(name, "address")) {
		at = p + (1ull << 36);
	}
}

static void load(const char *name)
{
	char entry[64];
	CUmodule module;

	CK(cuModuleLoadData(&module, ptx));
	snprintf(entry, sizeof(entry), "%s_softgpu_fault", name);
	CK(cuModuleGetFunction(&good, module, "good"));
	CK(cuModuleGetFunction(&bad, module, entry));
	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	*gate = 0;
}

static int run_direct(void)
{
	int number;

	for (int i = 0; i < 3; i++)
		launch(NULL, good, NULL, 0);
	number = launches;
	launch(NULL, bad, &kind, 0);
	return number;
}

/* All grids run until the gate opens, and then one of them faults: the others' streams have no more
 * to do than to end. */
static int run_streams(void)
{
	CUstream stream[STREAMS];
	int number = -1;

	for (int i = 0; i < STREAMS; i++) {
		CK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		launch(stream[i], good, NULL, 0);
		if (i == 2)
			number = launches;
		launch(stream[i], bad, i == 2 ? &kind : &none,
		       (uintptr_t)(i == 2 ? gate : gate + 16));
	}
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	return number;
}

static int run_graph(int nodes)
{
	CUgraphNode last = NULL, node;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	CK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < nodes; i++) {
		uint64_t wait = 0;
		void *params[] = {&kind, &at, &wait};
		CUDA_KERNEL_NODE_PARAMS p = {.func = i == nodes / 2 ? bad : good,
					     .gridDimX = 2,
					     .gridDimY = 1,
					     .gridDimZ = 1,
					     .blockDimX = 32,
					     .blockDimY = 1,
					     .blockDimZ = 1,
					     .kernelParams = i == nodes / 2 ? params : NULL};

		CK(cuGraphAddKernelNode_v2(&node, graph, &last, last != NULL, &p));
		last = node;
	}
	CK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch(stream, good, NULL, 0);
	CK(cuGraphLaunch(exec, stream));
	return launches;
}

static void print_result(const char *what, CUresult r)
{
	const char *name = "?";

	cuGetErrorName(r, &name);
	printf("%s %s\n", what, name);
	fflush(stdout);
}

/* Another context works as if nothing had happened. */
static void go_on(void)
{
	uint32_t word = 0;
	CUcontext other;
	CUdeviceptr p;

	CK(cuCtxCreate_v2(&other, 0, 0));
	CK(cuMemAlloc_v2(&p, 4096));
	CK(cuMemsetD32_v2(p, 7, 1024));
	CK(cuMemcpyDtoH_v2(&word, p + 400, 4));
	printf("other %u\n", word);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "none", *how = argc > 2 ? argv[2] : "direct";
	const char *then = argc > 3 ? argv[3] : "exit";
	CUcontext context;
	CUdeviceptr p;
	int number, node = -1;
	size_t i = 0;

	while (i < KINDS && strcmp(kinds[i].name, name))
		i++;
	EXPECT(i < KINDS, "kind %s", name);
	kind = kinds[i].kind;
	CK(cuInit(0));
	CK(cuCtxCreate_v2(&context, 0, 0));
	load(name);
	choose_address(name);
	if (!strncmp(how, "graph=", 6)) {
		number = run_graph(atoi(how + 6));
		node = atoi(how + 6) / 2;
	} else {
		number = strcmp(how, "streams") ? run_direct() : run_streams();
	}
	printf("fault %d %d %#llx\n", number, node, (unsigned long long)at);
	fflush(stdout);
	if (strcmp(then, "unread"))
		print_result("wait", cuCtxSynchronize());
	if (!strcmp(then, "kill") || !strcmp(then, "unread")) {
		getchar();
		raise(SIGKILL);
	}
	print_result("next", cuMemAlloc_v2(&p, 4096));
	if (!strcmp(then, "destroy"))
		print_result("destroy", cuCtxDestroy_v2(context));
	if (!strcmp(then, "context"))
		go_on();
	return 0;
}
