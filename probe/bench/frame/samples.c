/* SPDX-License-Identifier: MIT */
/* Storage of samples: series, points, and merging of processes; also growing strings. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"

const struct bench_series *bench_find_series(const struct bench_samples *samples, const char *name)
{
	for (uint32_t i = 0; i < samples->n; i++)
		if (!strcmp(samples->series[i].name, name))
			return &samples->series[i];
	return NULL;
}

struct bench_series *bench_series(struct bench_samples *samples, const char *name, const char *x,
				  const char *y, const char *unit)
{
	struct bench_series *s = (struct bench_series *)bench_find_series(samples, name);

	if (s)
		return s;
	samples->series = probe_grow(samples->series, samples->n, sizeof(*samples->series));
	s = &samples->series[samples->n++];
	*s = (struct bench_series){.name = probe_copy(name, SIZE_MAX),
				   .x = x ? probe_copy(x, SIZE_MAX) : NULL,
				   .y = y ? probe_copy(y, SIZE_MAX) : NULL,
				   .unit = probe_copy(unit, SIZE_MAX)};
	return s;
}

struct bench_point *bench_point(struct bench_series *series, double x, double y)
{
	struct bench_point *p;

	series->point = probe_grow(series->point, series->n, sizeof(*series->point));
	p = &series->point[series->n++];
	*p = (struct bench_point){.x = x, .y = y, .sm_mhz = NAN};
	for (int i = 0; i < BENCH_REPEATS; i++)
		p->mhz[i] = NAN;
	return p;
}

struct bench_point *bench_add_point(struct bench_run *run, const char *name, const char *x,
				    const char *unit, double at)
{
	return bench_point(bench_series(bench_samples(run), name, x, NULL, unit), at, NAN);
}

const struct bench_point *bench_find_first(const struct bench_series *series)
{
	return series && series->n && series->point->n ? series->point : NULL;
}

const struct bench_point *bench_find_best(const struct bench_series *series)
{
	const struct bench_point *best = NULL;

	BENCH_EACH(p, series)
		if (!best || bench_median(p) > bench_median(best))
			best = p;
	return best;
}

void bench_add_value(struct bench_point *point, double value)
{
	if (point->n == BENCH_REPEATS)
		probe_die("a point has more than %d samples", BENCH_REPEATS);
	point->value[point->n++] = value;
}

/* Median of the finite values. */
static double median_of(const double *value, uint32_t n)
{
	double sorted[BENCH_REPEATS];
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++)
		if (isfinite(value[i]))
			sorted[m++] = value[i];
	return m ? probe_median(sorted, m) : NAN;
}

void bench_add_sample(const struct bench_run *run, struct bench_point *point, double value)
{
	bench_add_value(point, value);
	point->mhz[point->n - 1] = bench_launch_mhz(run);
	bench_point_clock(point);
}

void bench_point_clock(struct bench_point *point)
{
	point->sm_mhz = median_of(point->mhz, point->n);
}

double bench_median(const struct bench_point *point)
{
	return median_of(point->value, point->n);
}

double bench_min(const struct bench_point *point)
{
	double v = NAN;

	for (uint32_t i = 0; i < point->n; i++)
		if (isfinite(point->value[i]))
			v = fmin(v, point->value[i]);
	return v;
}

double bench_max(const struct bench_point *point)
{
	double v = NAN;

	for (uint32_t i = 0; i < point->n; i++)
		if (isfinite(point->value[i]))
			v = fmax(v, point->value[i]);
	return v;
}

double bench_series_clock(const struct bench_series *series)
{
	double *mhz = probe_allocate(series->n, sizeof(*mhz)), clock;
	uint32_t n = 0;

	for (uint32_t i = 0; i < series->n; i++)
		if (isfinite(series->point[i].sm_mhz))
			mhz[n++] = series->point[i].sm_mhz;
	clock = n ? probe_median(mhz, n) : NAN;
	free(mhz);
	return clock;
}

void bench_add_missing(struct bench_samples *samples, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = probe_vformat(format, ap);
	va_end(ap);
	samples->missing = probe_grow(samples->missing, samples->nmissing,
				      sizeof(*samples->missing));
	/* A driver's log may have several lines: join them. */
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	samples->missing[samples->nmissing++] = text;
}

