/* SPDX-License-Identifier: MIT */
/*
 * Constant caches: a chase through 64 KiB of constants by one thread, over growing footprints; what
 * 32 lanes cost that read k different words; and whether code drives constants out of the cache
 * that both may share (M14): the constants are read, code is run, and they are read again. About 1
 * s.
 *
 * Each line of 64 bytes has eight words that name the line so many steps further (64 bytes, 128 ...
 * 8 KiB) and eight that name themselves. The table is the module's only constants, so it begins at
 * 0.
 */
#include "probe/bench/timed.h"
#include <math.h>
#include <stdio.h>

enum {
	SIZE = 65536,
	LINE = 64,
	LEAST = 512, /* steps timed at the least */
	CODE = 16384, /* FFMAs behind the constants: 256 KiB */
	STEP = 256, /* of them: 4 KiB */
	HELD = 16384, /* bytes of constants that code is to drive out: beyond the first level */
};

static void table(struct bench_text *t)
{
	bench_say(t, ".const .align 256 .u32 table[%d] = {", SIZE / 4);
	for (uint32_t at = 0; at < SIZE; at += 4) {
		uint32_t word = at % LINE / 4;

		bench_say(t, "%s%u", at ? "," : "", word < 8 ? (at + (LINE << word)) % SIZE : at);
	}
	bench_say(t, "};\n");
}

/* N steps from START on; the next chase's start hangs on what this one found (ZERO is 0), or the
 * assembler would see that it finds the same. */
static void chase(struct bench_text *t, const char *label)
{
	bench_say(t,
		  "mov.u32 a, start; mov.u32 i, n;\n%s:\n.pragma \"nounroll\";\n"
		  "ld.const.u32 a, [a];\nsub.u32 i, i, 1; setp.ne.u32 p, i, 0;\n@p bra %s;\n"
		  "add.u32 sum, sum, a; and.b32 a, a, zero; add.u32 start, start, a;\n",
		  label, label);
}

/* Once untimed, then arg2 times: from arg0 on arg1 steps each. */
static void chase_body(struct bench_text *t)
{
	bench_say(t, ".reg .u32 a, i, j, n, start, sum, zero; .reg .u64 c<3>, base; .reg .pred p;\n"
		     "cvt.u32.u64 start, %%b_arg0; cvt.u32.u64 zero, %%b_arg4; cvt.u32.u64 n, "
		     "%%b_arg1; mov.u32 sum, 0;\n"
		     "cvt.u32.u64 j, %%b_arg2; mov.u64 base, table;\n"
		     "setp.ne.u64 p, %%b_arg3, 0;\n@!p bra alike;\n"
		     /* arg3 words that name themselves, a lane its own of them */
		     "cvt.u32.u64 a, %%b_arg3; rem.u32 a, %%b_lane, a; shr.u32 i, a, 3;\n"
		     "and.b32 a, a, 7; shl.b32 i, i, 6; shl.b32 a, a, 2; add.u32 a, a, 32;\n"
		     "add.u32 start, a, i;\nalike:\n");
	chase(t, "warm");
	bench_say(t, "mov.u64 c0, %%clock64;\npass:\n");
	chase(t, "timed");
	bench_say(t, "sub.u32 j, j, 1; setp.ne.u32 p, j, 0;\n@p bra pass;\n"
		     "st.volatile.global.u32 [%%b_data+16], sum;\n" /* the last one has come */
		     "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n"
		     "st.volatile.global.u64 [%%b_data], c2; st.volatile.global.u64 [%%b_data+8], "
		     "base;\n");
}

static void per_step(const void *data, double *value, const void *arg)
{
	const uint64_t *word = data;

	value[0] = word[1] ? NAN : (double)word[0] / *(const double *)arg;
}

static bool one(struct bench_run *run, struct bench_kernel *kernel, const char *series,
		const char *x, double at, const uint64_t arg[4])
{
	struct code_value value = {.x = x, .unit = "cycles", .at_x = at, .at_y = NAN};
	struct bench_launch launch = {.block = 32, .arg = {arg[0], arg[1], arg[2], arg[3]}};

	snprintf(value.series, sizeof(value.series), "%s", series);
	return code_measure(run, kernel, &launch, 24, &value, 1, per_step,
			    &(double){(double)(arg[1] * arg[2])});
}

