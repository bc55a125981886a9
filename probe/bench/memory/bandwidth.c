/* SPDX-License-Identifier: MIT */
/*
 * M10 and M19, bandwidth of L2 and of device memory: 2 blocks of 512 threads per SM go through
 * arrays, 16 bytes per thread. For L2 they read half and a quarter of it with ld.global.cg
 * repeatedly for about 3 ms, after a warming pass, at 16 places; one block alone reads 1 MiB, and
 * the SMs of only one side of L2 read their part of a quarter. For device memory they read, write,
 * copy and add (a = b + s c) arrays of 8 GiB once. Expected: 2 and 4 points of 12 samples, 4 s in
 * total. Published values: the study's, and github.com/caps-tum/mt4g, sample_results (H100 SXM).
 */
#include "probe/bench/frame/pointer_chase.h"

#include <math.h>

enum { THREADS = 512, UNROLL = 4, WIDTH = 16, BLOCKS = 2, PLACES = 16 };

enum bandwidth_kind { READ, WRITE, COPY, TRIAD, KINDS };
static const struct {
	const char *name;
	unsigned arrays; /* arrays that are transferred */
} kinds[] = {
	[READ] = {"read", 1}, [WRITE] = {"write", 1}, [COPY] = {"copy", 2}, [TRIAD] = {"triad", 3}};

static void write_iteration(struct bench_text *text, enum bandwidth_kind kind)
{
	for (unsigned k = 0, r = 0; k < UNROLL; k++, r += 4) {
		if (kind != WRITE)
			bench_emit(text,
				   "ld.global.cg.v4.f32 {b%u, b%u, b%u, b%u}, [b];\n"
				   "add.u64 b, b, step;\n",
				   r, r + 1, r + 2, r + 3);
		if (kind == TRIAD)
			bench_emit(text,
				   "ld.global.cg.v4.f32 {c%u, c%u, c%u, c%u}, [c];\n"
				   "add.u64 c, c, step;\n",
				   r, r + 1, r + 2, r + 3);
	}
	for (unsigned k = 0, r = 0; k < UNROLL; k++, r += 4) {
		for (unsigned w = 0; w < 4 && kind == TRIAD; w++)
			bench_emit(text, "fma.rn.f32 b%u, c%u, 0f40400000, b%u;\n", r + w, r + w,
				   r + w);
		for (unsigned w = 0; w < 4 && kind == READ; w++)
			bench_emit(text, "mov.b32 bits, b%u;\nxor.b32 sum, sum, bits;\n", r + w);
		for (unsigned w = 0; w < 4 && kind == WRITE; w++)
			bench_emit(text, "mov.b32 b%u, %%b_tid;\n", r + w);
		if (kind != READ)
			bench_emit(text,
				   "st.global.v4.f32 [a], {b%u, b%u, b%u, b%u};\n"
				   "add.u64 a, a, step;\n",
				   r, r + 1, r + 2, r + 3);
	}
}

/* arg0 to arg2: arrays a, b and c; arg3: iterations of UNROLL per pass; arg4: passes; arg5 to arg7:
 * bits of the SMs that read; the second word of the results counts their blocks. */
static struct bench_kernel *kernel_of(struct bench_run *run, enum bandwidth_kind kind)
{
	struct bench_text body = {0};
	struct bench_code code = {.name = kinds[kind].name, .threads = THREADS};
	uint32_t loads = kind == WRITE ? 0 : kind == TRIAD ? 2 * UNROLL : UNROLL;
	uint32_t stores = kind == READ ? 0 : UNROLL;

