/* SPDX-License-Identifier: MIT */
/*
 * Measures DPX, instructions for dynamic programming that add and take the maximum, or compare
 * three values. Latency is measured by a chain of one warp, the rate by 1,024 threads of one block
 * with four chains each. Takes about 0.2 s.
 */
#include "probe/bench/frame/timed_code.h"
#include <math.h>

enum { CHAIN = 256, THREADS = 1024, LENGTH = 64, ROUNDS = 64 };

struct dpx_function {
	const char *name;
	uint16_t op;
	const char *step; /* updates a with x and y */
};
static const struct dpx_function rows[] = {
	{"VIADDMNMX", 0x046, "add.s32 t, %s, x; max.s32 %s, t, y;"},
	{"VIADDMNMX.RELU", 0x046, "add.s32 t, %s, x; max.s32 t, t, y; max.s32 %s, t, 0;"},
	{"VIADDMNMX.S16x2", 0x046, "add.s16x2 t, %s, x; max.s16x2 %s, t, y;"},
};

static void write_step(struct bench_text *t, const struct dpx_function *row, const char *name)
{
	bench_emit(t, row->step, name, name);
	bench_emit(t, "\n");
}

/* Generates a chain, run three times with the last timed, or rounds of four chains. */
static void write_body(struct bench_text *t, const struct dpx_function *row, bool chain)
{
	static const char *const names[] = {"a0", "a1", "a2", "a3"};

	bench_emit(t, ".reg .b32 a<4>, x, y, t, i; .reg .u64 c<2>, m; .reg .pred p;\n"
		      "mad.wide.u32 m, %%b_tid, 16, %%b_data;\n"
		      "ld.volatile.global.b32 x, [m+16]; ld.volatile.global.b32 y, [m+20];\n");
	code_write_loads(t, "a", 4, 0);
	bench_emit(t, "mov.u32 i, 0; bar.sync 0;\nagain: mov.u64 c0, %%clock64;\n");
	if (!chain)
		bench_emit(t, "round:\n.pragma \"nounroll\";\n");
	for (unsigned k = 0; k < (chain ? CHAIN : LENGTH); k++)
		write_step(t, row, names[chain ? 0 : k % 4]);
	bench_emit(t, "%sadd.u32 i, i, 1; setp.lt.u32 p, i, %d;\n@p bra %s;\n",
		   chain ? "mov.u64 c1, %clock64; " : "", chain ? 3 : ROUNDS,
		   chain ? "again" : "round");
	if (!chain)
		bench_emit(t, "mov.u64 c1, %%clock64;\n");
	bench_emit(t, "st.volatile.global.v2.u64 [m+65536], {c0, c1};\n");
	code_write_stores(t, "a", 4, 0);
}

static double compute_latency(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t *clock = (const uint64_t *)((const char *)results + 65536);

	return (double)(clock[1] - clock[0]) / CHAIN;
}

static double compute_rate(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t(*clock)[2] = (const uint64_t(*)[2])((const char *)results + 65536);
	uint64_t begin = UINT64_MAX, end = 0;

	for (unsigned k = 0; k < THREADS; k++) {
		begin = clock[k][0] < begin ? clock[k][0] : begin;
		end = clock[k][1] > end ? clock[k][1] : end;
	}
	return end > begin ? (double)LENGTH * ROUNDS * THREADS / (double)(end - begin) : 0;
}

/* I counts the chains and the rates. */
static const char *name_of(unsigned i)
{
	return bench_format("%s%s", rows[i / 2].name, i % 2 ? " rate" : "");
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		const struct dpx_function *row = rows + i / 2;
		bool chain = i % 2 == 0;
		uint32_t count = chain ? CHAIN : LENGTH;
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		write_body(&text, row, chain);
		kernel = BENCH_KERNEL(run, &text, .name = name_of(i), .threads = THREADS,
				      .expect = {{row->op, count, count}});
		if (kernel)
			bench_repeat(
				run, kernel, &(struct bench_launch){.block = chain ? 32 : THREADS},
				65536 + 16 * THREADS, chain ? compute_latency : compute_rate, NULL,
				bench_add_point(run, name_of(i), "",
						chain ? "cycles" : "operations/cycle", 0));
	}
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		const struct bench_series *series = bench_find_series(samples, name_of(i));
		const struct bench_point *point = code_find_point(series, 0, NAN);

		if (point)
			bench_add_point_figure(figures, rows[i / 2].name,
					       i % 2 ? "one SM" : "chain", series, point);
	}
}

BENCH(bench_dpx, "dpx", "", "DPX instructions: latency and rate", measure_samples, derive_figures,
      .arch = 90);