static struct bench_point *same_point(struct bench_series *series, const struct bench_point *like)
{
	for (uint32_t i = 0; i < series->n; i++)
		if (series->point[i].x == like->x &&
		    (series->point[i].y == like->y || isnan(like->y)))
			return &series->point[i];
	return bench_point(series, like->x, like->y);
}

static bool has_missing(const struct bench_samples *samples, const char *text)
{
	for (uint32_t i = 0; i < samples->nmissing; i++)
		if (!strcmp(samples->missing[i], text))
			return true;
	return false;
}

/* Adds value B to mean A of N values. */
static double mean_with(double a, unsigned n, double b)
{
	return a + (b - a) / (n + 1);
}

void bench_samples_merge(struct bench_samples *into, const struct bench_samples *from,
			 unsigned process)
{
	unsigned at = process % BENCH_REPEATS, rounds = process / BENCH_REPEATS;

	for (uint32_t i = 0; i < from->n; i++) {
		const struct bench_series *s = &from->series[i];
		struct bench_series *to = bench_series(into, s->name, s->x, s->y, s->unit);

		for (uint32_t k = 0; k < s->n; k++) {
			struct bench_point *p = same_point(to, &s->point[k]);

			if (!s->point[k].n)
				continue;
			if (at < p->n) {
				p->value[at] = mean_with(p->value[at], rounds,
							 bench_median(&s->point[k]));
			} else {
				bench_add_value(p, bench_median(&s->point[k]));
				p->mhz[p->n - 1] = s->point[k].sm_mhz;
			}
			bench_point_clock(p);
		}
	}
	for (uint32_t i = 0; i < from->nmissing; i++)
		if (!has_missing(into, from->missing[i]))
			bench_add_missing(into, "%s", from->missing[i]);
}

void bench_samples_free(struct bench_samples *samples)
{
	for (uint32_t i = 0; i < samples->n; i++) {
		free(samples->series[i].name);
		free(samples->series[i].x);
		free(samples->series[i].y);
		free(samples->series[i].unit);
		free(samples->series[i].point);
	}
	for (uint32_t i = 0; i < samples->nmissing; i++)
		free(samples->missing[i]);
	free(samples->series);
	free(samples->missing);
	*samples = (struct bench_samples){.bench = samples->bench};
}

struct bench_samples *bench_sample_set_add(struct bench_sample_set *saved,
					   const struct bench *bench)
{
	saved->of = probe_grow(saved->of, saved->n, sizeof(*saved->of));
	saved->of[saved->n] = (struct bench_samples){.bench = bench->name};
	return &saved->of[saved->n++];
}

void bench_sample_set_free(struct bench_sample_set *saved)
{
	for (uint32_t i = 0; i < saved->n; i++)
		bench_samples_free(&saved->of[i]);
	free(saved->of);
	saved->of = NULL;
	saved->n = 0;
}

void bench_emit(struct bench_text *text, const char *format, ...)
{
	for (int pass = 0;; pass++) {
		size_t left = text->room - text->size;
		va_list ap;
		int n;

		va_start(ap, format);
		n = vsnprintf(text->data ? text->data + text->size : NULL, left, format, ap);
		va_end(ap);
		if (n < 0 || pass == 2)
			probe_die("out of memory");
		if ((size_t)n < left) {
			text->size += (size_t)n;
			return;
		}
		text->room = (text->room + (size_t)n + 256) * 2;
		text->data = realloc(text->data, text->room);
		if (!text->data)
			probe_die("out of memory");
	}
}

const char *bench_format(const char *format, ...)
{
	static char **kept;
	static uint32_t n;
	va_list ap;

	kept = probe_grow(kept, n, sizeof(*kept));
	va_start(ap, format);
	kept[n] = probe_vformat(format, ap);
	va_end(ap);
	return kept[n++];
}

const char *bench_format_bytes(double bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB"};
	unsigned k = 0;

	for (; bytes >= 1024 && k < 3; k++)
		bytes /= 1024;
	return bench_format("%.4g %s", bytes, unit[k]);
}

void bench_text_free(struct bench_text *text)
{
	free(text->data);
	*text = (struct bench_text){NULL, 0, 0};
}
