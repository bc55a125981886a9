/* SPDX-License-Identifier: MIT */
/*
 * What the control bits of an instruction do, as far as time shows it: FFMAs of one warp, their
 * stall cycles and their yield bit changed, and their predicate to one that is never true. FFMAs of
 * eight sums, whose results are not looked at, and with .reuse as the assembler has it. Stalls
 * above 11 are not tried with the yield bit set, which NVIDIA's assembler never writes. Loads that
 * set one barrier, and a wait behind each for one: it takes long where the two are the same. Of the
 * words themselves: the bits that are always 0. About 0.2 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>
#include <stdio.h>

enum { STALLS = 16, LENGTH = 64, AT = 1024, FFMA = 0x023, LDG = 0x181 };
enum { BARRIERS = 6, WAITS = BARRIERS * BARRIERS, LOADED = 4096 };

struct plan {
	const char *name;
	uint32_t stalls; /* 0 and so many more, less one */
	bool yield, never;
};
static const struct plan plans[] = {
	{"stay", 12, true, false},
	{"switch", STALLS, false, false},
	{"never", 12, true, true},
};

static int patch(uint64_t (*word)[2], uint32_t n, void *arg)
{
	const struct plan *plan = arg;
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	for (uint32_t k = 0; k < plan->stalls; k++, first = last) {
		if (!code_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, LENGTH, &first, &last))
			return -1;
		code_stall(word[first], 2, true); /* as between clocks with nothing between */
		for (uint32_t i = first; i < last; i++) {
			code_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != FFMA)
				continue;
			code_stall(word[i], k, plan->yield);
			if (plan->never)
				word[i][0] |= 0xf000; /* @!PT */
		}
	}
	return 0;
}

static void cycles(const void *data, double *value, const void *arg)
{
	const uint64_t *clock = (const uint64_t *)((const char *)data + AT);
	const struct plan *plan = arg;

	for (uint32_t k = 0; k < plan->stalls; k++)
		value[k] = ((double)clock[k + 1] - (double)clock[0]) / LENGTH;
}

/* What the words say: how many, and of how many the two highest bits are not 0. */
static void words(struct bench_run *run, const struct bench_kernel *kernel)
{
	const char *const name[] = {"instructions", "with bits 126 or 127 set"};
	double count[2] = {0, 0};
	uint32_t n;
	const uint64_t(*word)[2] = bench_kernel_words(kernel, &n);

	for (uint32_t i = 0; i < n; i++)
		count[1] += word[i][1] >> 62 != 0;
	count[0] = n;
	for (unsigned k = 0; k < 2; k++)
		bench_value(
			bench_point(bench_series(bench_samples(run), name[k], "", NULL, "words"), 0,
				    NAN),
			count[k]);
}

/* A load between two clocks, for each pair of barriers, three times; the last counts. */
static void waits_body(struct bench_text *t)
{
	bench_say(t, ".reg .u32 v, i; .reg .u64 c<3>; .reg .pred p;\n"
		     "mov.u32 i, 0;\nagain:\n.pragma \"nounroll\";\n");
	for (unsigned k = 0; k < WAITS; k++)
		bench_say(t,
			  "mov.u64 c0, %%clock64;\nld.volatile.global.u32 v, [%%b_data+%u];\n"
			  "mov.u64 c1, %%clock64;\nsub.u64 c2, c1, c0;\n"
			  "st.volatile.global.u64 [%%b_data+%u], c2;\n"
			  "st.volatile.global.u32 [%%b_data], v;\n",
			  LOADED, AT + 8 * k);
	bench_say(t, "add.u32 i, i, 1; setp.lt.u32 p, i, 3;\n@p bra again;\n");
}

static int patch_waits(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	(void)arg;
	for (unsigned k = 0; k < WAITS; k++, first = last) {
		if (!code_bracket((const uint64_t(*)[2])word, n, LDG, LDG, 1, &first, &last) ||
		    last + 1 == n)
			return -1;
		for (uint32_t i = first; i < last; i++) {
			code_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != LDG)
				continue;
			code_barriers(word[i], k / BARRIERS, 7, insn.control.wait);
			code_stall(word[i], 4, true); /* until it is set */
		}
		code_insn(word[last], &insn);
		code_barriers(word[last], 7, 7, insn.control.wait | 1u << k % BARRIERS);
		/* What is read behind must be there, whichever barrier said so. */
		code_insn(word[last + 1], &insn);
		code_barriers(word[last + 1], insn.control.write_barrier, insn.control.read_barrier,
			      0x3f);
	}
	return 0;
}

static void waited(const void *data, double *value, const void *arg)
{
	const uint64_t *clock = (const uint64_t *)((const char *)data + AT);

	(void)arg;
	for (unsigned k = 0; k < WAITS; k++)
		value[k] = (double)clock[k];
}

static void measure_waits(struct bench_run *run)
{
	struct code_value value[WAITS];
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	waits_body(&text);
	kernel = bench_kernel(run, &(struct bench_code){.name = "barriers",
							.body = text.data,
							.threads = 32,
							.expect = {{LDG, WAITS, WAITS}},
							.patch = patch_waits});
	bench_text_free(&text);
	if (!kernel)
		return;
	for (unsigned k = 0; k < WAITS; k++)
		value[k] = (struct code_value){.series = "wait",
					       .x = "barrier set",
					       .y = "barrier waited for",
					       .unit = "cycles",
					       .at_x = k / BARRIERS,
					       .at_y = k % BARRIERS};
	code_measure(run, kernel, &(struct bench_launch){.block = 32}, LOADED + 4, value, WAITS,
		     waited, NULL);
	bench_kernel_free(run, kernel);
}

