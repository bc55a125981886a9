/* SPDX-License-Identifier: MIT */
/*
 * Measures the effect of an instruction's control bits: FFMAs of one warp with changed stall counts
 * and yield bit, and with a predicate that is never true. They use eight sums whose results are
 * ignored, with .reuse as the assembler set it. Stalls above 11 with the yield bit set are skipped,
 * because NVIDIA's assembler never emits them. Also: loads that set one barrier, each followed by a
 * wait for one, which is slow if both are the same; and whether the top bits of instructions are
 * always 0. Takes about 0.2 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>

enum { STALLS = 16, LENGTH = 64, AT = 1024, FFMA = 0x023, LDG = 0x181 };
enum { BARRIERS = 6, WAITS = BARRIERS * BARRIERS, LOADED = 4096 };

struct control_test {
	const char *name;
	uint32_t stalls; /* stalls 0 to STALLS - 1 are measured */
	bool yield, never;
};
static const struct control_test plans[] = {
	{"stay", 12, true, false},
	{"switch", STALLS, false, false},
	{"never", 12, true, true},
};

static int patch_stalls(uint64_t (*word)[2], uint32_t n, void *arg)
{
	const struct control_test *plan = arg;
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	for (uint32_t k = 0; k < plan->stalls; k++, first = last) {
		if (!code_find_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, LENGTH, &first,
				       &last))
			return -1;
		code_set_stall(word[first], 2, true); /* as between two consecutive clock reads */
		for (uint32_t i = first; i < last; i++) {
			code_decode_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != FFMA)
				continue;
			code_set_stall(word[i], k, plan->yield);
			if (plan->never)
				word[i][0] |= 0xf000; /* @!PT */
		}
	}
	return 0;
}

/* Counts the instructions, and those whose two top bits are not 0. */
static void count_words(struct bench_run *run, const struct bench_kernel *kernel)
{
	const char *const name[] = {"instructions", "with bits 126 or 127 set"};
	double count[2] = {0, 0};
	uint32_t n;
	const uint64_t(*word)[2] = bench_kernel_words(kernel, &n);

	for (uint32_t i = 0; i < n; i++)
		count[1] += word[i][1] >> 62 != 0;
	count[0] = n;
	for (unsigned k = 0; k < 2; k++)
		bench_add_value(bench_add_point(run, name[k], "", "words", 0), count[k]);
}

/* Generates a load between two clock reads for each pair of barriers. It runs three times; the last
 * counts. */
static void write_waits(struct bench_text *t)
{
	bench_emit(t, ".reg .u32 v, i; .reg .u64 c<3>; .reg .pred p;\n"
		      "mov.u32 i, 0;\nagain:\n.pragma \"nounroll\";\n");
	for (unsigned k = 0; k < WAITS; k++)
		bench_emit(t,
			   "mov.u64 c0, %%clock64;\nld.volatile.global.u32 v, [%%b_data+%u];\n"
			   "mov.u64 c1, %%clock64;\nsub.u64 c2, c1, c0;\n"
			   "st.volatile.global.u64 [%%b_data+%u], c2;\n"
			   "st.volatile.global.u32 [%%b_data], v;\n",
			   LOADED, AT + 8 * k);
	bench_emit(t, "add.u32 i, i, 1; setp.lt.u32 p, i, 3;\n@p bra again;\n");
}

static int patch_waits(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	for (unsigned k = 0; k < WAITS; k++, first = last) {
		if (!code_find_bracket((const uint64_t(*)[2])word, n, LDG, LDG, 1, &first, &last) ||
		    last + 1 == n)
			return -1;
		for (uint32_t i = first; i < last; i++) {
			code_decode_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != LDG)
				continue;
			code_set_barriers(word[i], k / BARRIERS, 7, insn.control.wait);
			code_set_stall(word[i], 4, true); /* until the barrier is set */
		}
		code_decode_insn(word[last], &insn);
		code_set_barriers(word[last], 7, 7, insn.control.wait | 1u << k % BARRIERS);
		/* The next instruction must have the loaded value, whichever barrier was waited
		 * for. */
		code_decode_insn(word[last + 1], &insn);
		code_set_barriers(word[last + 1], insn.control.write_barrier,
				  insn.control.read_barrier, 0x3f);
	}
	return 0;
}

static double store_waits(const struct bench_run *run, const void *results, void *point)
{
	const uint64_t *clock = (const uint64_t *)((const char *)results + AT);

	for (unsigned k = 0; k < WAITS; k++)
		bench_add_sample(run, (struct bench_point *)point + k, (double)clock[k]);
	return NAN;
}

