/* SPDX-License-Identifier: MIT */
/* Parameters of launches out of constant banks, and the allocations to which their words point:
 * direct launches, kernels of graphs, banks that are used again, memory freed before and after. */
/* LINK: decode sass decode/analysis/parameter_words.o decode/analysis/memory_ranges.o */
/* LINK: decode/analysis/allocations.o decode/analysis/allocation_size.o */
/* LINK: decode/analysis/allocation_series.o */
/* LINK: decode/analysis/graph_allocations.o decode/analysis/current_context.o */
#include "decode/analysis/allocations.h"
#include "decode/analysis/launch_arguments.h"
#include "decode/analysis/parameter_words.h"
#include "decode/query/selection.h"
#include "tests/unit/expect.h"
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define BANK 0x7f0000000000ull
#define QMD 0x204000000ull
#define BUFFER 0x7e0000000000ull
#define BASE 0x210u

enum { ALLOC = 1, FREE, LAUNCH };

static char path[] = "/tmp/nvsnoop-parameters-XXXXXX";
static struct mk m;
static struct pb pb;
static uint64_t number;

/* Without filters all calls are selected. */
bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call)
{
	return true;
}

/* ---- a trace ---- */

static void call(uint32_t api, uint64_t address, uint64_t size)
{
	struct nvs_rec_call *rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec) + 16);

	rec->api = api;
	rec->number = number++;
	rec->begin = rec->rec.time - 5;
	rec->end = rec->rec.time;
	rec->depth = 1;
	rec->nargs = api == FREE ? 1 : 2;
	rec->args[0] = address;
	rec->args[1] = size;
	if (api == FREE)
		rec->rec.size -= 8, m.len -= 8;
}

static void submit(void)
{
	struct nvs_rec_submission *s = mk_submission(&m, 0, 1, NVS_NONE, 1, &pb.n, 0);

	memcpy(s->entries + 1, pb.words, pb.n * 4ull);
	pb.n = 0;
}

/* The bank in slot SLOT: the driver's words, unless HEAD is false, and N bytes of parameters. */
static void upload(uint32_t slot, bool head, const void *params, uint32_t n)
{
	static const uint8_t zeros[BASE];
	uint64_t bank = BANK + slot * 0x10000ull;

	if (head)
		pb_upload(&pb, bank, zeros, BASE);
	if (n)
		pb_upload(&pb, bank + BASE, params, n);
}

static void trigger(uint32_t slot, uint32_t bank_bytes, bool uploads)
{
	struct qmd_spec spec = {.type = 2,
				.grid = {1, 1, 1},
				.program = 0x7d0000000000,
				.bank = BANK + slot * 0x10000ull,
				.bank_bytes = bank_bytes};
	uint32_t qmd[96];

	qmd_make(qmd, &spec);
	if (uploads)
		pb_upload(&pb, QMD + slot * 0x800, qmd, sizeof(qmd));
	pb_trigger(&pb, QMD + slot * 0x800, 10);
}

static void make(void)
{
	static const uint64_t first[] = {BUFFER + 0x10, 7, BUFFER + 0x1000};
	static const struct {
		uint32_t a;
		uint32_t pointer[2];
		uint32_t b;
	} structure = {1, {(uint32_t)BUFFER + 0xfff, (uint32_t)(BUFFER >> 32)}, 2};
	static const uint64_t graph[] = {BUFFER + 0x20};

	mk_open(&m, path);
	mk_h200(&m);
	mk_thread(&m, 0, 1, "main");
	mk_channel(&m, 1);
	mk_api(&m, ALLOC, "cuMemAlloc_v2|memory|dptr:devptr|bytesize:u64");
	mk_api(&m, FREE, "cuMemFree_v2|memory|dptr:devptr");
	call(ALLOC, BUFFER, 0x1000);
	pb_inc(&pb, 1, 0, 1, 0xcbc0u);
	upload(0, true, first, sizeof(first));
	trigger(0, 768, true);
	submit(); /* launch 0 */
	upload(1, true, &structure, sizeof(structure));
	trigger(1, 768, true);
	submit(); /* launch 1: a pointer at offset 4 */
	upload(2, true, graph, sizeof(graph));
	submit(); /* as when a graph is uploaded */
	trigger(2, 768, true);
	submit(); /* launch 2 */
	call(FREE, BUFFER, 0);
	trigger(2, 768, false);
	submit(); /* launch 3: the same, after the free */
	call(ALLOC, BUFFER, 0x18);
	upload(2, false, first, sizeof(first));
	trigger(2, 768, false);
	submit(); /* launch 4: other parameters, smaller memory */
	upload(0, true, NULL, 0);
	trigger(0, 768, true);
	submit(); /* launch 5: the bank of launch 0, without parameters */
	trigger(7, 768, true);
	submit(); /* launch 6: nothing was uploaded to its bank */
	mk_finish(&m);
}

