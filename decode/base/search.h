/* SPDX-License-Identifier: MIT */
/* Binary search in arrays sorted by a uint64_t field. */
#ifndef NVSNOOP_DECODE_BASE_SEARCH_H
#define NVSNOOP_DECODE_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Returns how many of the N elements of SIZE bytes have a value below KEY at OFFSET. */
static inline size_t nvs_count_below(const void *list, size_t n, size_t size, size_t offset,
				     uint64_t key)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (*(const uint64_t *)((const char *)list + middle * size + offset) < key)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
#define NVS_COUNT_BELOW(list, n, field, key) \
	nvs_count_below(list, n, sizeof(*(list)), offsetof(__typeof__(*(list)), field), key)
#define NVS_COUNT_UP_TO(list, n, field, key) \
	NVS_COUNT_BELOW(list, n, field, (key) + ((key) != UINT64_MAX))

/* Start of the segment of a polyline of N points, at least two, that covers KEY: the last point at
 * or before KEY that has a successor, or the first point. */
#define NVS_SEGMENT_START(list, n, field, key) \
	((list) + NVS_COUNT_UP_TO((list) + 1, (n)-2, field, key))

#endif
