/* SPDX-License-Identifier: MIT */
/*
 * M5, L1 latency: one thread chases a random chain through 1 KiB to 1 MiB, one address per line of
 * 128 bytes, with ld.global.ca. The curve's first plateau is an L1 hit. Expected: 21 points of 12
 * launches, less than 1 s. Published values: the study's; for Hopper
 * github.com/markdewing/AI_kernels, latency/README.md (H100 SXM, GH200), and
 * github.com/caps-tum/mt4g, sample_results (H100 SXM).
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

enum { LINE = 128, STEPS = 4096 };
static const uint64_t first = 1024, last = 1 << 20;

static void measure_samples(struct bench_run *run)
{
	struct bench_kernel *builder = chase_build_builder(run),
			    *kernel = chase_build_kernel(run, "ca");
	uint64_t base = bench_memory_alloc(run, last);

	for (uint64_t bytes = first; builder && kernel && base && bytes <= last;
	     bytes = chase_next_size(bytes)) {
		struct chase_chain chain = {
			.base = base, .elements = bytes / LINE, .stride = LINE, .random = true};
		struct bench_launch launch = {
			.grid = 1,
			.block = 1,
			.no_shared = true,
			.arg = {base, chase_round_steps(2 * chain.elements), STEPS}};

		if (!chase_write_chain(run, builder, &chain) ||
		    !bench_repeat(run, kernel, &launch, 8, chase_compute_cycles, &(double){STEPS},
				  bench_add_point(run, "random", "bytes", "cycles", (double)bytes)))
			return;
	}
	if (!base)
		bench_add_missing(bench_samples(run), "not enough memory for the chain");
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, "random");
	struct bench_plateau plateau[4];
	uint32_t n = series ? bench_find_plateaus(series, 0.15, 3, plateau, 4) : 0;

	bench_add_published(figures, "L1 hit", "", "H100", 40);
	bench_add_published(figures, "L1 hit", "", "GH200", 40);
	bench_add_published(figures, "L1 hit", "", "H100, mt4g", 38);
	bench_add_published(figures, "L1 hit", "", "T4", 32);
	bench_add_published(figures, "L1 hit", "", "P4", 82);
	bench_add_published(figures, "L1 hit", "", "K80", 35);
	if (!n)
		return;
	bench_add_point_figure(figures, "L1 hit", "", series,
			       &series->point[(plateau[0].first + plateau[0].last) / 2]);
	if (n > 1)
		bench_add_note(figures,
			       "L1 hit %.1f cycles up to %s (see l1-size for the limit), beyond it "
			       "%.1f.",
			       plateau[0].value, bench_format_bytes(plateau[0].to),
			       plateau[n - 1].value);
	else
		bench_add_note(figures, "L1 hit %.1f cycles up to %s, without a knee.",
			       plateau[0].value, bench_format_bytes(plateau[0].to));
	bench_add_plot(figures, "latency-l1", "Latency of ld.global.ca", series, true, false);
}

BENCH(bench_l1_latency, "l1-latency", "M5", "latency of a hit in L1", measure_samples,
      derive_figures);
