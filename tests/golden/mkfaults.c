/* SPDX-License-Identifier: MIT */
/*
 * mkfaults FOLDER LINES.CUBIN: traces of programs whose GPU faults, for tests/cli/faults.cases.
 * Kernels are "store" and "load" of tests/sass/lines.cu and "other", whose code is not in the
 * trace. The GPU has executed everything up to what is said to run.
 */
#include <stdarg.h>
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define MS 1000000ull
#define SLOT(channel) (0x20460fff0ull - 16 * (channel))
#define SEMAPHORE(n) (0x204637abcull - 8 * (n))
#define BANK(n) (0x7f1000000000ull + (n)*0x10000ull)
#define QMD(n) (0x204e00000ull + (n)*0x800ull)
#define CODE(kernel) (0x7f2000000000ull + (kernel)*0x1000ull)
#define BUFFER 0x7f0000000000ull
#define SECOND (BUFFER + 0x400000)
#define FUNCTION(kernel) (0xf00ull + (kernel))
#define STREAM(channel) (0x5000ull + (channel))
#define EXEC 0xe00ull

enum kernel { STORE, LOAD, OTHER, KERNELS };
enum api { ALLOC = 1, FREE, LAUNCH, GRAPH, SYNC, MODULE, APIS };

static const char *const names[KERNELS] = {"store", "load", "_Z5otherPf"};
static const char *const apis[APIS] = {
	[ALLOC] = "cuMemAlloc_v2|memory|dptr:devptr|bytesize:u64",
	[FREE] = "cuMemFree_v2|memory|dptr:devptr",
	[LAUNCH] = "cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|gridDimZ:u32|"
		   "blockDimX:u32|blockDimY:u32|blockDimZ:u32|sharedMemBytes:u32|hStream:stream",
	[GRAPH] = "cuGraphLaunch|graph-launch|hGraphExec:exec|hStream:stream",
	[SYNC] = "cuCtxSynchronize|sync",
	[MODULE] = "cuModuleLoadData|module|module:*module|image:ptr",
};

static struct mk m;
static struct pb pb;
static uint64_t number; /* of the next call */
static uint32_t launches; /* so far: each has a semaphore and a bank of its own */
static uint32_t payload[4]; /* by channel: released last */
static uint8_t page[2][4096]; /* of slots and of semaphores */

static void put(uint64_t address, uint32_t value)
{
	memcpy(page[address >> 12 == SEMAPHORE(0) >> 12] + address % 4096, &value, 4);
}

/* ---- calls ---- */

static void call(uint32_t api, uint32_t result, uint32_t nargs, ...)
{
	struct nvs_rec_call *rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec) + nargs * 8ull);
	va_list ap;

	rec->api = api;
	rec->number = number++;
	rec->begin = rec->rec.time - 5;
	rec->end = rec->rec.time;
	rec->depth = 1;
	rec->result = result;
	rec->nargs = (uint16_t)nargs;
	va_start(ap, nargs);
	for (uint32_t i = 0; i < nargs; i++)
		rec->args[i] = va_arg(ap, uint64_t);
	va_end(ap);
	m.time += MS;
}

static bool before; /* memory is older than the trace */

static void alloc(uint64_t address, uint64_t bytes)
{
	struct nvs_rec_allocation *rec;

	if (!before) {
		call(ALLOC, 0, 2, address, bytes);
		return;
	}
	rec = mk_rec(&m, NVS_REC_ALLOCATION, sizeof(*rec));
	rec->address = address;
	rec->bytes = bytes;
	rec->at = 1;
	rec->stack = NVS_NONE;
}

static void submit(uint32_t api, uint32_t channel)
{
	struct nvs_rec_call_begin *begin = mk_rec(&m, NVS_REC_CALL_BEGIN, sizeof(*begin));
	struct nvs_rec_submission *s;

	begin->api = api;
	begin->number = number;
	begin->begin = begin->rec.time;
	begin->depth = 1;
	pb_report(&pb, SLOT(channel), ++payload[channel], 4);
	s = mk_submission(&m, 0, channel, NVS_NONE, 1, &pb.n, 0);
	s->rec.flags |= 1u << NVS_SUB_CALL_SHIFT;
	s->progress_address = SLOT(channel);
	memcpy(s->entries + 1, pb.words, pb.n * 4ull);
	pb.n = 0;
}

