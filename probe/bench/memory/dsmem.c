/* SPDX-License-Identifier: MIT */
/*
 * Measures distributed shared memory of Hopper's clusters. Each word of a block's shared memory
 * holds its own address in the cluster. Latency: a thread of the first block repeatedly loads one
 * word with ld.shared::cluster, in each block of clusters of 2, 4, 8 and 16, its own included.
 * Bandwidth: all threads of all blocks read 16 bytes each from the next block of their cluster.
 * Such a load is a generic one, and the assembler computes its address before each load: the
 * latency includes that. Expected: 34 points of 12 launches, less than 1 s. Published values: H100
 * PCIe, arXiv 2402.13499.
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

enum { WORDS = 8192, THREADS = 1024, LOOPS = 64, STEPS = LOOPS * CHASE_UNROLL };

static const char declared[] = ".shared .align 128 .b8 words[32768];\n";

static void write_prologue(struct bench_text *text)
{
	bench_emit(text,
		   "{\n"
		   ".reg .u64 from, to, out;\n"
		   ".reg .u32 at, other, base, mine, rank, ranks, n, sum, x, y, z;\n"
		   ".reg .pred p;\n"
		   "mov.u32 sum, 0;\n"
		   "mov.u32 base, words;\n"
		   "mov.u32 rank, %%cluster_ctarank;\n"
		   "mov.u32 ranks, %%cluster_nctarank;\n"
		   "mapa.shared::cluster.u32 mine, base, rank;\n"
		   "mov.u32 n, %%b_tid;\n"
		   "fill:\n"
		   "mad.lo.u32 at, n, 4, base;\n"
		   "mad.lo.u32 other, n, 4, mine;\n"
		   "st.shared.u32 [at], other;\n"
		   "add.u32 n, n, %%b_ntid;\n"
		   "setp.lt.u32 p, n, %u;\n"
		   "@p bra fill;\n"
		   "barrier.cluster.arrive;\n"
		   "barrier.cluster.wait;\n",
		   (unsigned)WORDS);
}

/* Generates the end: no block ends before all others have read from it. */
static void write_epilogue(struct bench_text *text)
{
	bench_emit(text, "lost:\n"
			 "barrier.cluster.arrive;\n"
			 "barrier.cluster.wait;\n"
			 "}\n");
}

/* arg0: the block whose shared memory is read, arg1: iterations. */
static struct bench_kernel *latency_kernel(struct bench_run *run)
{
	struct bench_text body = {0};

	write_prologue(&body);
	bench_emit(&body, "setp.ne.u32 p, %%b_ctaid, 0;\n"
			  "@p bra lost;\n"
			  "setp.ne.u32 p, %%b_tid, 0;\n"
			  "@p bra lost;\n"
			  "cvt.u32.u64 n, %%b_arg0;\n"
			  "mapa.shared::cluster.u32 at, base, n;\n"
			  "ld.shared::cluster.u32 at, [at];\n"
			  "setp.eq.u32 p, at, 1;\n"
			  "@p bra lost;\n"
			  "cvt.u32.u64 n, %%b_arg1;\n"
			  "mov.u64 from, %%clock64;\n"
			  "turn:\n"
			  ".pragma \"nounroll\";\n");
	for (unsigned k = 0; k < CHASE_UNROLL; k++)
		bench_emit(&body, "ld.shared::cluster.u32 at, [at];\n");
	bench_emit(&body, "sub.u32 n, n, 1;\n"
			  "setp.gt.s32 p, n, 0;\n"
			  "@p bra turn;\n"
			  "setp.eq.u32 p, at, 1;\n"
			  "@p bra lost;\n"
			  "mov.u64 to, %%clock64;\n"
			  "sub.u64 to, to, from;\n"
			  "st.global.u64 [%%b_data], to;\n");
	write_epilogue(&body);
	return BENCH_KERNEL(run, &body, .name = "dsmem-latency", .declared = declared,
			    .threads = 32, .expect = {{OP_LD, CHASE_UNROLL, CHASE_UNROLL}});
}

/* arg1: iterations. Two chains of 16 bytes per thread, in the next block's shared memory. */
static struct bench_kernel *bandwidth_kernel(struct bench_run *run)
{
	struct bench_text body = {0};

