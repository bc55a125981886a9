/* SPDX-License-Identifier: MIT */
/*
 * Makes the traces with API calls for tests/cli/calls.cases, in the given folder:
 *   - copies with known GPU time, batches, graphs, launches that became part of a graph
 *   - calls before the session; nested calls; calls that fail, throw, jump or never return
 *   - an entry point without a record, unusual names, a trace from another machine
 *   - a trace with many shapes, stacks and errors, one of calls with many submissions, and one
 *     without any of this
 */
#include <stdarg.h>
#include <sys/stat.h>
#include "nvsnoop/nvtx.h"
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define SLOT(channel) (0x20460fff0ull - 16 * (channel))
#define NONE UINT64_MAX /* an argument that was not kept */

enum api {
	INIT = 1,
	ALLOC,
	ALLOC_HOST,
	GET_FUNCTION,
	LAUNCH,
	HTOD,
	DTOH,
	BATCH,
	BATCH_SUM,
	BATCH_3D,
	OLD_2D,
	SYNC,
	CAPTURE_END,
	GRAPH_LAUNCH,
	PEER,
	STREAM,
	STREAM_GONE,
	CURRENT,
	UNKNOWN,
	BETWEEN,
	PLAIN,
	AGAIN,
};

static const char *const apis[] = {
	[INIT] = "cuInit|init|Flags:u32",
	[ALLOC] = "cuMemAlloc_v2|memory|dptr:devptr|bytesize:u64",
	[ALLOC_HOST] = "cuMemAllocHost_v2|memory|pp:ptr|bytesize:u64",
	[GET_FUNCTION] = "cuModuleGetFunction|module|hfunc:function|hmod:module|name:str",
	[LAUNCH] = "cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|gridDimZ:u32|"
		   "blockDimX:u32|"
		   "blockDimY:u32|blockDimZ:u32|sharedMemBytes:u32|hStream:stream",
	[HTOD] = "cuMemcpyHtoDAsync_v2|copy|dstDevice:devptr|srcHost:ptr|ByteCount:u64|hStream:"
		 "stream",
	[DTOH] = "cuMemcpyDtoH_v2|copy|dstHost:ptr|srcDevice:devptr|ByteCount:u64",
	[BATCH] = "cuMemcpyBatchAsync|copy|count:u64|numAttrs:u64|failIdx:u64|hStream:stream",
	[BATCH_SUM] = "cuMemcpyBatchAsync_v2|copy|count:u64|ByteCount:u64|least:u64|most:u64|"
		      "hStream:stream",
	[BATCH_3D] = "cuMemcpy3DBatchAsync_v2|copy|numOps:u64|flags:u64|hStream:stream",
	[OLD_2D] = "cuMemcpy2D|copy",
	[SYNC] = "cuStreamSynchronize|sync|hStream:stream",
	[CAPTURE_END] = "cuStreamEndCapture|stream|hStream:stream|phGraph:graph",
	[AGAIN] = "cuMemcpyDtoH_v2|copy|dstHost:ptr|srcDevice:devptr|ByteCount:u64",
	[GRAPH_LAUNCH] = "cuGraphLaunch|graph-launch|hGraphExec:exec|hStream:stream",
	[PEER] = "cuMemcpy3DPeer|copy|srcMemoryType:u32|srcHost:ptr|srcDevice:devptr|dstMemoryType:"
		 "u32|"
		 "dstHost:ptr|dstDevice:devptr|WidthInBytes:u64|Height:u64|Depth:u64",
	[STREAM] = "cuStreamCreate|stream|phStream:stream|Flags:u32",
	[STREAM_GONE] = "cuStreamDestroy_v2|stream|hStream:stream",
	[CURRENT] = "cuCtxSetCurrent|context|ctx:context",
	[BETWEEN] = "cuMemcpyPeerAsync|copy|dstDevice:devptr|dstContext:context|srcDevice:devptr|"
		    "srcContext:context|ByteCount:u64|hStream:stream",
	[PLAIN] = "cuMemcpyAsync|copy|dst:devptr|src:devptr|ByteCount:u64|hStream:stream",
};

static struct {
	struct mk m;
	uint64_t number[2]; /* of the next call, by thread */
	uint32_t payload[16]; /* of the next release, by channel */
	uint32_t done[16]; /* what stands in the slot */
	uint64_t gpu[16];
	uint64_t begun[2][4]; /* by thread and depth, 0: the call has submitted nothing */
	struct pb pb;
} t;

