/* SPDX-License-Identifier: MIT */
/*
 * Measures barriers: of a block by its warps, an mbarrier (arrive and wait), of a cluster by its
 * size, and an mbarrier passed back and forth between two warps and between two blocks of a
 * cluster. Times 8 rounds and again 16 rounds of 16 steps: the difference does not include the
 * clock reads. Takes less than 1 s.
 *
 * A wait polls its mbarrier at most 65,536 times; then the kernel ends without a time. It uses
 * try_wait, as programs do, which may sleep: many polling warps would disturb each other. The
 * ping-pong uses test_wait in all lanes of the warp: if lanes wait for others of their warp a poll
 * takes longer, on an H200 170 cycles instead of 70.
 *
 * Barriers of clusters, and mbarriers between blocks, release what was written before: the compiler
 * puts a fence before the arrival. Without it (.relaxed), and the fence alone, show what it costs.
 */
#include <math.h>
#include <string.h>
#include "probe/bench/frame/bench.h"

enum { STEPS = 16, ROUNDS = 8, OP_BAR = 0x11d, OP_SYNCS = 0x1a7 };

/* Waits until phase %ph of the mbarrier at %bar has completed. */
#define WAIT(ask)                                                                             \
	"{ mov.u32 %left, 65536;\nASK: mbarrier." ask ".parity.shared::cta.b64 %p, [%bar], "  \
	"%ph;\n"                                                                              \
	"@%p bra THERE;\nsub.u32 %left, %left, 1; setp.eq.u32 %p, %left, 0;\n@%p bra DONE;\n" \
	"bra ASK;\nTHERE: xor.b32 %ph, %ph, 1; }\n"

#define CLUSTER "barrier of a cluster"
#define FENCE "fence of a cluster"

static const struct barrier_type {
	const char *name, *x;
	const char *step;
	bool cluster, ball;
	unsigned arch;
	uint16_t op; /* 0: not a single instruction */
} way[] = {
	{"barrier of a block", "warps", "bar.sync 0;\n", false, false, 0, OP_BAR},
	{"barrier of a warp", "warps", "bar.warp.sync 0xffffffff;\n", false, false, 0, 0},
	{"mbarrier, arrive and wait", "warps",
	 "mbarrier.arrive.shared::cta.b64 %s, [%bar];\n" WAIT("try_wait"), false, false, 90,
	 OP_SYNCS},
	{"mbarrier, between two warps and back", "warps",
	 "@%one mbarrier.arrive.shared::cta.b64 %s, [%peer];\n" WAIT(
		 "test_wait") "@%other mbarrier.arrive.shared::cta.b64 %s, [%peer];\n",
	 false, true, 90, OP_SYNCS},
	{"mbarrier, between two blocks and back", "blocks",
	 "@%one mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%peer];\n" WAIT(
		 "test_wait") "@%other mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
			      "[%peer];\n",
	 true, true, 90, 0},
	{"mbarrier, between two blocks and back, relaxed", "blocks",
	 "@%one mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%peer];\n" WAIT(
		 "test_wait") "@%other mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, "
			      "[%peer];\n",
	 true, true, 90, 0},
	{CLUSTER, "blocks", "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
	 true, false, 90, 0},
	{CLUSTER ", relaxed", "blocks",
	 "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n", true, false,
	 90, 0},
	{FENCE, "blocks", "fence.acq_rel.cluster;\n", true, false, 90, 0},
};
enum { WAYS = sizeof way / sizeof *way };

/* Generates the start. arg0: number of arrivals at an mbarrier. In a ping-pong one thread of each
 * side arrives. */
