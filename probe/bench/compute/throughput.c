/* SPDX-License-Identifier: MIT */
/*
 * Measures how many operations of an instruction an SM executes per cycle, for those that kernels
 * are limited by and that arithmetic does not have: MUFU by function, shuffles and reductions of a
 * warp, conversions, and pairs of bfloat16. 1,024 threads of one block run rounds of four
 * independent chains each; an operation is one thread's, also where it computes two elements. Where
 * a step needs a second instruction to form the next one's operand, that is named. Takes about 1 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>

enum { THREADS = 1024, CHAINS = 4, LENGTH = 64, ROUNDS = 64, AT = 1 << 16 };

/* Opcodes. */
enum {
	HADD2 = 0x030,
	HFMA2 = 0x031,
	HMUL2 = 0x032,
	HFMA2_MMA = 0x035,
	F2FP = 0x03e,
	I2FP = 0x045,
	F2I = 0x105,
	I2F = 0x106,
	MUFU = 0x108,
	F2F_64 = 0x110,
	F2I_64 = 0x111,
	I2F_64 = 0x112,
	SHFL = 0x189,
	CREDUX = 0x0cc,
	REDUX = 0x1c4,
};

struct throughput_row {
	const char *name;
	unsigned arch, last; /* first and last architecture; 0: any */
	uint16_t op, also; /* the assembler may emit either, or alternate; 0: only OP */
	/* Updates the 32-bit register that %s names three times, with x and y; h and g are of 16
	 * bits, D of 64, t of 32. */
	const char *step;
};

