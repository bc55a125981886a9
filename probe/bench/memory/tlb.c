/* SPDX-License-Identifier: MIT */
/*
 * M20, TLBs. One thread chases a random chain with one line in every 2, 4, 16, 32 and 64 MiB,
 * through all available memory, at most 128 GiB, with ld.global.cg: the few lines stay in L2, so
 * increases are due to translation. Each page uses a line at a different offset, or they would map
 * to few sets of L2; and because lines of L2 have different distances, each launch of a short chain
 * uses other lines. A TLB entry may cover more than a page: then one address in each fills it, and
 * the stride from which on the reach in bytes grows is the size that an entry covers. With
 * ld.global.ca through the first 1,024 pages: if L1 stays as fast beyond the TLB's reach, it is
 * addressed virtually. The longest chain covers nearly all of the memory. Expected: about 130
 * points of 12 launches, 6 s, mostly for long chains.
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

enum { LINE = 128, L1_PAGES = 1024, SHORT = 1024, APART = 641 * LINE };
static const uint64_t page = 2 << 20;
enum { STRIDES = 5 };
static const unsigned strides[STRIDES] = {2, 4, 16, 32, 64}; /* MiB */

static void measure_chains(struct bench_run *run, struct bench_kernel *builder,
			   struct bench_kernel *kernel, const char *name, uint64_t base,
			   uint64_t stride, uint64_t most)
{
	for (uint64_t n = 8; n; n = n == most			? 0
				    : chase_next_size(n) < most ? chase_next_size(n)
								: most) {
		struct bench_point *point;
		struct chase_chain chain = {.base = base,
					    .elements = n,
					    .stride = stride,
					    .skew = LINE,
					    .random = true};
		uint64_t timed = n < 1024 ? 1024 : n > 8192 ? 8192 : chase_round_steps(n);
		struct bench_launch launch = {.grid = 1,
					      .block = 1,
					      .no_shared = true,
					      .arg = {base, chase_round_steps(n), timed}};

		point = bench_add_point(run, name, "bytes", "cycles", (double)(n * stride));
		for (unsigned k = 0; k <= BENCH_REPEATS; k++) {
			const void *results;

			chain.base = base + (n > SHORT ? 0 : k * APART);
			launch.arg[0] = chain.base;
			if (((!k || n <= SHORT) && !chase_write_chain(run, builder, &chain)) ||
			    !(results = bench_launch(run, kernel, &launch, 16)) ||
			    bench_is_dry(run))
				break;
			if (k)
				bench_add_sample(run, point,
						 chase_compute_cycles(run, results,
								      &(double){(double)timed}));
		}
		if (!point->n && !bench_is_dry(run))
			return;
	}
}

static void measure_samples(struct bench_run *run)
{
	struct bench_kernel *builder = chase_build_builder(run);
	struct bench_kernel *cg = chase_build_kernel(run, "cg"),
			    *ca = chase_build_kernel(run, "ca");
	uint64_t most = 128ull << 30, base = 0;

	if (!builder || !cg || !ca)
		return;
	/* Nearly all of the memory: a GPU of 80 GiB has barely more than its second level reaches.
	 */
	if (bench_gpu(run)->memory_bytes && bench_gpu(run)->memory_bytes < most)
		most = bench_gpu(run)->memory_bytes >> 30 << 30;
	while (most > 256ull << 20 && !(base = bench_memory_alloc(run, most)))
		most -= most > 8ull << 30 ? 1ull << 30 : most / 4;
	if (!base) {
		bench_add_missing(bench_samples(run), "not enough memory for the chain");
		return;
	}
	measure_chains(run, builder, ca, "L1", base, page,
		       most / page < L1_PAGES ? most / page : L1_PAGES);
	for (unsigned k = 0; k < STRIDES; k++) {
		uint64_t stride = (uint64_t)strides[k] << 20;

		measure_chains(run, builder, cg, bench_format("%u MiB", strides[k]), base, stride,
			       most / stride);
	}
}

enum { LEVELS = 2 }; /* of the GPUs seen so far */
/* A miss of a level may cost as little as a thirtieth. */
#define SHARE 0.02
/* A reach is known to within a factor of 1.5; beyond this factor it is a different one. */
#define FARTHER 1.75

/* Returns how far addresses STRIDE MiB apart stay below LIMIT cycles; INFINITY if up to the end;
 * NAN if there is no such curve. */
