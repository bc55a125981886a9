/* SPDX-License-Identifier: MIT */
/* The part of a run that intervals cover, such as the calls of all threads, and the longest gap
 * between them. Intervals come in about the order of their ends. Memory is bounded: old intervals
 * are summed up in pairs, so one that begins inside of a pair covers a proportional part of it. */
#ifndef NVSNOOP_DECODE_ANALYSIS_COVERED_TIME_H
#define NVSNOOP_DECODE_ANALYSIS_COVERED_TIME_H

#include <stdint.h>

#define NVS_COVERED_PIECES 256u

struct nvs_covered {
	struct nvs_covered_piece {
		uint64_t from, to, covered;
		uint64_t gap_from, gap_to; /* the longest gap in it */
	} piece[NVS_COVERED_PIECES]; /* in order, without overlaps */
	uint32_t n;
};

/* Adds the interval from FROM to TO; any unit. */
void nvs_covered_insert(struct nvs_covered *c, uint64_t from, uint64_t to);
static inline void nvs_covered_add(struct nvs_covered *c, uint64_t from, uint64_t to)
{
	struct nvs_covered_piece *next = c->piece + c->n;

	/* Nearly all calls begin after all others have ended. */
	if (!c->n || c->n == NVS_COVERED_PIECES || from <= next[-1].to || to <= from) {
		nvs_covered_insert(c, from, to);
		return;
	}
	*next = (struct nvs_covered_piece){.from = from, .to = to, .covered = to - from};
	c->n++;
}
/* From the first interval to the last: all zero if there was none. */
struct nvs_covered_piece nvs_covered_total(const struct nvs_covered *c);

#endif