static void measure(struct bench_run *run)
{
	for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		const struct plan *plan = plans + i;
		struct code_value value[STALLS];
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		code_segments(&text, STALLS, LENGTH, AT);
		kernel = bench_kernel(run, &(struct bench_code){.name = plan->name,
								.body = text.data,
								.threads = 32,
								.patch = patch,
								.arg = (void *)(uintptr_t)plan});
		bench_text_free(&text);
		if (!kernel)
			continue;
		if (!i)
			words(run, kernel);
		for (uint32_t k = 0; k < plan->stalls; k++) {
			value[k] = (struct code_value){
				.x = "stall", .unit = "cycles", .at_x = k, .at_y = NAN};
			snprintf(value[k].series, sizeof(value[k].series), "%s", plan->name);
		}
		code_measure(run, kernel, &(struct bench_launch){.block = 32},
			     AT + 8 * (STALLS + 1), value, plan->stalls, cycles, plan);
		bench_kernel_free(run, kernel);
	}
	measure_waits(run);
}

/* What is least between two FFMAs, and what a cycle of stall takes above that. */
static void derive_stalls(const struct bench_series *series, const char *what,
			  struct bench_figures *figures)
{
	const struct bench_point *none = code_at(series, 0, NAN), *one = code_at(series, 1, NAN);
	struct bench_series above = *series;
	double slope, intercept;

	while (above.n && above.point->x <= 1.05 * bench_median(one)) {
		above.point++;
		above.n--;
	}
	bench_line(&above, &slope, &intercept);
	if (none)
		bench_figure_point(figures, "FFMA behind FFMA, stall 0", what, series, none);
	bench_figure_point(figures, "FFMA behind FFMA, stall 1", what, series, one);
	bench_figure(figures, "one cycle of stall more", what, "cycles", slope, NAN, NAN,
		     bench_clock(series));
	bench_picture(figures, "control", "FFMA by its stall", series, false, false);
}

/* One warp has no other to switch to; but what .reuse holds is lost, and is read again: that is
 * seen where the stall is 1. */
static void derive_yield(const struct bench_samples *samples, struct bench_figures *figures)
{
	double more[12];
	uint32_t n = 0;

	for (unsigned k = 4; k <= 11; k++) {
		const struct bench_point *stay = code_at(bench_find(samples, "stay"), k, NAN);
		const struct bench_point *other = code_at(bench_find(samples, "switch"), k, NAN);

		if (stay && other)
			more[n++] = bench_median(other) - bench_median(stay);
	}
	if (n) {
		double middle = code_middle(more, n); /* which sorts them */

		bench_figure(figures, "yield bit clear costs", "stalls 4 to 11", "cycles", middle,
			     more[0], more[n - 1], bench_clock(bench_find(samples, "switch")));
	}
}

static void derive_waits(const struct bench_series *series, struct bench_figures *figures)
{
	double own[BARRIERS], other[WAITS], most = 0, least = INFINITY;
	uint32_t nown = 0, nother = 0;

	for (uint32_t i = 0; series && i < series->n && i < WAITS; i++) {
		const struct bench_point *p = series->point + i;
		double v = bench_median(p);

		if (!(v > 0))
			continue;
		if (p->x == p->y && nown < BARRIERS) {
			own[nown++] = v;
			least = fmin(least, v);
		} else if (p->x != p->y) {
			other[nother++] = v;
			most = fmax(most, v);
		}
	}
	if (nown < BARRIERS || nother < WAITS - BARRIERS)
		return;
	bench_figure(figures, "wait for a load's barrier", "its own", "cycles",
		     code_middle(own, nown), least, NAN, bench_clock(series));
	bench_figure(figures, "wait for a load's barrier", "another", "cycles",
		     code_middle(other, nother), NAN, most, bench_clock(series));
	if (least > 2 * most)
		bench_note(figures, "Each of the barriers 0 to 5 is waited for alone: of 36 pairs "
				    "the 6 of a load's own are long.");
	else
		bench_note(figures, "Not all of the barriers 0 to 5 can be told from each other.");
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	static const char *const what[] = {"yield bit set", "yield bit clear", "@!PT"};
	const struct bench_series *all = bench_find(samples, "instructions");
	const struct bench_series *set = bench_find(samples, "with bits 126 or 127 set");

	(void)gpu;
	for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		const struct bench_series *series = bench_find(samples, plans[i].name);

		if (series && code_at(series, 1, NAN))
			derive_stalls(series, what[i], figures);
	}
	derive_yield(samples, figures);
	derive_waits(bench_find(samples, "wait"), figures);
	if (!all || !set || !all->n || !set->n || !(bench_median(all->point) > 0))
		return;
	if (bench_median(set->point) > 0)
		bench_note(figures, "The two highest bits of %.0f of %.0f words of code are not 0.",
			   bench_median(set->point), bench_median(all->point));
	else
		bench_note(figures, "The two highest bits of all %.0f words of code are 0.",
			   bench_median(all->point));
}

BENCH(bench_control) = {
	.name = "control",
	.number = "M1 M2 M3",
	.what = "what stalls, the yield bit, predicates and barriers cost",
	.measure = measure,
	.derive = derive,
};
