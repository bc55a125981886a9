/* SPDX-License-Identifier: MIT */
/* An array of address ranges, sorted by start. Ranges may overlap (user memory can be pinned
 * twice), so the longest range bounds how far back a search must start. */
#include <string.h>
#include "preload/rm/rm.h"

/* Index of the first span that starts at or after START. */
static uint32_t lower_bound(const struct nvs_address_spans *s, uint64_t start)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->at[mid]->start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int nvs_spans_add(struct nvs_address_spans *s, struct nvs_address_span *span)
{
	uint32_t i;

	if (!NVS_GROW(s->at, s->n, s->room, 64))
		return -1;
	i = lower_bound(s, span->start);
	memmove(s->at + i + 1, s->at + i, (s->n - i) * sizeof(*s->at));
	s->at[i] = span;
	s->n++;
	if (span->end - span->start > s->longest)
		s->longest = span->end - span->start;
	return 0;
}

void nvs_spans_remove(struct nvs_address_spans *s, struct nvs_address_span *span)
{
	for (uint32_t i = lower_bound(s, span->start); i < s->n && s->at[i]->start == span->start;
	     i++) {
		if (s->at[i] != span)
			continue;
		s->n--;
		memmove(s->at + i, s->at + i + 1, (s->n - i) * sizeof(*s->at));
		if (!s->n)
			s->longest = 0;
		return;
	}
}

uint32_t nvs_spans_from(const struct nvs_address_spans *s, uint64_t start)
{
	return lower_bound(s, start > s->longest ? start - s->longest : 0);
}