	bench_emit(&body,
		   "{\n"
		   ".reg .u64 a, b, c, at, step;\n"
		   ".reg .f32 b<40>, c<40>;\n"
		   ".reg .u32 t, n, passes, sum, bits;\n"
		   ".reg .pred p;\n"
		   "mov.u32 sum, 0;\n"
		   "shr.u32 t, %%b_smid, 6;\n"
		   "setp.eq.u32 p, t, 0;\n"
		   "selp.u64 at, %%b_arg5, %%b_arg6, p;\n"
		   "setp.gt.u32 p, t, 1;\n"
		   "selp.u64 at, %%b_arg7, at, p;\n"
		   "and.b32 t, %%b_smid, 63;\n"
		   "shr.u64 at, at, t;\n"
		   "and.b64 at, at, 1;\n"
		   "setp.eq.u64 p, at, 0;\n"
		   "@p bra done;\n"
		   "setp.eq.u32 p, %%b_tid, 0;\n"
		   "@p red.global.add.u64 [%%b_data+8], 1;\n"
		   "mad.lo.u32 t, %%b_ctaid, %%b_ntid, %%b_tid;\n"
		   "mul.wide.u32 at, t, %u;\n"
		   "mul.lo.u32 t, %%b_nctaid, %%b_ntid;\n"
		   "mul.wide.u32 step, t, %u;\n"
		   "cvt.u32.u64 passes, %%b_arg4;\n"
		   "pass:\n"
		   ".pragma \"nounroll\";\n"
		   "add.u64 a, at, %%b_arg0;\n"
		   "add.u64 b, at, %%b_arg1;\n"
		   "add.u64 c, at, %%b_arg2;\n"
		   "cvt.u32.u64 n, %%b_arg3;\n"
		   "turn:\n"
		   ".pragma \"nounroll\";\n",
		   (unsigned)WIDTH, (unsigned)WIDTH);
	write_iteration(&body, kind);
	bench_emit(&body, "sub.u32 n, n, 1;\n"
			  "setp.gt.s32 p, n, 0;\n"
			  "@p bra turn;\n"
			  "sub.u32 passes, passes, 1;\n"
			  "setp.gt.s32 p, passes, 0;\n"
			  "@p bra pass;\n"
			  "setp.ne.u32 p, sum, 1;\n" /* so that the loads are not optimized away */
			  "@p bra done;\n"
			  "st.global.u32 [%%b_data], sum;\n"
			  "done:\n"
			  "mov.u64 at, 0;\n"
			  "}\n");
	/* Without a clock read in the body the frame's two stores are counted too. */
	if (loads)
		code.expect[0] = (struct bench_expect){OP_LDG, loads, loads};
	if (stores)
		code.expect[loads ? 1 : 0] = (struct bench_expect){OP_STG, stores, stores + 2};
	return bench_build_kernel(run, &body, &code);
}

static struct bench_launch launch_of(const struct bench_gpu *gpu, uint64_t a, uint64_t b,
				     uint64_t c, uint64_t turns, uint64_t passes)
{
	return (struct bench_launch){.grid = (uint32_t)gpu->sms * BLOCKS,
				     .block = THREADS,
				     .arg = {a, b, c, turns, passes, ~0ull, ~0ull, ~0ull}};
}

/* Bytes that all threads transfer in an iteration. */
static uint64_t turn_bytes(const struct bench_gpu *gpu)
{
	return gpu->sms * BLOCKS * THREADS * UNROLL * WIDTH;
}

/* Averages over PLACES, each as large as the part of L2: how an array's lines are distributed among
 * L2's slices is random. */
static void repeat_places(struct bench_run *run, struct bench_kernel *kernel,
			  struct bench_launch launch, uint64_t apart, bench_compute *value,
			  double scale, struct bench_point *point)
{
	uint64_t base = launch.arg[1];

	for (int n = 0; n <= BENCH_REPEATS; n++) {
		double inverse = 0;

		for (unsigned k = 0; k < PLACES; k++) {
			const void *results;

			launch.arg[1] = base + k * apart;
			results = bench_launch(run, kernel, &launch, 16);
			inverse += results ? 1 / value(run, results, &scale) : NAN;
		}
		if (!(inverse > 0) || isinf(inverse))
			return;
		if (n)
			bench_add_sample(run, point, PLACES / inverse);
	}
}

/* Reads 1 MiB with one block: two blocks would run on two SMs. */
static void measure_one_sm(struct bench_run *run, struct bench_kernel *kernel, uint64_t base)
{
	uint64_t bytes = 1 << 20, passes = 64;
	struct bench_launch launch = {.grid = 1,
				      .block = THREADS,
				      .arg = {0, base, 0, bytes / (THREADS * UNROLL * WIDTH),
					      passes + 1, ~0ull, ~0ull, ~0ull}};

	bench_repeat(run, kernel, &launch, 16, chase_compute_rate,
		     &(double){(double)(passes * bytes)},
		     bench_add_point(run, "one SM", "bytes", "GB/s", (double)bytes));
}

