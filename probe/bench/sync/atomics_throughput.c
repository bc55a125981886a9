/* SPDX-License-Identifier: MIT */
/*
 * M23: rate of atomics in global memory, per second and per clock, in the study's four scenarios. 1
 * and 2: one block of 1,024 threads, R of them per address; addresses are adjacent words, 8 in 32
 * bytes (1), or a line of 128 bytes each (2). 3 and 4: blocks of 1,024 threads, all threads of a
 * block on one address, common to all blocks (3) or one per block, a line apart (4). The study does
 * not give R and the number of blocks, so they are varied.
 *
 * Measured with the old value returned (atom) and without (red). The number of rounds is chosen for
 * 1 ms, at four places, because lines are distributed randomly among L2's slices; the time is that
 * of the whole grid. The figure is the best of a scenario; the plot has all. Takes about 3 s.
 */
#include <math.h>
#include "probe/bench/frame/bench.h"

enum { THREADS = 1024, STEPS = 16, LINE = 128, PLACES = 4, OP_RED = 0x18e, OP_ATOMG = 0x1a8 };
#define AWAITED 1e-3 /* duration of a sample in seconds */

static const char *const kind[] = {"atom", "red"};
static const char *const scenarios[] = {NULL, "1: one block, adjacent words",
					"2: one block, a line each", "3: many blocks, one word",
					"4: many blocks, a line each"};

/* arg0: rounds, arg1: memory, arg2: shift from threads to groups, arg3, arg4: bytes between groups
 * and between blocks, arg5: 1. */
static struct bench_kernel *build_kernel(struct bench_run *run, bool red)
{
	struct bench_text text = {0};

	bench_emit(&text,
		   ".reg .u32 %%g, %%i, %%n, %%sh, %%v, %%o<%u>, %%s; .reg .u64 %%a, %%w;\n"
		   ".reg .pred %%p;\n"
		   "cvt.u32.u64 %%sh, %%b_arg2; cvt.u32.u64 %%n, %%b_arg0;\n"
		   "cvt.u32.u64 %%v, %%b_arg5;\n"
		   "shr.u32 %%g, %%b_tid, %%sh; cvt.u64.u32 %%w, %%g;\n"
		   "mad.lo.u64 %%a, %%w, %%b_arg3, %%b_arg1; cvt.u64.u32 %%w, %%b_ctaid;\n"
		   "mad.lo.u64 %%a, %%w, %%b_arg4, %%a;\n"
		   "mov.u32 %%i, 0; mov.u32 %%s, 0;\nROUND:\n.pragma \"nounroll\";\n",
		   STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		if (red)
			bench_emit(&text, "red.global.add.u32 [%%a], %%v;\n");
		else
			bench_emit(&text, "atom.global.add.u32 %%o%u, [%%a], %%v;\n", i);
	}
	for (unsigned i = 0; i < STEPS && !red; i++)
		bench_emit(&text, "xor.b32 %%s, %%s, %%o%u;\n", i);
	/* Use the returned values: store them under a condition that is never true. */
	bench_emit(&text, "add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%n;\n@%%p bra ROUND;\n"
			  "setp.eq.u32 %%p, %%v, 77;\n@%%p st.global.u32 [%%b_data], %%s;\n");
	/* The frame contains a red. */
	return BENCH_KERNEL(run, &text, .name = red ? "throughput red" : "throughput atom",
			    .threads = THREADS,
			    .expect = {{red ? OP_RED : OP_ATOMG, STEPS, STEPS + 1}});
}

struct atomics_shape {
	unsigned scenario; /* 1 to 4 */
	uint32_t blocks, sharing; /* threads per address */
};

static size_t place_bytes(const struct bench_run *run)
{
	return (size_t)(bench_gpu(run)->sms * 4 + THREADS) * LINE;
}

static bool launch_shape(struct bench_run *run, struct bench_kernel *kernel,
			 const struct atomics_shape *s, uint64_t memory, uint64_t rounds)
{
	unsigned shift = (unsigned)__builtin_ctz(s->sharing);
	struct bench_launch l = {.grid = s->blocks,
				 .block = THREADS,
				 .arg = {rounds, memory, shift, s->scenario == 2 ? LINE : 4,
					 s->scenario == 4 ? LINE : 0, 1}};

	return bench_launch(run, kernel, &l, 8);
}