/* Looked up by the program, and not observed. */
static void tell_passed(uint32_t number, const char *name)
{
	struct nvs_rec_api *rec = mk_rec(&t.m, NVS_REC_API, sizeof(*rec) + strlen(name) + 1);

	rec->rec.flags = NVS_API_PASSED;
	rec->api = number;
	rec->length = (uint32_t)strlen(name) + 1;
	memcpy(rec->text, name, rec->length);
}

static void start(const char *folder, const char *name)
{
	memset(&t, 0, sizeof(t));
	mk_open_in(&t.m, folder, name);
	t.m.time = 50000;
	mk_h200(&t.m);
	mk_thread(&t.m, 0, 100, "app");
	mk_thread(&t.m, 1, 101, "worker");
	mk_channel(&t.m, 1);
	mk_channel(&t.m, 8)->engine = 0xb;
	for (int i = 0; i < 16; i++)
		t.payload[i] = 1;
}

static void finish(void)
{
	mk_channel_gone(&t.m, 1);
	mk_channel_gone(&t.m, 8);
	mk_finish(&t.m);
}

/* The call that is made next on THREAD submits: it is told of. */
static void begun(uint32_t thread, uint32_t api, uint32_t depth)
{
	struct nvs_rec_call_begin *rec = mk_rec(&t.m, NVS_REC_CALL_BEGIN, sizeof(*rec));

	rec->thread = thread;
	rec->api = api;
	rec->number = t.number[thread] + depth - 1;
	rec->begin = rec->rec.time - 5;
	rec->depth = depth;
	t.begun[thread][depth] = rec->begin;
}

static struct nvs_rec_call *over(uint32_t thread, uint32_t api, uint32_t depth, uint64_t ns,
				 uint32_t nargs, ...)
{
	struct nvs_rec_call *rec;
	va_list ap;

	t.m.time += ns;
	rec = mk_rec(&t.m, NVS_REC_CALL, sizeof(*rec) + nargs * 8ull);
	rec->thread = thread;
	rec->api = api;
	rec->number = t.number[thread] + depth - 1;
	rec->begin = t.begun[thread][depth] ? 0 : rec->rec.time - ns - 10;
	t.begun[thread][depth] = 0;
	rec->end = rec->rec.time;
	rec->depth = (uint16_t)depth;
	rec->nargs = (uint16_t)nargs;
	va_start(ap, nargs);
	for (uint32_t i = 0; i < nargs; i++) {
		rec->args[i] = va_arg(ap, uint64_t);
		rec->absent |= (uint32_t)(rec->args[i] == NONE) << i;
	}
	va_end(ap);
	if (depth == 1)
		t.number[thread] += 2;
	return rec;
}

/* What stands in t.pb, and the channel's release behind it. */
static void submit(uint32_t thread, uint32_t channel, uint32_t depth)
{
	struct nvs_rec_submission *s;

	if (channel == 8)
		pb_copy_release(&t.pb, SLOT(channel), t.payload[channel]);
	else
		pb_report(&t.pb, SLOT(channel), t.payload[channel], 4);
	s = mk_submission(&t.m, thread, channel, NVS_NONE, 1, &t.pb.n, 0);
	s->rec.flags |= (uint16_t)(depth << NVS_SUB_CALL_SHIFT);
	memcpy(s->entries + 1, t.pb.words, t.pb.n * 4ull);
	if (t.payload[channel] > 1)
		s->progress_address = SLOT(channel);
	s->progress[0] = t.done[channel];
	s->progress[1] = t.gpu[channel];
	t.payload[channel]++;
	t.pb.n = 0;
}

static void bind(uint32_t channel)
{
	if (t.payload[channel] == 1)
		pb_inc(&t.pb, channel == 8 ? 4 : 1, 0, 1, channel == 8 ? 0xc8b5u : 0xcbc0u);
}

/* One call that copies BYTES by the engine while DONE of its channel are done since GPU. */
static void copy(uint64_t host, uint32_t bytes, uint32_t done, uint64_t gpu)
{
	t.done[8] = done;
	t.gpu[8] = gpu;
	begun(0, HTOD, 1);
	bind(8);
	pb_copy(&t.pb, host, 0x7f0000000000, bytes, 0x182);
	submit(0, 8, 1);
	over(0, HTOD, 1, 1990, 4, 0x7f0000000000ull, host, (uint64_t)bytes, 0x5000ull);
}

static void kernel(uint64_t function, const char *name, uint32_t registers)
{
	struct nvs_rec_kernel *rec = mk_rec(&t.m, NVS_REC_KERNEL, sizeof(*rec) + strlen(name));

	rec->rec.flags = NVS_KERNEL_NAMED | (registers ? NVS_KERNEL_ATTRS : 0);
	rec->function = function;
	rec->registers = registers;
	rec->length = (uint32_t)strlen(name);
	memcpy(rec->name, name, strlen(name));
}

