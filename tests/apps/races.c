/* SPDX-License-Identifier: MIT */
/*
 * races CASE bad|good: work of several streams on the same memory, for --races: with a bug, or
 * without it. races list: the names of all cases. tests/life/races has what --races must say of
 * each. Also runs on a real GPU.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include "tests/apps/app.h"

#define N (1u << 20) /* bytes of each buffer */

static CUdeviceptr d, e; /* device memory, N bytes each */
static unsigned char *pin, *pin2; /* pinned memory */
static CUstream s, q; /* non-blocking streams, but in `legacy` */
static CUevent ev;
static CUfunction add;
static CUcontext context;

/* Makes TO wait for all that FROM has so far, unless BAD. The event is recorded in either case. */
static void order(CUstream from, CUstream to, bool bad)
{
	CUevent done;

	CK(cuEventCreate(&done, 2));
	CK(cuEventRecord(done, from));
	if (!bad)
		CK(cuStreamWaitEvent(to, done, 0));
}

static CUstream new_stream(unsigned flags)
{
	CUstream x;

	CK(cuStreamCreate(&x, flags));
	return x;
}

/* ---- copies, memsets and kernels in two streams ---- */

static void copy_kernel(bool bad)
{
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	order(s, q, bad);
	app_add(add, d, 1, q);
}

/* The copy is after the address that the kernel is given. */
static void copy_kernel_inside(bool bad)
{
	CK(cuMemcpyHtoDAsync_v2(d + 4096, pin, 65536, s));
	order(s, q, bad);
	app_add(add, d, 1, q);
}

static void memset_copy(bool bad)
{
	CK(cuMemsetD8Async(d, 7, N, s));
	order(s, q, bad);
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
}

static void kernel_dtoh(bool bad)
{
	app_add(add, d, 1, s);
	order(s, q, bad);
	CK(cuMemcpyDtoHAsync_v2(pin, d, N, q));
}

static void kernel_kernel(bool bad)
{
	app_add(add, d, 1, s);
	order(s, q, bad);
	app_add(add, d, 1, q);
}

/* Two parts of one allocation; in the bad one they overlap. */
static void suballoc(bool bad)
{
	app_add(add, d, 1, s);
	CK(cuMemcpyHtoDAsync_v2(bad ? d : d + N / 2, pin, N / 2, q));
}

/* A copy of what a kernel in another stream has, or of other memory. */
static void kernel_read_copy(bool bad)
{
	app_add(add, e, 1, s);
	CK(cuMemcpyDtoHAsync_v2(pin, bad ? e : d, N, q));
}

static void pitched(bool bad, void (*copy)(size_t x, const void *from, CUstream in))
{
	copy(0, pin, s);
	copy(bad ? 256 : 512, pin2, q);
}

static void copy_columns(size_t x, const void *from, CUstream in)
{
	CUDA_MEMCPY2D c = {
		.srcXInBytes = x,
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = 1024,
		.dstXInBytes = x,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = d,
		.dstPitch = 1024,
		.WidthInBytes = 512,
		.Height = 512,
	};

	CK(cuMemcpy2DAsync_v2(&c, in));
}

/* Halves of the same lines. */
static void columns(bool bad)
{
	pitched(bad, copy_columns);
}

static void set_columns(size_t x, const void *from, CUstream in)
{
	(void)from;
	CK(cuMemsetD2D8Async(d + x, 1024, 1, 512, 512, in));
}

static void memset_columns(bool bad)
{
	pitched(bad, set_columns);
}

static void batch(bool bad)
{
	CUmemcpyAttributes in_order = {.srcAccessOrder = 1};
	CUdeviceptr to[] = {d, d + N / 2}, from[] = {e, e + N / 2};
	size_t n[] = {N / 2, N / 2}, first = 0;

	CK(cuMemcpyBatchAsync_v2(to, from, n, 2, &in_order, &first, 1, s));
	order(s, q, bad);
	CK(cuMemsetD8Async(d + N / 2, 1, N / 2, q));
}

/* ---- events ---- */