/* Total time of a launch at each place; 0 if one failed. */
static double seconds_of(struct bench_run *run, struct bench_kernel *kernel,
			 const struct atomics_shape *s, uint64_t memory, uint64_t rounds)
{
	double seconds = 0;

	for (uint64_t k = 0; k < PLACES; k++) {
		if (!launch_shape(run, kernel, s, memory + k * place_bytes(run), rounds))
			return 0;
		seconds += bench_launch_seconds(run);
	}
	return seconds;
}

static void measure_point(struct bench_run *run, struct bench_kernel *kernel, const char *what,
			  const struct atomics_shape *s, uint64_t memory)
{
	struct bench_point *point;
	double seconds;
	uint64_t rounds = 16;

	/* The first launch measures how long a round takes. */
	seconds = seconds_of(run, kernel, s, memory, rounds);
	if (seconds > 0)
		rounds = (uint64_t)fmin(fmax(ceil(16 * AWAITED / seconds), 16), 1e6);
	point = bench_add_point(run, bench_format("%s scenario %u", what, s->scenario),
				s->scenario < 3 ? "threads on an address" : "blocks", "Gop/s",
				s->scenario < 3 ? s->sharing : s->blocks);
	for (int n = 0; n <= BENCH_REPEATS; n++) {
		seconds = seconds_of(run, kernel, s, memory, rounds);
		if (n && seconds > 0)
			bench_add_sample(run, point,
					 (double)rounds * PLACES * STEPS * THREADS * s->blocks /
						 seconds / 1e9);
	}
}

static void measure_samples(struct bench_run *run)
{
	uint32_t max = (uint32_t)bench_gpu(run)->sms * 4;
	uint64_t memory = bench_memory_alloc(run, PLACES * place_bytes(run));

	if (!memory)
		return;
	for (unsigned k = 0; k < 2; k++) {
		struct bench_kernel *kernel = build_kernel(run, k);

		if (!kernel)
			continue;
		for (unsigned scenario = 1; scenario <= 2; scenario++)
			for (uint32_t r = 1; r <= THREADS; r *= 4)
				measure_point(run, kernel, kind[k],
					      &(struct atomics_shape){scenario, 1, r}, memory);
		for (unsigned scenario = 3; scenario <= 4; scenario++) {
			uint32_t blocks = 1;

			for (; blocks < max; blocks *= 4)
				measure_point(run, kernel, kind[k],
					      &(struct atomics_shape){scenario, blocks, THREADS},
					      memory);
			measure_point(run, kernel, kind[k],
				      &(struct atomics_shape){scenario, max, THREADS}, memory);
		}
	}
}

static void derive_one(const struct bench_samples *samples, struct bench_figures *figures,
		       const char *what, unsigned scenario)
{
	const struct bench_series *series =
		bench_find_series(samples, bench_format("%s scenario %u", what, scenario));
	const struct bench_point *best = bench_find_best(series);

	if (!series)
		return;
	if (best) {
		double clock = best->sm_mhz / 1e3; /* GHz */

		bench_add_point_figure(figures, what, scenarios[scenario], series, best);
		if (clock > 0)
			bench_figure(figures, bench_format("%s, a clock", what),
				     scenarios[scenario], "op/cycle", bench_median(best) / clock,
				     bench_min(best) / clock, bench_max(best) / clock,
				     best->sm_mhz);
		bench_add_note(figures, "%s, %s: fastest with %g %s%s%s.", what,
			       scenarios[scenario], best->x, scenario < 3 ? "thread" : "block",
			       best->x == 1 ? "" : "s", scenario < 3 ? " on an address" : "");
	}
	bench_add_plot(figures, scenario < 3 ? "one-block" : "blocks",
		       scenario < 3 ? "Atomics of one block, by threads on an address"
				    : "Atomics of many blocks",
		       series, true, true);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned k = 0; k < 2; k++)
		for (unsigned scenario = 1; scenario <= 4; scenario++)
			derive_one(samples, figures, kind[k], scenario);
}

BENCH(bench_atomics_throughput, "atomics-throughput", "M23",
      "atomics of one block and of many, a second and a clock", measure_samples, derive_figures);