static const char *const side_name[] = {"one side", "the other side", "both sides"};

/* Computes the rate from ARG bytes per block and the blocks that read. */
static double compute_side_rate(const struct bench_run *run, const void *results, void *arg)
{
	double bytes = *(double *)arg * (double)((const uint64_t *)results)[1];

	return chase_compute_rate(run, results, &bytes);
}

/* Runs one block per SM, because each takes all shared memory. */
static void measure_side(struct bench_run *run, struct bench_kernel *kernel, uint64_t base)
{
	const struct bench_gpu *gpu = bench_gpu(run);
	struct bench_kernel *builder = chase_build_builder(run);
	uint64_t sms[3], turns = gpu->l2_bytes / 4 / (turn_bytes(gpu) / BLOCKS), passes = 512;
	uint64_t apart = gpu->l2_bytes / 4;
	struct bench_launch launch = launch_of(gpu, 0, base, 0, turns, passes);
	double each = (double)(passes * turns * THREADS * UNROLL * WIDTH);

	launch.grid = (uint32_t)gpu->sms;
	launch.shared = (uint32_t)gpu->shared_block_bytes;
	if (!builder || !turns || !l2_find_side(run, builder, sms))
		return;
	for (unsigned side = 0; side < 3; side++) {
		for (unsigned k = 0; k < 3; k++)
			launch.arg[5 + k] = side == 2 ? ~0ull : side ? ~sms[k] : sms[k];
		repeat_places(run, kernel, launch, apart, compute_side_rate, each,
			      bench_add_point(run, side_name[side], "bytes", "GB/s",
					      (double)(turns * turn_bytes(gpu) / BLOCKS)));
	}
}

static void measure_l2(struct bench_run *run)
{
	const struct bench_gpu *gpu = bench_gpu(run);
	struct bench_kernel *kernel = kernel_of(run, READ);
	uint64_t l2 = gpu->l2_bytes, each = turn_bytes(gpu);
	uint64_t base = l2 ? bench_memory_alloc(run, PLACES * l2 / 2) : 0;

	if (!base)
		bench_add_missing(bench_samples(run),
				  "the size of L2 is unknown, or there is not enough memory");
	for (unsigned part = 4; kernel && base && each && part >= 2; part -= 2) {
		uint64_t turns = l2 / part / each ? l2 / part / each : 1, bytes = turns * each;
		/* 8 GiB take 3 ms at 3.4 TB/s. One pass more than counted, an error of some
		 * thousandths. */
		uint64_t passes = (8ull << 30) / bytes + 1;

		repeat_places(run, kernel, launch_of(gpu, 0, base, 0, turns, passes), l2 / part,
			      chase_compute_rate, (double)(passes * bytes),
			      bench_add_point(run, "read", "bytes", "GB/s", (double)bytes));
	}
	if (kernel && base) {
		measure_one_sm(run, kernel, base);
		measure_side(run, kernel, base);
	}
}

/* Derives the rates of the SMs of one side, of the other, and of both, one block each. */
static void derive_sides(const struct bench_samples *samples, struct bench_figures *figures)
{
	double rate[3] = {NAN, NAN, NAN};

	for (unsigned k = 0; k < 3; k++) {
		const struct bench_series *series = bench_find_series(samples, side_name[k]);
		const struct bench_point *point = bench_find_first(series);

		if (!point)
			continue;
		rate[k] = bench_median(point);
		bench_add_point_figure(figures, "L2 bandwidth",
				       bench_format("SMs of %s", side_name[k]), series, point);
	}
	if (rate[0] + rate[1] + rate[2] > 0)
		bench_add_note(figures,
			       "The SMs of one side of L2 alone get %.0f GB/s, those of the other "
			       "%.0f, both at once %.0f.",
			       rate[0], rate[1], rate[2]);
}

