/* SPDX-License-Identifier: MIT */
/*
 * M7 and M8, size and replacement of L1. One thread loads lines of 128 bytes twice with
 * ld.global.ca; loads of the second round that are slower than a hit were evicted. Size: for each
 * shared memory carveout in steps of 16 KiB, then 1 KiB around the first misses. Lines, for one
 * carveout: latencies by position for slightly more lines than fit; the sector size, by loading
 * another word after word 0 of a line; and how many addresses at distances of 32 bytes to 256 KiB
 * are kept: closer than a line they share it, and fewer far apart means that they share sets. The
 * latency of a hit is measured on 1 KiB with the same carveout. Expected: 10 times 17 launches and
 * 17 points of 12; 11 points of 12; 14 times 20 launches and 2 points of 12: 4 s.
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	LINE = 128,
	KIB = 1024 / LINE,
	MAX_LINES = 272 * KIB,
	COARSE = 16 * KIB,
	SLOWER_BY = 40,
	EXTRA = 4,
	NEAREST = 32,
	FARTHEST = 256 << 10,
	THREADS = 1024 /* threads of the block; only one is active */
};
static const unsigned carveouts[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}; /* KiB */

/* Generates one load between two clock reads, which waits for it; LATENCY gets the cycles. */
static void timed_load(struct bench_text *text, const char *what)
{
	bench_emit(text,
		   "mov.u32 from, %%clock;\n"
		   "%s\n"
		   "setp.eq.u64 p, at, 1;\n"
		   "@p bra lost;\n"
		   "mov.u32 latency, %%clock;\n"
		   "sub.u32 latency, latency, from;\n",
		   what);
}

/*
 * arg0: the first line, arg1: number of lines, arg2: cycles above which a load is a miss. Results:
 * misses and total cycles of the second round; with EACH followed by the cycles of each load, 16
 * bits each.
 */
static struct bench_kernel *scan_kernel(struct bench_run *run, bool each)
{
	struct bench_text body = {0};

	bench_emit(&body, "{\n"
			  ".reg .u64 at, out, missed, all, t;\n"
			  ".reg .u32 n, k, lines, limit, from, latency, to;\n"
			  ".reg .pred p;\n"
			  "setp.ne.u32 p, %%b_tid, 0;\n"
			  "@p bra lost;\n"
			  "mov.u64 at, %%b_arg0;\n"
			  "cvt.u32.u64 lines, %%b_arg1;\n"
			  "cvt.u32.u64 limit, %%b_arg2;\n"
			  "mov.u64 missed, 0;\n"
			  "mov.u64 all, 0;\n"
			  "mov.u32 n, lines;\n"
			  "fill:\n"
			  ".pragma \"nounroll\";\n"
			  "ld.global.ca.u64 at, [at];\n"
			  "sub.u32 n, n, 1;\n"
			  "setp.ne.u32 p, n, 0;\n"
			  "@p bra fill;\n"
			  "setp.eq.u64 p, at, 1;\n"
			  "@p bra lost;\n"
			  "mov.u32 n, 0;\n"
			  "scan:\n"
			  ".pragma \"nounroll\";\n");
	timed_load(&body, "ld.global.ca.u64 at, [at];");
	bench_emit(&body, "setp.gt.u32 p, latency, limit;\n"
			  "@p add.u64 missed, missed, 1;\n"
			  "cvt.u64.u32 t, latency;\n"
			  "add.u64 all, all, t;\n");
	if (each)
		bench_emit(&body, "shl.b32 k, n, 1;\n"
				  "mov.u32 to, cycles;\n"
				  "add.u32 k, k, to;\n"
				  "min.u32 to, latency, 65535;\n"
				  "st.shared.u16 [k], to;\n");
	bench_emit(&body, "add.u32 n, n, 1;\n"
			  "setp.lt.u32 p, n, lines;\n"
			  "@p bra scan;\n"
			  "st.global.u64 [%%b_data], missed;\n"
			  "st.global.u64 [%%b_data+8], all;\n");
	if (each)
		bench_emit(&body, "mov.u32 k, cycles;\n"
				  "add.u64 out, %%b_data, 16;\n"
				  "copy:\n"
				  "ld.shared.u16 to, [k];\n"
				  "st.global.u16 [out], to;\n"
				  "add.u32 k, k, 2;\n"
				  "add.u64 out, out, 2;\n"
				  "sub.u32 n, n, 1;\n"
				  "setp.ne.u32 p, n, 0;\n"
				  "@p bra copy;\n");
	bench_emit(&body, "lost:\n"
			  "mov.u64 at, 0;\n"
			  "}\n");
	return BENCH_KERNEL(run, &body, .name = each ? "l1-positions" : "l1-scan",
			    .declared = each ? ".shared .align 16 .b8 cycles[4608];\n" : NULL,
			    .threads = THREADS, .expect = {{OP_LDG, 1, 1}});
}

