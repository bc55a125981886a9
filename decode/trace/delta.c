/* SPDX-License-Identifier: MIT */
/* Restores delta-encoded records of a frame: nvsnoop/trace.h, NVS_REC_DELTA. */
#include <string.h>
#include "decode/trace/records.h"

#define NONE UINT32_MAX

/* Adds all words except the first two and the two after time, which are not delta-encoded. */
static void add_base(uint32_t *rec, const uint32_t *before, uint32_t n)
{
	rec[0] &= ~(uint32_t)NVS_REC_DELTA;
	rec[2] += before[2];
	rec[3] += before[3];
	for (uint32_t i = 6; i < n; i++)
		rec[i] += before[i];
}

/* Other errors in a record are found when it is checked. */
bool nvs_delta_restore(uint8_t *frame, size_t size)
{
	uint32_t *records = (uint32_t *)(void *)frame, total = (uint32_t)(size / 4),
		 slots[NVS_DELTA_SLOTS];

	memset(slots, 0xff, sizeof(slots));
	for (uint32_t at = 0, n; total - at >= 6; at += n) {
		uint32_t *rec = records + at, slot;

		n = rec[1] / 4;
		if (!n || n > total - at)
			break;
		if (!nvs_delta_kept(rec)) {
			if (rec[0] & NVS_REC_DELTA)
				return false;
			continue;
		}
		slot = nvs_delta_slot(rec);
		if (rec[0] & NVS_REC_DELTA) {
			if (slots[slot] == NONE || !nvs_delta_like(rec, records + slots[slot]))
				return false;
			add_base(rec, records + slots[slot], n);
		}
		slots[slot] = at;
	}
	return true;
}
