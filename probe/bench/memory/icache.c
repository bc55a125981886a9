/* SPDX-License-Identifier: MIT */
/*
 * Measures instruction caches: straight-line code between two clock reads of one warp, run twice
 * with the second run timed. A kernel of 1 MiB of code is entered at the point that leaves the
 * wanted length, with FFMAs and again with NOPs patched over them. ptxas 13.0 needs 1.5 s for it
 * and 8 s for four times as much, so larger caches of many MiB are not measured. Takes about 5 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>

enum { COUNT = 65536, STEP = 64, FFMA = 0x023, KIB = COUNT * 16 / 1024 };

static int to_nops(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	if (!code_find_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, COUNT, &first, &last))
		return -1;
	for (uint32_t i = first; i < last; i++) {
		code_decode_insn(word[i], &insn);
		if (nvs_sass_insn_op(&insn) != FFMA)
			continue;
		/* The NOP waits for the same barriers as the FFMA, and sets none. */
		word[i][0] = 0x7918;
		word[i][1] = (word[i][1] & 0x3full << 52) | 0x000fc00000000000;
		code_set_stall(word[i], 1, true);
	}
	return 0;
}

static void write_body(struct bench_text *t)
{
	bench_emit(t, ".reg .f32 f<10>; .reg .u64 c<3>; .reg .u32 i, e; .reg .pred p;\n"
		      "cvt.u32.u64 e, %%b_arg0; mov.u32 i, 0;\n");
	code_write_loads(t, "f", 10, 0);
	bench_emit(t, "again: mov.u64 c0, %%clock64;\n");
	code_write_straight(t, "f", "V", "e", COUNT, STEP);
	bench_emit(t, "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n"
		      "add.u32 i, i, 1; setp.lt.u32 p, i, 2;\n@p bra again;\n"
		      "st.volatile.global.u64 [%%b_data+64], c2;\n");
	code_write_stores(t, "f", 8, 0);
}

struct length {
	uint32_t count;
	double empty; /* cycles of the empty code */
};

static double compute_cycles(const struct bench_run *run, const void *results, void *arg)
{
	const struct length *length = arg;
	double all = (double)((const uint64_t *)results)[8];

	return length->count ? (all - length->empty) / length->count : all;
}

static bool measure_length(struct bench_run *run, struct bench_kernel *kernel, const char *name,
			   struct length *length)
{
	return bench_repeat(
		run, kernel,
		&(struct bench_launch){.block = 32, .arg = {(COUNT - length->count) / STEP}}, 72,
		compute_cycles, length,
		bench_add_point(run, name, "bytes", length->count ? "cycles/instruction" : "cycles",
				16.0 * length->count));
}

static void measure_lengths(struct bench_run *run, struct bench_kernel *kernel, const char *name)
{
	struct length length = {0};
	const char *empty = bench_format("%s none", name);

	if (!measure_length(run, kernel, empty, &length))
		return;
	length.empty = bench_median(bench_find_series(bench_samples(run), empty)->point);
	for (uint32_t kib = 1; kib <= KIB; kib += kib < 256 ? 1 : kib < 512 ? 4 : 32) {
		length.count = kib * 64;
		if (!measure_length(run, kernel, name, &length))
			return;
	}
}

static void measure_samples(struct bench_run *run)
{
	struct bench_text text = {0};

	write_body(&text);
	for (unsigned k = 0; k < 2; k++) {
		struct bench_kernel *kernel =
			bench_kernel(run, &(struct bench_code){.name = k ? "nops" : "ffmas",
							       .body = text.data,
							       .threads = 32,
							       .expect = {{FFMA, COUNT, COUNT}},
							       .patch = k ? to_nops : NULL});

		if (kernel)
			measure_lengths(run, kernel, k ? "NOP" : "FFMA");
	}
	bench_text_free(&text);
}

/* Merges plateaus that are too short to be a cache into the neighbor with the closer value: an H200
 * adds 256 cycles from 24 KiB on, and a sixth from 110 KiB on. Returns how many remain. */
static uint32_t merge_levels(struct bench_plateau *p, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool short_one = kept && i + 1 < n && p[i].to < 1.4 * p[i].from;

		if (!short_one)
			p[kept++] = p[i];
		else if (p[i].value / p[kept - 1].value < p[i + 1].value / p[i].value)
			p[kept - 1].to = p[i].to;
		else
			p[i + 1].from = p[i].from;
	}
	return kept;
}

static void derive_of(const struct bench_series *series, struct bench_figures *figures)
{
	struct bench_plateau plateau[8];
	uint32_t n = merge_levels(plateau, bench_find_plateaus(series, 0.15, 4, plateau, 8));

	bench_add_plot(figures, "icache", "Cycles an instruction by code length", series, true,
		       false);
	for (uint32_t i = 0; i < n; i++) {
		if (!(plateau[i].value > 0))
			continue;
		bench_figure(figures, bench_format("level %u", i + 1), series->name,
			     "cycles/instruction", plateau[i].value, NAN, NAN,
			     bench_series_clock(series));
		if (i + 1 < n)
			bench_figure(figures, bench_format("level %u holds", i + 1), series->name,
				     "KiB", plateau[i].to / 1024, plateau[i].to / 1024,
				     plateau[i + 1].from / 1024, bench_series_clock(series));
	}
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	static const char *const names[] = {"FFMA", "NOP"};

	for (unsigned k = 0; k < 2; k++)
		if (bench_find_series(samples, names[k]))
			derive_of(bench_find_series(samples, names[k]), figures);
}

BENCH(bench_icache, "icache", "M11", "instruction caches: cycles an instruction by code length",
      measure_samples, derive_figures);
