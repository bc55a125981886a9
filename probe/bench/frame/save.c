/* SPDX-License-Identifier: MIT */
/*
 * Saves and loads raw samples as text, one item a line, so that figures can be derived again
 * without a GPU. Fields that may contain blanks are separated by tabs:
 *
 *	nvsnoop-bench 1
 *	name NVIDIA H200 ...          one line for each property of the GPU
 *	bench l1-latency
 *	series NAME<tab>X<tab>Y<tab>UNIT
 *	point X Y VALUE/MHZ ...       - if unknown
 *	missing A sentence.
 *	end
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"

#define POINTS_MAX (1u << 20) /* limit for a file */
#define SERIES_MAX 4096

static const char first_line[] = "nvsnoop-bench 1";

/* Writes the shortest text that reads back as the same number. */
static void save_number(FILE *f, char before, double v)
{
	char text[40] = "-";

	for (int digits = 6; isfinite(v) && digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	fprintf(f, "%c%s", before, text);
}

static void save_series(FILE *f, const struct bench_series *s)
{
	fprintf(f, "series %s\t%s\t%s\t%s\n", s->name, s->x ? s->x : "", s->y ? s->y : "", s->unit);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct bench_point *p = &s->point[i];

		fputs("point", f);
		save_number(f, ' ', p->x);
		save_number(f, ' ', p->y);
		for (uint32_t k = 0; k < p->n; k++) {
			save_number(f, ' ', p->value[k]);
			save_number(f, '/', isfinite(p->mhz[k]) ? p->mhz[k] : p->sm_mhz);
		}
		fputc('\n', f);
	}
}

void bench_save_samples(FILE *f, const struct bench_sample_set *saved)
{
	const struct bench_gpu *g = &saved->gpu;

	fprintf(f, "%s\n", first_line);
#define SAVE_TEXT(text, size) fprintf(f, #text " %s\n", g->text);
	BENCH_GPU_TEXTS(SAVE_TEXT)
#undef SAVE_TEXT
#define SAVE(fact) fprintf(f, #fact " %llu\n", (unsigned long long)g->fact);
	BENCH_GPU_FACTS(SAVE)
#undef SAVE
	for (uint32_t i = 0; i < saved->n; i++) {
		const struct bench_samples *s = &saved->of[i];

		fprintf(f, "bench %s\n", s->bench);
		for (uint32_t k = 0; k < s->n; k++)
			save_series(f, &s->series[k]);
		for (uint32_t k = 0; k < s->nmissing; k++)
			fprintf(f, "missing %s\n", s->missing[k]);
	}
	fprintf(f, "end\n");
}

struct loading {
	struct bench_sample_set *saved;
	struct bench_samples *samples;
	struct bench_series *series;
	uint32_t points;
};

/* Parses a finite number or "-" and advances *TEXT. */
static bool parse_number(char **text, double *v)
{
	char *end;

	if (**text == '-' && (!(*text)[1] || strchr(" /", (*text)[1]))) {
		*v = NAN;
		++*text;
		return true;
	}
	if (!isdigit((unsigned char)**text) && **text != '-')
		return false;
	*v = strtod(*text, &end);
	if (end == *text || !isfinite(*v))
		return false;
	*text = end;
	return true;
}

static const char *parse_point(struct loading *l, char *text)
{
	struct bench_point *p;
	double x, y, v, mhz;

	if (!l->series)
		return "a point without a series";
	if (l->points++ == POINTS_MAX)
		return "too many points";
	if (!parse_number(&text, &x) || *text++ != ' ' || !parse_number(&text, &y))
		return "a point must be two numbers and samples";
	p = bench_point(l->series, x, y);
	while (*text) {
		if (*text++ != ' ' || !parse_number(&text, &v) || *text++ != '/' ||
		    !parse_number(&text, &mhz))
			return "a sample must be VALUE/MHZ";
		if (p->n == BENCH_REPEATS)
			return "too many samples";
		p->mhz[p->n] = mhz;
		p->value[p->n++] = v;
	}
	bench_point_clock(p);
	return NULL;
}