struct l1_size_scan {
	struct bench_run *run;
	struct bench_kernel *builder, *kernel;
	uint64_t base, stride;
	unsigned carveout;
	double limit;
};

/* Lays a chain of LINES and returns how to scan it; with a grid of 0 if that failed. */
static struct bench_launch lay_lines(struct l1_size_scan *s, uint64_t lines)
{
	uint64_t all = bench_gpu(s->run)->shared_sm_bytes / 1024;
	struct chase_chain chain = {.base = s->base, .elements = lines, .stride = s->stride};

	if (!chase_write_chain(s->run, s->builder, &chain))
		return (struct bench_launch){.grid = 0};
	/* The driver chooses the next size that holds the percentage plus 1 KiB for each resident
	 * block: 32 blocks of one warp, 2 of these. So request slightly less than the size. */
	return (struct bench_launch){
		.grid = 1,
		.block = THREADS,
		.no_shared = s->carveout < 4,
		.carveout = all && s->carveout >= 4 ? (int)((s->carveout - 3) * 100 / all) : 0,
		.arg = {s->base, lines, (uint64_t)s->limit}};
}

static const uint64_t *run_scan(struct l1_size_scan *s, uint64_t lines)
{
	struct bench_launch launch = lay_lines(s, lines);

	return launch.grid ? bench_launch(s->run, s->kernel, &launch, 16 + 2 * MAX_LINES) : NULL;
}

/* Sets the limit above the latency of a hit plus noise. */
static bool find_limit(struct l1_size_scan *s)
{
	const uint64_t *results;

	s->limit = 1e6;
	results = run_scan(s, KIB);
	results = results ? run_scan(s, KIB) : NULL;
	if (!results)
		return false;
	s->limit = (double)results[1] / KIB + SLOWER_BY;
	return true;
}

/* Returns the first number of lines, in steps of STEP from FIRST on, that are not all kept; 0 if
 * none. */
static uint64_t first_missed(struct l1_size_scan *s, uint64_t first, uint64_t step)
{
	for (uint64_t lines = first; lines <= MAX_LINES; lines += step) {
		const uint64_t *results = run_scan(s, lines);

		if (!results)
			return 0;
		if (results[0])
			return lines;
	}
	return 0;
}

static double compute_misses(const struct bench_run *run, const void *results, void *arg)
{
	return (double)*(const uint64_t *)results;
}

/* Measures the misses of LINES by X. Returns false if a launch failed. */
static bool measure_misses(struct l1_size_scan *s, const char *name, const char *x, uint64_t lines,
			   uint64_t at)
{
	struct bench_launch launch = lay_lines(s, lines);

	return launch.grid && bench_repeat(s->run, s->kernel, &launch, 16, compute_misses, NULL,
					   bench_add_point(s->run, name, x, "misses", (double)at));
}

static void measure_size(struct bench_run *run)
{
	struct l1_size_scan s = {.run = run,
				 .builder = chase_build_builder(run),
				 .kernel = scan_kernel(run, false),
				 .stride = LINE};

	s.base = bench_memory_alloc(run, MAX_LINES * LINE);
	if (!s.base)
		bench_add_missing(bench_samples(run), "not enough memory for the lines");
	if (!s.base || !s.kernel || !s.builder)
		return;
	for (unsigned k = 0; k < sizeof(carveouts) / sizeof(*carveouts); k++) {
		uint64_t near;

		if (carveouts[k] * 1024ull > bench_gpu(run)->shared_sm_bytes)
			break;
		s.carveout = carveouts[k];
		if (!find_limit(&s))
			return;
		near = first_missed(&s, COARSE, COARSE);
		for (uint64_t lines = near > COARSE ? near - COARSE : KIB; near && lines <= near;
		     lines += KIB)
			if (!measure_misses(&s, bench_format("%u KiB", carveouts[k]), "bytes",
					    lines, lines * LINE))
				return;
	}
}

