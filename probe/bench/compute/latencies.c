/* SPDX-License-Identifier: MIT */
/*
 * Measures instruction latencies in three ways: a chain of dependent instructions between two clock
 * reads; pairs A, B of which A's stall is lowered until B reads the old value, giving the last
 * correct stall; and the stall that the driver's assembler gave A. Takes about 2 s.
 *
 * Pairs alternate between two start values with different results, and between a true and a false
 * predicate, so that an old value is wrong. The kernel of pairs terminates with any stalls: between
 * its clock reads nothing branches, and no instruction writes a register used for addresses; this
 * is checked below.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHAIN = 256, FIRST = 2, STALLS = 15, PAIRS = FIRST + STALLS };
/* HFMA2.MMA, equivalent to other half-precision instructions: the assembler alternates between them
 * on some GPUs. */
#define MMA 0x035
#define HFMA2 0x031 /* alternates instead of it on sm_100 */
enum operand_type { U32, F32, F16, F64 };

/* STEP compiles to one instruction OP, or to OP and NEXT, which may be OP again. */
struct latency_row {
	const char *name;
	uint16_t op, next; /* next 0: a single instruction; MMA: one that may be emitted as MMA,
			      which is changed back to OP */
	enum operand_type type;
	bool fixed; /* fixed latency: the assembler emits two in a row without a barrier */
	unsigned arch;
	const char *step; /* computes a from x, y, z, w; 64-bit: A, X, Y, Z; predicates p, q */
	bool mov; /* the first of a pair, and all of a chain, are patched to MOV */
};

/* clang-format off */
static const struct latency_row rows[] = {
#define ONE(name, op, type, fixed, step) {name, op, 0, type, fixed, 0, step},
#define TWO(name, op, next, type, fixed, step) {name, op, next, type, fixed, 0, step},
	TWO("IADD3+LOP3", 0x010, 0x012, U32, true,
	    "sub.u32 t, x, a; sub.u32 a, t, z; lop3.b32 a, a, y, w, 0xe8;")
	TWO("LOP3", 0x012, 0x012, U32, true,
	    "lop3.b32 a, a, x, y, 0x96; lop3.b32 a, a, z, w, 0xe8;")
	ONE("SHF", 0x019, U32, true, "shf.l.wrap.b32 a, a, x, y;")
	TWO("SEL", 0x007, 0x007, U32, true, "selp.b32 a, x, a, p; selp.b32 a, a, y, q;")
	ONE("PRMT", 0x016, U32, true, "prmt.b32 a, a, x, y;")
	ONE("IMAD", 0x024, U32, true, "mad.lo.u32 a, a, x, y;")
	ONE("IMAD.HI", 0x027, U32, false, "mad.hi.u32 a, a, x, y;")
	ONE("IDP", 0x026, U32, true, "dp4a.u32.u32 a, a, x, y;")
	TWO("ISETP+SEL", 0x00c, 0x007, U32, true, "setp.lt.s32 r, a, x; selp.b32 a, y, z, r;")
	ONE("FADD", 0x021, F32, true, "add.rn.f32 a, a, x;")
	ONE("FMUL", 0x020, F32, true, "mul.rn.f32 a, a, x;")
	ONE("FFMA", 0x023, F32, true, "fma.rn.f32 a, a, x, y;")
	TWO("FMNMX", 0x009, 0x009, F32, true, "min.f32 a, a, x; max.f32 a, a, y;")
	TWO("FSEL", 0x008, 0x008, F32, true, "selp.f32 a, x, a, p; selp.f32 a, a, y, q;")
	TWO("FSETP+FSEL", 0x00b, 0x008, F32, true, "setp.lt.f32 r, a, x; selp.f32 a, y, z, r;")
	TWO("HADD2", 0x030, MMA, F16, true, "add.rn.f16x2 a, a, x;")
	TWO("HMUL2", 0x032, MMA, F16, true, "mul.rn.f16x2 a, a, x;")
	TWO("HFMA2", 0x031, MMA, F16, true, "fma.rn.f16x2 a, a, x, y;")
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
	{"MOV", 0x016, 0, U32, true, 0, "prmt.b32 a, a, x, y;", true},
	/* The upper words alone: a step has one SEL. */
	TWO("DSETP+SEL", 0x02a, 0x007, F64, false,
	    "setp.lt.f64 r, A, X; mov.b64 {t, i}, Y; mov.b64 {x, y}, Z; selp.b32 i, i, y, r; "
	    "mov.b64 A, {x, i};")
	ONE("F2I, f32 to s32", 0x105, F32, false, "cvt.rzi.s32.f32 a, a;")
	ONE("I2F, s32 to f32", 0x106, F32, false, "cvt.rn.f32.s32 a, a;")
	ONE("I2FP, s32 to f32", 0x045, F32, true, "cvt.rn.f32.s32 a, a;")
	ONE("F2F, f32 to f64", 0x110, F64, false,
	    "mov.b64 {x, a}, A; cvt.f64.f32 A, a;")
	ONE("F2F, f64 to f32", 0x110, F64, false,
	    "mov.b64 {x, y}, X; cvt.rn.f32.f64 a, A; mov.b64 A, {x, a};")
	ONE("I2F, s32 to f64", 0x112, F64, false,
	    "mov.b64 {x, a}, A; cvt.rn.f64.s32 A, a;")
	ONE("F2I, f64 to s32", 0x111, F64, false,
	    "mov.b64 {x, y}, X; cvt.rzi.s32.f64 a, A; mov.b64 A, {x, a};")
	{"F2FP, f32 to f16", 0x03e, 0, F32, true, 80, "cvt.rn.f16x2.f32 a, a, x;"},
	{"F2FP, f32 to bf16", 0x03e, 0, F32, true, 80, "cvt.rn.bf16x2.f32 a, a, x;"},
#undef ONE
#undef TWO
};
/* clang-format on */