/* The event is recorded before the work that it is for. */
static void record_before(bool bad)
{
	if (bad)
		CK(cuEventRecord(ev, s));
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	if (!bad)
		CK(cuEventRecord(ev, s));
	CK(cuStreamWaitEvent(q, ev, 0));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
}

/* The first stream goes on with the memory that the second one reads. */
static void reuse_wait(bool bad)
{
	CK(cuMemsetD8Async(d, 1, N, s));
	order(s, q, false);
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
	order(q, s, bad);
	CK(cuMemsetD8Async(d, 2, N, s));
}

/* Ordered through a third stream. */
static void third(bool bad)
{
	CUstream t = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent second;

	CK(cuEventCreate(&second, 2));
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	order(s, t, bad);
	CK(cuEventRecord(second, t));
	CK(cuStreamWaitEvent(q, second, 0));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
}

/* Three streams, four buffers, fifty rounds; in the bad one a buffer is filled once without a wait.
 */
static void pipeline(bool bad)
{
	CUstream in = new_stream(CU_STREAM_NON_BLOCKING), out = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent filled[4], computed[4], fetched[4];
	CUdeviceptr buffer[4];

	for (int i = 0; i < 4; i++) {
		CK(cuMemAlloc_v2(&buffer[i], 65536));
		CK(cuEventCreate(&filled[i], 2));
		CK(cuEventCreate(&computed[i], 2));
		CK(cuEventCreate(&fetched[i], 2));
	}
	for (int round = 0; round < 50; round++) {
		int i = round & 3;

		if (round > 3 && !(bad && round == 30))
			CK(cuStreamWaitEvent(in, fetched[i], 0));
		CK(cuMemcpyHtoDAsync_v2(buffer[i], pin + 65536 * i, 65536, in));
		CK(cuEventRecord(filled[i], in));
		CK(cuStreamWaitEvent(s, filled[i], 0));
		app_add(add, buffer[i], 1, s);
		CK(cuEventRecord(computed[i], s));
		CK(cuStreamWaitEvent(out, computed[i], 0));
		CK(cuMemcpyDtoHAsync_v2(pin2 + 65536 * i, buffer[i], 65536, out));
		CK(cuEventRecord(fetched[i], out));
	}
}

/* ---- default streams ---- */

/* Non-blocking streams do not wait for the default stream. */
static void legacy(bool bad)
{
	CUstream other = new_stream(bad ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);

	CK(cuMemsetD8Async(d, 3, N, NULL));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, other));
}

/* cuMemsetD8 returns before it is done. */
static void memset_sync(bool bad)
{
	CK(cuMemsetD8_v2(d, 3, N));
	if (!bad)
		CK(cuCtxSynchronize());
	CK(cuMemcpyDtoDAsync_v2(e, d, N, s));
}

/* A thread whose default stream is its own, or the common one. */
static void *launch_in_thread(void *own)
{
	CUdeviceptr p = d;
	uint64_t v = 1;
	void *params[] = {&p, &v};

	CK(cuCtxSetCurrent(context));
	if (own)
		CK(cuLaunchKernel_ptsz(add, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	else
		CK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	return NULL;
}

static void run_thread(bool own)
{
	pthread_t thread;

	pthread_create(&thread, NULL, launch_in_thread, own ? &own : NULL);
	pthread_join(thread, NULL);
}

static void ptds(bool bad)
{
	CK(cuMemsetD8Async(d, 3, N, bad ? q : NULL));
	run_thread(bad);
}

/* One thread waits, another goes on. */
static void threads(bool bad)
{
	CK(cuMemsetD8Async(d, 3, N, s));
	if (!bad)
		CK(cuStreamSynchronize(s));
	run_thread(true);
}

/* Each context has a default stream. */
static void contexts(bool bad)
{
	CUcontext other;

	CK(cuMemsetD8Async(d, 3, N, NULL));
	CK(cuEventRecord(ev, NULL));
	if (!bad)
		CK(cuEventSynchronize(ev));
	CK(cuCtxCreate_v2(&other, 0, 0));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, NULL));
	CK(cuCtxSynchronize());
	CK(cuCtxSetCurrent(context));
}