static const char *parse_series(struct loading *l, char *text)
{
	char *field[4] = {text, NULL, NULL, NULL};

	if (!l->samples)
		return "a series without a benchmark";
	for (int i = 1; i < 4; i++) {
		field[i] = strchr(field[i - 1], '\t');
		if (!field[i])
			return "a series must be four fields separated by tabs";
		*field[i]++ = 0;
	}
	if (strchr(field[3], '\t') || l->samples->n == SERIES_MAX)
		return "a series with too many fields, or too many series";
	if (bench_find_series(l->samples, field[0]))
		return "a duplicate series";
	l->series = bench_series(l->samples, field[0], field[1], *field[2] ? field[2] : NULL,
				 field[3]);
	return NULL;
}

static const char *parse_bench(struct loading *l, const char *text)
{
	const struct bench *b = bench_find_benchmark(text);

	if (!b)
		return "an unknown benchmark";
	for (uint32_t i = 0; i < l->saved->n; i++)
		if (!strcmp(l->saved->of[i].bench, text))
			return "a duplicate benchmark";
	l->samples = bench_sample_set_add(l->saved, b);
	l->series = NULL;
	return NULL;
}

static const char *parse_text(char *to, size_t room, const char *text)
{
	if (strlen(text) >= room)
		return "too long";
	memcpy(to, text, strlen(text) + 1);
	return NULL;
}

static const char *parse_property(uint64_t *to, const char *text)
{
	char *end;

	errno = 0;
	*to = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno ? NULL : "not a number";
}

static const char *parse_line(struct loading *l, char *line)
{
	struct bench_gpu *g = &l->saved->gpu;
	char *text = strchr(line, ' ');

	if (!text)
		return "a line that is not understood";
	*text++ = 0;
	if (!strcmp(line, "point"))
		return parse_point(l, text);
	if (!strcmp(line, "series"))
		return parse_series(l, text);
	if (!strcmp(line, "bench"))
		return parse_bench(l, text);
	if (!strcmp(line, "missing")) {
		if (!l->samples)
			return "a missing line without a benchmark";
		bench_add_missing(l->samples, "%s", text);
		return NULL;
	}
#define TAKE_TEXT(fact, size)     \
	if (!strcmp(line, #fact)) \
		return parse_text(g->fact, size, text);
	BENCH_GPU_TEXTS(TAKE_TEXT)
#undef TAKE_TEXT
#define TAKE(fact)                \
	if (!strcmp(line, #fact)) \
		return parse_property(&g->fact, text);
	BENCH_GPU_FACTS(TAKE)
#undef TAKE
	return "a line that is not understood";
}

/* Returns true if LINE can be put into tables and pages unchanged. */
static bool is_plain(const char *line)
{
	for (; *line; line++)
		if (((unsigned char)*line < ' ' && *line != '\t') || *line == 127 || *line == '|' ||
		    *line == '"')
			return false;
	return true;
}

char *bench_next_line(const char **text, const char *end, const char **wrong)
{
	const char *stop = memchr(*text, '\n', (size_t)(end - *text));
	size_t n = (size_t)((stop ? stop : end) - *text);
	char *own = probe_copy(*text, n);

	if (strlen(own) != n || !stop)
		*wrong = "the file is truncated, or not text";
	*text = stop ? stop + 1 : end;
	return own;
}

bool bench_load_samples(struct bench_sample_set *saved, const char *text, size_t size,
			char why[160])
{
	struct loading l = {saved, NULL, NULL, 0};
	const char *end = text + size, *wrong = NULL;
	uint32_t line = 0;
	bool ended = false;

	*saved = (struct bench_sample_set){.n = 0};
	while (text < end && !wrong && !ended) {
		char *own = bench_next_line(&text, end, &wrong);

		line++;
		ended = !strcmp(own, "end") && line > 1;
		if (line == 1 && !wrong)
			wrong = strcmp(own, first_line) ? "not samples that --save wrote" : NULL;
		else if (!ended && !wrong)
			wrong = strncmp(own, "missing ", 8) && !is_plain(own) ? "invalid characters"
									      : parse_line(&l, own);
		free(own);
	}
	if (!wrong && !ended)
		wrong = line ? "the file is truncated: no \"end\""
			     : "not samples that --save wrote";
	if (!wrong && !*saved->gpu.name)
		wrong = "the GPU's name is missing";
	if (!wrong && text != end)
		wrong = "text after \"end\"";
	if (wrong) {
		snprintf(why, 160, "line %u: %s", line ? line : 1, wrong);
		bench_sample_set_free(saved);
	}
	return !wrong;
}