/* Combined size of L1 and shared memory in KiB, from the programming guide; 0 if unknown. */
static unsigned combined_size(const struct bench_gpu *gpu)
{
	switch (bench_arch(gpu)) {
	case 70:
	case 86:
	case 89:
		return 128;
	case 75:
		return 96;
	case 80:
	case 87:
		return 192;
	case 90:
		return 256;
	default:
		return 0;
	}
}

static void derive_size(const struct bench_samples *samples, const struct bench_gpu *gpu,
			struct bench_figures *figures)
{
	double least = INFINITY, most = -INFINITY;

	bench_add_published(figures, "L1 seen", "32 KiB", "T4", 57);
	bench_add_published(figures, "L1 seen", "64 KiB", "T4", 25);
	for (uint32_t s = 0; s < samples->n; s++) {
		const struct bench_series *series = &samples->series[s];
		const struct bench_point *kept = NULL;
		unsigned carveout = 0;

		sscanf(series->name, "%u", &carveout);
		for (uint32_t k = 0; k < series->n && !(bench_median(&series->point[k]) > 0); k++)
			if (series->point[k].n)
				kept = &series->point[k];
		if (!kept)
			continue;
		bench_figure(figures, "L1 seen", series->name, "KiB", kept->x / 1024, NAN, NAN,
			     kept->sm_mhz);
		/* For 0 the driver chooses the next size, for its own KiB. */
		if (carveout && combined_size(gpu) > carveout) {
			double less = combined_size(gpu) - carveout - kept->x / 1024;

			least = less < least ? less : least;
			most = less > most ? less : most;
		}
	}
	if (least <= most)
		bench_add_note(
			figures,
			"L1 and shared memory have %u KiB in total: L1 keeps %.0f to %.0f KiB "
			"less than the carveout leaves.",
			combined_size(gpu), least, most);
}

/* ---- lines ---- */

/* Finds by bisection the maximum number of lines STRIDE apart that are kept, and measures it and
 * one more. Returns false if nothing more can be measured. */
static bool kept_apart(struct l1_size_scan *s)
{
	uint64_t few = 1, many = MAX_LINES;

	/* Closer ones share lines. */
	if (s->stride < LINE)
		many *= LINE / s->stride;
	while (many - few > 1) {
		uint64_t middle = (few + many) / 2;
		const uint64_t *results = run_scan(s, middle);

		if (!results)
			return false;
		*(results[0] ? &many : &few) = middle;
	}
	for (uint64_t lines = few; lines <= many; lines++)
		if (!measure_misses(s, bench_format("%llu B apart", (unsigned long long)s->stride),
				    "lines", lines, lines))
			return false;
	return true;
}

static void measure_sets(struct bench_run *run, struct l1_size_scan s)
{
	s.kernel = scan_kernel(run, false);
	s.base = bench_memory_alloc(run, (uint64_t)MAX_LINES * FARTHEST);
	if (!s.kernel || !s.base)
		return;
	s.stride = LINE;
	if (!find_limit(&s))
		return;
	s.stride = NEAREST;
	while (s.stride <= FARTHEST && kept_apart(&s))
		s.stride *= 2;
}

/* Loads word 0 of 32 lines 256 bytes apart, and then, timed, the word at arg1. */
static struct bench_kernel *sector_kernel(struct bench_run *run)
{
	struct bench_text body = {0};

	bench_emit(&body, "{\n"
			  ".reg .u64 at, line, word, all, t;\n"
			  ".reg .u32 n, v, from, latency;\n"
			  ".reg .pred p;\n"
			  "mov.u64 line, %%b_arg0;\n"
			  "mov.u64 all, 0;\n"
			  "mov.u32 n, 32;\n"
			  "next:\n"
			  ".pragma \"nounroll\";\n"
			  "ld.global.ca.u32 v, [line];\n"
			  "setp.eq.u32 p, v, 1;\n"
			  "@p bra lost;\n"
			  "add.u64 word, line, %%b_arg1;\n");
	timed_load(&body, "ld.global.ca.u32 v, [word];\ncvt.u64.u32 at, v;");
	bench_emit(&body, "cvt.u64.u32 t, latency;\n"
			  "add.u64 all, all, t;\n"
			  "add.u64 line, line, 256;\n"
			  "sub.u32 n, n, 1;\n"
			  "setp.ne.u32 p, n, 0;\n"
			  "@p bra next;\n"
			  "st.global.u64 [%%b_data], all;\n"
			  "lost:\n"
			  "mov.u64 at, 0;\n"
			  "}\n");
	return BENCH_KERNEL(run, &body, .name = "l1-sector", .threads = 1,
			    .expect = {{OP_LDG, 1, 1}});
}

