/* SPDX-License-Identifier: MIT */
/*
 * How long an instruction's result takes, three ways. A chain of dependent ones between two clock
 * reads. Pairs A, B of which A's stall is lowered until B reads what stood there before: the last
 * one that is right. And the stall that the driver's assembler gave A. About 3 s.
 *
 * The kernel of pairs ends whatever the stalls: between its clock reads nothing branches, and no
 * instruction writes a register that addresses memory there, which is looked after below.
 */
#include "probe/bench/timed.h"
#include "sass/sass.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHAIN = 256, PAIRS = 16 };
/* HFMA2.MMA, which does what others of halves do: the assembler takes turns on some GPUs. */
#define MMA 0x035
#define HFMA2 0x031 /* which takes turns in its place on sm_100 */
enum type { U32, F32, F16, F64 };

/* STEP has one instruction OP, or OP and then NEXT. */
struct row {
	const char *name;
	uint16_t op, next; /* next 0: one instruction alone; MMA: or that instead of any */
	enum type type;
	bool fixed; /* the assembler knows its latency, and lets two stand side by side */
	unsigned arch;
	const char *step; /* of a, from x, y, z, w; 64-bit ones A, X, Y, Z; predicates p, q */
};

/* clang-format off */
static const struct row rows[] = {
#define ONE(name, op, type, fixed, step) {name, op, 0, type, fixed, 0, step},
#define TWO(name, op, next, type, fixed, step) {name, op, next, type, fixed, 0, step},
	TWO("IADD3+LOP3", 0x010, 0x012, U32, true,
	    "sub.u32 t, x, a; sub.u32 a, t, z; lop3.b32 a, a, y, w, 0xe8;")
	TWO("LOP3", 0x012, 0x012, U32, true,
	    "lop3.b32 a, a, x, y, 0x96; lop3.b32 a, a, z, w, 0xe8;")
	ONE("SHF", 0x019, U32, true, "shf.l.wrap.b32 a, a, x, y;")
	TWO("SEL", 0x007, 0x007, U32, true, "selp.b32 a, a, x, p; selp.b32 a, y, a, q;")
	ONE("PRMT", 0x016, U32, true, "prmt.b32 a, a, x, y;")
	ONE("IMAD", 0x024, U32, true, "mad.lo.u32 a, a, x, y;")
	ONE("IMAD.HI", 0x027, U32, false, "mad.hi.u32 a, a, x, y;")
	ONE("IDP", 0x026, U32, true, "dp4a.u32.u32 a, a, x, y;")
	TWO("ISETP+SEL", 0x00c, 0x007, U32, true, "setp.lt.s32 r, a, x; selp.b32 a, y, z, r;")
	ONE("FADD", 0x021, F32, true, "add.rn.f32 a, a, x;")
	ONE("FMUL", 0x020, F32, true, "mul.rn.f32 a, a, x;")
	ONE("FFMA", 0x023, F32, true, "fma.rn.f32 a, a, x, y;")
	TWO("FMNMX", 0x009, 0x009, F32, true, "min.f32 a, a, x; max.f32 a, a, y;")
	TWO("FSETP+FSEL", 0x00b, 0x008, F32, true, "setp.lt.f32 r, a, x; selp.f32 a, y, z, r;")
	TWO("HADD2", 0x030, MMA, F16, false, "add.rn.f16x2 a, a, x;")
	TWO("HMUL2", 0x032, MMA, F16, false, "mul.rn.f16x2 a, a, x;")
	TWO("HFMA2", 0x031, MMA, F16, false, "fma.rn.f16x2 a, a, x, y;")
	ONE("DADD", 0x029, F64, false, "add.rn.f64 A, A, X;")
	ONE("DMUL", 0x028, F64, false, "mul.rn.f64 A, A, X;")
	ONE("DFMA", 0x02b, F64, false, "fma.rn.f64 A, A, X, Y;")
	ONE("POPC", 0x109, U32, false, "popc.b32 a, a;")
	ONE("FLO", 0x100, U32, false, "bfind.u32 a, a;")
	TWO("BREV+POPC", 0x101, 0x109, U32, false, "brev.b32 a, a; popc.b32 a, a;")
	TWO("MUFU.RCP+FADD", 0x108, 0x021, F32, false,
	    "rcp.approx.ftz.f32 a, a; add.rn.f32 a, a, x;")
	ONE("MUFU.RSQ", 0x108, F32, false, "rsqrt.approx.ftz.f32 a, a;")
	ONE("MUFU.EX2", 0x108, F32, false, "ex2.approx.ftz.f32 a, a;")
	ONE("MUFU.LG2", 0x108, F32, false, "lg2.approx.ftz.f32 a, a;")
	ONE("MUFU.TANH", 0x108, F32, false, "tanh.approx.f32 a, a;")
	TWO("F2I+I2F", 0x105, 0x106, F32, false, "cvt.rzi.s32.f32 a, a; cvt.rn.f32.s32 a, a;")
	TWO("F2I+I2FP", 0x105, 0x045, F32, false, "cvt.rzi.s32.f32 a, a; cvt.rn.f32.s32 a, a;")
	ONE("SHFL", 0x189, U32, false, "shfl.sync.down.b32 a, a, 1, 31, -1;")
	{"ISETP+VOTE", 0x00c, 0x006, U32, true, 90,
	    "setp.lt.u32 r, a, x; vote.sync.ballot.b32 a, r, -1;"},
	ONE("MATCH", 0x1a1, U32, false, "match.any.sync.b32 a, a, -1;")
#undef ONE
#undef TWO
};
/* clang-format on */