/* ---- what is found ---- */

struct found {
	struct nvs_pass *pass;
	struct nvs_allocs allocs;
	struct nvs_memory_ranges ranges;
	struct nvs_parameters parameters;
	struct {
		bool known;
		uint32_t size, nwords, at[8];
		uint64_t offset[8], value[8];
	} launch[16];
	uint32_t n;
};

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct found *f = arg;
	struct nvs_launch_parameters of;
	struct nvs_parameter_word w = {0};

	EXPECT_EQ(nvs_parameters_op(&f->parameters, op), 0);
	if (op->kind != NVS_OP_LAUNCH)
		return 0;
	f->launch[f->n].known = nvs_parameters_find(&f->parameters, f->pass, op, &of);
	f->launch[f->n].size = of.size;
	while (f->launch[f->n].known && nvs_parameters_next(&of, &f->ranges, &w)) {
		uint32_t i = f->launch[f->n].nwords++;

		f->launch[f->n].at[i] = w.at;
		f->launch[f->n].offset[i] = w.offset;
		f->launch[f->n].value[i] = w.value;
	}
	f->n++;
	return 0;
}

static int on_call(void *arg, const struct nvs_call *c)
{
	return nvs_allocs_call(&((struct found *)arg)->allocs, c);
}

static void test_launches(void)
{
	static struct found f;
	struct nvs_pass_reader reader = {.op = on_op, .call = on_call, .arg = &f};
	struct nvs_source source = {0};
	struct nvs_error err;

	EXPECT_EQ(nvs_trace_open(&source.trace, path, NULL, &err), 0);
	nvs_allocs_begin(&f.allocs, &source);
	f.allocs.ranges = &f.ranges;
	f.pass = nvs_pass_new(source.trace);
	EXPECT_EQ(nvs_pass_add(f.pass, &reader), 0);
	EXPECT_EQ(nvs_pass_run(f.pass, &err), 0);
	EXPECT_EQ(f.n, 7);
	EXPECT(f.launch[0].known);
	EXPECT_EQ(f.launch[0].size, 24);
	EXPECT_EQ(f.launch[0].nwords, 1); /* BUFFER + 0x1000 is behind its end */
	EXPECT_EQ(f.launch[0].offset[0], 0x10);
	EXPECT_EQ(f.launch[1].size, 16);
	EXPECT_EQ(f.launch[1].nwords, 1);
	EXPECT_EQ(f.launch[1].at[0], 4);
	EXPECT_EQ(f.launch[1].offset[0], 0xfff);
	EXPECT(f.launch[2].known && f.launch[3].known);
	EXPECT_EQ(f.launch[2].nwords, 1);
	EXPECT_EQ(f.launch[2].offset[0], 0x20);
	EXPECT_EQ(f.launch[3].size, 8);
	EXPECT_EQ(f.launch[3].nwords, 0);
	EXPECT_EQ(f.launch[4].size, 24);
	EXPECT_EQ(f.launch[4].nwords, 1);
	EXPECT_EQ(f.launch[4].value[0], BUFFER + 0x10);
	EXPECT(f.launch[5].known);
	EXPECT_EQ(f.launch[5].size, 0);
	EXPECT(!f.launch[6].known);
	nvs_pass_free(f.pass);
	nvs_parameters_free(&f.parameters);
	nvs_memory_ranges_free(&f.ranges);
	nvs_allocs_free(&f.allocs);
	nvs_trace_close(source.trace);
}

/* ---- addresses ---- */

static uint32_t add(struct nvs_memory_ranges *r, uint64_t address, uint64_t bytes, uint32_t stack)
{
	return nvs_memory_ranges_add(r, &(struct nvs_memory_range){.address = address,
								   .bytes = bytes,
								   .made = {.stack = stack}});
}