static void measure_positions(struct l1_size_scan *s, uint64_t lines)
{
	for (unsigned k = 0; k <= BENCH_REPEATS; k++) {
		const uint64_t *results = run_scan(s, lines);
		const uint16_t *cycles = (const uint16_t *)(results + 2);

		if (!results || bench_is_dry(s->run))
			return;
		for (uint64_t at = 0; k && at < lines; at++) {
			struct bench_series *series = bench_series(
				bench_samples(s->run), "positions", "line", "lines", "cycles");
			struct bench_point *point = chase_find_point(series, (double)at,
								     (double)lines);

			bench_add_sample(s->run, point, cycles[at]);
		}
	}
}

static void measure_lines(struct bench_run *run)
{
	static const unsigned words[] = {0, 4, 28, 32, 60, 64, 96, 124, 128};
	struct bench_kernel *sector = sector_kernel(run);
	struct l1_size_scan s = {.run = run,
				 .builder = chase_build_builder(run),
				 .kernel = scan_kernel(run, true),
				 .stride = LINE,
				 .carveout = 64};
	uint64_t near, last;

	s.base = bench_memory_alloc(run, MAX_LINES * LINE);
	if (!s.base || !s.builder)
		return;
	for (unsigned k = 0; sector && k < sizeof(words) / sizeof(*words); k++) {
		struct bench_launch launch = {.grid = 1, .block = 1, .arg = {s.base, words[k]}};

		bench_repeat(run, sector, &launch, 8, chase_compute_cycles, &(double){32},
			     bench_add_point(run, "sector", "bytes behind", "cycles", words[k]));
	}
	measure_sets(run, s);
	if (!s.kernel || !find_limit(&s))
		return;
	near = first_missed(&s, COARSE, COARSE);
	last = near ? first_missed(&s, near > COARSE ? near - COARSE : KIB, 1) : 0;
	if (last && last + EXTRA <= MAX_LINES) {
		measure_positions(&s, last);
		measure_positions(&s, last + EXTRA);
	} else if (!bench_is_dry(run)) {
		bench_add_missing(bench_samples(run),
				  "no number of lines was found that exceeds L1");
	}
}

static void derive_sector(const struct bench_series *series, struct bench_figures *figures)
{
	const struct bench_point *first = series->n > 1 ? &series->point[1] : NULL;

	for (uint32_t k = 1; k < series->n; k++) {
		if (!(bench_median(&series->point[k]) > bench_median(first) + SLOWER_BY))
			continue;
		bench_figure(figures, "L1 sector", "", "B", series->point[k].x, NAN, NAN,
			     series->point[k].sm_mhz);
		bench_add_note(
			figures,
			"A load that misses L1 fetches %g bytes: the next word is slow again "
			"(%.0f cycles, %.0f before).",
			series->point[k].x, bench_median(&series->point[k]), bench_median(first));
		return;
	}
}

enum { RUNS = 64 };

/* Counts lengths of runs of misses in the samples of the points with Y lines. Returns the number of
 * runs. */
static uint32_t runs_of(const struct bench_series *series, double y, double limit,
			uint32_t runs[RUNS + 1], uint32_t *compute_misses)
{
	uint32_t length, all = 0;

	*compute_misses = 0;
	for (uint32_t sample = 0; sample < BENCH_REPEATS; sample++) {
		length = 0;
		for (uint32_t k = 0; k <= series->n; k++) {
			const struct bench_point *point = k < series->n ? &series->point[k] : NULL;
			bool miss;

			if (point && point->y != y)
				continue;
			miss = point && sample < point->n && point->value[sample] > limit;
			*compute_misses += miss;
			if (!miss && length) {
				runs[length < RUNS ? length : RUNS]++;
				all++;
			}
			length = miss ? length + 1 : 0;
		}
	}
	return all;
}

/* Returns the share of the lines that all samples missed among those that any missed. */
static double missed_always(const struct bench_series *series, double y, double limit)
{
	uint32_t any = 0, each = 0;

	BENCH_EACH(p, series)
		if (p->y == y) {
			any += bench_max(p) > limit;
			each += bench_min(p) > limit;
		}
	return any ? (double)each / any : NAN;
}