static bool wide(const struct row *row)
{
	return row->type == F64;
}

static void begin(struct bench_text *t, const struct row *row)
{
	static const char *const narrow[] = {"a", "x", "y", "z", "w"};
	static const char *const broad[] = {"A", "X", "Y", "Z"};

	bench_say(t, ".reg .b32 a, x, y, z, w, t, i; .reg .b64 A, X, Y, Z, m, c<6>;\n"
		     ".reg .pred p, q, r, more;\nmad.wide.u32 m, %%b_lane, 64, %%b_arg0;\n");
	for (unsigned k = 0; k < (wide(row) ? 4 : 5); k++)
		bench_say(t, "ld.volatile.global.b%u %s, [m+%u];\n", wide(row) ? 64 : 32,
			  wide(row) ? broad[k] : narrow[k], 8 * k);
	if (!wide(row))
		bench_say(t, "setp.ne.u32 p, z, 0; setp.eq.u32 q, w, 0;\n");
}

static void chain_body(struct bench_text *t, const struct row *row)
{
	begin(t, row);
	bench_say(t, "mov.u32 i, 0;\nagain: mov.u64 c0, %%clock64; mov.u64 c1, %%clock64;\n");
	for (unsigned k = 0; k < CHAIN; k++)
		bench_say(t, "%s\n", row->step);
	bench_say(t, "mov.u64 c2, %%clock64;\nadd.u32 i, i, 1; setp.lt.u32 more, i, 3;\n"
		     "@more bra again;\nsub.u64 c1, c1, c0; sub.u64 c2, c2, c0;\n"
		     "st.volatile.global.u64 [%%b_data], c1;\n"
		     "st.volatile.global.u64 [%%b_data+8], c2;\n");
	bench_say(t, "st.volatile.global.b%u [%%b_data+16], %s;\n", wide(row) ? 64 : 32,
		  wide(row) ? "A" : "a");
}

/* Results from byte 128 on: what the pairs gave, the first of them as the assembler left it. */
static void pairs_body(struct bench_text *t, const struct row *row)
{
	const char *of = wide(row) ? "A" : "a";
	unsigned bits = wide(row) ? 64 : 32;

	begin(t, row);
	/* So that the results' address is there before. */
	bench_say(t, "st.volatile.global.b%u [%%b_data+120], %s; mov.u64 c0, %%clock64;\n", bits,
		  of);
	for (unsigned k = 0; k < PAIRS; k++) {
		bench_say(t, "ld.volatile.global.b%u %s, [m];\n%s\n%s\n", bits, of, row->step,
			  row->next ? "" : row->step);
		bench_say(t, "st.volatile.global.b%u [%%b_data+%u], %s;\n", bits, 128 + 8 * k, of);
	}
	bench_say(t, "mov.u64 c1, %%clock64; sub.u64 c1, c1, c0;\n"
		     "st.volatile.global.u64 [%%b_data], c1;\n");
	/* What the pairs read is needed behind them, so that the last one is as all others. */
	for (const char *c = wide(row) ? "XYZ" : "xyzw"; *c; c++)
		bench_say(t, "st.volatile.global.b%u [%%b_data+8], %c;\n", bits, *c);
}