static void derive_l2(const struct bench_samples *samples, const struct bench_gpu *gpu,
		      struct bench_figures *figures)
{
	static const struct {
		const char *gpu;
		double rate;
	} published[] = {{"T4", 1270}, {"V100", 2155}, {"P100", 1624},	    {"P4", 979},
			 {"M60", 446}, {"K80", 339},   {"H100, mt4g", 4863}};
	const struct bench_series *series = bench_find_series(samples, "read");
	const struct bench_point *one;

	for (unsigned k = 0; k < 7; k++)
		bench_add_published(figures, "L2 bandwidth", "", published[k].gpu,
				    published[k].rate);
	BENCH_EACH(p, series) {
		bench_add_point_figure(
			figures, "L2 bandwidth",
			p == series->point + series->n - 1 ? "" : bench_format_bytes(p->x), series,
			p);
		bench_add_note(figures, "L2 provides %.0f GB/s to all SMs reading %s.",
			       bench_median(p), bench_format_bytes(p->x));
	}
	derive_sides(samples, figures);
	series = bench_find_series(samples, "one SM");
	one = bench_find_first(series);
	if (!one)
		return;
	bench_add_point_figure(figures, "L2 bandwidth", "one SM", series, one);
	bench_add_note(figures, "A single SM gets %.1f GB/s, %.1f B/cycle.", bench_median(one),
		       bench_median(one) / one->sm_mhz * 1000);
}

static void measure_global(struct bench_run *run)
{
	const struct bench_gpu *gpu = bench_gpu(run);
	uint64_t bytes = 8ull << 30, base = 0, each = turn_bytes(gpu), turns;

	while (bytes > 64 << 20 && !(base = bench_memory_alloc(run, 3 * bytes)))
		bytes /= 2;
	if (!base || !each) {
		bench_add_missing(bench_samples(run), "not enough memory for three arrays");
		return;
	}
	turns = bytes / each ? bytes / each : 1;
	for (enum bandwidth_kind kind = READ; kind < KINDS; kind++) {
		struct bench_kernel *kernel = kernel_of(run, kind);
		struct bench_launch launch = launch_of(gpu, base, base + bytes, base + 2 * bytes,
						       turns, 1);

		if (kernel)
			bench_repeat(run, kernel, &launch, 16, chase_compute_rate,
				     &(double){(double)(turns * each) * kinds[kind].arrays},
				     bench_add_point(run, kinds[kind].name, "bytes", "GB/s",
						     (double)(turns * each)));
	}
}

static void derive_global(const struct bench_samples *samples, const struct bench_gpu *gpu,
			  struct bench_figures *figures)
{
	/* Two transfers per clock. */
	double theory = (double)gpu->bus_bits / 8 * 2 * (double)gpu->memory_khz * 1e3 / 1e9;

	bench_add_published(figures, "global bandwidth", "of theory", "T4", 68.8);
	bench_add_published(figures, "global bandwidth", "of theory", "P4", 84.4);
	/* 2,561 GiB/s of 3,352 GB/s */
	bench_add_published(figures, "global bandwidth", "of theory", "H100, mt4g", 82.0);
	for (enum bandwidth_kind kind = READ; kind < KINDS; kind++) {
		const struct bench_series *series = bench_find_series(samples, kinds[kind].name);
		const struct bench_point *point = bench_find_first(series);

		if (!point)
			continue;
		bench_add_point_figure(figures, "global bandwidth", kinds[kind].name, series,
				       point);
		if (kind == READ && theory > 0) {
			bench_figure(figures, "global bandwidth", "of theory", "%",
				     bench_median(point) / theory * 100,
				     bench_min(point) / theory * 100,
				     bench_max(point) / theory * 100, point->sm_mhz);
			bench_add_note(
				figures,
				"Device memory is read at %.0f GB/s, %.1f %% of the %.0f GB/s that "
				"its bus and clock allow.",
				bench_median(point), bench_median(point) / theory * 100, theory);
		}
	}
}

BENCH(bench_l2_bandwidth, "l2-bandwidth", "M10", "bandwidth of L2, read by all SMs", measure_l2,
      derive_l2);

BENCH(bench_global_bandwidth, "global-bandwidth", "M19",
      "bandwidth of device memory: read, write, copy, triad", measure_global, derive_global);