static bool is_wide(const struct latency_row *row)
{
	return row->type == F64;
}

static void write_prologue(struct bench_text *t, const struct latency_row *row)
{
	static const char *const narrow[] = {"a", "x", "y", "z", "w"};
	static const char *const broad[] = {"A", "X", "Y", "Z"};

	bench_emit(t, ".reg .b32 a, x, y, z, w, t, i; .reg .b64 A, X, Y, Z, m, c<6>;\n"
		      ".reg .pred p, q, r, more;\nmad.wide.u32 m, %%b_lane, 64, %%b_arg0;\n");
	for (unsigned k = 0; k < (is_wide(row) ? 4 : 5); k++)
		bench_emit(t, "ld.volatile.global.b%u %s, [m+%u];\n", is_wide(row) ? 64 : 32,
			   is_wide(row) ? broad[k] : narrow[k], 8 * k);
	if (!is_wide(row))
		bench_emit(t, "setp.ne.u32 p, z, 0; setp.ne.u32 q, w, 0;\n");
}

static void write_chain(struct bench_text *t, const struct latency_row *row)
{
	write_prologue(t, row);
	bench_emit(t,
		   "mov.u32 i, 0;\nagain:\n.pragma \"nounroll\";\nmov.u64 c0, %%clock64; mov.u64 "
		   "c1, %%clock64;\n");
	for (unsigned k = 0; k < CHAIN; k++)
		bench_emit(t, "%s\n", row->step);
	bench_emit(t, "mov.u64 c2, %%clock64;\nadd.u32 i, i, 1; setp.lt.u32 more, i, 3;\n"
		      "@more bra again;\nsub.u64 c1, c1, c0; sub.u64 c2, c2, c0;\n"
		      "st.volatile.global.u64 [%%b_data], c1;\n"
		      "st.volatile.global.u64 [%%b_data+8], c2;\n");
	bench_emit(t, "st.volatile.global.b%u [%%b_data+16], %s;\n", is_wide(row) ? 64 : 32,
		   is_wide(row) ? "A" : "a");
}

/* Generates the pairs. Results are from byte 128 on; the first two pairs keep the assembler's
 * stalls. */
static void write_pairs(struct bench_text *t, const struct latency_row *row)
{
	const char *of = is_wide(row) ? "A" : "a";
	unsigned bits = is_wide(row) ? 64 : 32;

	write_prologue(t, row);
	/* Make the results' address available before. */
	bench_emit(t, "st.volatile.global.b%u [%%b_data+120], %s; mov.u64 c0, %%clock64;\n", bits,
		   of);
	for (unsigned k = 0; k < PAIRS; k++) {
		bench_emit(t, "ld.volatile.global.b%u %s, [m+%u];\n%s\n%s\n", bits, of, k % 2 * 40,
			   row->step, row->next && row->next != MMA ? "" : row->step);
		bench_emit(t, "st.volatile.global.b%u [%%b_data+%u], %s;\n", bits, 128 + 8 * k, of);
	}
	bench_emit(t, "mov.u64 c1, %%clock64; sub.u64 c1, c1, c0;\n"
		      "st.volatile.global.u64 [%%b_data], c1;\n");
	/* Use the inputs after the pairs, so that the last pair is like the others. */
	for (const char *c = is_wide(row) ? "XYZ" : "xyzw"; *c; c++)
		bench_emit(t, "st.volatile.global.b%u [%%b_data+8], %c;\n", bits, *c);
}