static void write_start(struct bench_text *text, const struct barrier_type *w)
{
	bench_emit(text,
		   ".reg .u32 %%bar, %%peer, %%ph, %%left, %%n, %%i, %%pass, %%k;\n"
		   ".reg .u64 %%s, %%t0, %%t1, %%to; .reg .pred %%p, %%q, %%one, %%other;\n"
		   "mov.u32 %%ph, 0; mov.u32 %%bar, barriers; mov.u32 %%peer, %%bar;\n"
		   "mov.u32 %%pass, 0; mov.u64 %%to, %%b_data; setp.eq.u32 %%one, %%b_warp, 0;\n"
		   "cvt.u32.u64 %%k, %%b_arg0; setp.eq.u32 %%q, %%b_tid, 0;\n");
	if (w->arch)
		bench_emit(text, "@%%q mbarrier.init.shared::cta.b64 [%%bar], %%k;\n"
				 "@%%q mbarrier.init.shared::cta.b64 [%%bar+8], %%k;\n"
				 "@%%q fence.mbarrier_init.release.cluster;\nbar.sync 0;\n");
	if (w->cluster)
		bench_emit(text,
			   "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
	if (w->cluster && w->ball)
		bench_emit(text, "setp.eq.u32 %%one, %%b_ctaid, 0; xor.b32 %%k, %%b_ctaid, 1;\n"
				 "mapa.shared::cluster.u32 %%peer, %%bar, %%k;\n");
	else if (w->ball)
		bench_emit(text,
			   "@%%one add.u32 %%peer, %%peer, 8;\n@!%%one add.u32 %%bar, %%bar, 8;\n");
	if (w->ball)
		bench_emit(text, "setp.eq.and.u32 %%other, %%b_lane, 0, !%%one;\n"
				 "setp.eq.and.u32 %%one, %%b_lane, 0, %%one;\n");
}

static struct bench_kernel *build_kernel(struct bench_run *run, const struct barrier_type *w)
{
	struct bench_text text = {0};

	write_start(&text, w);
	bench_emit(&text,
		   "PASS:\n.pragma \"nounroll\";\nsetp.eq.u32 %%p, %%pass, 2;\n"
		   "selp.u32 %%n, %u, %u, %%p; mov.u32 %%i, 0;\nmov.u64 %%t0, %%clock64;\n"
		   "ROUND:\n.pragma \"nounroll\";\n",
		   2 * ROUNDS, ROUNDS);
	for (unsigned i = 0; i < STEPS; i++)
		bench_emit(&text, "%s", w->step);
	bench_emit(
		&text,
		"add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%n;\n@%%p bra ROUND;\n"
		"mov.u64 %%t1, %%clock64;\nsub.u64 %%t1, %%t1, %%t0;\n"
		"or.b32 %%k, %%b_tid, %%b_ctaid; setp.eq.u32 %%q, %%k, 0;\n"
		"@%%q st.global.u64 [%%to], %%t1;\nadd.u64 %%to, %%to, 8;\n"
		"add.u32 %%pass, %%pass, 1; setp.lt.u32 %%p, %%pass, 3;\n@%%p bra PASS;\nDONE:\n");
	if (w->cluster) /* a block must not end while its memory is in use */
		bench_emit(&text, "bar.sync 0;\nbarrier.cluster.arrive.aligned;\n"
				  "barrier.cluster.wait.aligned;\n");
	return BENCH_KERNEL(run, &text, .name = w->name,
			    .declared = ".shared .align 8 .b64 barriers[2];\n",
			    .expect = {{w->op, STEPS, 4 * STEPS}});
}

static double compute_step(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t *t = results;

	return t[2] > t[1] ? (double)(t[2] - t[1]) / (ROUNDS * STEPS) : NAN;
}

static void measure_point(struct bench_run *run, struct bench_kernel *kernel,
			  const struct barrier_type *w, uint32_t n)
{
	struct bench_point *point = bench_add_point(run, w->name, w->x, "cycles", n);
	struct bench_launch l = {.grid = w->cluster ? n : 1,
				 .block = w->cluster ? 32 : n * 32,
				 .cluster = w->cluster ? n : 0,
				 .arg = {w->ball      ? 1
					 : w->cluster ? 32
						      : n * 32}};

	if (bench_repeat(run, kernel, &l, 24, compute_step, NULL, point) && !point->n &&
	    !bench_is_dry(run))
		bench_add_missing(bench_samples(run), "%s, %u %s: the wait did not end", w->name, n,
				  w->x);
}

static void measure_samples(struct bench_run *run)
{
	unsigned arch = bench_arch(bench_gpu(run));

	for (unsigned i = 0; i < WAYS; i++) {
		struct bench_kernel *kernel;
		uint32_t max = way[i].ball ? 2 : way[i].cluster ? 16 : 32;

		if (arch < way[i].arch)
			continue;
		kernel = build_kernel(run, &way[i]);
		if (!kernel)
			continue;
		for (uint32_t n = way[i].ball ? 2 : 1; n <= max; n *= 2)
			measure_point(run, kernel, &way[i], n);
	}
}

static double first_median(const struct bench_samples *samples, const char *name)
{
	const struct bench_point *p = bench_find_first(bench_find_series(samples, name));

	return p ? bench_median(p) : NAN;
}

static void note_fence(const struct bench_samples *samples, struct bench_figures *figures)
{
	double whole = first_median(samples, CLUSTER), fence = first_median(samples, FENCE);
	double relaxed = first_median(samples, CLUSTER ", relaxed");

	if (!isnan(whole) && !isnan(fence) && !isnan(relaxed))
		bench_add_note(
			figures,
			"A barrier of a cluster takes %.0f cycles, of which its fence is %.0f: "
			"without it (arrive.relaxed) it takes %.0f.",
			whole, fence, relaxed);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (uint32_t i = 0; i < samples->n; i++) {
		const struct bench_series *series = &samples->series[i];
		uint32_t kept = 0;

		BENCH_EACH(p, series) {
			bench_add_point_figure(figures, series->name,
					       bench_format("%g %s", p->x, series->x), series, p);
			bench_mark_detail(figures,
					  p > series->point &&
						  (p + 1 < series->point + series->n ||
						   !strcmp(series->name, "barrier of a warp")));
			kept++;
		}
		if (kept > 1)
			bench_add_plot(figures, series->x, "Barriers", series, true, false);
	}
	note_fence(samples, figures);
}

BENCH(bench_barriers, "barriers", "", "barriers of blocks and clusters, and mbarriers, in cycles",
      measure_samples, derive_figures);