static void measure_waits(struct bench_run *run)
{
	struct bench_series *series;
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_waits(&text);
	kernel = BENCH_KERNEL(run, &text, .name = "barriers", .threads = 32,
			      .expect = {{LDG, WAITS, WAITS}}, .patch = patch_waits);
	if (!kernel)
		return;
	series = bench_series(bench_samples(run), "wait", "barrier set", "barrier waited for",
			      "cycles");
	for (unsigned k = 0; k < WAITS; k++)
		bench_point(series, k / BARRIERS, k % BARRIERS);
	bench_repeat(run, kernel, &(struct bench_launch){.block = 32}, LOADED + 4, store_waits,
		     series->point, NULL);
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		const struct control_test *plan = plans + i;
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		code_write_segments(&text, STALLS, LENGTH, AT);
		kernel = BENCH_KERNEL(run, &text, .name = plan->name, .threads = 32,
				      .patch = patch_stalls, .arg = (void *)(uintptr_t)plan);
		if (kernel && !i)
			count_words(run, kernel);
		if (kernel)
			code_measure_segments(run, kernel, STALLS, LENGTH, AT,
					      bench_series(bench_samples(run), plan->name, "stall",
							   NULL, "cycles"),
					      plan->stalls);
	}
	measure_waits(run);
}

/* Derives the minimum distance of two FFMAs, and the cost of a cycle of stall above it. */
static void derive_stalls(const struct bench_series *series, const char *what,
			  struct bench_figures *figures)
{
	const struct bench_point *none = code_find_point(series, 0, NAN),
				 *one = code_find_point(series, 1, NAN);
	struct bench_series above = *series;
	double slope, intercept;

	while (above.n && above.point->x <= 1.05 * bench_median(one)) {
		above.point++;
		above.n--;
	}
	bench_fit_line(&above, &slope, &intercept);
	if (none)
		bench_add_point_figure(figures, "FFMA behind FFMA, stall 0", what, series, none);
	bench_add_point_figure(figures, "FFMA behind FFMA, stall 1", what, series, one);
	bench_figure(figures, "one cycle of stall more", what, "cycles", slope, NAN, NAN,
		     bench_series_clock(series));
	bench_add_plot(figures, "control", "FFMA by its stall", series, false, false);
}

/* A single warp has no other to switch to, but loses the .reuse values and reads them again, which
 * is visible where the stall is 1. */
static void derive_yield(const struct bench_samples *samples, struct bench_figures *figures)
{
	double more[12];
	uint32_t n = 0;

	for (unsigned k = 4; k <= 11; k++) {
		const struct bench_point *stay = code_find_point(bench_find_series(samples, "stay"),
								 k, NAN);
		const struct bench_point *other =
			code_find_point(bench_find_series(samples, "switch"), k, NAN);

		if (stay && other)
			more[n++] = bench_median(other) - bench_median(stay);
	}
	if (n) {
		double middle = code_median(more, n); /* code_median() sorts them */

		bench_figure(figures, "yield bit clear costs", "stalls 4 to 11", "cycles", middle,
			     more[0], more[n - 1],
			     bench_series_clock(bench_find_series(samples, "switch")));
	}
}

static void derive_waits(const struct bench_series *series, struct bench_figures *figures)
{
	double own[BARRIERS], other[WAITS], max = 0, min = INFINITY;
	uint32_t nown = 0, nother = 0;

	for (uint32_t i = 0; series && i < series->n && i < WAITS; i++) {
		const struct bench_point *p = series->point + i;
		double v = bench_median(p);

		if (!(v > 0))
			continue;
		if (p->x == p->y && nown < BARRIERS) {
			own[nown++] = v;
			min = fmin(min, v);
		} else if (p->x != p->y) {
			other[nother++] = v;
			max = fmax(max, v);
		}
	}
	if (nown < BARRIERS || nother < WAITS - BARRIERS)
		return;
	bench_figure(figures, "wait for a load's barrier", "its own", "cycles",
		     code_median(own, nown), min, NAN, bench_series_clock(series));
	bench_figure(figures, "wait for a load's barrier", "another", "cycles",
		     code_median(other, nother), NAN, max, bench_series_clock(series));
	if (min > 2 * max)
		bench_add_note(figures, "Barriers 0 to 5 are independent: of 36 pairs only the 6 "
					"that wait for the load's own barrier are slow.");
	else
		bench_add_note(figures, "Not all of the barriers 0 to 5 can be distinguished.");
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	static const char *const what[] = {"yield bit set", "yield bit clear", "@!PT"};
	const struct bench_series *all = bench_find_series(samples, "instructions");
	const struct bench_series *set = bench_find_series(samples, "with bits 126 or 127 set");

	for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		const struct bench_series *series = bench_find_series(samples, plans[i].name);

		if (series && code_find_point(series, 1, NAN))
			derive_stalls(series, what[i], figures);
	}
	derive_yield(samples, figures);
	derive_waits(bench_find_series(samples, "wait"), figures);
	if (!all || !set || !all->n || !set->n || !(bench_median(all->point) > 0))
		return;
	if (bench_median(set->point) > 0)
		bench_add_note(figures,
			       "The two highest bits of %.0f of %.0f words of code are not 0.",
			       bench_median(set->point), bench_median(all->point));
	else
		bench_add_note(figures, "The two highest bits of all %.0f words of code are 0.",
			       bench_median(all->point));
}

BENCH(bench_control, "control", "M1 M2 M3",
      "what stalls, the yield bit, predicates and barriers cost", measure_samples, derive_figures);