static bool same_registers(const struct nvs_sass_registers *a, const struct nvs_sass_registers *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Replaces ALSO, with which the assembler alternates, by OP with the same registers: copies the
 * first OP with the other's destination and first source. Returns false if that is not possible. */
static bool unify_ops(uint64_t (*word)[2], uint32_t first, uint32_t last, uint16_t op,
		      uint16_t also)
{
	struct nvs_sass_insn_use was, is;
	struct nvs_sass_insn insn;
	uint64_t *form = NULL;

	for (uint32_t i = first; i < last && !form; i++) {
		code_decode_insn(word[i], &insn);
		form = nvs_sass_insn_op(&insn) == op ? word[i] : NULL;
	}
	for (uint32_t i = first; i < last; i++) {
		code_decode_insn(word[i], &insn);
		if (nvs_sass_insn_op(&insn) != also)
			continue;
		nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &was);
		if (!form)
			return false;
		word[i][0] = (form[0] & ~0xffff0000ull) | (word[i][0] & 0xffff0000ull);
		/* Keep the barriers that it waited for. */
		word[i][1] = (form[1] & ~(0x3full << 52)) | (word[i][1] & 0x3full << 52);
		code_decode_insn(word[i], &insn);
		nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &is);
		if (!same_registers(&was.read, &is.read) ||
		    !same_registers(&was.written, &is.written))
			return false;
	}
	return true;
}

/* Finds two clock reads with COUNT of the row's instruction between them, or of its alternative,
 * which is replaced. */
static bool find_bracket(uint64_t (*word)[2], uint32_t n, const struct latency_row *row,
			 uint32_t count, uint32_t *first, uint32_t *last)
{
	static const uint16_t alternatives[] = {MMA, HFMA2};

	*first = 0;
	if (row->next != MMA)
		return code_find_bracket((const uint64_t(*)[2])word, n, row->op, row->op, count,
					 first, last);
	for (unsigned k = 0; k < 2; k++) {
		*first = 0;
		if (code_find_bracket((const uint64_t(*)[2])word, n, row->op, alternatives[k],
				      count, first, last))
			return alternatives[k] == row->op ||
			       unify_ops(word, *first, *last, row->op, alternatives[k]);
	}
	return false;
}

/* Makes WORD a MOV to the same destination from register FROM, with the same control bits. */
static void write_mov(uint64_t word[2], uint64_t from)
{
	word[0] = 0x7202 | (word[0] & 0xff0000) | from << 32;
	word[1] = (word[1] & ~((1ull << 41) - 1)) | 0xf00;
	code_set_reuse(word, 0);
}

struct chain {
	const struct latency_row *row;
	unsigned stall; /* stall to set where instructions were replaced; 0: unchanged */
	struct bench_point *clock; /* gets the cycles of a clock read */
};

/* Checks that the whole chain, and little else, is between the two clock reads. */
static int check_chain(uint64_t (*word)[2], uint32_t n, void *arg)
{
	const struct chain *chain = arg;
	const struct latency_row *row = chain->row;
	uint32_t count = row->next == row->op ? 2 * CHAIN : CHAIN, others = 0, first, last;
	struct nvs_sass_insn insn;

	if (!find_bracket(word, n, row, count, &first, &last))
		return -1;
	for (uint32_t i = first + 1; i < last; i++) {
		code_decode_insn(word[i], &insn);
		others += nvs_sass_insn_op(&insn) != row->op &&
			  nvs_sass_insn_op(&insn) != row->next;
		if (nvs_sass_insn_op(&insn) != row->op)
			continue;
		if (row->mov)
			write_mov(word[i], nvs_sass_insn_bits(&insn, 24, 8));
		if (chain->stall)
			code_set_stall(word[i], chain->stall, false);
	}
	return others <= 8 ? 0 : -1;
}

static bool registers_overlap(const struct nvs_sass_registers *a,
			      const struct nvs_sass_registers *b)
{
	bool any = (a->uniform & b->uniform) || (a->predicate & b->predicate);

	for (unsigned k = 0; k < 4; k++)
		any |= (a->vector[k] & b->vector[k]) != 0;
	return any;
}

