/* SPDX-License-Identifier: MIT */
/* A histogram of distinct sizes. See size_histogram.h. */
#include "decode/analysis/size_histogram.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"

static void drop_entry(struct nvs_sizes *s, uint32_t i)
{
	memmove(s->list + i, s->list + i + 1, (s->n - i - 1) * sizeof(*s->list));
	s->n--;
}

/* Merges the two closest sizes into the more frequent one. */
static void merge_closest(struct nvs_sizes *s)
{
	struct nvs_size *two = s->list;

	for (uint32_t i = 1; i + 1 < s->n; i++)
		if (s->list[i + 1].size - s->list[i].size < two[1].size - two[0].size)
			two = s->list + i;
	if (two[1].count > two[0].count)
		two[0].size = two[1].size;
	two[0].count += two[1].count;
	drop_entry(s, (uint32_t)(two + 1 - s->list));
}

int nvs_sizes_add(struct nvs_sizes *s, uint64_t size)
{
	uint32_t i = 0;

	if (!s->count || size < s->min)
		s->min = size;
	if (size > s->max)
		s->max = size;
	s->count++;
	s->sum += size;
	while (i < s->n && s->list[i].size < size)
		i++;
	if (i < s->n && s->list[i].size == size) {
		s->list[i].count++;
		return 0;
	}
	if (!NVS_RESERVE(s->list, s->n, s->room, 1, UINT32_MAX))
		return -ENOMEM;
	memmove(s->list + i + 1, s->list + i, (s->n - i) * sizeof(*s->list));
	s->list[i] = (struct nvs_size){size, 1};
	s->n++;
	if (s->n > NVS_SIZES_MAX)
		merge_closest(s);
	return 0;
}

uint64_t nvs_sizes_median(const struct nvs_sizes *s)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		seen += s->list[i].count;
		if (seen >= s->count - s->count / 2)
			return s->list[i].size;
	}
	return s->max;
}

double nvs_sizes_mean(const struct nvs_sizes *s)
{
	return s->count ? (double)s->sum / (double)s->count : 0;
}

void nvs_sizes_free(struct nvs_sizes *s)
{
	free(s->list);
	memset(s, 0, sizeof(*s));
}
