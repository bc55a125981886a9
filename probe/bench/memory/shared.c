/* SPDX-License-Identifier: MIT */
/*
 * M17 and M18, shared memory. Each word holds its own address, so that a thread loads one word
 * repeatedly, each load depending on the previous one. Latency: one warp, lanes S elements of 4, 8
 * or 16 bytes apart, for 33 values of S; with 0 all lanes use one. Bandwidth: a block of 1,024
 * threads on each SM, two chains per thread, 64 to 4,096 steps: the slope of the cycles by steps.
 * Expected: 99 and 14 points of 12 launches, less than 1 s each. Published latency:
 * github.com/caps-tum/mt4g, sample_results (H100 SXM).
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

enum { WORDS = 8192, THREADS = 1024, LOOPS = 64, STEPS = LOOPS * CHASE_UNROLL };
static const unsigned widths[] = {4, 8, 16};

static const char declared[] = ".shared .align 128 .b8 words[32768];\n";

/* Generates code that fills all words with their addresses. */
static void write_fill(struct bench_text *text)
{
	bench_emit(text,
		   "mov.u32 base, words;\n"
		   "mov.u32 n, %%b_tid;\n"
		   "fill:\n"
		   "mad.lo.u32 at, n, 4, base;\n"
		   "st.shared.u32 [at], at;\n"
		   "add.u32 n, n, %%b_ntid;\n"
		   "setp.lt.u32 p, n, %u;\n"
		   "@p bra fill;\n"
		   "bar.sync 0;\n",
		   (unsigned)WORDS);
}

static void write_load(struct bench_text *text, unsigned width, const char *at)
{
	if (width == 4)
		bench_emit(text, "ld.shared.u32 %s, [%s];\n", at, at);
	else if (width == 8)
		bench_emit(text, "ld.shared.v2.u32 {%s, x}, [%s];\nxor.b32 sum, sum, x;\n", at, at);
	else
		bench_emit(text,
			   "ld.shared.v4.u32 {%s, x, y, z}, [%s];\n"
			   "xor.b32 sum, sum, x;\nxor.b32 sum, sum, y;\nxor.b32 sum, sum, z;\n",
			   at, at);
}

/* Builds a kernel with CHAINS loads per step: arg2 untimed iterations of CHASE_UNROLL loads, then
 * arg1 timed. */
static struct bench_kernel *kernel_of(struct bench_run *run, unsigned width, unsigned chains)
{
	struct bench_text body = {0};

	bench_emit(&body, "{\n"
			  ".reg .u64 from, to, out;\n"
			  ".reg .u32 at, other, base, n, sum, x, y, z;\n"
			  ".reg .pred p;\n"
			  "mov.u32 sum, 0;\n");
	write_fill(&body);
	/* The second chain is half of the array away. */
	bench_emit(&body,
		   "cvt.u32.u64 n, %%b_arg0;\n"
		   "mul.lo.u32 at, n, %%b_tid;\n"
		   "mul.lo.u32 at, at, %u;\n"
		   "xor.b32 other, at, 16384;\n"
		   "and.b32 at, at, 32767;\n"
		   "and.b32 other, other, 32767;\n"
		   "add.u32 at, at, base;\n"
		   "add.u32 other, other, base;\n",
		   width);
	for (unsigned timed = 0; timed < 2; timed++) {
		bench_emit(&body, "cvt.u32.u64 n, %%b_arg%u;\nbar.sync 0;\n", timed ? 1u : 2u);
		if (timed)
			bench_emit(&body, "mov.u64 from, %%clock64;\n");
		bench_emit(&body, "turn%u:\n.pragma \"nounroll\";\n", timed);
		for (unsigned k = 0; k < CHASE_UNROLL / chains; k++) {
			write_load(&body, width, "at");
			if (chains == 2)
				write_load(&body, width, "other");
		}
		bench_emit(&body,
			   "sub.u32 n, n, 1;\n"
			   "setp.gt.s32 p, n, 0;\n"
			   "@p bra turn%u;\n"
			   "add.u32 sum, sum, at;\nadd.u32 sum, sum, other;\n"
			   "setp.eq.u32 p, sum, 1;\n" /* never true, but depends on all loads */
			   "@p bra lost;\n",
			   timed);
	}
	bench_emit(&body, "bar.sync 0;\n"
			  "mov.u64 to, %%clock64;\n"
			  "sub.u64 to, to, from;\n"
			  "setp.ne.u32 p, %%b_tid, 0;\n"
			  "@p bra lost;\n"
			  "mul.wide.u32 out, %%b_ctaid, 8;\n"
			  "add.u64 out, out, %%b_data;\n"
			  "st.global.u64 [out], to;\n"
			  "lost:\n"
			  "mov.u64 out, 0;\n"
			  "}\n");
	return BENCH_KERNEL(run, &body, .name = bench_format("shared-%u-%u", width, chains),
			    .declared = declared, .threads = chains == 1 ? 32 : THREADS,
			    .expect = {{OP_LDS, CHASE_UNROLL, CHASE_UNROLL}});
}

