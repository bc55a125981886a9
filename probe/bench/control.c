/* SPDX-License-Identifier: MIT */
/*
 * What the control bits of an instruction do, as far as time shows it: FFMAs of one warp, their
 * stall cycles and their yield bit changed, and their predicate to one that is never true. FFMAs of
 * eight sums, whose results are not looked at. Stalls above 11 are not tried with the yield bit
 * set, which NVIDIA's assembler never writes. Of the words themselves: the bits that are always 0.
 * About 0.2 s.
 */
#include "probe/bench/timed.h"
#include "sass/sass.h"
#include <math.h>
#include <stdio.h>

enum { STALLS = 15, LENGTH = 64, AT = 1024, FFMA = 0x023 };

struct plan {
	const char *name;
	uint32_t most; /* stalls 1 to this */
	bool yield, never;
};
static const struct plan plans[] = {
	{"stay", 11, true, false},
	{"switch", STALLS, false, false},
	{"never", 11, true, true},
};

static int patch(uint64_t (*word)[2], uint32_t n, void *arg)
{
	const struct plan *plan = arg;
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	for (uint32_t k = 1; k <= plan->most; k++, first = last) {
		if (!code_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, LENGTH, &first, &last))
			return -1;
		for (uint32_t i = first; i < last; i++) {
			code_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != FFMA)
				continue;
			code_stall(word[i], k, plan->yield);
			code_reuse(word[i], 0);
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

	for (uint32_t k = 0; k < plan->most; k++)
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
		for (uint32_t k = 0; k < plan->most; k++) {
			value[k] = (struct code_value){
				.x = "stall", .unit = "cycles/FFMA", .at_x = k + 1, .at_y = NAN};
			snprintf(value[k].series, sizeof(value[k].series), "%s", plan->name);
		}
		code_measure(run, kernel, &(struct bench_launch){.block = 32},
			     AT + 8 * (STALLS + 1), value, plan->most, cycles, plan);
		bench_kernel_free(run, kernel);
	}
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	static const char *const what[] = {"cycles a stall", "cycles a stall, yield bit clear",
					   "cycles a stall, @!PT"};
	const struct bench_series *all = bench_find(samples, "instructions");
	const struct bench_series *set = bench_find(samples, "with bits 126 or 127 set");
	double sum = 0, most = 0;
	unsigned both = 0;

	(void)gpu;
	for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		const struct bench_series *series = bench_find(samples, plans[i].name);
		double slope = NAN, intercept;

		if (!series || !code_at(series, 1, NAN))
			continue;
		bench_line(series, &slope, &intercept);
		bench_figure(figures, what[i], "", "cycles", slope, NAN, NAN, NAN);
		bench_picture(figures, "control", "FFMA by its stall", series, false, false);
	}
	for (unsigned k = 3; k <= 11; k++) {
		const struct bench_point *stay = code_at(bench_find(samples, "stay"), k, NAN);
		const struct bench_point *other = code_at(bench_find(samples, "switch"), k, NAN);

		if (!stay || !other)
			continue;
		both++;
		sum += bench_median(other) - bench_median(stay);
		most = fmax(most, bench_median(other) - bench_median(stay));
	}
	if (both)
		bench_figure(figures, "yield bit clear", "one warp", "cycles", sum / both, NAN,
			     most, NAN);
	if (all && set && all->n && set->n && bench_median(all->point) > 0)
		bench_note(figures,
			   "Bits 127 and 126 are set in %.0f of %.0f instructions of the driver's "
			   "assembler.",
			   bench_median(set->point), bench_median(all->point));
}

BENCH(bench_control) = {
	.name = "control",
	.number = "M1 M2 M3",
	.what = "what stall cycles, the yield bit and a false predicate cost",
	.measure = measure,
	.derive = derive,
};