static void launch(uint32_t thread, uint64_t function, uint32_t grid)
{
	begun(thread, LAUNCH, 1);
	bind(1);
	pb_inc(&t.pb, 1, 0x100, 1, 0u);
	submit(thread, 1, 1);
	over(thread, LAUNCH, 1, 2500, 9, function, (uint64_t)grid, 1ull, 1ull, 128ull, 1ull, 1ull,
	     0ull, 0ull);
}

static void graph(uint64_t exec, uint64_t function)
{
	struct nvs_rec_graph *rec = mk_rec(&t.m, NVS_REC_GRAPH,
					   sizeof(*rec) + 3 * sizeof(rec->nodes[0]));

	rec->rec.flags = NVS_GRAPH_LAST;
	rec->exec = exec;
	rec->graph = 0x6000;
	rec->event = NVS_GRAPH_INSTANTIATED;
	rec->nnodes = 3;
	for (int i = 0; i < 3; i++) {
		rec->nodes[i].node = 0x6100 + (uint64_t)i;
		rec->nodes[i].type = i == 2;
		rec->nodes[i].bytes = i == 2 ? 256 : 0;
		rec->nodes[i].function = i == 2 ? 0 : function;
		rec->nodes[i].grid[0] = rec->nodes[i].grid[1] = rec->nodes[i].grid[2] = 2;
		rec->nodes[i].block[0] = 64;
		rec->nodes[i].block[1] = rec->nodes[i].block[2] = 1;
	}
}

/* Copies of 1 MiB in a row, which the host makes much faster than the GPU. The channel's slot tells
 * when the first was done, and at last when all were: 40 us each. */
static void copies(void)
{
	static const struct {
		uint32_t done;
		uint64_t gpu;
	} seen[] = {{0, 0},	  {0, 0},	{0, 0},	      {0, 0},	   {1, 1000000},
		    {1, 1000000}, {1, 1000000}, {1, 1000000}, {8, 1280000}};

	over(0, ALLOC_HOST, 1, 3000, 2, 0x7e0000000000ull, 8ull << 20);
	for (uint32_t i = 0; i < 8; i++)
		copy(0x7e0000000000, 1 << 20, seen[i].done, seen[i].gpu);
	over(0, SYNC, 1, 100000, 1, 0x5000ull);
	/* Idle until here: the time from the last release to this one tells nothing. */
	copy(0x7d0000000000, 1 << 20, seen[8].done, seen[8].gpu);
	copy(0x7d0000000000, 1 << 20, 9, 1900000);
	over(0, HTOD, 1, 500, 4, 0x7f0000000000ull, 0x7e0000000000ull, 4096ull, 0x5000ull)->result =
		1;
}

static void batches(void)
{
	t.done[8] = 10;
	t.gpu[8] = 2300000;
	begun(0, BATCH, 1);
	for (uint32_t i = 0; i < 4; i++)
		pb_copy(&t.pb, 0x7e0000000000, 0x7f0000000000, 1000 + i, 0x182);
	submit(0, 8, 1);
	over(0, BATCH, 1, 4000, 4, 4ull, 1ull, NONE, 0x5000ull);
	over(0, BATCH_SUM, 1, 4000, 5, 3ull, 60000ull, 10000ull, 30000ull, 0x5000ull);
	over(0, BATCH_3D, 1, 4000, 3, 2ull, 0ull, 0x5000ull);
	over(0, OLD_2D, 1, 4000, 0);
	over(0, PEER, 1, 4000, 9, 1ull, 0x7d0000000000ull, NONE, 2ull, NONE, 0x7f0000000000ull,
	     100ull, 10ull, 5ull);
}