/* The chain is between its two reads, all of it and little else. */
static int check_chain(uint64_t (*word)[2], uint32_t n, void *arg)
{
	const struct row *row = arg;
	uint32_t count = row->next == row->op ? 2 * CHAIN : CHAIN, others = 0, first = 0, last;
	uint16_t also = row->next;
	struct nvs_sass_insn insn;

	if (!code_bracket((const uint64_t(*)[2])word, n, row->op, row->next == MMA ? MMA : row->op,
			  count, &first, &last)) {
		if (row->next != MMA || !code_bracket((const uint64_t(*)[2])word, n, row->op, HFMA2,
						      count, &first, &last))
			return -1;
		also = HFMA2;
	}
	for (uint32_t i = first + 1; i < last; i++) {
		code_insn(word[i], &insn);
		others += nvs_sass_insn_op(&insn) != row->op && nvs_sass_insn_op(&insn) != also;
	}
	return others <= 8 ? 0 : -1;
}

static bool touches(const struct nvs_sass_registers *a, const struct nvs_sass_registers *b)
{
	bool any = (a->uniform & b->uniform) || (a->predicate & b->predicate);

	for (unsigned k = 0; k < 4; k++)
		any |= (a->vector[k] & b->vector[k]) != 0;
	return any;
}

/* What addresses memory is in its registers before the first pair. */
static bool addresses_stand(const uint64_t (*word)[2], uint32_t first, uint32_t last)
{
	struct nvs_sass_registers addresses = {0};
	struct nvs_sass_insn_use use;
	struct nvs_sass_insn insn;

	for (uint32_t i = first; i < last; i++) {
		code_insn(word[i], &insn);
		nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &use);
		if (nvs_sass_insn_op(&insn) < 0x180)
			continue;
		for (unsigned k = 0; k < 2; k++) {
			unsigned r = (unsigned)nvs_sass_insn_bits(&insn, 24, 8) + k;

			if (r < 255)
				addresses.vector[r / 64] |= 1ull << r % 64;
		}
		addresses.uniform |= use.read.uniform;
		if (insn.predicate != 7)
			return false;
	}
	for (uint32_t i = first; i < last; i++) {
		struct nvs_sass_flow flow;

		code_insn(word[i], &insn);
		nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &use);
		nvs_sass_insn_flow(&insn, NVS_SASS_HOPPER, &flow);
		if (!use.known || flow.flow != NVS_FLOW_NEXT || touches(&use.written, &addresses))
			return false;
	}
	return true;
}

struct pairs {
	const struct row *row;
	uint32_t at[PAIRS]; /* of A */
	unsigned stall; /* as the assembler set it; 0: A tells by a barrier */
};

static bool find_pairs(const uint64_t (*word)[2], uint32_t n, struct pairs *pairs)
{
	uint16_t second = pairs->row->next ? pairs->row->next : pairs->row->op;
	uint32_t count = 0, first = 0, last = 0;
	struct nvs_sass_insn_use wrote, reads;
	struct nvs_sass_insn a, b;

	if (!code_bracket(word, n, pairs->row->op, pairs->row->op,
			  second == pairs->row->op ? 2 * PAIRS : PAIRS, &first, &last))
		return false;
	for (uint32_t i = first + 1; i + 1 < last; i++) {
		code_insn(word[i], &a);
		code_insn(word[i + 1], &b);
		if (nvs_sass_insn_op(&a) != pairs->row->op || nvs_sass_insn_op(&b) != second)
			continue;
		nvs_sass_insn_use(&a, NVS_SASS_HOPPER, &wrote);
		nvs_sass_insn_use(&b, NVS_SASS_HOPPER, &reads);
		if (count == PAIRS || !touches(&wrote.written, &reads.read))
			return false;
		if (!count)
			pairs->stall = a.control.write_barrier == 7 ? a.control.stall : 0;
		pairs->at[count++] = i++;
	}
	/* The first pair is left alone, so that all that stands before it is done behind it. */
	return count == PAIRS && addresses_stand(word, pairs->at[0], last);
}

static int patch_pairs(uint64_t (*word)[2], uint32_t n, void *arg)
{
	struct pairs *pairs = arg;

	if (!find_pairs((const uint64_t(*)[2])word, n, pairs) || !pairs->stall)
		return -1;
	for (unsigned k = 1; k < PAIRS; k++)
		code_stall(word[pairs->at[k]], k, k < 3);
	return 0;
}

static void chain_value(const void *data, double *value, const void *arg)
{
	const uint64_t *cycles = data;

	(void)arg;
	value[0] = ((double)cycles[1] - 2 * (double)cycles[0]) / CHAIN;
	value[1] = (double)cycles[0];
}

