/* SPDX-License-Identifier: MIT */
/*
 * Encodes records as differences to earlier similar ones (NVS_REC_DELTA in nvsnoop/trace.h). The
 * difference between two launches is mostly the same as between the two before, so zstd finds one
 * long match instead of a dozen short ones. It also takes less time.
 */
#include <string.h>
#include "preload/writer/packer.h"

#define NONE UINT32_MAX

typedef uint32_t words __attribute__((vector_size(16), aligned(4), may_alias));

/* Subtracts the words from FROM on, one vector at a time and then one by one. */
static void subtract_words(uint32_t *to, const uint32_t *a, const uint32_t *b, uint32_t from,
			   uint32_t n)
{
	uint32_t i = from;

	for (; i + 4 <= n; i += 4)
		*(words *)(to + i) = *(const words *)(a + i) - *(const words *)(b + i);
	for (; i < n; i++)
		to[i] = a[i] - b[i];
}

void nvs_delta_frame(uint32_t *to, const uint32_t *records, size_t size,
		     uint32_t slots[NVS_DELTA_SLOTS])
{
	uint32_t total = (uint32_t)(size / 4);

	memset(slots, 0xff, NVS_DELTA_SLOTS * sizeof(*slots));
	for (uint32_t at = 0, n; at < total; at += n) {
		const uint32_t *rec = records + at, *before;
		uint32_t slot;

		n = rec[1] / 4;
		if (!n || n > total - at)
			n = total - at; /* not a valid record: copied unchanged */
		if (n * 4 != rec[1] || !nvs_delta_kept(rec)) {
			memcpy(to + at, rec, n * 4ul);
			continue;
		}
		slot = nvs_delta_slot(rec);
		before = slots[slot] == NONE ? NULL : records + slots[slot];
		slots[slot] = at;
		if (!before || !nvs_delta_like(rec, before)) {
			memcpy(to + at, rec, n * 4ul);
			continue;
		}
		to[at] = rec[0] | NVS_REC_DELTA;
		to[at + 1] = rec[1];
		to[at + 2] = rec[2] - before[2];
		to[at + 3] = rec[3] - before[3];
		to[at + 4] = rec[4];
		to[at + 5] = rec[5];
		subtract_words(to + at, rec, before, 6, n);
	}
}
