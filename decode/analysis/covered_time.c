/* SPDX-License-Identifier: MIT */
/* Sums up the time that intervals cover. */
#include <string.h>
#include "decode/analysis/covered_time.h"

#define KEPT 64u /* of the newest pieces, which are not summed up */

static void take_gap(struct nvs_covered_piece *p, uint64_t from, uint64_t to)
{
	if (to > from && to - from > p->gap_to - p->gap_from) {
		p->gap_from = from;
		p->gap_to = to;
	}
}

/* B follows A. */
static struct nvs_covered_piece join_pieces(const struct nvs_covered_piece *a,
					    const struct nvs_covered_piece *b)
{
	struct nvs_covered_piece p = *a;

	p.to = b->to;
	p.covered += b->covered;
	take_gap(&p, a->to, b->from);
	take_gap(&p, b->gap_from, b->gap_to);
	return p;
}

static void join_oldest(struct nvs_covered *c)
{
	uint32_t n = 0, pairs = (NVS_COVERED_PIECES - KEPT) / 2;

	for (; n < pairs; n++)
		c->piece[n] = join_pieces(c->piece + 2 * n, c->piece + 2 * n + 1);
	memmove(c->piece + n, c->piece + 2 * pairs, KEPT * sizeof(*c->piece));
	c->n = pairs + KEPT;
}

/* Adds to INTO what P has outside of FROM to TO, an interval that is part of INTO. */
static void merge_piece(struct nvs_covered_piece *into, const struct nvs_covered_piece *p,
			uint64_t from, uint64_t to)
{
	uint64_t before = from > p->from ? from - p->from : 0, after = p->to > to ? p->to - to : 0;
	uint64_t length = p->to - p->from;

	into->from = p->from < into->from ? p->from : into->from;
	into->to = p->to > into->to ? p->to : into->to;
	if (p->covered == length)
		into->covered += before + after;
	else
		into->covered +=
			(uint64_t)((double)p->covered * (double)(before + after) / (double)length);
	take_gap(into, p->gap_from, p->gap_to < from ? p->gap_to : from);
	take_gap(into, p->gap_from > to ? p->gap_from : to, p->gap_to);
}

void nvs_covered_insert(struct nvs_covered *c, uint64_t from, uint64_t to)
{
	struct nvs_covered_piece new = {.from = from, .to = to, .covered = to - from};
	uint32_t end = c->n, begin;

	if (to <= from)
		return;
	while (end && c->piece[end - 1].from > to)
		end--;
	for (begin = end; begin && c->piece[begin - 1].to >= from; begin--)
		merge_piece(&new, c->piece + begin - 1, from, to);
	if (begin == end && c->n == NVS_COVERED_PIECES) {
		join_oldest(c);
		nvs_covered_insert(c, from, to);
		return;
	}
	if (end < c->n)
		memmove(c->piece + begin + 1, c->piece + end, (c->n - end) * sizeof(*c->piece));
	c->piece[begin] = new;
	c->n = c->n - (end - begin) + 1;
}

struct nvs_covered_piece nvs_covered_total(const struct nvs_covered *c)
{
	struct nvs_covered_piece p = {0};

	for (uint32_t i = 0; i < c->n; i++)
		p = i ? join_pieces(&p, c->piece + i) : *c->piece;
	return p;
}