/* Right: as the pair that was left alone. */
static void pair_values(const void *data, double *value, const void *arg)
{
	const char *results = (const char *)data + 128;

	(void)arg;
	for (unsigned k = 1; k < PAIRS; k++)
		value[k - 1] = memcmp(results, results + 8 * k, 8) == 0;
}

static void measure_pairs(struct bench_run *run, const struct row *row, uint64_t memory)
{
	struct pairs pairs = {.row = row};
	struct bench_text text = {0};
	struct code_value value[PAIRS - 1];
	struct bench_kernel *kernel;
	char name[64];

	pairs_body(&text, row);
	snprintf(name, sizeof(name), "pairs-%s", row->name);
	kernel = bench_kernel(run, &(struct bench_code){.name = name,
							.body = text.data,
							.threads = 32,
							.patch = patch_pairs,
							.arg = &pairs});
	bench_text_free(&text);
	for (unsigned k = 1; k < PAIRS; k++) {
		value[k - 1] =
			(struct code_value){.x = "stall", .unit = "right", .at_x = k, .at_y = NAN};
		snprintf(value[k - 1].series, sizeof(value[0].series), "%s by stall", row->name);
	}
	if (kernel &&
	    code_measure(run, kernel, &(struct bench_launch){.block = 32, .arg = {memory}},
			 128 + 8 * PAIRS, value, PAIRS - 1, pair_values, NULL)) {
		char of[64];
		struct bench_point *point;

		snprintf(of, sizeof(of), "%s assembler", row->name);
		point = bench_point(bench_series(bench_samples(run), of, "", NULL, "cycles"), 0,
				    NAN);
		bench_value(point, pairs.stall);
	}
	if (kernel)
		bench_kernel_free(run, kernel);
}

static void measure_row(struct bench_run *run, const struct row *row, uint64_t memory)
{
	struct code_value value[2] = {
		{.x = "", .unit = "cycles", .at_x = 0, .at_y = NAN},
		{.series = "clock read", .x = "row", .unit = "cycles", .at_y = NAN},
	};
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	chain_body(&text, row);
	kernel = bench_kernel(run, &(struct bench_code){.name = row->name,
							.body = text.data,
							.threads = 32,
							.patch = check_chain,
							.arg = (void *)(uintptr_t)row});
	bench_text_free(&text);
	if (!kernel)
		return;
	snprintf(value[0].series, sizeof(value[0].series), "%s", row->name);
	value[1].at_x = (double)(row - rows);
	code_measure(run, kernel, &(struct bench_launch){.block = 32, .arg = {memory}}, 128, value,
		     2, chain_value, NULL);
	bench_kernel_free(run, kernel);
	if (row->fixed)
		measure_pairs(run, row, memory);
}

/* a, x, y, z, w; such that a step's result is not what it began with. */
static void inputs(uint64_t memory, struct bench_run *run, enum type type)
{
	static const uint32_t whole[] = {0x12345679, 0x01000193, 0x3c6ef372, 0x51ed270b,
					 0x0badf00d};
	static const float single[] = {1.75f, 1.25f, 0.375f, 3.5f, 2.f};
	static const uint32_t half[] = {0x3f003e00, 0x3d003c80, 0x38003700, 0x42004100, 0x40003f80};
	static const double twice[] = {1.75, 1.25, 0.375, 3.5, 2};
	uint64_t value[32][8] = {{0}};

	for (unsigned k = 0; k < 5; k++)
		if (type == F64)
			memcpy(value[0] + k, twice + k, 8);
		else
			memcpy(value[0] + k,
			       type == F32   ? (const void *)(single + k)
			       : type == F16 ? (const void *)(half + k)
					     : (const void *)(whole + k),
			       4);
	for (unsigned lane = 1; lane < 32; lane++)
		memcpy(value[lane], value[0], sizeof(value[0]));
	bench_write(run, memory, value, sizeof(value));
}

static void measure(struct bench_run *run)
{
	uint64_t memory = bench_memory(run, 4096);

	if (!memory && !bench_dry(run))
		return;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		const struct row *row = rows + k;
		bool volta = bench_arch(bench_gpu(run)) < 89; /* I2FP is since Ada */

		if (row->arch > bench_arch(bench_gpu(run)) || (row->next == 0x106 && !volta) ||
		    (row->next == 0x045 && volta))
			continue;
		inputs(memory, run, row->type);
		measure_row(run, row, memory);
	}
}

