/* SPDX-License-Identifier: MIT */
/* Analyzes curves: plateaus, fitted line, two clusters. Uses the medians of the points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"
#include "probe/lib/fit.h"

/* Median of N unsorted values; OWN is scratch space. */
static double median_of(const double *value, uint32_t n, double *own)
{
	memcpy(own, value, n * sizeof(*own));
	return probe_median(own, n);
}

static bool is_near(double a, double b, double share)
{
	return fabs(a - b) <= share * fmin(fabs(a), fabs(b));
}

/* Returns how many points from FIRST on share a value: each is near the median of those before it,
 * or is an outlier because the next two are near it again. */
static uint32_t run_of(const double *v, uint32_t first, uint32_t n, double share, double *own)
{
	uint32_t i = first + 1;

	for (; i < n; i++) {
		double m = median_of(v + first, i - first, own);

		if (is_near(v[i], m, share))
			continue;
		if (i + 2 < n && i >= first + 2 && is_near(v[i + 1], m, share) &&
		    is_near(v[i + 2], m, share))
			continue;
		break;
	}
	return i - first;
}

uint32_t bench_find_plateaus(const struct bench_series *series, double share, uint32_t least,
			     struct bench_plateau *plateau, uint32_t most)
{
	double *v = probe_allocate(series->n, sizeof(*v)),
	       *own = probe_allocate(series->n, sizeof(*own));
	uint32_t *at = probe_allocate(series->n, sizeof(*at)), n = 0, found = 0, begin = 0;

	for (uint32_t i = 0; i < series->n; i++) {
		double m = bench_median(&series->point[i]);

		if (isfinite(m) && isfinite(series->point[i].x)) {
			at[n] = i;
			v[n++] = m;
		}
	}
	/* Within a plateau half of the share is allowed, because the medians of two plateaus differ
	 * by the whole share. */
	for (uint32_t i = 0; i < n;) {
		uint32_t k = run_of(v, i, n, share / 2, own);
		struct bench_plateau *last = found ? &plateau[found - 1] : NULL, p;

		if (k < least || !k) {
			i++;
			continue;
		}
		p = (struct bench_plateau){series->point[at[i]].x, series->point[at[i + k - 1]].x,
					   median_of(v + i, k, own), at[i], at[i + k - 1]};
		if (last && is_near(last->value, p.value, share)) {
			i += k;
			last->to = p.to;
			last->last = p.last;
			last->value = median_of(v + begin, i - begin, own);
			continue;
		}
		if (found == most)
			break;
		begin = i;
		i += k;
		plateau[found++] = p;
	}
	free(at);
	free(own);
	free(v);
	return found;
}

void bench_fit_line(const struct bench_series *series, double *slope, double *intercept)
{
	double *x = probe_allocate(series->n, sizeof(*x)),
	       *y = probe_allocate(series->n, sizeof(*y));
	struct probe_fit fit;

	for (uint32_t i = 0; i < series->n; i++) {
		x[i] = series->point[i].x;
		y[i] = bench_median(&series->point[i]);
	}
	probe_fit(&fit, x, y, series->n);
	*slope = fit.slope;
	*intercept = fit.intercept;
	free(x);
	free(y);
}

/*
 * Finds the cut with the smallest sum of squares around the means of both sides. It is accepted if
 * the means are more than four standard deviations within the sides apart: for a normal
 * distribution cut at its middle it is 2.7, for a uniform one 3.5.
 */
double bench_split_clusters(const double *value, uint32_t n, double *low, double *high)
{
	double *v = probe_allocate(n, sizeof(*v)), sum = 0, squares = 0, left = 0, left2 = 0,
	       best = INFINITY, border = NAN;
	uint32_t m = 0;

	*low = *high = NAN;
	for (uint32_t i = 0; i < n; i++)
		if (isfinite(value[i]))
			v[m++] = value[i];
	if (m)
		probe_median(v, m); /* sorts them */
	/* Relative to the first value: squares of large values would lose precision. */
	for (uint32_t i = 0; i < m; i++) {
		sum += v[i] - v[0];
		squares += (v[i] - v[0]) * (v[i] - v[0]);
	}
	for (uint32_t i = 0; i + 1 < m; i++) {
		double d = v[i] - v[0], a = i + 1, b = m - a, within, mean_a, mean_b;

		left += d;
		left2 += d * d;
		mean_a = left / a;
		mean_b = (sum - left) / b;
		within = fmax(0, left2 - a * mean_a * mean_a) +
			 fmax(0, squares - left2 - b * mean_b * mean_b);
		if (v[i + 1] <= v[i] || within >= best)
			continue;
		best = within;
		*low = v[0] + mean_a;
		*high = v[0] + mean_b;
		border = (v[i] + v[i + 1]) / 2;
	}
	if (m < 4 || !(*high - *low > 4 * sqrt(best / m)))
		*low = *high = border = NAN;
	free(v);
	return border;
}
