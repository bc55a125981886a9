/* SPDX-License-Identifier: MIT */
/*
 * Measures how well L2 keeps lines with evict_last. All SMs read an array, plainly or with a
 * createpolicy of evict_last; then data of twice L2's size is read; then one thread chases the
 * array at random: the more of it is left, the faster. No size is set aside
 * (CU_LIMIT_PERSISTING_L2_CACHE_SIZE is unchanged). Compressible memory (cuMemCreate) is not
 * measured. Expected: 2 times 6 points of 12 launches of three kernels, 2 s.
 */
#include "probe/bench/frame/pointer_chase.h"
#include "probe/lib/driver.h"

#include <math.h>

enum { LINE = 128, STEPS = 4096, THREADS = 512 };

/* Reads one word of each sector in arg1 bytes from arg0 on. */
static struct bench_kernel *sweep_kernel(struct bench_run *run, bool last)
{
	struct bench_text body = {0};

	bench_emit(&body, "{\n"
			  ".reg .u64 at, off, step, policy;\n"
			  ".reg .u32 t, v, sum;\n"
			  ".reg .pred p;\n"
			  "mov.u32 sum, 0;\n"
			  "mad.lo.u32 t, %%b_ctaid, %%b_ntid, %%b_tid;\n"
			  "mul.wide.u32 off, t, 32;\n"
			  "mul.lo.u32 t, %%b_nctaid, %%b_ntid;\n"
			  "mul.wide.u32 step, t, 32;\n");
	if (last)
		bench_emit(&body, "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n");
	bench_emit(&body,
		   "next:\n"
		   ".pragma \"nounroll\";\n"
		   "setp.ge.u64 p, off, %%b_arg1;\n"
		   "@p bra swept;\n"
		   "add.u64 at, off, %%b_arg0;\n"
		   "ld.global%s.u32 v, [at]%s;\n"
		   "xor.b32 sum, sum, v;\n"
		   "add.u64 off, off, step;\n"
		   "bra next;\n"
		   "swept:\n"
		   "setp.ne.u32 p, sum, 1;\n"
		   "@p bra lost;\n"
		   "st.global.u32 [%%b_data], sum;\n"
		   "lost:\n"
		   "mov.u64 at, 0;\n"
		   "}\n",
		   last ? ".L2::cache_hint" : "", last ? ", policy" : "");
	return BENCH_KERNEL(run, &body, .name = last ? "sweep-last" : "sweep", .threads = THREADS,
			    .expect = {{OP_LDG, 1, 1}});
}

struct l2_window {
	struct bench_run *run;
	struct bench_kernel *sweep, *last, *chase;
	uint64_t array, other, other_bytes;
};

static struct bench_launch sweep_of(const struct bench_gpu *gpu, uint64_t base, uint64_t bytes)
{
	return (struct bench_launch){
		.grid = (uint32_t)gpu->sms * 2, .block = THREADS, .arg = {base, bytes}};
}

static bool measure_point(struct l2_window *w, struct bench_kernel *first, uint64_t bytes,
			  struct bench_point *point)
{
	struct bench_launch array = sweep_of(bench_gpu(w->run), w->array, bytes);
	struct bench_launch other = sweep_of(bench_gpu(w->run), w->other, w->other_bytes);
	struct bench_launch chase = {.grid = 1, .block = 1, .arg = {w->array, CHASE_UNROLL, STEPS}};

	for (unsigned k = 0; k <= BENCH_REPEATS; k++) {
		const void *results;
		double v;

		if (!bench_launch(w->run, first, &array, 8) ||
		    !bench_launch(w->run, w->sweep, &other, 8))
			return false;
		results = bench_launch(w->run, w->chase, &chase, 8);
		if (!results)
			return false;
		v = chase_compute_cycles(w->run, results, &(double){STEPS});
		if (k && !isnan(v))
			bench_add_sample(w->run, point, v);
	}
	return true;
}

/* Persisting lines would disturb the next measurement. */
static void reset_persisting_lines(struct bench_run *run)
{
	if (!bench_is_dry(run) && cu.cuCtxResetPersistingL2Cache)
		cu.cuCtxResetPersistingL2Cache();
}

static void measure_samples(struct bench_run *run)
{
	uint64_t l2 = bench_gpu(run)->l2_bytes, most = 1 << 20;
	struct bench_kernel *builder = chase_build_builder(run);
	struct l2_window w = {.run = run,
			      .sweep = sweep_kernel(run, false),
			      .last = sweep_kernel(run, true),
			      .chase = chase_build_kernel(run, "cg"),
			      .other_bytes = 2 * l2};

	while (most * 2 <= l2)
		most *= 2;
	w.array = bench_memory_alloc(run, most);
	w.other = l2 ? bench_memory_alloc(run, w.other_bytes) : 0;
	if (!w.array || !w.other) {
		bench_add_missing(bench_samples(run),
				  "the size of L2 is unknown, or there is not enough memory");
		return;
	}
	if (!builder || !w.sweep || !w.last || !w.chase)
		return;
	for (unsigned kept = 0; kept < 2; kept++)
		for (uint64_t bytes = most / 8; bytes <= most; bytes = chase_next_size(bytes)) {
			struct chase_chain chain = {.base = w.array,
						    .elements = bytes / LINE,
						    .stride = LINE,
						    .random = true};

			reset_persisting_lines(run);
			if (!chase_write_chain(run, builder, &chain) ||
			    !measure_point(&w, kept ? w.last : w.sweep, bytes,
					   bench_add_point(run, kept ? "evict_last" : "plain",
							   "bytes", "cycles", (double)bytes)))
				return;
		}
	reset_persisting_lines(run);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *plain = bench_find_series(samples, "plain");
	const struct bench_series *last = bench_find_series(samples, "evict_last");
	const struct bench_point *kept = NULL;

	for (uint32_t k = 0; last && plain && k < last->n && k < plain->n; k++) {
		double with = bench_median(&last->point[k]),
		       without = bench_median(&plain->point[k]);
		const char *size;

		if (isnan(with) || isnan(without))
			continue;
		size = bench_format_bytes(last->point[k].x);
		bench_add_point_figure(figures, "L2 kept", bench_format("%s, evict_last", size),
				       last, &last->point[k]);
		bench_mark_detail(figures, k && k < last->n - 1);
		bench_add_point_figure(figures, "L2 kept", bench_format("%s, plain", size), plain,
				       &plain->point[k]);
		bench_mark_detail(figures, k && k < last->n - 1);
		if (with < 0.85 * without)
			kept = &last->point[k];
	}
	if (kept)
		bench_add_note(figures,
			       "Data read with evict_last stays in L2 while twice its size is "
			       "read, visible up to %s.",
			       bench_format_bytes(kept->x));
	else if (last && last->n && last->point[0].n)
		bench_add_note(figures, "evict_last keeps no more in L2 than a plain load.");
}

BENCH(bench_l2_window, "l2-window", "", "what L2 keeps that was loaded under evict_last",
      measure_samples, derive_figures, .arch = 80);
