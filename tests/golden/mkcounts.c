/* SPDX-License-Identifier: MIT */
/* Makes the trace for tests/cli/counts.cases, counts.zst in the given folder: launches by two
 * threads, in two contexts and by two graphs, and readings of the counters. A tick is 1 ns. */
#include "tests/unit/mktrace.h"

enum api { CURRENT, LAUNCH, GRAPH, WAIT, WAIT_ALL, APIS };
enum kernel { ADD, MUL, OTHER_ADD }; /* the last is ADD of another module */

static const char *const apis[APIS] = {
	[CURRENT] = "cuCtxSetCurrent|context|ctx:context",
	[LAUNCH] = ("cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|gridDimZ:u32|"
		    "blockDimX:u32|blockDimY:u32|blockDimZ:u32|sharedMemBytes:u32|hStream:stream"),
	[GRAPH] = "cuGraphLaunch|graph-launch|hGraphExec:exec|hStream:stream",
	[WAIT] = "cuStreamSynchronize|sync|hStream:stream",
	[WAIT_ALL] = "cuCtxSynchronize|sync",
};

static struct mk m;
static uint64_t number[2]; /* of the next call, by thread */

static bool wrapped; /* a warp of the second kernel has executed more than its sum holds */
static uint32_t counted = NVS_COUNT_WARP | NVS_COUNT_THREAD;
static bool children; /* kernels that no call launches have counted, too */

static void tell_kernel(enum kernel kernel, const char *name)
{
	size_t length = strlen(name);
	struct nvs_rec_kernel *rec = mk_rec(&m, NVS_REC_KERNEL, sizeof(*rec) + length);
	struct nvs_rec_counter *counter = mk_rec(&m, NVS_REC_COUNTER, sizeof(*counter) + length);

	rec->function = 0xf0 + kernel;
	rec->length = (uint32_t)length;
	memcpy(rec->name, name, length);
	counter->rec.flags = (uint16_t)counted;
	counter->counter = kernel;
	counter->length = (uint32_t)length;
	memcpy(counter->text, name, length);
}

/* A kernel of which no handle is known: other kernels launch it, through the driver's functions. */
static void tell_child(uint32_t its, const char *name)
{
	size_t length = strlen(name);
	struct nvs_rec_counter *counter = mk_rec(&m, NVS_REC_COUNTER, sizeof(*counter) + length);

	counter->rec.flags = (uint16_t)(counted | NVS_COUNT_CALLS_OUT);
	counter->counter = its;
	counter->instructions = 13;
	counter->length = (uint32_t)length;
	memcpy(counter->text, name, length);
}

static void read_children(uint64_t time)
{
	struct nvs_rec_count *rec;

	m.time = time - 10;
	rec = mk_rec(&m, NVS_REC_COUNT, sizeof(*rec) + 2 * sizeof(rec->counts[0]));
	rec->thread = NVS_NONE;
	rec->cause = NVS_COUNT_EXIT;
	rec->ncounts = 2;
	rec->counts[0] = (struct nvs_count){.counter = 3, .warp = 660, .thread = 21120};
	rec->counts[1] = (struct nvs_count){.counter = 4, .warp = 60, .thread = 1920};
}

static void tell_graph(uint64_t exec, uint32_t n, const enum kernel *kernels)
{
	struct nvs_rec_graph *rec = mk_rec(&m, NVS_REC_GRAPH,
					   sizeof(*rec) + n * sizeof(rec->nodes[0]));

	rec->rec.flags = NVS_GRAPH_LAST;
	rec->exec = exec;
	rec->event = NVS_GRAPH_INSTANTIATED;
	rec->nnodes = n;
	for (uint32_t i = 0; i < n; i++)
		rec->nodes[i] = (struct nvs_graph_node){.node = i + 1,
							.function = 0xf0 + kernels[i],
							.grid = {4, 1, 1},
							.block = {32, 1, 1}};
}

static void call(enum api api, uint32_t thread, uint64_t begin, uint64_t end, uint32_t nargs,
		 const uint64_t *args)
{
	struct nvs_rec_call *rec;

	m.time = end - 10;
	rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec) + nargs * sizeof(*args));
	rec->api = api;
	rec->thread = thread;
	rec->number = number[thread]++;
	rec->begin = begin;
	rec->end = end;
	rec->depth = 1;
	rec->nargs = (uint16_t)nargs;
	if (nargs)
		memcpy(rec->args, args, nargs * sizeof(*args));
}

static void launch(uint32_t thread, uint64_t begin, uint64_t end, enum kernel kernel,
		   uint64_t stream)
{
	call(LAUNCH, thread, begin, end, 9,
	     (uint64_t[]){0xf0 + kernel, 2, 1, 1, 32, 1, 1, 0, stream});
}