/* Checks that all memory addresses are in registers before the first pair. */
static bool addresses_are_stable(const uint64_t (*word)[2], uint32_t first, uint32_t last)
{
	struct nvs_sass_registers addresses = {0};
	struct nvs_sass_insn_use use;
	struct nvs_sass_insn insn;

	for (uint32_t i = first; i < last; i++) {
		code_decode_insn(word[i], &insn);
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

		code_decode_insn(word[i], &insn);
		nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &use);
		nvs_sass_insn_flow(&insn, NVS_SASS_HOPPER, &flow);
		if (!use.known || flow.flow != NVS_FLOW_NEXT ||
		    registers_overlap(&use.written, &addresses))
			return false;
	}
	return true;
}

struct pairs {
	const struct latency_row *row;
	uint32_t at[PAIRS]; /* word of each A */
	unsigned stall; /* the assembler's stall; 0: A signals a barrier */
};

static bool find_pairs(uint64_t (*word)[2], uint32_t n, struct pairs *pairs)
{
	const struct latency_row *row = pairs->row;
	uint16_t second = row->next && row->next != MMA ? row->next : row->op;
	uint32_t count = 0, first, last;
	struct nvs_sass_insn_use wrote, reads;
	struct nvs_sass_insn a, b;

	if (!find_bracket(word, n, row, second == row->op ? 2 * PAIRS : PAIRS, &first, &last))
		return false;
	for (uint32_t i = first + 1; i + 1 < last; i++) {
		code_decode_insn(word[i], &a);
		code_decode_insn(word[i + 1], &b);
		if (nvs_sass_insn_op(&a) != row->op || nvs_sass_insn_op(&b) != second)
			continue;
		nvs_sass_insn_use(&a, NVS_SASS_HOPPER, &wrote);
		nvs_sass_insn_use(&b, NVS_SASS_HOPPER, &reads);
		if (count == PAIRS || !registers_overlap(&wrote.written, &reads.read))
			return false;
		if (!count)
			pairs->stall = a.control.write_barrier == 7 ? a.control.stall : 0;
		pairs->at[count++] = i++;
	}
	/* The first pair is unchanged, so that everything before it is complete afterwards. */
	return count == PAIRS &&
	       addresses_are_stable((const uint64_t(*)[2])word, pairs->at[0], last);
}

/* Replaces a PRMT, which changes the register that was loaded, by a MOV of x into it: the second
 * instruction reads the loaded value if it is too early. */
static bool patch_mov(uint64_t word[2])
{
	struct nvs_sass_insn insn;
	uint64_t x;

	code_decode_insn(word, &insn);
	x = nvs_sass_insn_bits(&insn, 64, 8);
	if (x == 255 || nvs_sass_insn_bits(&insn, 16, 8) != nvs_sass_insn_bits(&insn, 24, 8))
		return false;
	write_mov(word, x);
	return true;
}

static int patch_pairs(uint64_t (*word)[2], uint32_t n, void *arg)
{
	struct pairs *pairs = arg;

	if (!find_pairs(word, n, pairs) || !pairs->stall)
		return -1;
	for (unsigned k = 0; pairs->row->mov && k < PAIRS; k++)
		if (!patch_mov(word[pairs->at[k]]))
			return -1;
	for (unsigned k = 1; k <= STALLS; k++)
		code_set_stall(word[pairs->at[FIRST - 1 + k]], k, k < 3);
	return 0;
}

/* For a step of two different instructions, the sum of both; nothing waits for the last result. */
static double compute_chain(const struct bench_run *run, const void *results, void *arg)
{
	const struct chain *chain = arg;
	uint16_t next = chain->row->next;
	const uint64_t *cycles = results;
	double all = (double)cycles[1] - 2 * (double)cycles[0];

	bench_add_sample(run, chain->clock, (double)cycles[0]);
	return !next || next == MMA	? all / (CHAIN - 1)
	       : next == chain->row->op ? all / (2 * CHAIN - 1)
					: 2 * all / (2 * CHAIN - 1);
}

/* A pair is right if it equals the unchanged pair with the same start value. */
static double store_pairs(const struct bench_run *run, const void *results, void *point)
{
	const char *pair = (const char *)results + 128;

	for (unsigned k = FIRST; k < PAIRS; k++)
		bench_add_sample(run, (struct bench_point *)point + k - FIRST,
				 memcmp(pair + 8 * (k % 2), pair + 8 * k, 8) == 0);
	return NAN;
}

