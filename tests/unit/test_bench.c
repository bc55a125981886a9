/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/* Microbenchmarks: points and figures, properties of curves, with and without noise; saved samples;
 * and cards, complete, truncated and changed. */
#include <math.h>
#include <stdlib.h>
#include "probe/bench/frame/internal.h"
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

	EXPECT(isnan(bench_median(p)) && isnan(bench_min(p)) && isnan(p->sm_mhz));
	for (int i = 0; i < BENCH_REPEATS; i++)
		bench_add_value(p, 4 + (i == 3) * 100 + (i == 5 ? NAN : 0));
	EXPECT(bench_median(p) == 4 && bench_min(p) == 4 && bench_max(p) == 104);
	EXPECT(bench_series(&samples, "FFMA", "length", NULL, "cycles") == s && samples.n == 1);
	EXPECT(!bench_find_series(&samples, "DFMA"));
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
			bench_add_value(point, v * (1 + share * noise()));
	}
	n = bench_find_plateaus(s, 0.15, 4, p, 8);
	EXPECT_EQ(n, 3);
	EXPECT(n == 3 && p[0].first == 0 && p[0].last == 15 && p[1].last == 29);
	EXPECT(n == 3 && fabs(p[0].value - 33) < 1 && fabs(p[1].value - 261) < 4);
	EXPECT(n == 3 && fabs(p[2].value - 600) < 9 && p[2].last == 59);
	EXPECT_EQ(bench_find_plateaus(s, 0.15, 4, p, 2), 2);
	bench_samples_free(&samples);
}

static void heaps(void)
{
	double v[132], low, high, border;

	for (int i = 0; i < 132; i++)
		v[i] = (i % 3 ? 208 : 266) + 4 * noise();
	border = bench_split_clusters(v, 132, &low, &high);
	EXPECT(border > 212 && border < 262 && fabs(low - 208) < 1 && fabs(high - 266) < 1);
	for (int i = 0; i < 132; i++)
		v[i] = 208 + 4 * noise();
	EXPECT(isnan(bench_split_clusters(v, 132, &low, &high)) && isnan(low));
	EXPECT(isnan(bench_split_clusters(v, 0, &low, &high)));
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	bench_add_point_figure(figures, "FFMA", "", &samples->series[0],
			       &samples->series[0].point[0]);
	bench_add_published(figures, "FFMA", "", "V100", 4);
	bench_add_note(figures, "%s: one | line", gpu->name);
}

