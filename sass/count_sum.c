/* SPDX-License-Identifier: MIT */
/* Adds up the counters that instrumented kernels have written. */
#include <string.h>
#include "sass/count.h"

void nvs_count_sum(const void *slots, uint32_t n, struct nvs_count_sums *sums)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v[4];

		memcpy(v, (const uint8_t *)slots + (size_t)i * NVS_COUNT_SLOT, sizeof(v));
		sums->warps += v[0];
		sums->threads += v[1] + (v[2] << NVS_COUNT_LOW_BITS);
		sums->wrapped |= (uint32_t)v[3] != 0;
		sums->warps_wrapped |= v[3] >> 32 != 0;
	}
}
