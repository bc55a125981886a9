/* SPDX-License-Identifier: MIT */
/*
 * Estimates from values that were drawn at random, each with its own chance, one in EVERY
 * (timing=sample). The mean weighs each value by what it stands for; its error is that of drawing
 * independently. Values that were certain to be drawn (EVERY 1) add no error.
 */
#ifndef NVSNOOP_DECODE_QUERY_ESTIMATE_H
#define NVSNOOP_DECODE_QUERY_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_estimate {
	uint64_t n; /* values drawn */
	double weight, sum, squares; /* of all that the values stand for */
	double rest, rest_sum, rest_squares; /* each value times EVERY (EVERY - 1): of the error */
};

void nvs_estimate_add(struct nvs_estimate *e, double value, uint64_t every);
void nvs_estimate_merge(struct nvs_estimate *into, const struct nvs_estimate *from);
/* Both are 0 if there are no values. */
double nvs_estimate_mean(const struct nvs_estimate *e);
double nvs_estimate_deviation(const struct nvs_estimate *e); /* standard deviation of the values */
/* Half the width of the 95 % interval of the mean. Returns false if it has no bound: a single value
 * that stands for others. */
bool nvs_estimate_error(const struct nvs_estimate *e, double *half);

#endif