/* Table 6 of the study: Pascal's, Volta's, Turing's. */
static const struct published {
	const char *name;
	double pascal, volta, turing;
} published[] = {
	{"IADD3", 0, 4, 4},	  {"SHF", 0, 4, 4},	    {"LOP3", 6, 4, 4},
	{"SEL", 6, 4, 4},	  {"FADD", 6, 4, 4},	    {"FFMA", 6, 4, 4},
	{"FMUL", 6, 4, 4},	  {"IMAD", 86, 5, 5},	    {"FMNMX", 6, 5, 5},
	{"HADD2", 6, 6, 6},	  {"HMUL2", 6, 6, 6},	    {"HFMA2", 6, 6, 6},
	{"DADD", 8, 8, 48},	  {"DMUL", 8, 8, 48},	    {"DFMA", 8, 8, 54},
	{"POPC", 14, 10, 15},	  {"FLO", 14, 14, 15},	    {"MUFU.RCP", 14, 14, 15},
	{"MUFU.RSQ", 14, 14, 15}, {"MUFU.EX2", 14, 14, 15}, {"MUFU.LG2", 14, 14, 15},
};

/* The least stall from which on all results are right; NAN: none, or not measured at all. */
static double last_right(const struct bench_series *series)
{
	double least = NAN;

	for (unsigned stall = PAIRS - 1; series && stall; stall--) {
		const struct bench_point *point = code_at(series, stall, NAN);

		if (!point || bench_least(point) < 1)
			break;
		least = stall;
	}
	return least;
}

static void tell(const struct bench_samples *samples, const char *name,
		 struct bench_figures *figures, unsigned *agree, unsigned *ways)
{
	const struct bench_point *point = code_at(bench_find(samples, name), 0, NAN);
	const struct bench_point *assembled;
	char other[64];
	double right;

	if (point)
		bench_figure_point(figures, name, "chain", bench_find(samples, name), point);
	snprintf(other, sizeof(other), "%s by stall", name);
	right = last_right(bench_find(samples, other));
	if (!isnan(right))
		bench_figure(figures, name, "last right stall", "cycles", right, right, right, NAN);
	snprintf(other, sizeof(other), "%s assembler", name);
	assembled = code_at(bench_find(samples, other), 0, NAN);
	if (assembled)
		bench_figure_point(figures, name, "assembler's stall", bench_find(samples, other),
				   assembled);
	if (point && assembled && !isnan(right) && !strchr(name, '+')) {
		bool same = fabs(bench_median(point) - right) < 0.5 &&
			    right == bench_median(assembled);

		++*ways;
		*agree += same;
		if (!same)
			bench_note(figures,
				   "%s: the chain says %.2f, the stall %.0f, the assembler %.0f.",
				   name, bench_median(point), right, bench_median(assembled));
	}
}

/* What is alone of a pair: the pair less its second instruction, which has a chain of its own. */
static void tell_first(const struct bench_samples *samples, const char *name,
		       struct bench_figures *figures)
{
	const char *second = strchr(name, '+');
	const struct bench_point *both, *one;
	char first[64];

	if (!second)
		return;
	both = code_at(bench_find(samples, name), 0, NAN);
	one = code_at(bench_find(samples, second + 1), 0, NAN);
	snprintf(first, sizeof(first), "%.*s", (int)(second - name), name);
	if (both && one)
		bench_figure(figures, first, "chain", "cycles",
			     bench_median(both) - bench_median(one),
			     bench_least(both) - bench_most(one),
			     bench_most(both) - bench_least(one), both->sm_mhz);
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	unsigned agree = 0, ways = 0;

	(void)gpu;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		tell(samples, rows[k].name, figures, &agree, &ways);
		tell_first(samples, rows[k].name, figures);
	}
	for (unsigned k = 0; k < sizeof(published) / sizeof(*published); k++) {
		const struct published *p = published + k;

		if (!bench_find(samples, p->name))
			continue;
		if (p->pascal > 0)
			bench_published(figures, p->name, "chain", "P4", p->pascal);
		bench_published(figures, p->name, "chain", "V100", p->volta);
		bench_published(figures, p->name, "chain", "T4", p->turing);
	}
	if (ways)
		bench_note(figures, "All three ways agree for %u of %u instructions.", agree, ways);
}

BENCH(bench_latencies) = {
	.name = "latencies",
	.number = "M21",
	.what = "latencies of instructions: by chains, by stalls, and as the assembler has them",
	.measure = measure,
	.derive = derive,
};