/* The same with a stream of another device, if there is one. */
static void devices(bool bad)
{
	CUcontext other;
	CUdevice device;
	CUstream far;

	if (cuDeviceGet(&device, 1)) {
		contexts(bad);
		return;
	}
	CK(cuDevicePrimaryCtxRetain(&other, device));
	CK(cuCtxSetCurrent(other));
	far = new_stream(CU_STREAM_NON_BLOCKING);
	CK(cuCtxSetCurrent(context));
	CK(cuMemsetD8Async(d, 3, N, s));
	CK(cuEventRecord(ev, s));
	CK(cuCtxSetCurrent(other));
	if (!bad)
		CK(cuStreamWaitEvent(far, ev, 0));
	CK(cuMemcpyDtoHAsync_v2(pin, d, N, far));
	CK(cuStreamSynchronize(far));
	CK(cuCtxSetCurrent(context));
}

/* ---- the host ---- */

/* The host's own stores are not seen. */
static void host_overwrite(bool bad)
{
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	if (!bad)
		CK(cuStreamSynchronize(s));
	memset(pin, 2, N);
}

static void host_read(bool bad)
{
	CK(cuMemcpyDtoHAsync_v2(pin, d, N, s));
	if (!bad)
		CK(cuStreamSynchronize(s));
	printf("%d\n", pin[5]);
}

/* The buffer is filled by another copy while it is being sent. */
static void pinned_reuse(bool bad)
{
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	if (!bad)
		CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoHAsync_v2(pin, e, N, q));
}

/* The host sees the last byte of the copy and goes on: correct, but not seen in a trace. */
static void host_flag(bool bad)
{
	volatile unsigned char *last = pin2 + N - 1;

	memset(pin2, 9, N);
	CK(cuMemcpyDtoHAsync_v2(pin2, d, N, s));
	while (!bad && *last == 9)
		;
	CK(cuMemsetD8Async(d, 5, N, q));
}

/* Polled until done. */
static void query(bool bad)
{
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	CK(cuEventRecord(ev, s));
	while (!bad && cuEventQuery(ev))
		;
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
}

static void wake(void *user)
{
	sem_post(user);
}

/* A function that a stream calls wakes the host, which is not seen in a trace. */
static void host_function(bool bad)
{
	static sem_t done;

	sem_init(&done, 0, 0);
	CK(cuMemsetD8Async(d, 3, N, s));
	CK(cuLaunchHostFunc(s, wake, &done));
	if (!bad)
		sem_wait(&done);
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
}

/* ---- words ---- */

static uint32_t *new_word(CUdeviceptr *p)
{
	void *w;

	CK(cuMemAllocHost_v2(&w, 64));
	memset(w, 0, 64);
	*p = (CUdeviceptr)(uintptr_t)w;
	return w;
}

static void value(bool bad)
{
	CUdeviceptr w;

	new_word(&w);
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	CK(cuStreamWriteValue32_v2(s, w, 1, 0));
	if (!bad)
		CK(cuStreamWaitValue32_v2(q, w, 1, 0));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
}

/* The host, which has waited, writes the word: not seen in a trace. */
static void host_value(bool bad)
{
	CUdeviceptr w;
	volatile uint32_t *word = new_word(&w);

	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	if (!bad)
		CK(cuStreamWaitValue32_v2(q, w, 1, 0));
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
	CK(cuStreamSynchronize(s));
	*word = 1;
}

/* ---- memory ---- */

static void free_async(bool bad)
{
	CUdeviceptr p;

	CK(cuMemAllocAsync(&p, N, s));
	CK(cuMemsetD8Async(p, 0, N, s));
	order(s, q, false);
	CK(cuMemcpyDtoDAsync_v2(e, p, N, q));
	order(q, s, bad);
	CK(cuMemFreeAsync(p, s));
}

/* Used in a stream that does not wait for the allocation. */
static void alloc_async(bool bad)
{
	CUdeviceptr p;

	CK(cuMemAllocAsync(&p, N, s));
	order(s, q, bad);
	CK(cuMemsetD8Async(p, 1, N, q));
	order(q, s, false);
	CK(cuMemFreeAsync(p, s));
}

