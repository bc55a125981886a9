/* SPDX-License-Identifier: MIT */
/*
 * Measures register banks: FFMAs with two fixed sources and the third going through all registers,
 * patched into assembled code. Those that read three registers of one bank are slower. All FFMAs of
 * a segment write the register that its last one wrote, and nothing else that is used. Takes about
 * 1 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include <math.h>

enum { REGISTERS = 128, LENGTH = 64, AT = 1024, FFMA = 0x023 };

struct bank_test {
	const char *name;
	uint8_t a, b;
	uint8_t reuse; /* mask */
};
static const struct bank_test plans[] = {
	{"R97, R99, RX", 97, 99, 0},
	{"R98, R99, RX", 98, 99, 0},
	{"R96, R98, RX", 96, 98, 0},
	{"R96, R100, RX", 96, 100, 0},
	{"R97.reuse, R99.reuse, RX", 97, 99, 3},
};

static void write_ffma(uint64_t word[2], uint8_t d, uint32_t c, const struct bank_test *plan)
{
	word[0] = 0x7223 | (uint64_t)d << 16 | (uint64_t)plan->a << 24 | (uint64_t)plan->b << 32;
	word[1] = (word[1] & ~0xffull) | c;
	code_set_stall(word, 1, true);
	code_set_reuse(word, plan->reuse);
}

static int patch_ffmas(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t first = 0, last;
	struct nvs_sass_insn insn;

	for (uint32_t k = 0; k < REGISTERS; k++, first = last) {
		uint8_t d = 0;

		if (!code_find_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, LENGTH, &first,
				       &last))
			return -1;
		for (uint32_t i = first; i < last; i++) {
			code_decode_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != FFMA)
				continue;
			if (insn.opcode != 0x223 || insn.predicate != 7 || insn.negated)
				return -1; /* has operands other than registers */
			d = (uint8_t)nvs_sass_insn_bits(&insn, 16, 8);
		}
		code_set_stall(word[first], 2, true); /* as between two consecutive clock reads */
		for (uint32_t i = first; i < last; i++) {
			code_decode_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) == FFMA)
				write_ffma(word[i], d, k, arg);
		}
	}
	return 0;
}

/* ---- uniform registers ---- */

enum { UNIFORM = 63, SPARE = 62, UIADD3 = 0x090 };

static const struct bank_test uniform_plans[] = {
	{"UR1, UR3, URX", 1, 3, 0},
	{"UR2, UR3, URX", 2, 3, 0},
	{"UR0, UR2, URX", 0, 2, 0},
	{"UR0, UR4, URX", 0, 4, 0},
};

/* UIADD3 UR62, URA, URB, URX. */
static void write_uiadd3(uint64_t word[2], uint32_t x, const struct bank_test *plan)
{
	word[0] = 0x7290 | (uint64_t)SPARE << 16 | (uint64_t)plan->a << 24 |
		  (uint64_t)plan->b << 32;
	word[1] = (word[1] & ~((1ull << 41) - 1)) | 0x0fffe000 | x;
	code_set_stall(word, 1, true);
	code_set_reuse(word, 0);
}

/* Returns true if WORD reads the registers of the plan and X, and writes only the spare one. */
static bool is_uiadd3(const uint64_t word[2], uint32_t x, const struct bank_test *plan)
{
	struct nvs_sass_insn_use use;
	struct nvs_sass_insn insn;

	code_decode_insn(word, &insn);
	nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &use);
	return nvs_sass_insn_op(&insn) == UIADD3 && use.known &&
	       use.read.uniform == (1ull << plan->a | 1ull << plan->b | 1ull << x) &&
	       use.written.uniform == 1ull << SPARE;
}

static int patch_uiadd3s(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t first = 0, last;
	struct nvs_sass_insn_use use;
	struct nvs_sass_insn insn;

	for (uint32_t i = 0; i < n; i++) {
		code_decode_insn(word[i], &insn);
		nvs_sass_insn_use(&insn, NVS_SASS_HOPPER, &use);
		if (use.known && (use.read.uniform | use.written.uniform) >> SPARE & 1)
			return -1;
	}
	for (uint32_t x = 0; x < UNIFORM; x++, first = last) {
		if (!code_find_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, LENGTH, &first,
				       &last))
			return -1;
		code_set_stall(word[first], 2, true);
		for (uint32_t i = first; i < last; i++) {
			code_decode_insn(word[i], &insn);
			if (nvs_sass_insn_op(&insn) != FFMA)
				continue;
			write_uiadd3(word[i], x, arg);
			if (!is_uiadd3(word[i], x, arg))
				return -1;
		}
	}
	return 0;
}

static void measure_uniform(struct bench_run *run)
{
	for (unsigned i = 0; i < sizeof(uniform_plans) / sizeof(*uniform_plans); i++) {
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		code_write_segments(&text, UNIFORM, LENGTH, AT);
		kernel = BENCH_KERNEL(run, &text, .name = uniform_plans[i].name, .threads = 32,
				      .patch = patch_uiadd3s,
				      .arg = (void *)(uintptr_t)(uniform_plans + i));
		if (kernel)
			code_measure_segments(run, kernel, UNIFORM, LENGTH, AT,
					      bench_series(bench_samples(run),
							   uniform_plans[i].name, "X", NULL,
							   "cycles/UIADD3"),
					      UNIFORM);
	}
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		struct bench_text text = {0};
		struct bench_kernel *kernel;

		code_write_segments(&text, REGISTERS, LENGTH, AT);
		kernel = BENCH_KERNEL(run, &text, .name = plans[i].name, .threads = 32,
				      .minregs = REGISTERS, .patch = patch_ffmas,
				      .arg = (void *)(uintptr_t)(plans + i));
		if (kernel)
			code_measure_segments(run, kernel, REGISTERS, LENGTH, AT,
					      bench_series(bench_samples(run), plans[i].name, "X",
							   NULL, "cycles/FFMA"),
					      REGISTERS);
	}
}

