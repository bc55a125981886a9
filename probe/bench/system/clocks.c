/* SPDX-License-Identifier: MIT */
/* Measures the clocks used by all benchmarks: the difference of two consecutive reads of %clock64,
 * the step of %globaltimer, and the SM clock of a kernel. Takes 0.1 s. */
#include <math.h>
#include "probe/bench/frame/bench.h"

enum { READS = 256, CS2R = 0x005 };

/* Generates code that stores steps of one clock to %b_data, 64 bits each. */
static void write_body(struct bench_text *text, const char *clock, bool until_it_moves)
{
	bench_emit(text,
		   ".reg .u64 %%c0, %%c1, %%at, %%end; .reg .pred %%p;\n"
		   "mov.u64 %%at, %%b_data;\nadd.u64 %%end, %%at, %d;\n"
		   "mov.u64 %%c0, %s;\n"
		   "next:\n",
		   READS * 8, clock);
	if (until_it_moves)
		bench_emit(text,
			   "still:\nmov.u64 %%c1, %s;\n"
			   "setp.eq.u64 %%p, %%c0, %%c1;\n@%%p bra still;\n",
			   clock);
	else
		bench_emit(text, "mov.u64 %%c0, %s;\nmov.u64 %%c1, %s;\n", clock, clock);
	bench_emit(text,
		   "sub.u64 %%c0, %%c1, %%c0;\nst.global.u64 [%%at], %%c0;\nmov.u64 %%c0, %%c1;\n"
		   "add.u64 %%at, %%at, 8;\nsetp.lt.u64 %%p, %%at, %%end;\n@%%p bra next;\n");
}

/* The minimum step: others include an instruction cache miss, or another warp. */
static double min_step(const uint64_t *step)
{
	uint64_t v = UINT64_MAX;

	for (int i = 0; i < READS; i++)
		if (step[i] && step[i] < v)
			v = step[i];
	return v == UINT64_MAX ? NAN : (double)v;
}

static double compute_step(const struct bench_run *run, const void *results, void *clock)
{
	if (clock)
		bench_add_sample(run, clock, bench_launch_mhz(run));
	return min_step(results);
}

static void measure_clock(struct bench_run *run, struct bench_kernel *kernel, const char *name,
			  const char *unit, bool clock_too)
{
	struct bench_point *point;

	if (!kernel)
		return;
	point = bench_add_point(run, name, "", unit, 0);
	bench_repeat(run, kernel, &(struct bench_launch){.block = 1}, READS * 8, compute_step,
		     clock_too ? bench_add_point(run, "SM clock", "", "MHz", 0) : NULL, point);
}

static void measure_samples(struct bench_run *run)
{
	struct bench_text text = {NULL, 0, 0};

	write_body(&text, "%clock64", false);
	measure_clock(run,
		      BENCH_KERNEL(run, &text, .name = "bracket", .threads = 32,
				   .expect = {{CS2R, 1, 64}}),
		      "empty bracket", "cycles", true);
	write_body(&text, "%globaltimer", true);
	measure_clock(run, BENCH_KERNEL(run, &text, .name = "globaltimer", .threads = 32),
		      "%globaltimer's step", "ns", false);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (uint32_t i = 0; i < samples->n; i++)
		if (samples->series[i].n)
			bench_add_point_figure(figures, samples->series[i].name, "",
					       &samples->series[i], &samples->series[i].point[0]);
}

BENCH(bench_clocks, "clocks", "", "an empty bracket, the timer's step, the SM clock",
      measure_samples, derive_figures);
