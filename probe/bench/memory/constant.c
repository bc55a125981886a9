/* SPDX-License-Identifier: MIT */
/*
 * Measures constant caches: a chase through 64 KiB of constants by one thread, for growing
 * footprints; the first pass of a launch, on one SM and then on all others in turn, which hit what
 * earlier ones left in shared caches; the cost of 32 lanes reading k different words; and whether
 * code evicts constants from a shared cache (M14): the constants are read, code runs, and they are
 * read again. The host writes the constants: each word of a chain holds the offset of the next.
 * They are the module's only constants, so they begin at 0. Takes about 1 s. Published values:
 * github.com/caps-tum/mt4g, sample_results (H100 SXM).
 */
#include "probe/bench/frame/timed_code.h"
#include "probe/probe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE = 65536,
	LINE = 64,
	FAR = 256,
	FINE = 4096, /* up to this size the footprint grows by one line */
	STEPS = 1024, /* steps of a chase */
	CODE = 16384, /* FFMAs between two reads of the constants: 256 KiB */
	STEP = 256, /* FFMAs between entries: 4 KiB */
	HELD = 16384, /* bytes of constants that code may evict: exceeds the first level */
	TURN = 1u << 22, /* maximum number of polls */
};
static const char declared[] = ".visible .const .align 256 .u32 table[16384];\n";

/* Writes a cycle of words STEP bytes apart within the first BYTES; with STEP 0 each word points to
 * itself. */
static bool write_table(struct bench_run *run, struct bench_kernel *kernel, uint32_t bytes,
			uint32_t step)
{
	uint32_t *table;
	uint64_t at = 0;
	size_t size = 0;
	void *module;
	bool done;

	if (bench_is_dry(run))
		return true;
	table = probe_allocate(1, SIZE);
	if (!cu.cuFuncGetModule || !cu.cuModuleGetGlobal_v2 ||
	    cu.cuFuncGetModule(&module, bench_kernel_function(kernel)) ||
	    cu.cuModuleGetGlobal_v2(&at, &size, module, "table") || size != SIZE) {
		bench_add_missing(bench_samples(run), "the constants' address is unknown");
		free(table);
		return false;
	}
	for (uint32_t k = 0; k < SIZE; k += 4)
		table[k / 4] = step ? (k + step) % bytes : k;
	done = bench_memory_write(run, at, table, SIZE);
	free(table);
	return done;
}

/* Generates N steps from START on. The start of the next chase depends on the result of this one
 * (ZERO is 0), or the assembler would notice that they are equal. */
static void write_chase(struct bench_text *t, const char *label)
{
	bench_emit(t,
		   "mov.u32 a, start; mov.u32 i, n;\n%s:\n.pragma \"nounroll\";\n"
		   "ld.const.u32 a, [a];\nsub.u32 i, i, 1; setp.ne.u32 p, i, 0;\n@p bra %s;\n"
		   "add.u32 sum, sum, a; and.b32 a, a, zero; add.u32 start, start, a;\n",
		   label, label);
}

static const char variables[] =
	".reg .u32 a, i, n, start, sum, zero; .reg .u64 c<3>, base; .reg .pred p;\n"
	"cvt.u32.u64 start, %b_arg0; cvt.u32.u64 n, %b_arg1; cvt.u32.u64 zero, %b_arg4;\n"
	"mov.u32 sum, 0; mov.u64 base, table;\n";

/* Generates arg1 steps from arg0 on, once untimed unless arg2 is set, then timed; arg3: number of
 * different words that the lanes read. */
static void write_chase_body(struct bench_text *t)
{
	bench_emit(t,
		   "%ssetp.ne.u64 p, %%b_arg3, 0;\n@!p bra alike;\n"
		   "cvt.u32.u64 a, %%b_arg3; rem.u32 a, %%b_lane, a; shl.b32 start, a, 2;\nalike:\n"
		   "setp.ne.u64 p, %%b_arg2, 0;\n@p bra cold;\n",
		   variables);
	write_chase(t, "warm");
	bench_emit(t, "cold:\nmov.u64 c0, %%clock64;\n");
	write_chase(t, "timed");
	bench_emit(t,
		   "st.volatile.global.u32 [%%b_data+16], sum;\n" /* the last load has completed */
		   "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n"
		   "st.volatile.global.u64 [%%b_data], c2; st.volatile.global.u64 [%%b_data+8], "
		   "base;\n");
}

static double compute_per_step(const struct bench_run *run, const void *results, void *steps)
{
	const uint64_t *word = results;

	return word[1] ? NAN : (double)word[0] / *(double *)steps;
}