static void figures(void)
{
	static const struct bench bench = {"latencies", "M21", "of instructions", .derive = derive};
	struct bench_samples samples = {.bench = "latencies"};
	struct bench_figures f = {.gpu = {.name = "NVIDIA X"}};
	const struct bench_figure *found;

	bench_add_value(bench_point(bench_series(&samples, "FFMA", "n", NULL, "cycles"), 1, NAN),
			4);
	bench_add_missing(&samples, "no\nDFMA");
	bench_derive_figures(&f, &bench, &samples);
	found = bench_figure_find(&f, "FFMA", NULL);
	EXPECT(found && found->value == 4 && !strcmp(found->unit, "cycles"));
	EXPECT(f.nnote == 1 && f.nmissing == 1 && f.npublished == 1);
	EXPECT_STR(f.note[0].text, "NVIDIA X: one   line");
	EXPECT_STR(f.missing[0].text, "no DFMA");
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

/* Every benchmark's name serves: nothing is derived of these samples but by those who know them. */
static void fill(struct bench_sample_set *saved)
{
	struct bench_samples *samples = bench_sample_set_add(saved, bench_list[0]);
	struct bench_series *s = bench_series(samples, "empty bracket", "", NULL, "cycles");

	saved->gpu = (struct bench_gpu){.name = "NVIDIA X",
					.driver = "1.2",
					.date = "2026-11-23",
					.sms = 132,
					.boost_khz = 1980000};
	for (int i = 0; i < 3; i++) {
		struct bench_point *p = bench_point(s, i ? 0.1 * i : 0, i == 1 ? NAN : -i);

		for (int k = 0; k < BENCH_REPEATS - i; k++) {
			bench_add_value(p, k == 4 ? NAN : 16 + k / 3.0);
			p->mhz[k] = 1980 - 300 * (i == 0);
		}
		bench_point_clock(p);
	}
	bench_add_missing(samples, "FFMA: \"refused\", it says");
}

static char *saved_text(const struct bench_sample_set *saved, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	bench_save_samples(f, saved);
	fclose(f);
	return text;
}

static void same(const struct bench_point *a, const struct bench_point *b)
{
	EXPECT_EQ(a->n, b->n);
	EXPECT(a->x == b->x && (a->y == b->y || (isnan(a->y) && isnan(b->y))));
	EXPECT(a->sm_mhz == b->sm_mhz);
	for (uint32_t i = 0; i < a->n && i < b->n; i++)
		EXPECT(a->value[i] == b->value[i] || (isnan(a->value[i]) && isnan(b->value[i])));
}

static void saved_and_loaded(void)
{
	struct bench_sample_set saved = {.n = 0}, loaded;
	char why[160] = "", *text, *again;
	size_t size, size2;

	fill(&saved);
	text = saved_text(&saved, &size);
	EXPECT(bench_load_samples(&loaded, text, size, why));
	EXPECT_STR(why, "");
	if (loaded.n == 1 && loaded.of[0].n == 1 && loaded.of[0].series[0].n == 3)
		for (int i = 0; i < 3; i++)
			same(&loaded.of[0].series[0].point[i], &saved.of[0].series[0].point[i]);
	else
		EXPECT(!"as much as was saved");
	again = saved_text(&loaded, &size2);
	EXPECT(size == size2 && !memcmp(text, again, size));
	bench_sample_set_free(&loaded);
	free(again);
	/* Cut anywhere it is refused, and says where. */
	for (size_t n = 0; n < size; n++) {
		char *cut = malloc(n + 1); /* so that a byte too far is seen */

		memcpy(cut, text, n);
		EXPECT(!bench_load_samples(&loaded, cut, n, why) && strstr(why, "line "));
		free(cut);
	}
	free(text);
	bench_sample_set_free(&saved);
}

static void broken_samples(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"nvsnoop-bench 2\nend\n",
		"nvsnoop-bench 1\nend\nmore\n",
		"nvsnoop-bench 1\nbench no-such-one\nend\n",
		"nvsnoop-bench 1\nsms -1\nend\n",
		"nvsnoop-bench 1\nsms 99999999999999999999999\nend\n",
		"nvsnoop-bench 1\nseries a\tb\t\tc\nend\n",
		"nvsnoop-bench 1\npoint 0 0 1/1\nend\n",
		"nvsnoop-bench 1\nname a|b\nend\n",
		"nvsnoop-bench 1\nmissing a\nend\n",
		"nvsnoop-bench 1\nwhat\nend\n",
	};
	static const char *const series[] = {
		"series a\tb\tc\nend\n",
		"series a\tb\tc\td\te\nend\n",
		"series a\tb\t\tc\nseries a\tb\t\tc\nend\n",
		"series a\tb\t\tc\npoint 0\nend\n",
		"series a\tb\t\tc\npoint 0 0 1\nend\n",
		"series a\tb\t\tc\npoint 0 0 1/\nend\n",
		"series a\tb\t\tc\npoint 0 0 inf/1\nend\n",
		"series a\tb\t\tc\npoint 0 0 1e999/1\nend\n",
		("series a\tb\t\tc\npoint 0 0 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 "
		 "1/1\nend\n"),
	};
	struct bench_sample_set loaded;
	char why[160], text[512];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT(!bench_load_samples(&loaded, bad[i], strlen(bad[i]), why));
	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		snprintf(text, sizeof(text), "nvsnoop-bench 1\nbench %s\n%s", bench_list[0]->name,
			 series[i]);
		EXPECT(!bench_load_samples(&loaded, text, strlen(text), why));
	}
}

/* The figures of SAVED, whose first series' first point is taken. */
static void figures_of(struct bench_figures *f, const struct bench_sample_set *saved, double more)
{
	*f = (struct bench_figures){.gpu = saved->gpu, .bench = bench_list[0]};
	bench_figure(f, "L1 hit", "", "cycles", 33 * more, 32.5 * more, 33.5 * more, 1980);
	bench_figure(f, "L2", "60 MiB", "GB/s", 5000 / more, 4900 / more, 5100 / more, 1400);
	bench_figure(f, "misses", "", "%", 0, 0, 0, NAN);
	bench_figure(f, "not known", "", "cycles", NAN, NAN, NAN, NAN);
}

/* Of one card, or of a second one, MORE, too. */
static char *said_of_two(const struct bench_figures *f, const struct bench_sample_set *saved,
			 const char *card, size_t size, const char *more, size_t more_size,
			 int *status)
{
	struct bench_cards cards = {.n = 0};
	char *text = NULL, why[160];
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!bench_cards_add(&cards, f->gpu.name, card, size, why) ||
	    (more && !bench_cards_add(&cards, f->gpu.name, more, more_size, why)) || !cards.same)
		*status = 2;
	else
		*status = bench_check_cards(out, f, saved, &cards);
	if (!cards.same)
		fputs(cards.other, out);
	bench_cards_free(&cards);
	fclose(out);
	return text;
}