/* ---- launches ---- */

static void grid(enum kernel kernel, uint32_t blocks, uint64_t a, uint64_t b, uint64_t release)
{
	static const uint8_t zeros[0x210];
	uint64_t params[] = {a, b};
	struct qmd_spec spec = {.type = 2,
				.grid = {blocks, 1, 1},
				.block = {64, 1, 1},
				.program = CODE(kernel),
				.release = release,
				.payload = 6,
				.bank = BANK(launches),
				.bank_bytes = 768};
	uint32_t qmd[96], five = 5;

	pb_upload(&pb, BANK(launches), zeros, sizeof(zeros));
	pb_upload(&pb, BANK(launches) + sizeof(zeros), params, sizeof(params));
	qmd_make(qmd, &spec);
	pb_upload(&pb, QMD(launches), qmd, sizeof(qmd));
	if (release)
		pb_upload(&pb, release, &five, 4);
	pb_trigger(&pb, QMD(launches), 10);
	launches++;
}

/* What the GPU has done of a launch. */
enum done { ENDED, RUNS, WAITS };

static void reached(uint32_t channel, uint32_t n, enum done done)
{
	if (done != WAITS)
		put(SLOT(channel), payload[channel]);
	if (done != WAITS)
		put(SEMAPHORE(n), done == ENDED ? 6 : 5);
}

static void launch(uint32_t channel, enum kernel kernel, uint64_t a, uint64_t b, enum done done)
{
	uint32_t n = launches;

	grid(kernel, 2, a, b, SEMAPHORE(n));
	submit(LAUNCH, channel);
	reached(channel, n, done);
	call(LAUNCH, 0, 9, FUNCTION(kernel), 2ull, 1ull, 1ull, 64ull, 1ull, 1ull, 0ull,
	     STREAM(channel));
}

/* A graph of N kernels, all of one shape unless SHAPES. Node BAD gets the address A. */
static void graph(uint32_t n, uint32_t bad, bool differ, bool shapes, uint64_t a)
{
	struct nvs_rec_graph *rec = mk_rec(&m, NVS_REC_GRAPH,
					   sizeof(*rec) + n * sizeof(rec->nodes[0]));
	uint32_t last;

	rec->rec.flags = NVS_GRAPH_LAST;
	rec->exec = EXEC;
	rec->event = NVS_GRAPH_INSTANTIATED;
	rec->nnodes = n;
	for (uint32_t i = 0; i < n; i++) {
		/* With other shapes than launched, the order of the nodes is unknown. */
		rec->nodes[i].node = 0x900 + i;
		rec->nodes[i].function = FUNCTION(differ && i != bad ? OTHER : STORE);
		rec->nodes[i].grid[0] = shapes ? n - i : 2;
		rec->nodes[i].grid[1] = rec->nodes[i].grid[2] = 1;
		rec->nodes[i].block[0] = 64;
		rec->nodes[i].block[1] = rec->nodes[i].block[2] = 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		last = launches;
		grid(differ && i != bad ? OTHER : STORE, shapes ? i + 1 : 2, i == bad ? a : BUFFER,
		     0, i + 1 == n ? SEMAPHORE(last) : 0);
	}
	submit(GRAPH, 1);
	reached(1, last, RUNS);
	call(GRAPH, 0, 2, EXEC, STREAM(1));
}

/* ---- the fault ---- */

static void remember_memory(void)
{
	for (int i = 0; i < 2; i++)
		memcpy(mk_fault_memory(&m, 1, i ? SEMAPHORE(0) & ~4095ull : SLOT(0) & ~4095ull,
				       4096)
			       ->data,
		       page[i], 4096);
}

static void channels_die(uint32_t error)
{
	for (uint32_t i = 1; i < 3; i++) {
		struct nvs_rec_fault *f = mk_fault(&m, i, error);
		uint32_t value;

		memcpy(&value, page[0] + SLOT(i) % 4096, 4);
		f->gpu_ns = 1700000000000000000ull + m.time;
		f->progress = SLOT(i);
		f->value[0] = value;
	}
}