static void odd_calls(void)
{
	struct nvs_rec_call *rec;

	/* Nested: the inner one submits, too. */
	begun(1, GRAPH_LAUNCH, 1);
	pb_inc(&t.pb, 1, 0x100, 1, 0u);
	submit(1, 1, 1);
	begun(1, DTOH, 2);
	pb_upload(&t.pb, 0x7f0000000000, "abcdefgh", 8);
	submit(1, 1, 2);
	over(1, DTOH, 2, 1000, 3, 0x7d0000000000ull, 0x7f0000000000ull, 8ull);
	over(1, GRAPH_LAUNCH, 1, 3000, 2, 0x6200ull, 0ull);
	over(1, UNKNOWN, 1, 100, 2, 1ull, 2ull);
	over(1, SYNC, 1, 100, 1, 0ull)->result = 700;
	over(1, SYNC, 1, 100, 1, 0ull)->result = 12345;
	over(1, SYNC, 1, 100, 1, 0ull)->rec.flags = NVS_CALL_UNWOUND;
	over(1, SYNC, 1, 100, 1, 0ull)->rec.flags = NVS_CALL_ABANDONED;
	/* A stream's handle comes again, in another context. */
	for (uint64_t context = 0xc0; context < 0xc2; context++) {
		over(1, CURRENT, 1, 100, 1, context);
		over(1, STREAM, 1, 100, 2, 0x5100ull, 0ull);
		over(1, CURRENT, 1, 100, 1, 0xc9ull);
		over(1, SYNC, 1, 300, 1, 0x5100ull);
		over(1, STREAM_GONE, 1, 100, 1, 0x5100ull);
	}
	/* Before the session began, and of no thread that is known. */
	rec = over(0, INIT, 1, 0, 1, 0ull);
	rec->rec.flags = NVS_CALL_EARLY;
	rec->thread = NVS_NONE;
	rec->begin = 250;
	rec->end = 900;
	begun(1, DTOH, 1);
	bind(8);
	pb_copy(&t.pb, 0x7f0000000000, 0x7d0000000000, 64, 0x182);
	submit(1, 8, 1);
}

/* What other traces have nothing of: a control entry, a copy of several lines, an upload that stays
 * unfinished, a launch in clusters, a wait for what nobody releases. */
static void odd_work(void)
{
	const uint64_t descriptor = 0x204e5d000;
	const struct qmd_spec spec = {.type = 3, .grid = {8, 1, 1}, .program = 0x7e0000001000};
	struct nvs_rec_submission *s;
	uint32_t none = 0, qmd[96];

	bind(8);
	pb_inc(&t.pb, 4, 0x410, 2, 4096u, 8192u);
	pb_inc(&t.pb, 4, 0x41c, 1, 16u);
	pb_copy(&t.pb, 0x7e0000000000, 0x7f0000000000, 256, 0x382);
	submit(0, 8, 0);
	bind(1);
	qmd_make(qmd, &spec);
	qmd_set(qmd, 2149, 2144, 2);
	qmd_set(qmd, 2157, 2152, 1);
	qmd_set(qmd, 2165, 2160, 1);
	pb_upload(&t.pb, descriptor, qmd, sizeof(qmd));
	pb_trigger(&t.pb, descriptor, 3);
	pb_inc(&t.pb, 1, 0x180, 2, 64u, 1u);
	pb_inc(&t.pb, 1, 0x1b0, 1, 0x41u);
	pb_inc(&t.pb, 1, 0x1b4, 1, 1u);
	pb_host_sem(&t.pb, SLOT(9), 7, 3 | 1 << 12);
	submit(0, 1, 0);
	s = mk_submission(&t.m, 0, 1, NVS_NONE, 1, &none, 0);
	s->entries[0].entry = 0;
}

/* The process with rank RANK of two, on HOST. */
static void place(const char *host, const char *rank)
{
	mk_attr(&t.m, NVS_ATTR_HOST, host, strlen(host));
	mk_attr(&t.m, NVS_ATTR_LAUNCHER, "torchrun", 8);
	mk_attr(&t.m, NVS_ATTR_RANK, rank, strlen(rank));
	mk_attr(&t.m, NVS_ATTR_WORLD_SIZE, "2", 1);
	mk_attr(&t.m, NVS_ATTR_LOCAL_RANK, "0", 1);
	mk_attr(&t.m, NVS_ATTR_JOB, "night", 5);
}

/* HOST NULL: as it was before there were ranks. */
static void calls(const char *folder, const char *name, const char *host, const char *rank)
{
	struct nvs_rec_remark *remark;

	start(folder, name);
	if (host)
		place(host, rank);
	for (uint32_t i = INIT; i < UNKNOWN; i++)
		mk_api(&t.m, i, apis[i]);
	over(0, ALLOC, 1, 1000, 2, 0x7f0000000000ull, 16ull << 20);
	copies();
	batches();
	kernel(0xf00, "_Z4stepPfi", 40);
	kernel(0xf01, "odd, \"name\"\033", 0);
	for (uint32_t i = 0; i < 12; i++)
		launch(0, 0xf00, 1 + i % 6);
	launch(1, 0xf01, 1);
	launch(1, 0xf02, 1);
	over(1, CAPTURE_END, 1, 100, 2, 0x5000ull, 0x6000ull);
	graph(0x6200, 0xf00);
	odd_calls();
	if (host)
		odd_work();
	remark = mk_rec(&t.m, NVS_REC_REMARK, sizeof(*remark));
	remark->kind = NVS_REMARK_KERNEL_CHANNEL;
	finish();
}

