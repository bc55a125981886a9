/* SPDX-License-Identifier: MIT */
/*
 * M6, L1 bandwidth: 32 warps of one block repeatedly read an array of 4 to 128 KiB with
 * ld.global.ca of 4, 8 and 16 bytes; each warp starts eight loads after the previous one. The
 * result is bytes divided by the cycles from the first warp's start to the last one's end, after an
 * untimed round. Expected: 12 points of 12 launches, less than 1 s.
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

enum { THREADS = 1024, WARPS = THREADS / 32, UNROLL = 8, TURNS = 256 };
static const unsigned widths[] = {4, 8, 16};

/*
 * Generates loads of WIDTH bytes. Results are folded into SUM, so that none is optimized away, and
 * only after all loads: the assembler keeps that order, and four loads in flight are too few for
 * L1's bandwidth.
 */
static void write_loads(struct bench_text *text, unsigned width, const char *label)
{
	static const char vector[][4] = {"", ".v2", ".v4"};
	unsigned kind = width / 8, words = width / 4;

	bench_emit(text, "%s:\n.pragma \"nounroll\";\nadd.u64 at, %%b_arg0, off;\n", label);
	for (unsigned k = 0; k < UNROLL; k++) {
		bench_emit(text, "ld.global.ca%s.u32 {", vector[kind]);
		for (unsigned w = 0; w < words; w++)
			bench_emit(text, "%sw%u", w ? ", " : "", k * words + w);
		bench_emit(text, "}, [at+%u];\n", k * 32 * width);
	}
	for (unsigned w = 0; w < UNROLL * words; w++)
		bench_emit(text, "xor.b32 sum, sum, w%u;\n", w);
	bench_emit(text,
		   "add.u64 off, off, %u;\n"
		   "and.b64 off, off, mask;\n"
		   "sub.u32 n, n, 1;\n"
		   "setp.gt.s32 p, n, 0;\n"
		   "@p bra %s;\n"
		   "setp.eq.u32 p, sum, never;\n"
		   "@p bra lost;\n",
		   UNROLL * 32 * width, label);
}

static struct bench_kernel *kernel_of(struct bench_run *run, unsigned width)
{
	struct bench_text body = {0};

	bench_emit(&body,
		   "{\n"
		   ".reg .u64 at, off, mask, from, to;\n"
		   ".reg .u32 n, sum, w<32>, t, never;\n"
		   ".reg .pred p;\n"
		   "cvt.u32.u64 never, %%b_arg3;\n"
		   "mov.u32 sum, 0;\n"
		   "sub.u64 mask, %%b_arg1, 1;\n"
		   "mul.lo.u32 t, %%b_warp, %u;\n"
		   "mad.lo.u32 t, %%b_lane, %u, t;\n"
		   "cvt.u64.u32 off, t;\n"
		   "and.b64 off, off, mask;\n"
		   "cvt.u32.u64 n, %%b_arg4;\n",
		   UNROLL * 32 * width, width);
	write_loads(&body, width, "warm");
	bench_emit(&body, "cvt.u32.u64 n, %%b_arg2;\n"
			  "bar.sync 0;\n"
			  "mov.u64 from, %%clock64;\n");
	write_loads(&body, width, "read");
	bench_emit(&body, "mov.u64 to, %%clock64;\n"
			  "mul.wide.u32 at, %%b_warp, 16;\n"
			  "add.u64 at, at, %%b_data;\n"
			  "setp.ne.u32 p, %%b_lane, 0;\n"
			  "@p bra lost;\n"
			  "st.global.u64 [at], from;\n"
			  "st.global.u64 [at+8], to;\n"
			  "lost:\n"
			  "mov.u64 at, 0;\n"
			  "}\n");
	return BENCH_KERNEL(run, &body, .name = bench_format("l1-read-%u", width),
			    .threads = THREADS, .expect = {{OP_LDG, UNROLL, UNROLL}});
}

/* Computes bytes per cycle between the first start and the last end. */
static double compute_rate(const struct bench_run *run, const void *results, void *bytes)
{
	const uint64_t(*warp)[2] = results;
	uint64_t from = UINT64_MAX, to = 0;

	for (unsigned k = 0; k < WARPS; k++) {
		from = warp[k][0] < from ? warp[k][0] : from;
		to = warp[k][1] > to ? warp[k][1] : to;
	}
	return to > from ? *(double *)bytes / (double)(to - from) : NAN;
}

static void measure_samples(struct bench_run *run)
{
	uint64_t base = bench_memory_alloc(run, 128 << 10);

	if (!base)
		bench_add_missing(bench_samples(run), "not enough memory for the array");
	for (unsigned w = 0; base && w < 3; w++) {
		struct bench_kernel *kernel = kernel_of(run, widths[w]);

		for (uint64_t bytes = 4 << 10; kernel && bytes <= 128 << 10;
		     bytes *= bytes > 4 << 10 ? 2 : 4) {
			struct bench_launch launch = {
				.grid = 1,
				.block = THREADS,
				.no_shared = true,
				/* A sum of zeros never equals arg3. A full round warms the cache.
				 *  */
				.arg = {base, bytes, TURNS, 1, bytes / (UNROLL * 32 * widths[w])}};

			bench_repeat(run, kernel, &launch, WARPS * 16, compute_rate,
				     &(double){(double)TURNS * UNROLL * THREADS * widths[w]},
				     bench_add_point(run, bench_format("%u B", widths[w]), "bytes",
						     "B/cycle/SM", (double)bytes));
		}
	}
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	static const struct {
		const char *gpu;
		double rate;
	} published[] = {{"T4", 58.8}, {"V100", 108.3}, {"P100", 31.3},
			 {"P4", 15.7}, {"M60", 15.7},	{"K80", 68.6}};
	const struct bench_series *fastest = NULL;
	const struct bench_point *fastest_point = NULL;

	for (unsigned k = 0; k < 6; k++)
		bench_add_published(figures, "L1 bandwidth", "", published[k].gpu,
				    published[k].rate);
	for (uint32_t s = 0; s < samples->n; s++) {
		const struct bench_series *series = &samples->series[s];
		const struct bench_point *best = bench_find_best(series);

		bench_add_plot(figures, "l1-read", "L1, read by one SM", series, true, false);
		if (!best)
			continue;
		bench_add_point_figure(figures, "L1 read", series->name, series, best);
		if (!fastest_point || bench_median(best) > bench_median(fastest_point)) {
			fastest_point = best;
			fastest = series;
		}
	}
	if (!fastest_point)
		return;
	bench_add_point_figure(figures, "L1 bandwidth", "", fastest, fastest_point);
	bench_add_note(figures, "L1 is fastest, %.1f B/cycle per SM, with loads of %s in %s.",
		       bench_median(fastest_point), fastest->name,
		       bench_format_bytes(fastest_point->x));
}

BENCH(bench_l1_bandwidth, "l1-bandwidth", "M6", "bandwidth of L1, of loads of 4, 8 and 16 bytes",
      measure_samples, derive_figures);
