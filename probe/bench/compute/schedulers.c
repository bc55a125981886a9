/* SPDX-License-Identifier: MIT */
/*
 * Finds the scheduler of each warp: two of eight warps run FFMAs, the others only one iteration,
 * and two warps that share a scheduler are slower. Each warp has eight sums, so that issue is the
 * limit. Takes about 0.3 s.
 */
#include "probe/bench/frame/timed_code.h"
#include <math.h>

enum { WARPS = 8, ROUNDS = 4096, LENGTH = 64 };

static void write_body(struct bench_text *t)
{
	bench_emit(t, ".reg .f32 f<10>; .reg .u64 c<2>, to; .reg .u32 a, b, i, n; .reg .pred p, q, "
		      "more;\n"
		      "cvt.u32.u64 a, %%b_arg0; cvt.u32.u64 b, %%b_arg1;\n");
	code_write_loads(t, "f", 10, 0);
	bench_emit(t,
		   "mad.wide.u32 to, %%b_warp, 16, %%b_data;\n"
		   "setp.ne.u32 p, %%b_warp, a; setp.ne.and.u32 q, %%b_warp, b, p;\n"
		   "selp.u32 n, 1, %d, q; bar.sync 0;\nmov.u32 i, 0; mov.u64 c0, %%clock64;\n"
		   "again:\n",
		   ROUNDS);
	for (unsigned k = 0; k < LENGTH; k++)
		bench_emit(t, "fma.rn.f32 f%u, f%u, f8, f9;\n", k % 8, k % 8);
	bench_emit(t, "add.u32 i, i, 1; setp.lt.u32 more, i, n;\n@more bra again;\n");
	bench_emit(t, "mov.u64 c1, %%clock64;\nst.volatile.global.v2.u64 [to+256], {c0, c1};\n");
	code_write_stores(t, "f", 8, 0);
}

/* Computes FLOP per cycle, from the first start to the last end. */
static double compute_rate(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t(*clock)[2] = (const uint64_t(*)[2])((const char *)results + 256);
	const unsigned *warp = arg;
	const uint64_t *a = clock[warp[0]], *b = clock[warp[1]];
	uint64_t begin = a[0] < b[0] ? a[0] : b[0], end = a[1] > b[1] ? a[1] : b[1];

	return end > begin ? 2.0 * ROUNDS * LENGTH * 32 * 2 / (double)(end - begin) : 0;
}

static void measure_samples(struct bench_run *run)
{
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_body(&text);
	kernel = BENCH_KERNEL(run, &text, .name = "two-warps", .threads = 32 * WARPS,
			      .expect = {{0x023, LENGTH, 16 * LENGTH}});
	for (unsigned a = 0; kernel && a < WARPS; a++)
		for (unsigned b = a + 1; b < WARPS; b++)
			bench_repeat(run, kernel,
				     &(struct bench_launch){.block = 32 * WARPS, .arg = {a, b}},
				     256 + 16 * WARPS, compute_rate, (unsigned[]){a, b},
				     bench_point(bench_series(bench_samples(run), "two warps",
							      "warp A", "warp B", "FLOP/cycle"),
						 a, b));
}

/* Table 1 of the study: rows are warp B = 4 to 7, columns warp A = 0 to 3; it gives no unit. The
 * means are published. */
static const double t4[4][4] = {{48.9, 72.4, 72.5, 73.1},
				{73.4, 46.7, 72.5, 73.1},
				{73.2, 72.8, 47.0, 73.2},
				{72.9, 72.7, 72.7, 46.2}};
static const double v100[4][4] = {{42.27, 66.05, 66.04, 65.29},
				  {66.05, 41.98, 66.04, 66.04},
				  {66.02, 66.04, 42.06, 66.04},
				  {66.04, 66.04, 66.02, 42.08}};

/* The mean of the study's pairs that share a scheduler, or of the others. */
static double mean_of(const double pair[4][4], bool shares)
{
	double sum = 0;

	for (unsigned b = 0; b < 4; b++)
		for (unsigned a = 0; a < 4; a++)
			sum += (a == b) == shares ? pair[b][a] : 0;
	return sum / (shares ? 4 : 12);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	static const char *const name[] = {"two schedulers", "same scheduler"};
	const struct bench_series *series = bench_find_series(samples, "two warps");
	double value[2][WARPS * WARPS], all[WARPS * WARPS], low, high, border;
	uint32_t n = 0, of[2] = {0, 0}, wrong = 0;

	for (unsigned a = 0; series && a < WARPS; a++)
		for (unsigned b = a + 1; b < WARPS; b++) {
			const struct bench_point *point = code_find_point(series, a, b);

			if (!point)
				continue;
			all[n++] = bench_median(point);
			bench_add_point_figure(figures, "FFMA of two warps",
					       bench_format("warps %u and %u", a, b), series,
					       point);
			bench_mark_detail(figures, true);
		}
	border = n ? bench_split_clusters(all, n, &low, &high) : NAN;
	if (isnan(border)) {
		if (n)
			bench_add_note(figures, "No pair of warps is slower than others: %s.",
				       "schedulers cannot be distinguished");
		return;
	}
	for (unsigned a = 0; a < WARPS; a++)
		for (unsigned b = a + 1; b < WARPS; b++) {
			const struct bench_point *point = code_find_point(series, a, b);
			bool shares = point && bench_median(point) < border;

			if (point)
				value[shares][of[shares]++] = bench_median(point);
			wrong += point && shares != (a % 4 == b % 4);
		}
	for (unsigned k = 2; k-- > 0;) {
		double middle = code_median(value[k], of[k]); /* code_median() sorts them */

		bench_figure(figures, name[k], "two warps", "FLOP/cycle", middle, value[k][0],
			     value[k][of[k] - 1], bench_series_clock(series));
		bench_add_published(figures, name[k], "two warps", "T4", mean_of(t4, k));
		bench_add_published(figures, name[k], "two warps", "V100", mean_of(v100, k));
	}
	if (!wrong)
		bench_add_note(figures,
			       "A warp's scheduler is its number mod 4: of %u pairs those %u "
			       "are slow.",
			       n, of[1]);
	else
		bench_add_note(figures,
			       "%u of %u pairs contradict a scheduler chosen by number mod 4.",
			       wrong, n);
}

BENCH(bench_schedulers, "schedulers", "M4", "which warps share a scheduler", measure_samples,
      derive_figures);
