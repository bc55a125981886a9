/* SPDX-License-Identifier: MIT */
/* Sizes of which there are few: each is counted, so that least, most and quantiles are exact. */
#ifndef NVSNOOP_DECODE_ANALYSIS_SIZE_HISTOGRAM_H
#define NVSNOOP_DECODE_ANALYSIS_SIZE_HISTOGRAM_H

#include <stdint.h>

/* Of more different ones than this, two neighbours become one: quantiles are near then. */
#define NVS_SIZES_MAX 32

struct nvs_sizes {
	struct nvs_size {
		uint64_t size, count;
	} * list; /* ascending */
	uint32_t n, room;
	uint64_t count, sum, min, max;
};

/* 0 or -ENOMEM. */
int nvs_sizes_add(struct nvs_sizes *s, uint64_t size);
/* Of an even number the lower of those in the middle; 0 where there is none. */
uint64_t nvs_sizes_median(const struct nvs_sizes *s);
double nvs_sizes_mean(const struct nvs_sizes *s); /* 0 where there is none */
void nvs_sizes_free(struct nvs_sizes *s);

#endif