static void footprints(struct bench_run *run, struct bench_kernel *kernel, const char *series,
		       unsigned word)
{
	uint32_t step = LINE << word;

	/* Of a shorter pass its own beginning and end would be most. */
	for (double size = 16.0 * step; size <= SIZE; size *= sqrt(2)) {
		uint64_t n = (uint64_t)(size + 0.5) / step;
		uint64_t arg[4] = {4 * word, n, (LEAST + n - 1) / n, 0};

		if (!one(run, kernel, series, "bytes", (double)(n * step), arg))
			return;
	}
}

static void measure(struct bench_run *run)
{
	struct bench_text text = {0}, declared = {0};
	struct bench_kernel *kernel;

	table(&declared);
	chase_body(&text);
	kernel = bench_kernel(run, &(struct bench_code){.name = "constant-chase",
							.declared = declared.data,
							.body = text.data,
							.threads = 32,
							.expect = {{0x182, 1, 4}}});
	bench_text_free(&text);
	bench_text_free(&declared);
	if (!kernel)
		return;
	footprints(run, kernel, "step 64", 0);
	footprints(run, kernel, "step 256", 2);
	for (uint64_t k = 1; k <= 32; k++)
		if (!one(run, kernel, "words of a warp", "words", (double)k,
			 (uint64_t[4]){0, LEAST, 1, k}))
			break;
	bench_kernel_free(run, kernel);
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	static const char *const names[] = {"step 64", "step 256"};
	const struct bench_series *words = bench_find(samples, "words of a warp");
	double slope = NAN, intercept;

	(void)gpu;
	for (unsigned k = 0; k < 2; k++) {
		const struct bench_series *series = bench_find(samples, names[k]);
		struct bench_plateau plateau[5];
		uint32_t n = series ? bench_plateaus(series, 0.15, 2, plateau, 5) : 0;

		if (series)
			bench_picture(figures, "constant", "Latency of constants by footprint",
				      series, true, false);
		for (uint32_t i = 0; i < n; i++) {
			char level[48];

			if (!(plateau[i].value > 0))
				continue;
			snprintf(level, sizeof(level), "constants, %s, level %u", names[k], i + 1);
			bench_figure(figures, level, "", "cycles", plateau[i].value, NAN, NAN, NAN);
			if (i + 1 < n)
				bench_figure(figures, level, "size", "bytes", plateau[i].to,
					     plateau[i].to, plateau[i + 1].from, NAN);
		}
	}
	if (!words || !code_at(words, 1, NAN))
		return;
	bench_line(words, &slope, &intercept);
	bench_figure(figures, "each further word of a warp", "", "cycles", slope, NAN, NAN, NAN);
	bench_picture(figures, "constant-words", "Latency of constants by words of a warp", words,
		      false, false);
}

BENCH(bench_constant) = {
	.name = "constant",
	.number = "M13",
	.what = "constant caches: sizes, latencies, and words of a warp",
	.measure = measure,
	.derive = derive,
};

/* ---- M14 ---- */

static void between_body(struct bench_text *t)
{
	const char *const when[] = {"first", "second", "third"};

	bench_say(
		t,
		".reg .u32 a, i, n, start, sum, e, zero; .reg .u64 c<6>, base; .reg .pred p; .reg "
		".f32 f<10>;\n"
		"cvt.u32.u64 start, %%b_arg1; cvt.u32.u64 zero, %%b_arg4; cvt.u32.u64 n, "
		"%%b_arg2;\n"
		"cvt.u32.u64 e, %%b_arg0; mov.u32 sum, 0; mov.u64 base, table;\n");
	code_loads(t, "f", 10, 0);
	for (unsigned k = 0; k < 3; k++) {
		if (k == 2)
			code_straight(t, "f", "V", "e", CODE, STEP);
		bench_say(t, "mov.u64 c%u, %%clock64;\n", 2 * k);
		chase(t, when[k]);
		bench_say(t,
			  "st.volatile.global.u32 [%%b_data+%u], sum; mov.u64 c%u, %%clock64;\n"
			  "sub.u64 c%u, c%u, c%u; st.volatile.global.u64 [%%b_data+%u], c%u;\n",
			  64 + 4 * k, 2 * k + 1, 2 * k, 2 * k + 1, 2 * k, 128 + 8 * k, 2 * k);
	}
	bench_say(t, "st.volatile.global.u64 [%%b_data+152], base;\n");
	code_stores(t, "f", 8, 0);
}