static char *said_of(const struct bench_figures *f, const struct bench_sample_set *saved,
		     const char *card, size_t size, int *status)
{
	return said_of_two(f, saved, card, size, NULL, 0, status);
}

/* Of several cards of a product the interval covers all of them. */
static void more_cards(const struct bench_figures *f, const struct bench_sample_set *saved,
		       const char *card, size_t size)
{
	struct bench_figures slower, between;
	char *second = NULL, *said;
	size_t n;
	FILE *out = open_memstream(&second, &n);
	int status;

	figures_of(&slower, saved, 1.2);
	bench_print_card(out, &slower, saved);
	fclose(out);
	figures_of(&between, saved, 1.1);
	said = said_of(&between, saved, card, size, &status);
	EXPECT(status == 1 &&
	       strstr(said, "This GPU reaches 92 % of what others of its kind do in "));
	free(said);
	said = said_of_two(&between, saved, card, size, second, n, &status);
	EXPECT(status == 0 && strstr(said, "minimum to maximum of 2 cards, widened"));
	EXPECT(strstr(said,
		      "This GPU is as fast as others of its kind in all that was measured.\n"));
	free(said);
	/* The slower one against the faster: cycles and GB/s both count. */
	said = said_of(&slower, saved, card, size, &status);
	EXPECT(status == 1 &&
	       strstr(said, "This GPU reaches 85 % of what others of its kind do in "));
	EXPECT(strstr(said, ", the slowest of 2 such figures.\n"));
	free(said);
	free(second);
	bench_figures_free(&slower);
	bench_figures_free(&between);
}

static void cards(void)
{
	struct bench_sample_set saved = {.n = 0};
	struct bench_figures f, other;
	char *card = NULL, *said;
	size_t size;
	FILE *out;
	int status;

	fill(&saved);
	figures_of(&f, &saved, 1);
	out = open_memstream(&card, &size);
	bench_print_card(out, &f, &saved);
	fclose(out);
	EXPECT(strstr(card, "# NVIDIA X, by nvsnoop-probe bench\n\n2026-11-23; driver 1.2"));
	EXPECT(strstr(card, "| L1 hit |  | cycles | 33 | 32.5 | 33.5 | 1980 |\n"));
	EXPECT(strstr(card, "| L2 | 60 MiB | GB/s | 5000 | 4900 | 5100 | 1400 (below boost) |\n"));
	EXPECT(strstr(card, "| not known |  | cycles | - | - | - | - |\n"));
	said = said_of(&f, &saved, card, size, &status);
	EXPECT(status == 0 && !strncmp(said, "All 3 figures are within their interval.\n", 41));
	free(said);
	figures_of(&other, &saved, 1.03); /* within what an interval is widened by */
	said = said_of(&other, &saved, card, size, &status);
	EXPECT_EQ(status, 0);
	free(said);
	bench_figures_free(&other);
	figures_of(&other, &saved, 1.1);
	said = said_of(&other, &saved, card, size, &status);
	EXPECT_EQ(status, 1);
	EXPECT(strstr(said, "L1 hit is 36.3 cycles, 8.4 % above the card's 32.5 to 33.5; "
			    "SM clock 1980 MHz, the card's 1980.\n"));
	EXPECT(strstr(said, "L2, 60 MiB is 4545 GB/s, 7.2 % below the card's 4900 to 5100; "
			    "SM clock 1400 MHz, the card's 1400.\n"));
	EXPECT(strstr(said, "2 of 3 figures are outside their interval (2 slower, 0 faster).\n"));
	free(said);
	bench_figures_free(&other);
	figures_of(&other, &saved, 0.5);
	other.figure[2].value = 90; /* %: neither */
	said = said_of(&other, &saved, card, size, &status);
	EXPECT(status == 1 &&
	       strstr(said, "3 of 3 figures are outside their interval (0 slower, 2 faster).\n"));
	EXPECT(!strstr(said, "The SM clock was"));
	free(said);
	bench_figures_free(&other);
	figures_of(&other, &saved, 1);
	other.figure[0].sm_mhz = other.figure[1].sm_mhz = 1200;
	said = said_of(&other, &saved, card, size, &status);
	EXPECT(status == 1 &&
	       strstr(said, "The SM clock was 1200 MHz, the card's 1690 (medians)."));
	free(said);
	bench_figures_free(&other);
	other = (struct bench_figures){.gpu = {.name = "NVIDIA Y"}};
	said = said_of(&other, &saved, card, size, &status);
	EXPECT(status == 2 && !strcmp(said, "NVIDIA X"));
	free(said);
	other = (struct bench_figures){.gpu = {.name = "NVIDIA X"}};
	said = said_of(&other, &saved, card, size, &status);
	EXPECT(status == 1 && strstr(said, "L1 hit is missing now; the card has 32.5 cycles.\n"));
	free(said);
	more_cards(&f, &saved, card, size);
	for (size_t n = 0; n < size; n++) { /* cut anywhere */
		char *cut = malloc(n + 1);

		memcpy(cut, card, n);
		said = said_of(&f, &saved, cut, n, &status);
		EXPECT(status == 0 || status == 2);
		free(said);
		free(cut);
	}
	for (int i = 0; i < 20000; i++) { /* changed anywhere */
		size_t at = (size_t)((noise() + 1) / 2 * (double)size);
		char old = card[at];

		card[at] = (char)(noise() * 128);
		said = said_of(&f, &saved, card, size, &status);
		EXPECT(status >= 0 && status <= 2);
		free(said);
		card[at] = old;
	}
	free(card);
	bench_figures_free(&f);
	bench_sample_set_free(&saved);
}