/* api=off: submissions alone; and not even those. */
static void without(const char *folder)
{
	start(folder, "off.zst");
	bind(1);
	submit(0, 1, 0);
	bind(8);
	pb_copy(&t.pb, 0x7e0000000000, 0x7f0000000000, 4096, 0x182);
	submit(0, 8, 0);
	finish();
	start(folder, "nothing.zst");
	finish();
}

/* The modules of a program that is nowhere here, and stack NUMBER through them from its call site
 * SITE. */
static void elsewhere(void)
{
	static const char *const paths[] = {"/nowhere/app", "/nowhere/libcudart.so.13",
					    "/nowhere/libcuda.so.1"};

	for (uint32_t i = 0; i < 3; i++) {
		struct nvs_rec_module *rec = mk_rec(&t.m, NVS_REC_MODULE,
						    sizeof(*rec) + strlen(paths[i]));

		rec->module = i;
		rec->path_length = (uint16_t)strlen(paths[i]);
		rec->bias = rec->start = 0x10000000ull * (i + 1);
		rec->end = rec->start + 0x100000;
		memcpy(rec->tail, paths[i], rec->path_length);
	}
}

static void stack(uint32_t number, uint32_t inner, uint32_t site)
{
	const uint64_t pc[] = {0x30000120 + inner, 0x20000120, 0x10000120 + site};

	mk_stack(&t.m, number, 3, pc);
}

/* Recorded where libraries lie that are nowhere here, by a program that makes more streams than it
 * uses. */
static void away(const char *folder)
{
	start(folder, "away.zst");
	elsewhere();
	stack(0, 0, 0);
	for (uint32_t i = LAUNCH; i <= STREAM_GONE; i++)
		mk_api(&t.m, i, apis[i]);
	tell_passed(0x10000, "cuDeviceGetName");
	tell_passed(0x10001, "cuCtxGetId");
	for (uint64_t stream = 0x5000; stream < 0x5006; stream++)
		over(0, STREAM, 1, 100, 2, stream, 0ull);
	begun(0, HTOD, 1);
	bind(8);
	pb_copy(&t.pb, 0x7f0000000000, 0x7d0000000000, 64, 0x182);
	mk_submission(&t.m, 0, 8, 0, 1, &t.pb.n, 0);
	over(0, HTOD, 1, 500, 4, 0x7f0000000000ull, 0x7d0000000000ull, 64ull, 0x5001ull);
	over(0, STREAM_GONE, 1, 100, 1, 0x5001ull);
	over(0, STREAM_GONE, 1, 100, 1, 0x5002ull);
	over(0, SYNC, 1, 100, 1, 0x5003ull);
	finish();
}

/* More of each than a row keeps: five shapes in turn, ten stacks through two call sites, ten
 * errors; and a wait. */
static void many(const char *folder)
{
	start(folder, "many.zst");
	for (uint32_t i = INIT; i < UNKNOWN; i++)
		mk_api(&t.m, i, apis[i]);
	elsewhere();
	for (uint32_t i = 0; i < 10; i++)
		stack(i, 16 * i, i % 2);
	kernel(0xf00, "_Z4stepPfi", 40);
	for (uint32_t i = 0; i < 1000; i++) {
		begun(0, LAUNCH, 1);
		mk_submission(&t.m, 0, 1, i % 10, 0, NULL, 0)->rec.flags |= 1 << NVS_SUB_CALL_SHIFT;
		over(0, LAUNCH, 1, 2500, 9, 0xf00ull, 1ull + i % 5, 1ull, 1ull, 128ull, 1ull, 1ull,
		     0ull, 0ull);
	}
	/* Two calls whose stacks were not followed out of the driver. */
	mk_stack(&t.m, 10, 1, (const uint64_t[]){0x30000777});
	for (uint32_t i = 0; i < 2; i++) {
		begun(0, i ? SYNC : HTOD, 1);
		mk_submission(&t.m, 0, 1, 10, 0, NULL, 0)->rec.flags |= 1 << NVS_SUB_CALL_SHIFT;
		over(0, i ? SYNC : HTOD, 1, 100, 1, 0ull);
	}
	for (uint32_t i = 0; i < 20; i++)
		over(0, SYNC, 1, 100, 1, 0ull)->result = 700 + i % 10;
	/* What one call releases another waits for, both without a stack. */
	begun(0, HTOD, 1);
	submit(0, 8, 1);
	over(0, HTOD, 1, 100, 4, 0x7f0000000000ull, 0x7d0000000000ull, 64ull, 0ull);
	begun(0, DTOH, 1);
	pb_host_sem(&t.pb, SLOT(8), 1, 3 | 1 << 12);
	submit(0, 1, 1);
	over(0, DTOH, 1, 100, 3, 0x7d0000000000ull, 0x7f0000000000ull, 64ull);
	finish();
}