/* clang-format off */
static const struct throughput_row rows[] = {
	{"MUFU.RCP", 0, 0, MUFU, 0, "rcp.approx.ftz.f32 %s, %s; xor.b32 %s, %s, x;"},
	{"MUFU.RSQ", 0, 0, MUFU, 0, "rsqrt.approx.ftz.f32 %s, %s;"},
	{"MUFU.SQRT", 0, 0, MUFU, 0, "sqrt.approx.ftz.f32 %s, %s;"},
	{"MUFU.EX2", 0, 0, MUFU, 0, "ex2.approx.ftz.f32 %s, %s;"},
	{"MUFU.LG2", 0, 0, MUFU, 0, "lg2.approx.ftz.f32 %s, %s;"},
	{"MUFU.SIN, with FMUL", 0, 0, MUFU, 0, "sin.approx.ftz.f32 %s, %s;"},
	{"MUFU.COS, with FMUL", 0, 0, MUFU, 0, "cos.approx.ftz.f32 %s, %s;"},
	{"MUFU.TANH", 0, 0, MUFU, 0, "tanh.approx.f32 %s, %s;"},
	{"SHFL.IDX", 0, 0, SHFL, 0, "shfl.sync.idx.b32 %s, %s, x, 31, -1;"},
	{"SHFL.DOWN", 0, 0, SHFL, 0, "shfl.sync.down.b32 %s, %s, x, 31, -1;"},
	{"SHFL.BFLY", 0, 0, SHFL, 0, "shfl.sync.bfly.b32 %s, %s, x, 31, -1;"},
	{"REDUX.SUM", 80, 0, REDUX, 0, "redux.sync.add.s32 %s, %s, -1;"},
	{"REDUX.MAX", 80, 0, REDUX, CREDUX, "redux.sync.max.s32 %s, %s, -1;"},
	{"REDUX.OR", 80, 0, REDUX, 0, "redux.sync.or.b32 %s, %s, -1;"},
	{"F2I, f32 to s32", 0, 0, F2I, 0, "cvt.rzi.s32.f32 %s, %s;"},
	{"I2F, s32 to f32", 0, 0, I2F, I2FP, "cvt.rn.f32.s32 %s, %s;"},
	{"F2F, f32 to f64", 0, 0, F2F_64, 0, "cvt.f64.f32 D, %s; mov.b64 {t, %s}, D;"},
	{"F2F, f64 to f32", 0, 0, F2F_64, 0, "mov.b64 D, {x, %s}; cvt.rn.f32.f64 t, D; xor.b32 %s, t, y;"},
	{"I2F, s32 to f64", 0, 0, I2F_64, 0, "cvt.rn.f64.s32 D, %s; mov.b64 {t, %s}, D;"},
	{"F2I, f64 to s32", 0, 0, F2I_64, 0, "mov.b64 D, {x, %s}; cvt.rzi.s32.f64 t, D; xor.b32 %s, t, y;"},
	{"F2FP, two f32 to f16", 80, 0, F2FP, 0, "cvt.rn.f16x2.f32 %s, %s, x;"},
	{"HADD2.F32, f16 to f32", 0, 0, HADD2, 0, "mov.b32 {h, g}, %s; cvt.f32.f16 %s, h;"},
	{"F2FP, two f32 to bf16", 80, 0, F2FP, 0, "cvt.rn.bf16x2.f32 %s, %s, x;"},
	{"F2FP, two f32 to e4m3", 89, 0, F2FP, 0,
	 "cvt.rn.satfinite.e4m3x2.f32 h, %s, x; mov.b32 %s, {h, g0};"},
	{"F2FP, two f32 to e5m2", 89, 0, F2FP, 0,
	 "cvt.rn.satfinite.e5m2x2.f32 h, %s, x; mov.b32 %s, {h, g0};"},
	{"F2FP, two e4m3 to f16", 89, 0, F2FP, 0,
	 "mov.b32 {h, g}, %s; cvt.rn.f16x2.e4m3x2 %s, h;"},
	{"F2FP, two e5m2 to f16", 89, 0, F2FP, 0,
	 "mov.b32 {h, g}, %s; cvt.rn.f16x2.e5m2x2 %s, h;"},
	{"HFMA2.BF16", 80, 0, HFMA2, HFMA2_MMA, "fma.rn.bf16x2 %s, %s, x, y;"},
	{"HADD2.BF16", 90, 99, HADD2, HFMA2_MMA, "add.rn.bf16x2 %s, %s, x;"},
	{"HADD2.BF16", 100, 0, HADD2, HFMA2, "add.rn.bf16x2 %s, %s, x;"},
	{"HMUL2.BF16", 90, 99, HMUL2, HFMA2_MMA, "mul.rn.bf16x2 %s, %s, x;"},
	{"HMUL2.BF16", 100, 0, HMUL2, HFMA2, "mul.rn.bf16x2 %s, %s, x;"},
};
/* clang-format on */
enum { ROWS = sizeof(rows) / sizeof(*rows) };

static void write_body(struct bench_text *t, const struct throughput_row *row)
{
	static const char *const name[CHAINS] = {"a0", "a1", "a2", "a3"};

	bench_emit(t, ".reg .b32 a<4>, x, y, t, i; .reg .b16 h, g, g0; .reg .b64 D, c<2>, m;\n"
		      ".reg .pred p;\nmov.b16 g0, 0;\n"
		      "mad.wide.u32 m, %%b_tid, 16, %%b_data;\n"
		      "ld.volatile.global.b32 x, [m+16]; ld.volatile.global.b32 y, [m+20];\n");
	code_write_loads(t, "a", CHAINS, 0);
	bench_emit(t, "mov.u32 i, 0; bar.sync 0;\nmov.u64 c0, %%clock64;\nround:\n"
		      ".pragma \"nounroll\";\n");
	for (unsigned k = 0; k < LENGTH; k++) {
		const char *a = name[k % CHAINS];

		bench_emit(t, row->step, a, a, a, a);
		bench_emit(t, "\n");
	}
	bench_emit(t,
		   "add.u32 i, i, 1; setp.lt.u32 p, i, %d;\n@p bra round;\nmov.u64 c1, %%clock64;\n"
		   "st.volatile.global.v2.u64 [m+%d], {c0, c1};\n",
		   ROUNDS, AT);
	code_write_stores(t, "a", CHAINS, 0);
}

struct loop {
	const struct throughput_row *row;
	enum nvs_sass_form form;
	uint32_t count; /* instructions of the loop */
};

