/* SPDX-License-Identifier: MIT */
/* Mean and error of values that were drawn at random. */
#include <math.h>
#include <stddef.h>
#include "decode/query/estimate.h"

void nvs_estimate_add(struct nvs_estimate *e, double value, uint64_t every)
{
	double w = every ? (double)every : 1, rest = w * (w - 1);

	e->n++;
	e->weight += w;
	e->sum += w * value;
	e->squares += w * value * value;
	e->rest += rest;
	e->rest_sum += rest * value;
	e->rest_squares += rest * value * value;
}

void nvs_estimate_merge(struct nvs_estimate *into, const struct nvs_estimate *from)
{
	into->n += from->n;
	into->weight += from->weight;
	into->sum += from->sum;
	into->squares += from->squares;
	into->rest += from->rest;
	into->rest_sum += from->rest_sum;
	into->rest_squares += from->rest_squares;
}

double nvs_estimate_mean(const struct nvs_estimate *e)
{
	return e->n ? e->sum / e->weight : 0;
}

double nvs_estimate_deviation(const struct nvs_estimate *e)
{
	double mean = nvs_estimate_mean(e);
	double variance = e->n ? e->squares / e->weight - mean * mean : 0;

	return variance > 0 ? sqrt(variance) : 0;
}

/* The 97.5 % quantile of Student's t distribution with N degrees of freedom, rounded down. */
static double student(double n)
{
	static const double few[] = {0,	    12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
				     2.365, 2.306,  2.262, 2.228, 2.201, 2.179, 2.160};

	return n < 14 ? few[n < 1 ? 1 : (size_t)n] : 1.96 + 2.5 / n;
}

bool nvs_estimate_error(const struct nvs_estimate *e, double *half)
{
	/* Values that stand for many are as good as fewer with equal weights. */
	double mean = nvs_estimate_mean(e), sum,
	       n = e->n ? e->weight * e->weight / (e->rest + e->weight) : 0;

	*half = 0;
	if (!e->n || e->rest == 0)
		return e->n;
	if (n < 1.5)
		return false;
	sum = e->rest_squares - 2 * mean * e->rest_sum + mean * mean * e->rest;
	if (sum > 0)
		*half = student(n - 1) * sqrt(sum * n / (n - 1)) / e->weight;
	return true;
}