/* Used by another stream after its stream has freed it. */
static void use_after_free(bool bad)
{
	CUdeviceptr p;

	CK(cuMemAllocAsync(&p, N, s));
	order(s, q, false);
	if (!bad) {
		CK(cuMemsetD8Async(p, 1, N, q));
		order(q, s, false);
	}
	CK(cuMemFreeAsync(p, s));
	if (bad)
		CK(cuMemsetD8Async(p, 1, N, q));
}

/* An allocator above CUDA hands a block out again. */
static void allocator(bool bad)
{
	CUdeviceptr block = d + 65536;

	CK(cuMemsetD8Async(block, 1, 65536, s));
	app_add(add, block, 1, s);
	order(s, q, bad);
	CK(cuMemsetD8Async(block, 2, 65536, q));
	app_add(add, block, 2, q);
}

/* Memory of a pool that is freed and allocated again in another stream is ordered by the pool. */
static void pool_again(bool bad)
{
	CUdeviceptr p, again;

	CK(cuMemAllocAsync(&p, N, s));
	CK(cuMemsetD8Async(p, 1, N, s));
	CK(cuMemFreeAsync(p, s));
	CK(cuMemAllocAsync(&again, N, q));
	CK(cuMemsetD8Async(again, 2, N, bad ? s : q));
	order(s, q, false);
	CK(cuMemFreeAsync(again, q));
}

/* The work of a destroyed stream goes on. */
static void destroyed(bool bad)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING), second;

	CK(cuMemsetD8Async(d, 1, N, first));
	if (!bad)
		CK(cuStreamSynchronize(first));
	CK(cuStreamDestroy_v2(first));
	second = new_stream(CU_STREAM_NON_BLOCKING);
	CK(cuMemcpyDtoDAsync_v2(e, d, N, second));
}

/* ---- graphs ---- */

static CUgraphExec instantiate(CUgraph g)
{
	CUgraphExec x;

	CK(cuGraphInstantiateWithFlags(&x, g, 0));
	return x;
}

/* A graph's kernel and a copy in another stream. */
static void graph_copy(bool bad)
{
	CUgraphExec x;
	CUgraph g;

	CK(cuStreamBeginCapture_v2(q, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < 3; i++)
		app_add(add, d, 100, q);
	CK(cuStreamEndCapture(q, &g));
	x = instantiate(g);
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	order(s, q, bad);
	CK(cuGraphLaunch(x, q));
}

/* Two nodes on the same memory; EDGE: what connects them. */
static void launch_nodes(bool connected, const CUgraphEdgeData *edge)
{
	CUdeviceptr p = d;
	uint64_t v = 1;
	void *params[] = {&p, &v};
	CUgraphNodeParams n = {.kernel = {.func = add,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1,
					  .kernelParams = params}};
	CUgraphNode a, b;
	CUgraph g;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphAddKernelNode_v2(&a, g, NULL, 0, &n.kernel));
	n.kernel.blockDimX = 64;
	if (edge)
		CK(cuGraphAddNode_v2(&b, g, &a, edge, 1, &n));
	else
		CK(cuGraphAddKernelNode_v2(&b, g, connected ? &a : NULL, connected, &n.kernel));
	CK(cuGraphLaunch(instantiate(g), q));
}

static void graph_inside(bool bad)
{
	launch_nodes(!bad, NULL);
}

static void graph_programmatic(bool bad)
{
	const CUgraphEdgeData edge = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
				      .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};

	launch_nodes(true, bad ? &edge : NULL);
}

/* Two streams captured into one graph: their copies are nodes. */
static void capture(bool bad)
{
	CUevent back;
	CUgraph g;

	CK(cuEventCreate(&back, 2));
	CK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	order(s, q, false);
	CK(cuMemsetD8Async(d, 1, N, s));
	if (!bad)
		order(s, q, false);
	CK(cuMemcpyDtoDAsync_v2(e, d, N, q));
	CK(cuEventRecord(back, q));
	CK(cuStreamWaitEvent(s, back, 0));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphLaunch(instantiate(g), s));
}