/* Of two launches that became part of a graph one took long enough for a stack. */
static void captured(const char *folder)
{
	struct nvs_rec_call *rec;

	start(folder, "captured.zst");
	for (uint32_t i = INIT; i < UNKNOWN; i++)
		mk_api(&t.m, i, apis[i]);
	elsewhere();
	stack(0, 0, 0);
	stack(1, 0, 1);
	kernel(0xf00, "_Z4stepPfi", 40);
	begun(0, LAUNCH, 1);
	mk_submission(&t.m, 0, 1, 0, 0, NULL, 0)->rec.flags |= 1 << NVS_SUB_CALL_SHIFT;
	over(0, LAUNCH, 1, 2500, 9, 0xf00ull, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull, 0ull, 0ull);
	rec = over(0, LAUNCH, 1, 2500, 9, 0xf00ull, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull, 0ull,
		   0x5000ull);
	rec->rec.flags |= NVS_CALL_CAPTURED;
	rec = over(0, LAUNCH, 1, 2500000, 10, 1ull, 0xf00ull, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull,
		   0ull, 0x5000ull);
	rec->rec.flags |= NVS_CALL_CAPTURED | NVS_CALL_SITED;
	rec->nargs = 9;
	finish();
}

/* Memory of two GPUs, and copies from each to the other, by both ways to ask for one, and to the
 * host. */
static void peers(const char *folder)
{
	const uint64_t memory[2] = {0x7e0000000000, 0x7e1000000000};

	start(folder, "peers.zst");
	for (uint32_t i = INIT; i <= PLAIN; i++)
		if (i != UNKNOWN)
			mk_api(&t.m, i, apis[i]);
	for (uint32_t gpu = 0; gpu < 2; gpu++) {
		struct nvs_rec_gpu_map *map = mk_rec(&t.m, NVS_REC_GPU_MAP, sizeof(*map));

		map->map = 10 + gpu;
		map->object_class = 0x40;
		map->gpu = gpu;
		map->address = memory[gpu];
		map->size = 2 << 20;
		over(0, ALLOC, 1, 100, 2, memory[gpu], 2ull << 20);
	}
	for (uint64_t i = 0; i < 5; i++)
		over(0, BETWEEN, 1, 1000, 6, memory[1] + 64 * i, 1ull, memory[0], 2ull, 4096ull,
		     0ull);
	for (uint64_t i = 0; i < 3; i++)
		over(0, PLAIN, 1, 1000, 4, memory[0], memory[1] + 256, 4096ull, 0ull);
	over(0, PLAIN, 1, 1000, 4, memory[1], memory[1] + 65536, 4096ull, 0ull);
	over(0, DTOH, 1, 1000, 3, 0x7d0000000000ull, memory[1], 64ull);
	over(0, HTOD, 1, 1000, 4, memory[0], 0x7d0000000000ull, 64ull, 0ull);
	finish();
}

/* Calls of several submissions, on two channels in turn: of each, a selection has some. */
static void parts(const char *folder)
{
	const uint32_t api[] = {HTOD, LAUNCH, GRAPH_LAUNCH};

	start(folder, "parts.zst");
	for (uint32_t i = INIT; i < UNKNOWN; i++)
		mk_api(&t.m, i, apis[i]);
	kernel(0xf00, "_Z4stepPfi", 40);
	graph(0x6200, 0xf00);
	for (uint32_t i = 0; i < 9; i++) {
		begun(0, api[i % 3], 1);
		for (uint32_t k = 0; k <= i; k++)
			submit(0, (i + k) % 2 ? 8 : 1, 1);
		if (api[i % 3] == HTOD)
			over(0, HTOD, 1, 100, 4, 0x7f0000000000ull, 0x7d0000000000ull, 64ull, 0ull);
		else if (api[i % 3] == LAUNCH)
			over(0, LAUNCH, 1, 100, 9, 0xf00ull, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull,
			     0ull, 0ull);
		else
			over(0, GRAPH_LAUNCH, 1, 100, 2, 0x6200ull, 0ull);
	}
	finish();
}