static void derive_positions(const struct bench_series *series, struct bench_figures *figures)
{
	double least = INFINITY, before = NAN;

	for (uint32_t k = 0; k < series->n; k++)
		least = fmin(least, bench_min(&series->point[k]));
	for (uint32_t k = 0; k < series->n; k++) {
		uint32_t runs[RUNS + 1] = {0}, n, missed, most = 1;
		double y = series->point[k].y;

		if (y == before)
			continue;
		before = y;
		n = runs_of(series, y, least + SLOWER_BY, runs, &missed);
		for (uint32_t r = 2; r <= RUNS; r++)
			most = runs[r] > runs[most] ? r : most;
		if (!n)
			continue;
		bench_add_note(
			figures,
			"With %g lines a second round misses %.1f (mean of the samples), %.0f %% "
			"of the runs of misses are %u line%s long; %s.",
			y, (double)missed / BENCH_REPEATS, 100.0 * runs[most] / n, most,
			most > 1 ? "s" : "",
			missed_always(series, y, least + SLOWER_BY) > 0.9
				? "they are the same lines each time, so the choice is not "
				  "random"
				: "they are not the same lines each time");
		bench_figure(figures, "L1 run of misses", "", "lines", most, NAN, NAN,
			     series->point[k].sm_mhz);
		return;
	}
}

/* Returns the maximum number of lines of SERIES without misses; 0 if unknown. */
static double kept_of(const struct bench_series *series)
{
	double kept = 0;

	BENCH_EACH(p, series)
		if (bench_median(p) == 0)
			kept = fmax(kept, p->x);
	return kept;
}

/* Addresses closer than a line share it: of those twice as far apart half as many are kept, until
 * each has its own. */
static void derive_line(const struct bench_samples *samples, struct bench_figures *figures)
{
	for (unsigned apart = NEAREST; apart <= 1024; apart *= 2) {
		const struct bench_series *series =
			bench_find_series(samples, bench_format("%u B apart", apart));
		double kept = series ? kept_of(series) : 0, next;

		series = bench_find_series(samples, bench_format("%u B apart", 2 * apart));
		next = series ? kept_of(series) : 0;
		if (!(kept > 0 && next > 0))
			return;
		if (next < 0.75 * kept)
			continue;
		bench_figure(figures, "L1 line", "", "B", apart, NAN, NAN, series->point[0].sm_mhz);
		return;
	}
}

/* If address bits select the set directly, doubling the distance halves the number of lines kept,
 * down to one set. If it is constant for large distances, more bits are hashed. */
static void derive_sets(const struct bench_samples *samples, struct bench_figures *figures)
{
	double all = NAN, least = INFINITY, first = NAN, farthest = 0;

	derive_line(samples, figures);
	for (uint32_t s = 0; s < samples->n; s++) {
		const struct bench_series *series = &samples->series[s];
		double apart, kept;

		if (sscanf(series->name, "%lf B apart", &apart) != 1 || apart < LINE)
			continue;
		kept = kept_of(series);
		if (!(kept > 0))
			continue;
		bench_figure(figures, "L1 lines kept",
			     bench_format("%s apart", bench_format_bytes(apart)), "lines", kept,
			     NAN, NAN, series->point[0].sm_mhz);
		bench_mark_detail(figures, apart > LINE);
		if (apart == LINE)
			all = kept;
		least = fmin(least, kept);
		if (isnan(first) && kept < 0.75 * all)
			first = apart;
		farthest = fmax(farthest, apart);
	}
	if (isnan(all) || farthest <= LINE)
		return;
	if (isnan(first))
		bench_add_note(
			figures,
			"Lines %s apart are kept as well as adjacent ones, at least %.0f of %.0f: "
			"sets are chosen by a hash of the address.",
			bench_format_bytes(farthest), least, all);
	else
		bench_add_note(
			figures,
			"%.0f adjacent lines are kept; with %s and more between them fewer, at "
			"least %.0f: they share sets.",
			all, bench_format_bytes(first), least);
}

static void derive_lines(const struct bench_samples *samples, const struct bench_gpu *gpu,
			 struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, "sector");

	bench_add_published(figures, "L1 run of misses", "", "T4", 4);
	if (series)
		derive_sector(series, figures);
	series = bench_find_series(samples, "positions");
	if (series)
		derive_positions(series, figures);
	derive_sets(samples, figures);
}

BENCH(bench_l1_size, "l1-size", "M7", "how much L1 keeps, by each carve-out for shared memory",
      measure_size, derive_size);

BENCH(bench_l1_lines, "l1-lines", "M8", "lines and sectors of L1, and which of them it gives up",
      measure_lines, derive_lines);