static bool measure_point(struct bench_run *run, struct bench_kernel *kernel, const char *series,
			  const char *x, double at, uint64_t steps, bool cold, uint64_t words)
{
	struct bench_launch launch = {.block = 32, .arg = {0, steps, cold, words}};

	return bench_repeat(run, kernel, &launch, 24, compute_per_step, &(double){(double)steps},
			    bench_add_point(run, series, x, "cycles", at));
}

static void measure_footprints(struct bench_run *run, struct bench_kernel *kernel,
			       const char *series, uint32_t step)
{
	double size = 4 * LINE;

	while (size <= SIZE) {
		uint32_t bytes = ((uint32_t)(size + 0.5) + step - 1) / step * step;

		if (!write_table(run, kernel, bytes, step) ||
		    !measure_point(run, kernel, series, "bytes", bytes, STEPS, false, 0))
			return;
		size = size < FINE ? bytes + step : size * sqrt(2);
	}
}

/* Generates first passes by one block per SM, one after the other. */
static void write_turns(struct bench_text *t)
{
	bench_emit(t,
		   "%s.reg .u64 flag, to;\n.reg .u32 got;\nadd.u64 flag, %%b_data, 65536;\n"
		   "mad.wide.u32 to, %%b_ctaid, 16, %%b_data;\nmov.u32 i, 0;\n"
		   "turn:\nld.volatile.global.u32 got, [flag]; add.u32 i, i, 1;\n"
		   "setp.ne.u32 p, got, %%b_ctaid; setp.lt.and.u32 p, i, %u, p;\n@p bra turn;\n"
		   "mov.u64 c0, %%clock64;\n",
		   variables, TURN);
	write_chase(t, "first");
	bench_emit(t, "st.volatile.global.u32 [to+8], sum;\n"
		      "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n"
		      "st.volatile.global.u64 [to], c2; st.volatile.global.u32 [to+12], %%b_smid;\n"
		      "membar.gl; add.u32 i, %%b_ctaid, 1; st.volatile.global.u32 [flag], i;\n"
		      "setp.ne.u64 p, base, 0;\n@p st.volatile.global.u64 [to], base;\n");
}

struct turns {
	struct bench_point *point;
	uint32_t sms;
};

/* Stores the cycles by turn; none if two blocks shared an SM. */
static double store_turns(const struct bench_run *run, const void *results, void *arg)
{
	const struct turns *turns = arg;
	const uint32_t(*block)[4] = results;
	bool seen[1024] = {false};

	for (uint32_t k = 0; k < turns->sms; k++) {
		if (block[k][3] >= 1024 || seen[block[k][3]])
			return NAN;
		seen[block[k][3]] = true;
	}
	for (uint32_t k = 0; k < turns->sms; k++)
		bench_add_sample(run, turns->point + k,
				 ((double)block[k][0] + 4294967296.0 * block[k][1]) / (SIZE / FAR));
	return NAN;
}

static void measure_turns(struct bench_run *run)
{
	struct turns turns = {.sms = (uint32_t)bench_gpu(run)->sms};
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_turns(&text);
	kernel = BENCH_KERNEL(run, &text, .name = "constant-turns", .declared = declared,
			      .threads = 32, .expect = {{0x182, 1, 4}});
	if (!kernel || turns.sms > 1024 || !write_table(run, kernel, SIZE, FAR))
		return;
	for (uint32_t k = 0; k < turns.sms; k++)
		turns.point = bench_add_point(run, "first pass by turn", "turn", "cycles", k) - k;
	bench_repeat(run, kernel,
		     &(struct bench_launch){.grid = turns.sms, .block = 1, .arg = {0, SIZE / FAR}},
		     65536 + 4, store_turns, &turns, NULL);
}

static void measure_samples(struct bench_run *run)
{
	struct bench_text text = {0};
	struct bench_kernel *kernel;
	bool more;

	write_chase_body(&text);
	kernel = BENCH_KERNEL(run, &text, .name = "constant-chase", .declared = declared,
			      .threads = 32, .expect = {{0x182, 1, 4}});
	if (!kernel)
		return;
	measure_footprints(run, kernel, "step 64", LINE);
	measure_footprints(run, kernel, "step 256", FAR);
	if (write_table(run, kernel, SIZE, FAR))
		measure_point(run, kernel, "first pass", "bytes", SIZE, SIZE / FAR, true, 0);
	more = write_table(run, kernel, SIZE, 0);
	for (uint64_t k = 1; more && k <= 32; k++)
		more = measure_point(run, kernel, "words of a warp", "words", (double)k, STEPS,
				     false, k);
	measure_turns(run);
}