/* Whatever is changed, it is refused or loaded, and then all benchmarks can be asked of it. */
static void changed_samples(void)
{
	struct bench_sample_set saved = {.n = 0}, loaded;
	char why[160], *text;
	size_t size;

	fill(&saved);
	text = saved_text(&saved, &size);
	for (int i = 0; i < 20000; i++) {
		size_t at = (size_t)((noise() + 1) / 2 * (double)size);
		char old = text[at];

		text[at] = i & 1 ? "0123456789-e./ \t\n"[(int)((noise() + 1) * 8)]
				 : (char)(noise() * 128);
		if (bench_load_samples(&loaded, text, size, why)) {
			struct bench_figures f = {.gpu = loaded.gpu};

			for (uint32_t k = 0; k < loaded.n; k++)
				bench_derive_figures(&f, bench_find_benchmark(loaded.of[k].bench),
						     &loaded.of[k]);
			bench_figures_free(&f);
			bench_sample_set_free(&loaded);
		}
		text[at] = old;
	}
	EXPECT(bench_load_samples(&loaded, text, size, why));
	bench_sample_set_free(&loaded);
	free(text);
	bench_sample_set_free(&saved);
}

/* A sample of each process is its median; what is missing is said once. */
static void merged(void)
{
	struct bench_samples into = {.bench = "launch"}, from;

	for (unsigned process = 0; process < 3; process++) {
		from = (struct bench_samples){.bench = "launch"};
		for (int i = 0; i < 3; i++) {
			struct bench_series *s = bench_series(&from, "gap", "blocks", NULL, "us");

			bench_add_value(i ? &s->point[0] : bench_point(s, 4, NAN),
					process + i * 10);
		}
		bench_point(bench_series(&from, "gap", "blocks", NULL, "us"), 8, NAN);
		bench_add_missing(&from, "no clusters");
		bench_samples_merge(&into, &from, process);
		bench_samples_free(&from);
	}
	EXPECT(into.n == 1 && into.series[0].n == 2 && into.nmissing == 1);
	EXPECT(into.series[0].point[0].n == 3 && into.series[0].point[0].value[2] == 12);
	EXPECT(bench_median(&into.series[0].point[0]) == 11 && !into.series[0].point[1].n);
	/* A second round, and a third: means. */
	for (unsigned round = 1; round < 3; round++) {
		from = (struct bench_samples){.bench = "launch"};
		bench_add_value(
			bench_point(bench_series(&from, "gap", "blocks", NULL, "us"), 4, NAN),
			round == 1 ? 14 : 40);
		bench_samples_merge(&into, &from, round * BENCH_REPEATS + 2);
		bench_samples_free(&from);
	}
	EXPECT(into.series[0].point[0].n == 3 && into.series[0].point[0].value[2] == 22);
	bench_samples_free(&into);
}

/* A benchmark that runs for minutes uses a name to its end; a path can be long. */
static void formatted_texts(void)
{
	const char *type = bench_format("%s, ", "FP64"), *path = bench_format("%0300d", 1);

	for (int i = 0; i < 1000; i++)
		EXPECT(atoi(bench_format("%d", i)) == i);
	EXPECT(!strcmp(type, "FP64, ") && strlen(path) == 300);
}

int main(void)
{
	formatted_texts();
	points();
	plateaus(0);
	plateaus(0.02);
	heaps();
	figures();
	saved_and_loaded();
	broken_samples();
	changed_samples();
	cards();
	merged();
	return expect_done();
}