static void measure_pairs(struct bench_run *run, const struct latency_row *row, uint64_t memory)
{
	struct bench_series *series;
	struct pairs pairs = {.row = row};
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_pairs(&text, row);
	kernel = BENCH_KERNEL(run, &text, .name = bench_format("pairs-%s", row->name),
			      .threads = 32, .patch = patch_pairs, .arg = &pairs);
	if (!kernel)
		return;
	series = bench_series(bench_samples(run), bench_format("%s by stall", row->name), "stall",
			      NULL, "right");
	for (unsigned k = 1; k <= STALLS; k++)
		bench_point(series, k, NAN);
	if (bench_repeat(run, kernel, &(struct bench_launch){.block = 32, .arg = {memory}},
			 128 + 8 * PAIRS, store_pairs, series->point, NULL))
		bench_add_value(bench_add_point(run, bench_format("%s assembler", row->name), "",
						"cycles", 0),
				pairs.stall);
}

/* Returns the lowest stall from which on all results are right. Returns NAN if there is none, if
 * even 1 is right, or if lower ones were not measured, so that no wrong result was seen. */
static double last_right(const struct bench_samples *samples, const char *name)
{
	const struct bench_series *series = bench_find_series(samples,
							      bench_format("%s by stall", name));
	double lowest = NAN;

	for (unsigned stall = STALLS; series && stall; stall--) {
		const struct bench_point *point = NULL;

		BENCH_EACH(p, series)
			if (p->x == stall)
				point = p;
		if (!point)
			return NAN;
		if (bench_min(point) < 1)
			break;
		lowest = stall;
	}
	return lowest > 1 ? lowest : NAN;
}

static void measure_row(struct bench_run *run, const struct latency_row *row, uint64_t memory)
{
	struct chain chain = {.row = row};
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	if (row->fixed)
		measure_pairs(run, row, memory);
	/* The assembler's stalls are for what was replaced. */
	if ((row->next == MMA || row->mov) && !isnan(last_right(bench_samples(run), row->name)))
		chain.stall = (unsigned)last_right(bench_samples(run), row->name);
	write_chain(&text, row);
	kernel = BENCH_KERNEL(run, &text, .name = row->name, .threads = 32, .patch = check_chain,
			      .arg = &chain);
	if (!kernel)
		return;
	bench_add_point(run, row->name, "", "cycles", 0);
	chain.clock = bench_add_point(run, "clock read", "row", "cycles", (double)(row - rows));
	bench_repeat(run, kernel, &(struct bench_launch){.block = 32, .arg = {memory}}, 128,
		     compute_chain, &chain,
		     bench_find_series(bench_samples(run), row->name)->point);
}

/* Writes a, x, y, z, w, and another a, chosen so that a step changes the value. */
static void write_inputs(uint64_t memory, struct bench_run *run, enum operand_type type)
{
	static const uint32_t whole[] = {0x12345679, 0x01000193, 0x3c6ef372,
					 0x51ed270b, 0x0badf00d, 0x00035a7d};
	static const float single[] = {1.75f, 1.25f, 0.375f, 3.5f, 2.f, 1.125f};
	static const uint32_t half[] = {0x3f003e00, 0x3d003c80, 0x38003700,
					0x42004100, 0x40003f80, 0x41003c40};
	static const double twice[] = {1.75, 1.25, 0.375, 3.5, 2, 1.125};
	uint64_t value[32][8] = {{0}};

	for (unsigned k = 0; k < 6; k++)
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
	bench_memory_write(run, memory, value, sizeof(value));
}

static void measure_samples(struct bench_run *run)
{
	uint64_t memory = bench_memory_alloc(run, 4096);

	if (!memory && !bench_is_dry(run))
		return;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		const struct latency_row *row = rows + k;
		bool volta = bench_arch(bench_gpu(run)) < 89; /* I2FP exists since Ada */
		bool i2f = row->op == 0x106 || row->next == 0x106,
		     i2fp = row->op == 0x045 || row->next == 0x045;

		if (row->arch > bench_arch(bench_gpu(run)) || (i2f && !volta) || (i2fp && volta))
			continue;
		write_inputs(memory, run, row->type);
		measure_row(run, row, memory);
	}
}

