/* SPDX-License-Identifier: MIT */
/* Histogram of sizes with few distinct values: each is counted, so minimum, maximum and quantiles
 * are exact. */
#ifndef NVSNOOP_DECODE_ANALYSIS_SIZE_HISTOGRAM_H
#define NVSNOOP_DECODE_ANALYSIS_SIZE_HISTOGRAM_H

#include <stdint.h>

/* Beyond this number of distinct sizes neighbours are merged; quantiles are approximate then. */
#define NVS_SIZES_MAX 32

struct nvs_sizes {
	struct nvs_size {
		uint64_t size, count;
	} * list; /* ascending */
	uint32_t n, room;
	uint64_t count, sum, min, max;
};

/* Returns 0 or -ENOMEM. */
int nvs_sizes_add(struct nvs_sizes *s, uint64_t size);
/* The lower median; 0 if there are no sizes. */
uint64_t nvs_sizes_median(const struct nvs_sizes *s);
double nvs_sizes_mean(const struct nvs_sizes *s); /* 0 if there are none */
void nvs_sizes_free(struct nvs_sizes *s);

#endif