static void test_places(void)
{
	struct nvs_memory_ranges r = {0};
	struct nvs_memory_call by = {.time = 77, .stack = 5};
	struct nvs_memory_place place;
	uint32_t low = add(&r, 0x1000, 0x100, 1), high = add(&r, 0x3000, 0x100, 2);

	EXPECT(low && high);
	EXPECT(!add(&r, UINT64_MAX - 1, 2, 0));
	EXPECT(!add(&r, 0x1000, 0, 0));
	nvs_memory_place_find(&r, 0x10ff, UINT64_MAX, &place);
	EXPECT(place.in && place.in->made.stack == 1 && place.in->live);
	nvs_memory_place_find(&r, 0x1100, UINT64_MAX, &place);
	EXPECT(!place.in && !place.freed);
	EXPECT(place.below && place.below->address == 0x1000);
	EXPECT(place.above && place.above->address == 0x3000);
	nvs_memory_place_find(&r, 0, UINT64_MAX, &place);
	EXPECT(!place.in && !place.below && place.above && place.above->address == 0x1000);
	nvs_memory_ranges_end(&r, high, &by);
	nvs_memory_place_find(&r, 0x3004, UINT64_MAX, &place);
	EXPECT(!place.in && !place.above && place.freed);
	EXPECT(place.freed && place.freed->freed.stack == 5 && place.freed->freed.time == 77);
	EXPECT(!nvs_memory_range_at(&r, 0x3004));
	/* Before its free it was live. */
	nvs_memory_place_find(&r, 0x3004, 76, &place);
	EXPECT(place.in && place.in->made.stack == 2 && !place.freed);
	/* The same place once more, and freed again: the later one counts. */
	by.stack = 6;
	nvs_memory_ranges_end(&r, add(&r, 0x3000, 0x80, 3), &by);
	nvs_memory_place_find(&r, 0x3004, UINT64_MAX, &place);
	EXPECT(place.freed && place.freed->freed.stack == 6);
	nvs_memory_place_find(&r, 0x30ff, UINT64_MAX, &place);
	EXPECT(place.freed && place.freed->freed.stack == 5);
	nvs_memory_ranges_free(&r);
}

/* The table stays bounded, and forgets the oldest. */
static void test_many_freed(void)
{
	struct nvs_memory_ranges r = {0};
	struct nvs_memory_call by = {.stack = 9};
	struct nvs_memory_place place;

	for (uint64_t i = 0; i < 2 * NVS_FREED_RANGES; i++)
		nvs_memory_ranges_end(&r, add(&r, 0x100000 + i * 16, 16, 0), &by);
	EXPECT(r.n <= NVS_FREED_RANGES + 1);
	nvs_memory_place_find(&r, 0x100000 + (NVS_FREED_RANGES - 1) * 16ull, UINT64_MAX, &place);
	EXPECT(!place.freed);
	nvs_memory_place_find(&r, 0x100000 + NVS_FREED_RANGES * 16ull, UINT64_MAX, &place);
	EXPECT(place.freed);
	nvs_memory_ranges_free(&r);
}

/* ---- boundaries of parameters ---- */

/* Parameters of the kernel NAME as "number:offset+size ...", last first as in its .nv.info. */
static void print_parameters(const struct nvs_cubin *cubin, const char *name, char *text)
{
	struct nvs_cubin_functions all;
	struct nvs_parameter_reader reader;
	struct nvs_kernel_parameter p;

	*text = '\0';
	EXPECT_EQ(nvs_cubin_functions(cubin, &nvs_sass_heap, &all), 0);
	for (uint32_t i = 0; i < all.n; i++)
		for (nvs_kernel_parameters_begin(&reader, cubin, all.function + i);
		     !strcmp(all.function[i].name, name) &&
		     nvs_kernel_parameters_next(&reader, &p);)
			text += sprintf(text, "%u:%u+%u ", p.number, p.offset, p.size);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
}

static void test_boundaries(void)
{
	FILE *f = fopen("tests/sass/data/kernels-sm_90.cubin", "rb");
	static uint8_t bytes[1 << 20];
	char text[512];
	struct nvs_cubin cubin;
	size_t n;

	MK_NEED(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	EXPECT_EQ(nvs_cubin_open(&cubin, bytes, n), 0);
	print_parameters(&cubin, "saxpy", text);
	EXPECT_STR(text, "3:20+4 2:16+4 1:8+8 0:0+8 ");
}

int main(void)
{
	MK_NEED(mkstemp(path) >= 0);
	make();
	test_launches();
	test_places();
	test_many_freed();
	EXPECT_EQ(nvs_parameters_base(0xc6c0), 0x160);
	EXPECT_EQ(nvs_parameters_base(0xcbc0), 0x210);
	EXPECT_EQ(nvs_parameters_base(0x1234), 0);
	test_boundaries();
	EXPECT(nvs_looks_like_address(0x7e0000000000) && nvs_looks_like_address(0x7ffffffffffc));
	EXPECT(!nvs_looks_like_address(0x7dfffffffffc) && !nvs_looks_like_address(0x800000000000));
	EXPECT(!nvs_looks_like_address(0x7f0000000002));
	unlink(path);
	return expect_done();
}