/* Mean of the medians of the points with X mod OF == REST. */
static double of_rest(const struct bench_series *series, unsigned rest, unsigned of)
{
	double sum = 0;
	unsigned n = 0;

	BENCH_EACH(p, series)
		if ((unsigned)p->x % of == rest && bench_median(p) > 0) {
			sum += bench_median(p);
			n++;
		}
	return n ? sum / n : NAN;
}

static bool is_slower(double a, double b)
{
	return a > 1.15 * b;
}

/* Decides by comparing three registers of one bank with two, and two with the one that remains to
 * be read with .reuse. */
static void add_notes(const struct bench_samples *samples, const double even[5],
		      const double odd[5], struct bench_figures *figures)
{
	double four[4], one = (even[4] + odd[4]) / 2, two = (even[1] + odd[1]) / 2,
			three = (odd[0] + even[2]) / 2;

	for (unsigned k = 0; k < 4; k++)
		four[k] = of_rest(bench_find_series(samples, plans[3].name), k, 4);
	if (is_slower(odd[0], even[0]) && !is_slower(odd[1], even[1]) &&
	    !is_slower(even[1], odd[1]) && is_slower(even[2], odd[2])) {
		bench_add_note(
			figures,
			"Two banks, the register's number mod 2: three sources of one bank are "
			"slower than two.");
		if (is_slower(two, one))
			bench_add_note(
				figures,
				"FFMAs that read one, two and three registers of a bank take "
				"%.2f, %.2f and %.2f cycles%s. Registers held by .reuse are not "
				"read "
				"again.",
				one, two, three,
				fabs(two - 2 * one) < 0.3 && fabs(three - 3 * one) < 0.3
					? ": a bank gives one register a cycle"
					: "");
	} else if (is_slower(four[0], four[2]))
		bench_add_note(figures, "Banks are the register's number mod 4.");
	else
		bench_add_note(figures,
			       "Three sources of one of two banks are no slower than others.");
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	double even[5], odd[5];
	bool known = true;

	for (unsigned i = 0; i < 5; i++) {
		const struct bench_series *series = bench_find_series(samples, plans[i].name);

		even[i] = of_rest(series, 0, 2);
		odd[i] = of_rest(series, 1, 2);
		if (!isnan(even[i]))
			bench_figure(figures, plans[i].name, "even X", "cycles/FFMA", even[i], NAN,
				     NAN, bench_series_clock(series));
		if (!isnan(odd[i]))
			bench_figure(figures, plans[i].name, "odd X", "cycles/FFMA", odd[i], NAN,
				     NAN, bench_series_clock(series));
		if (series)
			bench_add_plot(figures, "banks", "FFMA R6, RA, RB, RX", series, false,
				       false);
		known = known && (i == 4 || (!isnan(even[i]) && !isnan(odd[i])));
	}
	if (known)
		add_notes(samples, even, odd, figures);
}

/* Three of one bank are slower than two, if there are banks: of number mod 2, or mod 4. */
static void derive_uniform(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	double even[4], odd[4], four[4];
	bool known = true;

	for (unsigned i = 0; i < 4; i++) {
		const struct bench_series *series = bench_find_series(samples,
								      uniform_plans[i].name);

		even[i] = of_rest(series, 0, 2);
		odd[i] = of_rest(series, 1, 2);
		known = known && !isnan(even[i]) && !isnan(odd[i]);
		if (isnan(even[i]) || isnan(odd[i]))
			continue;
		bench_figure(figures, uniform_plans[i].name, "even X", "cycles/UIADD3", even[i],
			     NAN, NAN, bench_series_clock(series));
		bench_figure(figures, uniform_plans[i].name, "odd X", "cycles/UIADD3", odd[i], NAN,
			     NAN, bench_series_clock(series));
		bench_add_plot(figures, "uniform-banks", "UIADD3 UR62, URA, URB, URX", series,
			       false, false);
	}
	for (unsigned k = 0; k < 4; k++)
		four[k] = of_rest(bench_find_series(samples, uniform_plans[3].name), k, 4);
	if (!known)
		return;
	if (is_slower(odd[0], even[0]) && is_slower(even[2], odd[2]))
		bench_add_note(figures,
			       "Two banks of uniform registers, the number mod 2: three sources of "
			       "one bank are slower.");
	else if (is_slower(four[0], four[2]))
		bench_add_note(figures,
			       "Banks of uniform registers are the register's number mod 4.");
	else if (is_slower(even[3], even[2]) && is_slower(odd[3], odd[2]))
		bench_add_note(figures,
			       "UR0 with UR4 takes %.2f cycles whatever the third register is, UR0 "
			       "with UR2 %.2f. These are no banks of three sources; the reason is "
			       "not known.",
			       even[3], even[2]);
	else
		bench_add_note(figures,
			       "Which three uniform registers are read makes no difference: "
			       "no banks are visible.");
}

BENCH(bench_uniform_banks, "uniform-banks", "M16",
      "banks of uniform registers: which three sources of a UIADD3 conflict", measure_uniform,
      derive_uniform);
BENCH(bench_banks, "banks", "M15", "banks of registers: which three sources of an FFMA conflict",
      measure_samples, derive_figures);