	write_prologue(&body);
	bench_emit(&body, "add.u32 n, rank, 1;\n"
			  "rem.u32 n, n, ranks;\n"
			  "mapa.shared::cluster.u32 mine, base, n;\n"
			  "mad.lo.u32 at, %%b_tid, 16, mine;\n"
			  "add.u32 other, at, 16384;\n"
			  "cvt.u32.u64 n, %%b_arg1;\n"
			  "bar.sync 0;\n"
			  "mov.u64 from, %%clock64;\n"
			  "turn:\n"
			  ".pragma \"nounroll\";\n");
	for (unsigned k = 0; k < CHASE_UNROLL; k++) {
		const char *at = k % 2 ? "other" : "at";

		bench_emit(&body,
			   "ld.shared::cluster.v4.u32 {%s, x, y, z}, [%s];\n"
			   "xor.b32 sum, sum, x;\nxor.b32 sum, sum, y;\nxor.b32 sum, sum, z;\n",
			   at, at);
	}
	bench_emit(&body, "sub.u32 n, n, 1;\n"
			  "setp.gt.s32 p, n, 0;\n"
			  "@p bra turn;\n"
			  "add.u32 sum, sum, at;\nadd.u32 sum, sum, other;\n"
			  "setp.eq.u32 p, sum, 1;\n"
			  "@p bra lost;\n"
			  "bar.sync 0;\n"
			  "mov.u64 to, %%clock64;\n"
			  "sub.u64 to, to, from;\n"
			  "setp.ne.u32 p, %%b_tid, 0;\n"
			  "@p bra lost;\n"
			  "mul.wide.u32 out, %%b_ctaid, 8;\n"
			  "add.u64 out, out, %%b_data;\n"
			  "st.global.u64 [out], to;\n");
	write_epilogue(&body);
	return BENCH_KERNEL(run, &body, .name = "dsmem-bandwidth", .declared = declared,
			    .threads = THREADS, .expect = {{OP_LD, CHASE_UNROLL, CHASE_UNROLL}});
}

/* Computes bytes per cycle from ARG bytes per block and the cycles of the blocks, a list terminated
 * by 0. The mean over all blocks is needed, because clusters are placed differently. */
static double compute_rate(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t *cycles = results;
	double all = 0;
	uint32_t n = 0;

	for (; cycles[n]; n++)
		all += (double)cycles[n];
	return n ? *(double *)arg * n / all : NAN;
}

static void measure_samples(struct bench_run *run)
{
	struct bench_kernel *latency = latency_kernel(run), *bandwidth = bandwidth_kernel(run);
	uint32_t sms = (uint32_t)bench_gpu(run)->sms;

	for (uint32_t size = 2; size <= 16; size *= 2) {
		struct bench_launch launch = {.cluster = size, .arg = {0, LOOPS}};

		for (uint32_t rank = 0; latency && rank < size; rank++) {
			struct bench_series *series = bench_series(bench_samples(run), "latency",
								   "cluster", "block", "cycles");

			launch.grid = size;
			launch.block = 32;
			launch.arg[0] = rank;
			if (!bench_repeat(run, latency, &launch, 8, chase_compute_cycles,
					  &(double){STEPS}, bench_point(series, size, rank)))
				break;
		}
		if (bandwidth && sms >= size) {
			launch.grid = sms / size * size;
			launch.block = THREADS;
			bench_repeat(
				run, bandwidth, &launch, 8 * (launch.grid + 1), compute_rate,
				&(double){16.0 * THREADS * STEPS},
				bench_add_point(run, "bandwidth", "cluster", "B/cycle/SM", size));
		}
	}
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, "latency");
	double min = INFINITY, max = -INFINITY, own = NAN;

	bench_add_published(figures, "DSMEM latency", "cluster of 2, block 1", "H100", 180);
	BENCH_EACH(point, series) {
		if (point->y == 0) {
			own = isnan(own) ? bench_median(point) : fmin(own, bench_median(point));
			continue;
		}
		min = fmin(min, bench_median(point));
		max = fmax(max, bench_median(point));
		bench_add_point_figure(figures, "DSMEM latency",
				       bench_format("cluster of %g, block %g", point->x, point->y),
				       series, point);
		bench_mark_detail(figures, point->y > 1);
	}
	if (max >= min)
		bench_add_note(
			figures,
			"Shared memory of another SM of the cluster responds in %.0f to %.0f "
			"cycles; "
			"the SM's own, accessed in the same way, in %.0f.",
			min, max, own);
	series = bench_find_series(samples, "bandwidth");
	BENCH_EACH(point, series)
		bench_add_point_figure(figures, "DSMEM bandwidth",
				       bench_format("cluster of %g", point->x), series, point);
}

BENCH(bench_dsmem, "dsmem", "", "shared memory of other SMs of a cluster: latency, bandwidth",
      measure_samples, derive_figures, .arch = 90);