static void state(uint64_t pc, uint64_t address, uint32_t warp)
{
	struct nvs_rec_sm_error *e = mk_sm_error(&m, 1, 0, 100, pc || warp ? 1 : 0);

	e->mmu_valid = !pc;
	e->mmu_fault = 0x80010600;
	if (!e->nsms)
		return;
	e->sms[0] = (struct nvs_sm_error){.sm = 7, .warp_esr = warp, .address = address, .pc = pc};
}

/* ---- traces ---- */

static void clock_read(void)
{
	struct nvs_rec_clock *c = mk_rec(&m, NVS_REC_CLOCK, sizeof(*c));

	c->mono_ns = c->rec.time;
	c->real_ns = 1700000000ull * 1000 * MS + c->rec.time;
}

static const char *folder, *cubin_path, *rank;

static void load_code(void)
{
	static uint8_t bytes[65536];
	FILE *f = fopen(cubin_path, "rb");
	struct nvs_rec_image *image;
	size_t n;

	MK_NEED(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	call(MODULE, 0, 2, 0xd00ull, 0x1000ull);
	image = mk_rec(&m, NVS_REC_IMAGE, sizeof(*image) + n);
	image->rec.flags = NVS_IMAGE_LOAD | NVS_IMAGE_LAST;
	image->call = number - 1;
	image->handle = 0xd00;
	image->given = image->size = n;
	image->bytes = (uint32_t)n;
	image->kind = NVS_CODE_CUBIN;
	memcpy(image->data, bytes, n);
}

static void start(const char *name, bool code)
{
	mk_open_in(&m, folder, name);
	number = launches = 0;
	memset(payload, 0, sizeof(payload));
	memset(page, 0, sizeof(page));
	if (rank)
		mk_attr(&m, NVS_ATTR_RANK, rank, strlen(rank));
	clock_read();
	mk_h200(&m);
	mk_thread(&m, 0, 100, "faulty");
	for (uint32_t i = 1; i < 3; i++)
		mk_channel(&m, i)->group = 0x5c000010;
	for (uint32_t i = ALLOC; i < APIS; i++)
		mk_api(&m, i, apis[i]);
	for (uint32_t i = 0; i < KERNELS; i++) {
		struct nvs_rec_kernel *k = mk_rec(&m, NVS_REC_KERNEL,
						  sizeof(*k) + strlen(names[i]));

		k->rec.flags = NVS_KERNEL_NAMED;
		k->function = FUNCTION(i);
		k->length = (uint32_t)strlen(names[i]);
		memcpy(k->name, names[i], strlen(names[i]));
	}
	if (code)
		load_code();
	for (uint32_t i = 1; i < 3; i++)
		pb_inc(&pb, 1, 0, 1, 0xcbc0u), submit(MODULE, i), put(SLOT(i), payload[i]);
	call(MODULE, 0, 2, 0xd01ull, 0x1000ull);
	alloc(BUFFER, 0x1000);
	alloc(SECOND, 0x100000);
	launch(1, OTHER, BUFFER, 0, ENDED);
}

static void finish(uint32_t result)
{
	if (result)
		call(SYNC, result, 0);
	clock_read();
	for (uint32_t i = 1; i < 3; i++)
		mk_channel_gone(&m, i);
	mk_finish(&m);
}

/* A counter, and an address 4 bytes behind the end of an allocation. */
static void make_counter(void)
{
	start("counter.zst", true);
	launch(2, LOAD, BUFFER, BUFFER, RUNS);
	launch(1, STORE, BUFFER, 0x400, RUNS);
	launch(1, OTHER, BUFFER, 0, WAITS);
	state(CODE(STORE) + 0x90, BUFFER + 0x1004, 0xf);
	remember_memory();
	channels_die(13);
	finish(716);
}

/* Allocated before the trace; one of the two is freed in it. */
static void make_before(void)
{
	before = true;
	start("before.zst", true);
	call(FREE, 0, 1, SECOND);
	launch(1, STORE, SECOND + 0x20, 0x400, RUNS);
	state(CODE(STORE) + 0x90, BUFFER + 0x1004, 0xf);
	remember_memory();
	channels_die(13);
	finish(716);
	before = false;
}

/* The same kernel runs on both channels. */
static void make_ambiguous(void)
{
	start("ambiguous.zst", true);
	launch(1, STORE, BUFFER, 1, RUNS);
	launch(2, STORE, SECOND, 1, RUNS);
	state(CODE(STORE) + 0x90, BUFFER + 1, 0xf);
	remember_memory();
	channels_die(13);
	finish(716);
}

/* The code is not in the trace, and two kernels run: the counter is below no known end. */
static void make_codeless(void)
{
	start("codeless.zst", false);
	launch(1, STORE, BUFFER, 1, RUNS);
	launch(2, LOAD, SECOND, BUFFER, RUNS);
	state(CODE(STORE) + 0x90, BUFFER + 1, 0xf);
	remember_memory();
	channels_die(13);
	finish(716);
}

/* No counter. One launch, two launches, one of them with a pointer to freed memory; behind the end
 * of all; nothing known of the semaphores. */
static void make_mmu(void)
{
	start("one.zst", false);
	launch(1, STORE, BUFFER, 1u << 30, RUNS);
	launch(1, OTHER, BUFFER, 0, WAITS);
	state(0, 0, 0);
	remember_memory();
	channels_die(31);
	finish(700);

	start("freed.zst", false);
	launch(2, OTHER, BUFFER, 0, RUNS);
	call(FREE, 0, 1, SECOND);
	launch(1, STORE, SECOND + 0x20, 0, RUNS);
	state(0, 0, 0);
	remember_memory();
	channels_die(31);
	finish(700);

	start("stray.zst", false);
	launch(2, OTHER, BUFFER, 0, RUNS);
	launch(1, LOAD, BUFFER, SECOND + 0x100010, RUNS);
	state(0, 0, 0);
	remember_memory();
	channels_die(31);
	finish(700);

	start("unknown.zst", false);
	launch(2, OTHER, BUFFER, 0, RUNS);
	launch(1, STORE, BUFFER, 0, RUNS);
	channels_die(31);
	finish(700);
}

/* Addresses that the SM reports: null, between two allocations. */
static void make_addresses(void)
{
	start("null.zst", true);
	launch(1, LOAD, BUFFER, 0, RUNS);
	state(CODE(LOAD) + 0x30, 0, 0xe);
	remember_memory();
	channels_die(13);
	finish(700);

	start("between.zst", true);
	launch(1, LOAD, BUFFER, BUFFER, RUNS);
	state(CODE(LOAD) + 0x30, SECOND - 0x10, 0xe);
	remember_memory();
	channels_die(13);
	finish(700);
}

static void make_graphs(void)
{
	start("graphdiffer.zst", true);
	graph(5, 3, true, false, BUFFER);
	state(CODE(STORE) + 0x90, BUFFER + 1, 0xf);
	remember_memory();
	channels_die(13);
	finish(716);

	start("graphsame.zst", true);
	graph(5, 3, false, false, BUFFER);
	state(CODE(STORE) + 0x90, BUFFER + 1, 0xf);
	remember_memory();
	channels_die(13);
	finish(716);

	start("graphshapes.zst", false);
	call(FREE, 0, 1, SECOND);
	graph(5, 3, false, true, SECOND);
	remember_memory();
	channels_die(31);
	finish(700);
}

/* An assertion writes no notifier. */
static void make_assertion(void)
{
	start("assert.zst", false);
	launch(1, STORE, BUFFER, 0, RUNS);
	remember_memory();
	finish(710);
}

static void make_ranks(void)
{
	rank = "0";
	start("rank0.zst", false);
	launch(1, STORE, BUFFER, 0, ENDED);
	finish(0);
	rank = "1";
	start("rank1.zst", false);
	m.time += 50 * MS;
	launch(1, STORE, BUFFER, 0, RUNS);
	remember_memory();
	channels_die(43);
	finish(719);
	rank = "2";
	start("rank2.zst", false);
	launch(1, STORE, BUFFER, 0, RUNS);
	remember_memory();
	channels_die(31);
	finish(700);
}

int main(int argc, char **argv)
{
	MK_NEED(argc == 3);
	folder = argv[1];
	cubin_path = argv[2];
	make_counter();
	make_before();
	make_ambiguous();
	make_codeless();
	make_mmu();
	make_addresses();
	make_graphs();
	make_assertion();
	make_ranks();
	return 0;
}