static void scans(const void *data, double *value, const void *arg)
{
	const uint64_t *word = (const uint64_t *)((const char *)data + 128);

	(void)arg;
	for (unsigned k = 0; k < 3; k++)
		value[k] = word[3] ? NAN : (double)word[k] / (HELD / LINE);
}

static void measure_between(struct bench_run *run)
{
	struct bench_text text = {0}, declared = {0};
	struct bench_kernel *kernel;

	table(&declared);
	between_body(&text);
	kernel = bench_kernel(run,
			      &(struct bench_code){.name = "constant-code",
						   .declared = declared.data,
						   .body = text.data,
						   .threads = 32,
						   .expect = {{0x182, 3, 6}, {0x023, CODE, CODE}}});
	bench_text_free(&text);
	bench_text_free(&declared);
	for (uint32_t kib = 0; kernel && kib <= CODE / 64; kib += 4) {
		struct code_value value[3] = {
			{"first", "code bytes", NULL, "cycles", 0, NAN},
			{"second", "code bytes", NULL, "cycles", 0, NAN},
			{"behind code", "code bytes", NULL, "cycles", 0, NAN}};

		for (unsigned k = 0; k < 3; k++)
			value[k].at_x = kib * 1024.0;
		if (!code_measure(
			    run, kernel,
			    &(struct bench_launch){
				    .block = 32, .arg = {(CODE - kib * 64) / STEP, 0, HELD / LINE}},
			    160, value, 3, scans, NULL))
			break;
	}
	if (kernel)
		bench_kernel_free(run, kernel);
}

static void derive_between(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *behind = bench_find(samples, "behind code");
	double from = NAN, to = NAN, last = NAN;

	(void)gpu;
	for (uint32_t i = 0; behind && i < behind->n; i++) {
		double x = behind->point[i].x, share;
		const struct bench_point *first = code_at(bench_find(samples, "first"), x, NAN);
		const struct bench_point *second = code_at(bench_find(samples, "second"), x, NAN);
		const struct bench_point *now = code_at(behind, x, NAN);

		/* Without a first scan that missed nothing tells what a miss takes. */
		if (!first || !second || !now || bench_median(first) < 1.15 * bench_median(second))
			continue;
		share = (bench_median(now) - bench_median(second)) /
			(bench_median(first) - bench_median(second));
		if (isnan(from) && share > 0.1)
			from = x;
		if (isnan(to) && share > 0.9)
			to = x;
		last = share;
	}
	if (behind)
		bench_picture(figures, "constant-icache", "Latency of constants behind code",
			      behind, false, false);
	if (isnan(last))
		return;
	bench_figure(figures, "missed behind the longest code", "", "%", 100 * last, NAN, NAN, NAN);
	if (isnan(from)) {
		bench_note(figures,
			   "No code up to %d KiB drove %d KiB of constants out: they share no "
			   "cache with code that is as small.",
			   CODE / 64, HELD / 1024);
		return;
	}
	bench_figure(figures, "code that drives constants out", "10 %", "KiB", from / 1024, NAN,
		     NAN, NAN);
	bench_figure(figures, "code that drives constants out", "90 %", "KiB", to / 1024, NAN, NAN,
		     NAN);
}

BENCH(bench_constant_icache) = {
	.name = "constant-icache",
	.number = "M14",
	.what = "whether code and constants share a cache",
	.measure = measure_between,
	.derive = derive_between,
};