static void measure_latency(struct bench_run *run)
{
	for (unsigned w = 0; w < 3; w++) {
		struct bench_kernel *kernel = kernel_of(run, widths[w], 1);

		for (uint32_t apart = 0; kernel && apart <= 32; apart++)
			bench_repeat(run, kernel,
				     &(struct bench_launch){
					     .grid = 1, .block = 32, .arg = {apart, LOOPS, LOOPS}},
				     8, chase_compute_cycles, &(double){STEPS},
				     bench_add_point(run, bench_format("%u B", widths[w]),
						     "elements apart", "cycles", apart));
	}
}

/* Returns how many lanes share a bank, for elements of 4 bytes that are APART words apart, with 32
 * banks. */
static unsigned conflict_degree(unsigned apart)
{
	unsigned degree = 1;

	while (apart && degree < 32 && apart % (degree * 2) == 0)
		degree *= 2;
	return degree;
}

/* Fits the medians by the number of lanes on one bank; NAN if not possible. */
static void fit_conflicts(const struct bench_series *series, double *slope, double *intercept)
{
	double x = 0, y = 0, xx = 0, xy = 0, n = 0;

	*slope = *intercept = NAN;
	for (uint32_t k = 0; series && k < series->n; k++) {
		double degree = conflict_degree((unsigned)series->point[k].x);
		double cycles = bench_median(&series->point[k]);

		if (isnan(cycles))
			continue;
		x += degree;
		y += cycles;
		xx += degree * degree;
		xy += degree * cycles;
		n++;
	}
	if (n * xx > x * x) {
		*slope = (n * xy - x * y) / (n * xx - x * x);
		*intercept = (y - *slope * x) / n;
	}
}

static void derive_latency(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	double slope, intercept;

	bench_add_published(figures, "shared latency", "4 B, 1 apart", "H100, mt4g", 29.9);
	for (uint32_t s = 0; s < samples->n; s++) {
		const struct bench_series *series = &samples->series[s];

		BENCH_EACH(p, series) {
			unsigned apart = (unsigned)p->x;

			/* All others have the same conflicts as one of these; they are only in the
			 * plot. */
			if (!apart || apart & (apart - 1))
				continue;
			bench_add_point_figure(figures, "shared latency",
					       bench_format("%s, %g apart", series->name, p->x),
					       series, p);
			bench_mark_detail(figures, s && apart > 1);
		}
	}
	fit_conflicts(bench_find_series(samples, "4 B"), &slope, &intercept);
	if (!isnan(slope))
		bench_add_note(
			figures,
			"A load of 4 bytes takes %.1f cycles without conflict, and %.2f more for "
			"each additional lane on one bank.",
			intercept + slope, slope);
	for (uint32_t s = 0; s < samples->n; s++)
		bench_add_plot(figures, "latency-shared", "Latency of shared memory",
			       &samples->series[s], false, false);
}

static void measure_bandwidth(struct bench_run *run)
{
	for (unsigned w = 0; w < 3; w += 2) {
		struct bench_kernel *kernel = kernel_of(run, widths[w], 2);

		for (uint32_t steps = 64; kernel && steps <= 4096; steps *= 2) {
			struct bench_launch launch = {.grid = (uint32_t)bench_gpu(run)->sms,
						      .block = THREADS,
						      .arg = {1, 2 * steps / CHASE_UNROLL, 1}};

			bench_repeat(run, kernel, &launch, 8, chase_compute_cycles, &(double){1},
				     bench_add_point(run, bench_format("%u B", widths[w]), "steps",
						     "cycles", steps));
		}
	}
}

static void derive_bandwidth(const struct bench_samples *samples, const struct bench_gpu *gpu,
			     struct bench_figures *figures)
{
	for (unsigned w = 0; w < 3; w += 2) {
		const char *name = bench_format("%u B", widths[w]);
		const struct bench_series *series = bench_find_series(samples, name);
		double slope, intercept, bytes = 2.0 * THREADS * widths[w];

		if (!series)
			continue;
		bench_fit_line(series, &slope, &intercept);
		if (!(slope > 0))
			continue;
		bench_figure(figures, "shared bandwidth", name, "B/cycle/SM", bytes / slope, NAN,
			     NAN, series->n ? series->point[series->n - 1].sm_mhz : NAN);
		bench_add_note(
			figures,
			"Shared memory provides %.1f B/cycle per SM to loads of %s (32 banks of "
			"4 bytes: 128).",
			bytes / slope, name);
	}
}

BENCH(bench_shared_latency, "shared-latency", "M17",
      "latency of shared memory, with conflicts of banks", measure_latency, derive_latency);

BENCH(bench_shared_bandwidth, "shared-bandwidth", "M18", "bandwidth of shared memory, all SMs",
      measure_bandwidth, derive_bandwidth);