static void launch_graph(uint32_t thread, uint64_t begin, uint64_t end, uint64_t exec)
{
	call(GRAPH, thread, begin, end, 2, (uint64_t[]){exec, 0x51});
}

/* Behind the thread's latest call: so many instructions of warps for each kernel, 0: none. */
static void reading(uint64_t time, uint32_t thread, enum nvs_count_cause cause, uint64_t add,
		    uint64_t mul, uint64_t other)
{
	const uint64_t warp[] = {add, mul, other};
	struct nvs_rec_count *rec;

	m.time = time - 10;
	rec = mk_rec(&m, NVS_REC_COUNT, sizeof(*rec) + 3 * sizeof(rec->counts[0]));
	rec->thread = thread;
	rec->cause = cause;
	rec->number = number[thread] - 1;
	for (uint32_t i = 0; i < 3; i++)
		if (warp[i])
			rec->counts[rec->ncounts++] = (struct nvs_count){
				.counter = i,
				.flags = wrapped && i == 1 ? NVS_COUNT_WARPS_WRAPPED : 0,
				.warp = counted & NVS_COUNT_WARP ? warp[i] : 0,
				.thread = 32 * warp[i],
			};
}

static void calls(void)
{
	call(CURRENT, 0, 10, 20, 1, (uint64_t[]){0xc1});
	call(CURRENT, 1, 10, 20, 1, (uint64_t[]){0xc2});
	launch(0, 100, 110, ADD, 0x51);
	reading(120, 0, NVS_COUNT_LAUNCH, 10, 0, 0);
	launch_graph(0, 200, 210, 0x60);
	reading(220, 0, NVS_COUNT_LAUNCH, 10, 40, 0);
	/* Two at once: the first reading has a part of the second one's. */
	launch(0, 300, 310, ADD, 0x51);
	reading(320, 0, NVS_COUNT_LAUNCH, 15, 0, 0);
	launch(1, 305, 330, ADD, 0x52);
	reading(340, 1, NVS_COUNT_LAUNCH, 5, 0, 0);
	/* In two contexts, of which one is waited for. */
	launch(1, 400, 410, OTHER_ADD, 0);
	launch(0, 402, 412, MUL, 0);
	call(WAIT_ALL, 0, 420, 425, 0, NULL);
	reading(430, 0, NVS_COUNT_SYNC, 0, 20, 7);
	call(WAIT_ALL, 1, 440, 450, 0, NULL);
	reading(455, 1, NVS_COUNT_SYNC, 0, 0, 3);
	/* It counts nothing: of the instructions chosen it executes none. */
	launch_graph(0, 460, 465, 0x61);
	reading(470, 0, NVS_COUNT_LAUNCH, 0, 11, 0);
	launch(0, 480, 485, ADD, 0x51);
	reading(490, 0, NVS_COUNT_LAUNCH, 0, 0, 0);
	/* A graph's and another one, read together. */
	launch_graph(0, 500, 510, 0x60);
	launch(0, 511, 520, MUL, 0x51);
	call(WAIT, 0, 530, 540, 1, (uint64_t[]){0x51});
	reading(545, 0, NVS_COUNT_SYNC, 10, 60, 0);
	launch(0, 600, 610, ADD, 0x51); /* nobody reads what it does */
}

int main(int argc, char **argv)
{
	wrapped = argc == 3 && !strcmp(argv[2], "wrapped");
	if (argc == 3 && !strcmp(argv[2], "threads"))
		counted = NVS_COUNT_THREAD;
	children = argc == 3 && !strcmp(argv[2], "children");
	MK_NEED(argc == 2 || (argc == 3 && (wrapped || children || counted == NVS_COUNT_THREAD)));
	mk_open_in(&m, argv[1], "counts.zst");
	for (uint32_t i = 0; i < APIS; i++)
		mk_api(&m, i, apis[i]);
	mk_thread(&m, 0, 100, "app");
	mk_thread(&m, 1, 101, "helper");
	tell_kernel(ADD, "add");
	tell_kernel(MUL, "mul");
	tell_kernel(OTHER_ADD, "add");
	tell_graph(0x60, 3, (enum kernel[]){MUL, ADD, MUL});
	tell_graph(0x61, 1, (enum kernel[]){MUL});
	if (children) {
		tell_child(3, "_Z5childPj");
		tell_child(4, "tail");
	}
	calls();
	if (children)
		read_children(990);
	m.time = 1000;
	mk_finish(&m);
	return 0;
}