/* Table 6 of the study: Pascal, Volta, Turing; 0: not in it. */
static const struct published {
	const char *name;
	double pascal, volta, turing;
} published[] = {
	{"IADD3", 0, 4, 4},
	{"SHF", 0, 4, 4},
	{"LOP3", 6, 4, 4},
	{"SEL", 6, 4, 4},
	{"FADD", 6, 4, 4},
	{"FFMA", 6, 4, 4},
	{"FMUL", 6, 4, 4},
	{"IMAD", 86, 5, 5},
	{"FMNMX", 6, 5, 5},
	{"HADD2", 6, 6, 6},
	{"HMUL2", 6, 6, 6},
	{"HFMA2", 6, 6, 6},
	{"DADD", 8, 8, 48},
	{"DMUL", 8, 8, 48},
	{"DFMA", 8, 8, 54},
	{"POPC", 14, 10, 15},
	{"FLO", 14, 14, 15},
	{"MUFU.RCP", 14, 14, 15},
	{"ISETP", 12, 4, 4},
	{"FSETP", 12, 4, 4},
	{"BREV", 0, 14, 15},
	{"MUFU.RSQ", 14, 14, 15},
	{"MUFU.EX2", 14, 14, 15},
	{"MUFU.LG2", 14, 14, 15},
	/* Of DSETP the study has two for Turing, which contradict each other. */
	{"MOV", 6, 4, 4},
	{"DSETP", 12, 5, 0},
	{"F2I, f32 to s32", 14, 0, 0},
	{"I2F, s32 to f32", 14, 0, 0},
};

static const struct bench_point *series_at(const struct bench_samples *samples, const char *name,
					   const char *more)
{
	return code_find_point(bench_find_series(samples, bench_format("%s%s", name, more)), 0,
			       NAN);
}

static void add_published(const char *name, struct bench_figures *figures)
{
	for (unsigned k = 0; k < sizeof(published) / sizeof(*published); k++) {
		const struct published *p = published + k;

		if (strcmp(p->name, name) != 0)
			continue;
		if (p->pascal > 0)
			bench_add_published(figures, name, "", "P4", p->pascal);
		if (p->volta > 0)
			bench_add_published(figures, name, "", "V100", p->volta);
		if (p->turing > 0)
			bench_add_published(figures, name, "", "T4", p->turing);
	}
}

/* Derives the latency from a chain. For a pair it is that of the first: the pair minus the second,
 * if that has its own chain. */
static double derive_chain(const struct bench_samples *samples, const char *name,
			   struct bench_figures *figures, char shown_name[64])
{
	const char *second = strchr(name, '+');
	const struct bench_point *all = series_at(samples, name, "");
	const struct bench_point *one = second ? series_at(samples, second + 1, "") : NULL;

	snprintf(shown_name, 64, "%.*s", one ? (int)(second - name) : 63, name);
	if (!all)
		return NAN;
	add_published(shown_name, figures);
	if (!one)
		bench_add_point_figure(figures, shown_name, "", bench_find_series(samples, name),
				       all);
	else
		bench_figure(figures, shown_name, "", "cycles",
			     bench_median(all) - bench_median(one), bench_min(all) - bench_max(one),
			     bench_max(all) - bench_min(one), all->sm_mhz);
	return bench_median(all) - (one ? bench_median(one) : 0);
}

/* Adds rows for the other two ways only where they disagree. */
static void derive_row(const struct bench_samples *samples, const char *name,
		       struct bench_figures *figures, unsigned *agree, unsigned *ways)
{
	char shown_name[64];
	double chain = derive_chain(samples, name, figures, shown_name);
	double right = last_right(samples, name), set;
	const struct bench_point *assembled = series_at(samples, name, " assembler");

	if (isnan(chain) || isnan(right) || !assembled || strchr(shown_name, '+'))
		return;
	set = bench_median(assembled);
	++*ways;
	if (fabs(chain - right) < 0.5 && right == set) {
		++*agree;
		return;
	}
	bench_figure(figures, shown_name, "last right stall", "cycles", right, right, right, NAN);
	bench_figure(figures, shown_name, "assembler's stall", "cycles", set, set, set, NAN);
	bench_add_note(figures,
		       "%s: the chain gives %.2f, the last right stall %.0f, the assembler %.0f.",
		       shown_name, chain, right, set);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	unsigned agree = 0, ways = 0;

	for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++)
		derive_row(samples, rows[k].name, figures, &agree, &ways);
	if (ways)
		bench_add_note(
			figures,
			"By chains; for %u of %u the last right stall and the assembler's are the "
			"same.",
			agree, ways);
}

BENCH(bench_latencies, "latencies", "M21", "latencies of instructions, by chains and by stalls",
      measure_samples, derive_figures);