/* Finds the loop, which ends with the only BRA backwards between two clock reads, and counts its
 * instructions of either opcode: the assembler computes a few of the 64 conversions otherwise. */
static int check_loop(uint64_t (*word)[2], uint32_t n, void *arg)
{
	struct loop *loop = arg;
	bool inside = false;
	struct nvs_sass_flow flow;
	struct nvs_sass_insn insn;

	loop->count = 0;
	for (uint32_t i = 0; i < n && !loop->count; i++) {
		nvs_sass_insn(loop->form, (const uint8_t *)word, n * 16, i, &insn);
		inside |= code_is_clock(&insn);
		nvs_sass_insn_flow(&insn, loop->form, &flow);
		if (!inside || flow.flow != NVS_FLOW_BRANCH || flow.target < 0 ||
		    flow.target >= (int64_t)i * 16)
			continue;
		for (uint32_t k = (uint32_t)flow.target / 16; k < i; k++) {
			uint16_t op;

			nvs_sass_insn(loop->form, (const uint8_t *)word, n * 16, k, &insn);
			op = nvs_sass_insn_op(&insn);
			loop->count += op == loop->row->op ||
				       (loop->row->also && op == loop->row->also);
		}
	}
	return loop->count > LENGTH * 7 / 8 && loop->count <= LENGTH ? 0 : -1;
}

static double compute_rate(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t(*clock)[2] = (const uint64_t(*)[2])((const char *)results + AT);
	double operations = (double)((const struct loop *)arg)->count * ROUNDS * THREADS;
	uint64_t begin = UINT64_MAX, end = 0;

	for (unsigned k = 0; k < THREADS; k++) {
		begin = clock[k][0] < begin ? clock[k][0] : begin;
		end = clock[k][1] > end ? clock[k][1] : end;
	}
	return end > begin ? operations / (double)(end - begin) : NAN;
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned i = 0; i < ROWS; i++) {
		const struct throughput_row *row = rows + i;
		unsigned arch = bench_arch(bench_gpu(run));
		struct loop loop = {.row = row, .form = nvs_sass_form(arch)};
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		if (row->arch > arch || (row->last && row->last < arch))
			continue;
		write_body(&text, row);
		kernel = BENCH_KERNEL(run, &text, .name = row->name, .threads = THREADS,
				      .patch = check_loop, .arg = &loop);
		if (kernel)
			bench_repeat(run, kernel, &(struct bench_launch){.block = THREADS},
				     AT + 16 * THREADS, compute_rate, &loop,
				     bench_add_point(run, row->name, "", "operations/cycle", 0));
	}
}

/* The slowest and the fastest of the rows that are measured. */
static void add_note(const struct bench_samples *samples, struct bench_figures *figures)
{
	const struct throughput_row *slow = NULL, *fast = NULL;
	double least = INFINITY, most = 0;

	for (unsigned i = 0; i < ROWS; i++) {
		const struct bench_point *p =
			code_find_point(bench_find_series(samples, rows[i].name), 0, NAN);

		if (p && bench_median(p) < least) {
			least = bench_median(p);
			slow = rows + i;
		}
		if (p && bench_median(p) > most) {
			most = bench_median(p);
			fast = rows + i;
		}
	}
	if (slow != fast)
		bench_add_note(figures,
			       "The fastest is %s with %.1f operations per cycle, the slowest %s "
			       "with %.1f (an SM has 128 lanes).",
			       fast->name, most, slow->name, least);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned i = 0; i < ROWS; i++) {
		const struct bench_series *series = bench_find_series(samples, rows[i].name);
		const struct bench_point *point = code_find_point(series, 0, NAN);

		if (point)
			bench_add_point_figure(figures, rows[i].name, "one SM", series, point);
	}
	add_note(samples, figures);
}

BENCH(bench_throughput, "throughput", "",
      "operations per cycle: MUFU, shuffles, reductions, conversions, bfloat16", measure_samples,
      derive_figures);