static void time_of(uint32_t kind, uint64_t sequence, uint64_t ns)
{
	struct nvs_rec_gpu_time *rec = mk_rec(&t.m, NVS_REC_GPU_TIME, sizeof(*rec));

	rec->channel = 1;
	rec->kind = kind;
	rec->sequence = sequence;
	rec->begin = 1000000 + 100000 * sequence;
	rec->end = kind == NVS_TIMING_WORK ? rec->begin + ns : 0;
}

static void untimed(uint32_t reason, uint64_t submissions)
{
	struct nvs_rec_untimed *rec = mk_rec(&t.m, NVS_REC_UNTIMED, sizeof(*rec));

	rec->channel = 1;
	rec->reason = reason;
	rec->submissions = submissions;
}

/* The GPU's time of KIND: of 40 submissions 0 to 3 have none; 5 and 21 are copies, 30 and 31 others
 * of one name and two numbers. The times come when all have been submitted. */
static void times(const char *folder, const char *name, uint32_t kind)
{
	start(folder, name);
	mk_api(&t.m, HTOD, apis[HTOD]);
	mk_api(&t.m, DTOH, apis[DTOH]);
	mk_api(&t.m, AGAIN, apis[AGAIN]);
	mk_api(&t.m, LAUNCH, apis[LAUNCH]);
	kernel(0xf00, "_Z4stepPfi", 40);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t api = i == 5 || i == 21 ? HTOD : i == 30 ? DTOH : i == 31 ? AGAIN : LAUNCH;

		begun(0, api, 1);
		submit(0, 1, 1);
		if (api == HTOD)
			over(0, api, 1, 100, 4, 0x7f0000000000ull, 0x7d0000000000ull, 64ull, 0ull);
		else if (api == LAUNCH)
			over(0, api, 1, 100, 9, 0xf00ull, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull,
			     0ull, 0ull);
		else
			over(0, api, 1, 100, 3, 0x7d0000000000ull, 0x7f0000000000ull, 64ull);
	}
	for (uint32_t i = 4; i < 40; i++)
		time_of(kind, i, i == 5 ? 1024 : i == 21 ? 4096 : 2048);
	untimed(NVS_UNTIMED_EARLY, 3);
	untimed(NVS_UNTIMED_METHOD, 1);
	finish();
}

/* ---- brackets ---- */

#define AHEAD 1000000000u /* of the session's clock is the GPU's */

static void bracket(uint32_t kind, uint32_t channel, uint64_t sequence, uint64_t begin, uint64_t ns)
{
	struct nvs_rec_gpu_time *rec = mk_rec(&t.m, NVS_REC_GPU_TIME, sizeof(*rec));

	rec->channel = channel;
	rec->kind = kind;
	rec->sequence = sequence;
	rec->begin = AHEAD + begin;
	rec->end = AHEAD + begin + ns;
}

/* Of both, to 100 ns. */
static void clocks(uint64_t at)
{
	struct nvs_rec_gpu_clock *rec;

	t.m.time = at;
	rec = mk_rec(&t.m, NVS_REC_GPU_CLOCK, sizeof(*rec));
	rec->ns = AHEAD + at;
	rec->before = at - 100;
	rec->after = at + 100;
}

static void range(const char *name)
{
	struct nvs_rec_nvtx *rec = mk_rec(&t.m, NVS_REC_NVTX_BEGIN, sizeof(*rec) + strlen(name));

	rec->rec.flags = NVS_NVTX_PUSHED;
	rec->length = (uint32_t)strlen(name);
	memcpy(rec->text, name, strlen(name));
}

static void range_over(void)
{
	struct nvs_rec_nvtx_end *rec = mk_rec(&t.m, NVS_REC_NVTX_END, sizeof(*rec));

	rec->rec.flags = NVS_NVTX_PUSHED;
}

/* A launch whose doorbell is at AT, of KERNELS kernels. */
static void launch_at(uint64_t at, uint32_t channel, uint64_t function, uint64_t stream,
		      uint32_t kernels)
{
	t.m.time = at - 20;
	begun(0, LAUNCH, 1);
	bind(channel);
	while (kernels--)
		pb_trigger(&t.pb, 0x7f0000001000 + 0x200ull * kernels, 3);
	submit(0, channel, 1);
	over(0, LAUNCH, 1, 2500, 9, function, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull, 0ull, stream);
}

/*
 * Channels 1 and 2 are of one engine, 8 of another. Of channel 1 an empty bracket takes 2300 ns,
 * once 2500; each time stands 5000 behind its doorbell. The one of channel 2 holds work of channel
 * 1, and 4700 ns of its second submission are those of channel 1's second.
 */