/* The body of a conditional node is not seen; what is beside it is. */
static void conditional(bool bad)
{
	CUgraphConditionalHandle handle;
	CUgraphNodeParams n = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUdeviceptr p = d;
	uint64_t v = 1;
	void *params[] = {&p, &v};
	CUDA_KERNEL_NODE_PARAMS kernel = {.func = add,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1,
					  .kernelParams = params};
	CUgraphNode first, node;
	CUgraph g;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphAddKernelNode_v2(&first, g, NULL, 0, &kernel));
	CK(cuGraphConditionalHandleCreate(&handle, g, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	n.conditional.handle = handle;
	n.conditional.type = CU_GRAPH_COND_TYPE_IF;
	n.conditional.size = 1;
	n.conditional.ctx = context;
	CK(cuGraphAddNode(&node, g, &first, 1, &n));
	CK(cuMemcpyHtoDAsync_v2(d, pin, N, s));
	order(s, q, bad);
	CK(cuGraphLaunch(instantiate(g), q));
}

/* A kernel that may begin before the one before it is done. */
static void programmatic(bool bad)
{
	CUlaunchAttribute attribute = {.id = 6, .value.flag = bad};
	CUlaunchConfig c = {1, 1, 1, 32, 1, 1, 0, s, &attribute, 1};
	CUdeviceptr p = d;
	uint64_t v = 1;
	void *params[] = {&p, &v};

	app_add(add, d, 1, s);
	CK(cuLaunchKernelEx(&c, add, params, NULL));
}

/* ---- the program ---- */

static const struct {
	const char *name;
	void (*run)(bool bad);
} cases[] = {
	{"copy-kernel", copy_kernel},
	{"copy-kernel-inside", copy_kernel_inside},
	{"memset-copy", memset_copy},
	{"kernel-dtoh", kernel_dtoh},
	{"kernel-kernel", kernel_kernel},
	{"free-async", free_async},
	{"alloc-async", alloc_async},
	{"host-overwrite", host_overwrite},
	{"host-read", host_read},
	{"pinned-reuse", pinned_reuse},
	{"record-before", record_before},
	{"legacy", legacy},
	{"memset-sync", memset_sync},
	{"ptds", ptds},
	{"pipeline", pipeline},
	{"suballoc", suballoc},
	{"columns", columns},
	{"host-flag", host_flag},
	{"kernel-read-copy", kernel_read_copy},
	{"third", third},
	{"threads", threads},
	{"reuse-wait", reuse_wait},
	{"query", query},
	{"value", value},
	{"graph-copy", graph_copy},
	{"graph-inside", graph_inside},
	{"graph-programmatic", graph_programmatic},
	{"programmatic", programmatic},
	{"capture", capture},
	{"conditional", conditional},
	{"contexts", contexts},
	{"devices", devices},
	{"allocator", allocator},
	{"pool-again", pool_again},
	{"use-after-free", use_after_free},
	{"destroyed", destroyed},
	{"host-function", host_function},
	{"host-value", host_value},
	{"memset-columns", memset_columns},
	{"batch", batch},
};
#define CASES (sizeof(cases) / sizeof(*cases))

static void set_up(void)
{
	context = app_context(0);
	add = app_kernel("softgpu_add");
	s = new_stream(CU_STREAM_NON_BLOCKING);
	q = new_stream(CU_STREAM_NON_BLOCKING);
	CK(cuEventCreate(&ev, 2));
	CK(cuMemAlloc_v2(&d, N));
	CK(cuMemAlloc_v2(&e, N));
	CK(cuMemAllocHost_v2((void **)&pin, N));
	CK(cuMemAllocHost_v2((void **)&pin2, N));
	memset(pin, 1, N);
	CK(cuMemsetD8_v2(d, 0, N));
	CK(cuMemsetD8_v2(e, 0, N));
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	size_t i = 0;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (; i < CASES; i++)
			puts(cases[i].name);
		return 0;
	}
	while (argc == 3 && i < CASES && strcmp(argv[1], cases[i].name) != 0)
		i++;
	if (argc != 3 || i == CASES) {
		fprintf(stderr, "usage: races CASE bad|good, or races list\n");
		return 2;
	}
	set_up();
	cases[i].run(!strcmp(argv[2], "bad"));
	CK(cuCtxSynchronize());
	return 0;
}
