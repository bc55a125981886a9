/* SPDX-License-Identifier: MIT */
/* GPU memory held over time, in intervals whose width doubles when they run out. */
#include "decode/analysis/allocations.h"

/* Returns the interval of AT. Merges pairs of intervals until AT fits. */
static uint32_t interval_of(struct nvs_alloc_series *s, uint64_t at)
{
	while (at - s->first >= s->width * NVS_ALLOC_TIMES) {
		for (uint32_t i = 0; 2 * i < s->n; i++) {
			uint32_t a = 2 * i, b = a + 1 < s->n ? a + 1 : a;

			s->peak[i] = s->peak[a] > s->peak[b] ? s->peak[a] : s->peak[b];
			s->live[i] = s->live[b];
		}
		s->n = (s->n + 1) / 2;
		s->width *= 2;
	}
	return (uint32_t)((at - s->first) / s->width);
}

void nvs_alloc_series_set(struct nvs_alloc_series *s, uint64_t at, uint64_t now)
{
	uint32_t i;

	if (!s->width) {
		s->width = 1 << 16;
		s->first = at;
	}
	at = at < s->first ? s->first : at;
	/* An absurd time would merge all intervals into one. */
	i = at - s->first < 1ull << 62 ? interval_of(s, at) : s->n ? s->n - 1 : 0;
	for (; s->n <= i; s->n++)
		s->live[s->n] = s->peak[s->n] = s->now;
	s->now = s->live[i] = now;
	s->peak[i] = now > s->peak[i] ? now : s->peak[i];
	if (now > s->max) {
		s->max = now;
		s->max_at = at;
	}
}