/* Derives how many lines are missed by a chase one line longer than level 1 holds: a set with LRU
 * replacement misses all its lines and the extra one in every round. */
static void derive_replacement(const struct bench_series *series, const struct bench_plateau p[2],
			       struct bench_figures *figures)
{
	const struct bench_point *more = series->point + p[0].last + 1;
	double lines = more->x / LINE;
	double missed = lines * (bench_median(more) - p[0].value) / (p[1].value - p[0].value);
	double whole = round(missed);

	bench_figure(figures, "missed, one line too many", series->name, "lines", missed, NAN,
		     lines, bench_series_clock(series));
	if (whole > 1 && whole < lines && fabs(missed - whole) < 0.2)
		bench_add_note(
			figures,
			"One line of %d bytes too many causes %.0f misses in %.0f: sets of %.0f "
			"lines, "
			"replaced least recently used first.",
			LINE, whole, lines, whole - 1);
}

/* Derives the levels of a chase. Returns the latency of level 2, or NAN. */
static double derive_levels(const struct bench_series *series, struct bench_figures *figures)
{
	struct bench_plateau p[4];
	uint32_t n = bench_find_plateaus(series, 0.15, 2, p, 4);

	bench_add_plot(figures, "constant", "Latency of constants by footprint", series, true,
		       false);
	for (uint32_t i = 0; i < n; i++) {
		if (!(p[i].value > 0))
			return NAN;
		bench_figure(figures, bench_format("level %u", i + 1), series->name, "cycles",
			     p[i].value, NAN, NAN, bench_series_clock(series));
		if (i + 1 < n)
			bench_figure(figures, bench_format("level %u holds", i + 1), series->name,
				     "bytes", p[i].to, p[i].to, series->point[p[i].last + 1].x,
				     bench_series_clock(series));
	}
	if (n < 2)
		return NAN;
	if (p[0].to < FINE && !strcmp(series->name, "step 64"))
		derive_replacement(series, p, figures);
	return p[1].value;
}

/* FIRST and SECOND are the cycles of a first pass and of level 2. */
static void derive_turns(const struct bench_series *series, double first, double second,
			 struct bench_figures *figures)
{
	double *value = probe_allocate(series->n, sizeof(*value)), min = INFINITY, max = 0;
	uint32_t n = 0, shared = 0;

	for (uint32_t i = 1; i < series->n; i++) {
		double v = bench_median(series->point + i);

		if (!(v > 0))
			continue;
		value[n++] = v;
		min = fmin(min, v);
		max = fmax(max, v);
		shared += v < (first + second) / 2;
	}
	if (n) {
		bench_figure(figures, "first pass behind other SMs'", "step 256", "cycles",
			     code_median(value, n), min, max, bench_series_clock(series));
		/* The first SM of a sharing group misses to the next level. */
		if (shared)
			bench_add_note(figures, "%u SMs share %u caches of level 2.", n + 1,
				       n + 1 - shared);
		else
			bench_add_note(figures, "Each of %u SMs has its own level 2.", n + 1);
	}
	free(value);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	static const char *const names[] = {"step 64", "step 256"};
	const struct bench_series *words = bench_find_series(samples, "words of a warp");
	const struct bench_series *turn = bench_find_series(samples, "first pass by turn");
	const struct bench_series *pass = bench_find_series(samples, "first pass");
	const struct bench_point *first = code_find_point(pass, SIZE, NAN);
	double second = NAN, slope = NAN, intercept;

	bench_add_published(figures, "level 1", "step 64", "H100, mt4g", 20.7);
	bench_add_published(figures, "level 1 holds", "step 64", "H100, mt4g", 2112);
	bench_add_published(figures, "level 2", "step 64", "H100, mt4g", 104.9);
	for (unsigned k = 0; k < 2; k++)
		if (bench_find_series(samples, names[k]))
			second = derive_levels(bench_find_series(samples, names[k]), figures);
	if (first)
		bench_add_point_figure(figures, "first pass of a launch", "step 256", pass, first);
	if (first && turn && second < bench_median(first))
		derive_turns(turn, bench_median(first), second, figures);
	if (!words || !code_find_point(words, 1, NAN))
		return;
	bench_fit_line(words, &slope, &intercept);
	bench_figure(figures, "each further word of a warp", "", "cycles", slope, NAN, NAN,
		     bench_series_clock(words));
	bench_add_plot(figures, "constant-words", "Latency of constants by words of a warp", words,
		       false, false);
}