static void brackets(const char *folder)
{
	static const uint64_t took[] = {12300, 12300, 2350, 1000};

	start(folder, "brackets.zst");
	mk_channel(&t.m, 2);
	for (uint32_t i = INIT; i < UNKNOWN; i++)
		mk_api(&t.m, i, apis[i]);
	kernel(0xf00, "_Z4stepPfi", 40);
	kernel(0xf10, "_Z4lastPfi", 40);
	graph(0x6200, 0xf00);
	clocks(60000);
	range("all");
	launch_at(100000, 1, 0xf00, 0, 1);
	launch_at(149000, 2, 0xf10, 0x5200, 1);
	launch_at(200000, 1, 0xf00, 0, 1);
	launch_at(205000, 2, 0xf10, 0x5200, 2);
	range("short");
	launch_at(300000, 1, 0xf00, 0, 1);
	launch_at(400000, 1, 0xf00, 0, 1);
	range_over();
	range_over();
	t.m.time = 500000 - 20;
	begun(0, GRAPH_LAUNCH, 1);
	submit(0, 1, 1);
	over(0, GRAPH_LAUNCH, 1, 2500, 2, 0x6200ull, 0ull);
	t.m.time = 510000 - 20;
	copy(0x7e0000000000, 1 << 20, 0, 0);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t empty = i == 3 ? 2500 : 2300, at = 100000 * (i + 1) + 5000;

		bracket(NVS_TIMING_EMPTY, 1, i, at, empty);
		bracket(NVS_TIMING_WORK, 1, i, at + empty + 100, took[i]);
	}
	bracket(NVS_TIMING_WORK, 1, 4, 505000, 52300);
	bracket(NVS_TIMING_EMPTY, 2, 0, 108000, 10000);
	bracket(NVS_TIMING_WORK, 2, 0, 150000, 20000);
	bracket(NVS_TIMING_WORK, 2, 1, 215000, 10000);
	bracket(NVS_TIMING_WORK, 8, 0, 515000, 30000);
	clocks(700000);
	mk_channel_gone(&t.m, 2);
	finish();
}

/* Times that cannot be. */
static void lies(const char *folder)
{
	start(folder, "lies.zst");
	mk_api(&t.m, LAUNCH, apis[LAUNCH]);
	kernel(0xf00, "_Z4stepPfi", 40);
	clocks(60000);
	clocks(59000);
	for (uint32_t i = 0; i < 8; i++)
		launch_at(100000 * (i + 1ull), 1, 0xf00, 0, 1);
	bracket(NVS_TIMING_WORK, 1, 0, 110000, 1000);
	bracket(NVS_TIMING_WORK, 1, 1, 210000, -10ull); /* ends before it begins */
	bracket(NVS_TIMING_WORK, 1, 2, -(uint64_t)AHEAD, 1000); /* begins at 0 */
	bracket(NVS_TIMING_WORK, 1, 3, 410000, 1000); /* two that differ */
	bracket(NVS_TIMING_WORK, 1, 3, 410000, 2000);
	bracket(NVS_TIMING_WORK, 1, 4, 510000, 1000); /* two that agree */
	bracket(NVS_TIMING_WORK, 1, 4, 510000, 1000);
	bracket(NVS_TIMING_WORK, 1, 5, 500000,
		1000); /* before its doorbell, and the one before it */
	bracket(NVS_TIMING_WORK, 1, 6, 1ull << 62, 1000); /* long after the trace's end */
	bracket(NVS_TIMING_WORK, 1, 7, 810000, 1ull << 60); /* goes on for 36 years */
	bracket(NVS_TIMING_WORK, 1, 99, 900000, 1000); /* never submitted */
	bracket(NVS_TIMING_WORK, 77, 0, 900000, 1000); /* of no channel */
	bracket(NVS_TIMING_WORK, 0xfffffff0, 0, 900000, 1000);
	bracket(99, 1, 7, 810000, 1000);
	bracket(NVS_TIMING_EMPTY, 1, 4, 490000, -10ull);
	clocks(1000000);
	finish();
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: mkcalls FOLDER\n");
		return 2;
	}
	calls(argv[1], "calls.zst", NULL, NULL);
	calls(argv[1], "east.zst", "east", "0");
	calls(argv[1], "west.zst", "west", "1");
	without(argv[1]);
	away(argv[1]);
	many(argv[1]);
	captured(argv[1]);
	peers(argv[1]);
	parts(argv[1]);
	times(argv[1], "times.zst", NVS_TIMING_WORK);
	times(argv[1], "moments.zst", NVS_TIMING_DISPATCH);
	brackets(argv[1]);
	lies(argv[1]);
	return 0;
}
