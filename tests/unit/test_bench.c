/* SPDX-License-Identifier: MIT */
/* LINK: bench */
/* Microbenchmarks' points and figures, and what curves say: exact ones, and with noise. */
#include <math.h>
#include "probe/bench/inside.h"
#include "tests/unit/expect.h"

/* The same in each run. */
static double noise(void)
{
	static uint64_t state = 20261123;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / (double)(1ull << 53) * 2 - 1;
}

static void points(void)
{
	struct bench_samples samples = {.bench = "x"};
	struct bench_series *s = bench_series(&samples, "FFMA", "length", NULL, "cycles");
	struct bench_point *p = bench_point(s, 256, NAN);

	EXPECT(isnan(bench_median(p)) && isnan(bench_least(p)) && isnan(p->sm_mhz));
	for (int i = 0; i < BENCH_REPEATS; i++)
		bench_value(p, 4 + (i == 3) * 100 + (i == 5 ? NAN : 0));
	EXPECT(bench_median(p) == 4 && bench_least(p) == 4 && bench_most(p) == 104);
	EXPECT(bench_series(&samples, "FFMA", "length", NULL, "cycles") == s && samples.n == 1);
	EXPECT(!bench_find(&samples, "DFMA"));
	bench_samples_free(&samples);
}

/* 33 to 238 KiB, a climb of three points, 260 to 25 MiB, a climb, 600. */
static void plateaus(double share)
{
	struct bench_samples samples = {.bench = "x"};
	struct bench_series *s = bench_series(&samples, "random", "bytes", NULL, "cycles");
	struct bench_plateau p[8];
	uint32_t n;

	for (int i = 0; i < 60; i++) {
		double x = 1024 * exp2(i / 2.0), v;
		struct bench_point *point = bench_point(s, x, NAN);

		v = i < 16   ? 33
		    : i < 19 ? 33 + (i - 15) * 57
		    : i < 30 ? 261
		    : i < 33 ? 261 + (i - 29) * 85
			     : 600;
		if (i == 7)
			v = 90; /* a stray one */
		for (int k = 0; k < BENCH_REPEATS; k++)
			bench_value(point, v * (1 + share * noise()));
	}
	n = bench_plateaus(s, 0.15, 4, p, 8);
	EXPECT_EQ(n, 3);
	EXPECT(n == 3 && p[0].first == 0 && p[0].last == 15 && p[1].last == 29);
	EXPECT(n == 3 && fabs(p[0].value - 33) < 1 && fabs(p[1].value - 261) < 4);
	EXPECT(n == 3 && fabs(p[2].value - 600) < 9 && p[2].last == 59);
	EXPECT_EQ(bench_plateaus(s, 0.15, 4, p, 2), 2);
	bench_samples_free(&samples);
}

static void heaps(void)
{
	double v[132], low, high, border;

	for (int i = 0; i < 132; i++)
		v[i] = (i % 3 ? 208 : 266) + 4 * noise();
	border = bench_two_heaps(v, 132, &low, &high);
	EXPECT(border > 212 && border < 262 && fabs(low - 208) < 1 && fabs(high - 266) < 1);
	for (int i = 0; i < 132; i++)
		v[i] = 208 + 4 * noise();
	EXPECT(isnan(bench_two_heaps(v, 132, &low, &high)) && isnan(low));
	EXPECT(isnan(bench_two_heaps(v, 0, &low, &high)));
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	bench_figure_point(figures, "FFMA", "", &samples->series[0], &samples->series[0].point[0]);
	bench_published(figures, "FFMA", "", "V100", 4);
	bench_note(figures, "%s: one | line", gpu->name);
}

static void figures(void)
{
	static const struct bench bench = {"latencies", "M21", "of instructions", .derive = derive};
	struct bench_samples samples = {.bench = "latencies"};
	struct bench_figures f = {.gpu = {.name = "NVIDIA X"}};
	const struct bench_figure *found;

	bench_value(bench_point(bench_series(&samples, "FFMA", "n", NULL, "cycles"), 1, NAN), 4);
	bench_missing(&samples, "no\nDFMA");
	bench_derive(&f, &bench, &samples);
	found = bench_figure_find(&f, "FFMA", NULL);
	EXPECT(found && found->value == 4 && !strcmp(found->unit, "cycles"));
	EXPECT(f.nnote == 1 && f.nmissing == 1 && f.npublished == 1);
	EXPECT_STR(f.note[0].text, "NVIDIA X: one   line");
	EXPECT_STR(f.missing[0].text, "no DFMA");
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

int main(void)
{
	points();
	plateaus(0);
	plateaus(0.02);
	heaps();
	figures();
	return expect_done();
}