static double reach_of(const struct bench_samples *samples, unsigned stride, double limit)
{
	const struct bench_series *series = bench_find_series(samples,
							      bench_format("%u MiB", stride));
	double reach = NAN;

	for (uint32_t k = 0; series && k < series->n; k++) {
		double cycles = bench_median(&series->point[k]);

		/* A single point is an outlier. */
		if (cycles > limit &&
		    (k + 1 == series->n || !(bench_median(&series->point[k + 1]) <= limit)))
			return reach;
		if (!isnan(cycles))
			reach = series->point[k].x;
	}
	return isnan(reach) ? NAN : INFINITY;
}

/* Derives a level's reach, the minimum over all strides, and what an entry covers: the longest
 * stride that reaches no farther, while the next one does. Memory must be large enough to see how
 * far that one reaches. */
static void derive_level(const struct bench_samples *samples, struct bench_figures *figures,
			 double limit, const char *name, double mhz)
{
	double reach[STRIDES], min = INFINITY;
	const struct bench_series *series = bench_find_series(samples, "2 MiB");
	const char *each;
	unsigned k = 0;

	for (unsigned s = 0; s < STRIDES; s++) {
		reach[s] = reach_of(samples, strides[s], limit);
		min = fmin(min, reach[s]);
	}
	bench_figure(figures, "TLB reach", name, "MiB", min / 1048576, NAN, NAN, mhz);
	while (k < STRIDES && reach[k] < FARTHER * min)
		k++;
	if (!k || k == STRIDES || isnan(reach[k]) ||
	    (isinf(reach[k]) && series->point[series->n - 1].x < FARTHER * min))
		return;
	each = bench_format_bytes(strides[k - 1] * 1048576.0);
	bench_figure(figures, "TLB entry", name, "MiB", strides[k - 1], NAN, NAN, mhz);
	bench_figure(figures, "TLB entries", name, "entries", min / 1048576 / strides[k - 1], NAN,
		     NAN, mhz);
	bench_add_note(figures,
		       "TLB, %s: addresses %u MiB apart reach farther than those %s or less apart: "
		       "an entry covers %s, and its reach of %s is %.0f entries.",
		       name, strides[k], each, each, bench_format_bytes(min),
		       min / 1048576 / strides[k - 1]);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, "2 MiB");
	struct bench_plateau plateau[5];
	uint32_t n = series ? bench_find_plateaus(series, SHARE, 3, plateau, 5) : 0;

	bench_add_published(figures, "TLB reach", "level 1", "T4", 32);
	bench_add_published(figures, "TLB reach", "level 2", "T4", 8192);
	for (uint32_t k = 0; k < n; k++) {
		bool open = plateau[k].last == series->n - 1;
		/* Beyond two levels there is no TLB. Before that, what does not end is the next
		 * level, whose reach is not known. */
		const char *level = open && k >= LEVELS ? "beyond"
							: bench_format("level %u", k + 1);

		bench_add_point_figure(figures, "TLB latency", level, series,
				       &series->point[(plateau[k].first + plateau[k].last) / 2]);
		bench_add_note(figures,
			       "One line of L2 in each page of 2 MiB: %.0f cycles up to %s%s.",
			       plateau[k].value, bench_format_bytes(plateau[k].to),
			       open ? ", the largest measured" : "");
		if (open && k && k < LEVELS)
			bench_add_note(figures,
				       "The reach of level %u was not found: it is %s or more.",
				       k + 1, bench_format_bytes(plateau[k].to));
		if (!open)
			derive_level(samples, figures,
				     (plateau[k].value +
				      (k + 1 < n ? plateau[k + 1].value
						 : bench_median(&series->point[series->n - 1]))) /
					     2,
				     level, series->point[plateau[k].last].sm_mhz);
	}
	if (n >= LEVELS && plateau[n - 1].last < series->n - 1) {
		const struct bench_point *point = &series->point[series->n - 1];

		bench_add_point_figure(figures, "TLB latency", "beyond", series, point);
		bench_add_note(figures, "Beyond it up to %.0f, at %s, the largest measured.",
			       bench_median(point), bench_format_bytes(point->x));
	}
	for (uint32_t k = 0; k < samples->n; k++)
		bench_add_plot(figures, "tlb", "Latency by reach, one line in each stride",
			       &samples->series[k], true, false);
	series = bench_find_series(samples, "L1");
	if (!series || series->n < 2 || n < 2)
		return;
	if (series->point[series->n - 1].x < plateau[1].from)
		return;
	n = bench_find_plateaus(series, 0.15, 2, plateau, 5);
	bench_add_note(figures,
		       n == 1 ? "L1 is as fast beyond the reach of the first TLB: it is addressed "
				"virtually."
			      : "L1 is slower beyond the reach of the first TLB, or those lines do "
				"not fit in it.");
}

BENCH(bench_tlb, "tlb", "M20", "reach of the TLBs, and what a miss costs", measure_samples,
      derive_figures);