BENCH(bench_constant, "constant", "M13", "constant caches: sizes, latencies, and words of a warp",
      measure_samples, derive_figures);

/* ---- M14 ---- */

static void write_between(struct bench_text *t)
{
	const char *const when[] = {"first", "second", "third"};

	bench_emit(
		t,
		".reg .u32 a, i, n, start, sum, e, zero; .reg .u64 c<6>, base; .reg .pred p; .reg "
		".f32 f<10>;\n"
		"cvt.u32.u64 start, %%b_arg1; cvt.u32.u64 zero, %%b_arg4; cvt.u32.u64 n, "
		"%%b_arg2;\n"
		"cvt.u32.u64 e, %%b_arg0; mov.u32 sum, 0; mov.u64 base, table;\n");
	code_write_loads(t, "f", 10, 0);
	for (unsigned k = 0; k < 3; k++) {
		if (k == 2)
			code_write_straight(t, "f", "V", "e", CODE, STEP);
		bench_emit(t, "mov.u64 c%u, %%clock64;\n", 2 * k);
		write_chase(t, when[k]);
		bench_emit(t,
			   "st.volatile.global.u32 [%%b_data+%u], sum; mov.u64 c%u, %%clock64;\n"
			   "sub.u64 c%u, c%u, c%u; st.volatile.global.u64 [%%b_data+%u], c%u;\n",
			   64 + 4 * k, 2 * k + 1, 2 * k, 2 * k + 1, 2 * k, 128 + 8 * k, 2 * k);
	}
	bench_emit(t, "st.volatile.global.u64 [%%b_data+152], base;\n");
	code_write_stores(t, "f", 8, 0);
}

/* Stores the cycles of a step in the three points at ARG. */
static double store_scans(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t *word = (const uint64_t *)((const char *)results + 128);
	struct bench_point **point = arg;

	for (unsigned k = 0; k < 3 && !word[3]; k++)
		bench_add_sample(run, point[k], (double)word[k] / (HELD / LINE));
	return NAN;
}

static void measure_between(struct bench_run *run)
{
	static const char *const scan[] = {"first", "second", "behind code"};
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_between(&text);
	kernel = BENCH_KERNEL(run, &text, .name = "constant-code", .declared = declared,
			      .threads = 32, .expect = {{0x182, 3, 6}, {0x023, CODE, CODE}});
	if (!kernel || !write_table(run, kernel, SIZE, LINE))
		return;
	for (uint32_t kib = 0; kib <= CODE / 64; kib += 4) {
		struct bench_launch launch = {.block = 32,
					      .arg = {(CODE - kib * 64) / STEP, 0, HELD / LINE}};
		struct bench_point *point[3];

		for (unsigned k = 0; k < 3; k++)
			point[k] = bench_add_point(run, scan[k], "code bytes", "cycles",
						   kib * 1024.0);
		if (!bench_repeat(run, kernel, &launch, 160, store_scans, point, NULL))
			break;
	}
}

static void derive_between(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *behind = bench_find_series(samples, "behind code");
	double from = NAN, to = NAN, last = NAN;

	for (uint32_t i = 0; behind && i < behind->n; i++) {
		double x = behind->point[i].x, share;
		const struct bench_point *first =
			code_find_point(bench_find_series(samples, "first"), x, NAN);
		const struct bench_point *second =
			code_find_point(bench_find_series(samples, "second"), x, NAN);
		const struct bench_point *now = code_find_point(behind, x, NAN);

		/* Without misses in the first scan the cost of a miss is unknown. */
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
		bench_add_plot(figures, "constant-icache", "Latency of constants behind code",
			       behind, false, false);
	if (isnan(last))
		return;
	bench_figure(figures, "missed behind the longest code", "", "%", 100 * last, NAN, NAN,
		     bench_series_clock(behind));
	if (isnan(from)) {
		bench_add_note(figures,
			       "No code up to %d KiB evicted %d KiB of constants: they share no "
			       "cache with code of that size.",
			       CODE / 64, HELD / 1024);
		return;
	}
	bench_figure(figures, "code that drives constants out", "10 %", "KiB", from / 1024, NAN,
		     NAN, bench_series_clock(behind));
	bench_figure(figures, "code that drives constants out", "90 %", "KiB", to / 1024, NAN, NAN,
		     bench_series_clock(behind));
	bench_add_note(figures,
		       "Code and constants share a cache: %.0f KiB of code evict constants.",
		       from / 1024);
}

BENCH(bench_constant_icache, "constant-icache", "M14", "whether code and constants share a cache",
      measure_between, derive_between);
