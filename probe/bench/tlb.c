/* SPDX-License-Identifier: MIT */
/*
 * M20, TLBs. One thread goes at random along a chain with one line in every 2, 4, 16, 32 and 64
 * MiB, through all of the memory that can be had, at most 128 GiB, by ld.global.cg: the lines are
 * few and stay in L2, so what climbs is the translation. Lines lie at another offset in each page,
 * or they would meet in a few sets of L2. By ld.global.ca through the first 1,024 pages: stays L1
 * as fast where a TLB no longer reaches, then it is addressed virtually. Planned: some 130 points
 * of 12 launches, six seconds, the most of it in the long chains.
 */
#include "probe/bench/chase.h"

#include <math.h>
#include <stdio.h>

enum { LINE = 128, L1_PAGES = 1024 };
static const uint64_t page = 2 << 20;
static const unsigned strides[] = {2, 4, 16, 32, 64}; /* MiB */

static void chains(struct bench_run *run, struct bench_kernel *builder, struct bench_kernel *kernel,
		   const char *name, uint64_t base, uint64_t stride, uint64_t most)
{
	for (uint64_t n = 8; n <= most; n = chase_next(n)) {
		struct chase_chain chain = {.base = base,
					    .elements = n,
					    .stride = stride,
					    .skew = LINE,
					    .random = true};
		uint64_t timed = n < 1024 ? 1024 : n > 8192 ? 8192 : chase_steps(n);
		struct bench_launch launch = {.grid = 1,
					      .block = 1,
					      .no_shared = true,
					      .arg = {base, chase_steps(n), timed}};
		struct bench_point *point;

		if (!chase_lay(run, builder, &chain))
			return;
		point = bench_point(bench_series(bench_samples(run), name, "bytes", "", "cycles"),
				    (double)(n * stride), NAN);
		if (!chase_onward(run, kernel, &launch, point) && !bench_dry(run))
			return;
	}
}

static void measure(struct bench_run *run)
{
	struct bench_kernel *builder = chase_builder(run);
	struct bench_kernel *cg = chase_kernel(run, "cg"), *ca = chase_kernel(run, "ca");
	uint64_t most = 128ull << 30, base = 0;
	char name[16];

	if (!builder || !cg || !ca)
		return;
	while (most > 256ull << 20 && !(base = bench_memory(run, most)))
		most = most & (most - 1) ? most / 3 * 2 : most / 4 * 3;
	if (!base) {
		bench_missing(bench_samples(run), "there was no memory for the chain");
		return;
	}
	chains(run, builder, ca, "L1", base, page, most / page < L1_PAGES ? most / page : L1_PAGES);
	for (unsigned k = 0; k < 5; k++) {
		uint64_t stride = (uint64_t)strides[k] << 20;

		snprintf(name, sizeof(name), "%u MiB", strides[k]);
		chains(run, builder, cg, name, base, stride, most / stride);
	}
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	const struct bench_series *series = bench_find(samples, "2 MiB");
	struct bench_plateau plateau[5];
	uint32_t n = series ? bench_plateaus(series, 0.08, 3, plateau, 5) : 0;
	char to[24], level[32];

	(void)gpu;
	bench_published(figures, "TLB reach", "level 1", "T4", 32);
	bench_published(figures, "TLB reach", "level 2", "T4", 8192);
	for (uint32_t k = 0; k < n; k++) {
		bool open = plateau[k].last == series->n - 1;

		snprintf(level, sizeof(level), "level %u", k + 1);
		bench_figure_point(figures, "TLB latency", level, series,
				   &series->point[(plateau[k].first + plateau[k].last) / 2]);
		bench_figure(figures, "TLB reach", level, "MiB",
			     open ? NAN : plateau[k].to / 1048576, NAN, NAN,
			     series->point[plateau[k].last].sm_mhz);
		bench_note(figures, "One line of L2 in each page of 2 MiB: %.0f cycles to %s%s.",
			   plateau[k].value, chase_bytes(to, plateau[k].to),
			   open ? ", as far as was measured" : "");
	}
	if (n && plateau[n - 1].last < series->n - 1) {
		const struct bench_point *point = &series->point[series->n - 1];

		bench_figure_point(figures, "TLB latency", "beyond", series, point);
		bench_note(figures, "Behind it up to %.0f, at %s, as far as was measured.",
			   bench_median(point), chase_bytes(to, point->x));
	}
	for (uint32_t k = 0; k < samples->n; k++)
		bench_picture(figures, "tlb", "Latency by reach, one line in each stride",
			      &samples->series[k], true, false);
	series = bench_find(samples, "L1");
	if (!series || series->n < 2 || n < 2)
		return;
	if (series->point[series->n - 1].x < plateau[1].from)
		return;
	n = bench_plateaus(series, 0.15, 2, plateau, 5);
	bench_note(figures,
		   n == 1 ? "L1 is as fast where the first TLB does not reach: it is addressed "
			    "virtually."
			  : "L1 is slower where the first TLB does not reach, or those lines do "
			    "not fit it.");
}

BENCH(bench_tlb) = {
	.name = "tlb",
	.number = "M20",
	.what = "reach of the TLBs, and what a miss costs",
	.measure = measure,
	.derive = derive,
};
