/* SPDX-License-Identifier: MIT */
/*
 * Keeps, for each channel, a queue of pending submissions and one of their pushbuffer areas. The
 * ring size bounds the first; the second drops areas that do not fit, so the pushbuffer looks
 * emptier, never fuller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/base/queue.h"
#include "decode/calls/ring_occupancy.h"

#define STRETCHES (1u << 16) /* per channel */
#define APART 4096u /* maximum gap in bytes between consecutive areas */
/* What is left when a driver waits: ring entries, and pushbuffer bytes; a fraction if these are
 * small. */
#define LEFT_RING 16u
#define LEFT_BYTES (128u << 10)
#define LEFT_PART 16u

struct under_way {
	uint32_t entries, payload;
	uint64_t slot; /* address that the payload is released to; 0: unknown */
	uint64_t stretches; /* running count of the channel's areas at its end */
};

struct pushbuffer_stretch {
	uint64_t from, to;
};

/* Addresses that commands have used consecutively. */
struct region {
	uint64_t from, to;
	bool again; /* and then again from the beginning */
};

struct occupied_channel {
	struct nvs_queue items, stretches;
	uint64_t entries, bytes; /* sums over these queues */
	struct region chunk, elsewhere; /* the longest region, and the latest one outside it */
	uint32_t put;
	bool begun, known;
};

struct nvs_ring_occupancy {
	struct nvs_numbers channels;
};

struct nvs_ring_occupancy *nvs_ring_occupancy_new(void)
{
	return calloc(1, sizeof(struct nvs_ring_occupancy));
}

static void free_channel(void *item)
{
	struct occupied_channel *c = item;

	free(c->items.item);
	free(c->stretches.item);
	free(c);
}

void nvs_ring_occupancy_free(struct nvs_ring_occupancy *p)
{
	if (p)
		nvs_numbers_free(&p->channels, free_channel);
	free(p);
}

/* ---- queues ---- */

static void drop_stretch(struct occupied_channel *c)
{
	const struct pushbuffer_stretch *s = nvs_queue_at(&c->stretches, c->stretches.first++);

	c->bytes -= s->to - s->from;
}

static void drop_oldest(struct occupied_channel *c)
{
	const struct under_way *u = nvs_queue_at(&c->items, c->items.first++);

	c->entries -= u->entries;
	while (c->stretches.first < u->stretches)
		drop_stretch(c);
}

/* ---- what is done ---- */

static void drop_done(struct occupied_channel *c, const struct nvs_rec_submission *rec)
{
	uint32_t done = (uint32_t)rec->progress[0];

	c->known = rec->progress_address;
	while (c->known && nvs_queue_count(&c->items)) {
		const struct under_way *u = nvs_queue_at(&c->items, c->items.first);

		if (u->slot == rec->progress_address && (int32_t)(done - u->payload) < 0)
			return;
		/* The last one's releases may not have been read yet. */
		if (u->slot != rec->progress_address && c->items.first + 1 == c->items.end)
			return;
		drop_oldest(c);
	}
}

void nvs_ring_occupancy_release(struct nvs_ring_occupancy *p, const struct nvs_submission *s,
				const struct nvs_op *op)
{
	struct occupied_channel *c = nvs_number_get(&p->channels, s->channel->channel);
	struct under_way *u = c ? nvs_queue_last(&c->items) : NULL;

	if (!u || op->sem.op != NVS_SEM_SET || op->sem.by == NVS_BY_GRID)
		return;
	/* While the slot is unknown, assume the last release. */
	if (s->rec->progress_address && op->sem.address != s->rec->progress_address)
		return;
	u->slot = op->sem.address;
	u->payload = (uint32_t)op->sem.payload;
}

/* ---- what a submission takes ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct pushbuffer_stretch stretch_of(const struct nvs_segment *seg)
{
	return (struct pushbuffer_stretch){seg->address, seg->address + 4ull * seg->dwords};
}

static bool ring_was_full(const struct occupied_channel *c, uint32_t entries, uint32_t ring)
{
	return c->entries + entries + min_u64(LEFT_RING, ring / LEFT_PART) >= ring;
}

/* Returns true if the submission reuses an area of the chunk, nearly all of which was pending, and
 * the oldest pending bytes come next. */
static bool chunk_was_full(const struct occupied_channel *c, const struct pushbuffer_stretch *new)
{
	uint64_t all = c->chunk.to - c->chunk.from, left = min_u64(LEFT_BYTES, all / LEFT_PART);
	const struct pushbuffer_stretch *old;

	if (!nvs_queue_count(&c->stretches) || new->from < c->chunk.from ||
	    new->from >= c->chunk.to || c->bytes + left < all)
		return false;
	old = nvs_queue_at(&c->stretches, c->stretches.first);
	return new->from < old->to && old->from < new->to + left;
}

/* Extends the region if S is in it or continues it; returns false if not. */
static bool extend_region(struct region *r, const struct pushbuffer_stretch *s)
{
	if (s->from < r->from || s->from >= r->to + APART)
		return false;
	r->again |= s->from < r->to;
	r->to = s->to > r->to ? s->to : r->to;
	return true;
}

static void track_region(struct occupied_channel *c, const struct pushbuffer_stretch *s)
{
	struct region before = c->chunk;

	if (extend_region(&c->chunk, s))
		return;
	if (!extend_region(&c->elsewhere, s))
		c->elsewhere = (struct region){s->from, s->to, false};
	if (c->elsewhere.to - c->elsewhere.from > before.to - before.from) {
		c->chunk = c->elsewhere;
		c->elsewhere = before;
	}
}

static void add_stretch(struct occupied_channel *c, const struct pushbuffer_stretch *s)
{
	if (!nvs_queue_reserve(&c->stretches, STRETCHES)) {
		if (!nvs_queue_count(&c->stretches))
			return;
		drop_stretch(c);
	}
	*(struct pushbuffer_stretch *)nvs_queue_at(&c->stretches, c->stretches.end++) = *s;
	c->bytes += s->to - s->from;
}

/* If ring entries are reused, their old contents are done. */
static int add_entries(struct occupied_channel *c, uint32_t entries, uint32_t ring)
{
	struct under_way *u;

	while (nvs_queue_count(&c->items) && c->entries + entries >= ring)
		drop_oldest(c);
	u = nvs_queue_last(&c->items);
	if (u && !u->slot) { /* unknown payload: assume it is done with the next one */
		u->entries += entries;
		c->entries += entries;
		return 0;
	}
	if (!nvs_queue_reserve(&c->items, 1u << 31)) {
		if (!nvs_queue_count(&c->items))
			return -ENOMEM;
		drop_oldest(c);
	}
	*(struct under_way *)nvs_queue_at(&c->items, c->items.end++) = (struct under_way){entries};
	c->entries += entries;
	return 0;
}

static struct occupied_channel *get_channel(struct nvs_ring_occupancy *p, uint32_t number)
{
	struct occupied_channel *c = nvs_number_make(&p->channels, number, sizeof(*c));

	if (c && !c->begun) {
		c->begun = true;
		c->items.size = sizeof(struct under_way);
		c->stretches.size = sizeof(struct pushbuffer_stretch);
	}
	return c;
}

int nvs_ring_occupancy_submission(struct nvs_ring_occupancy *p, const struct nvs_submission *s,
				  struct nvs_occupancy *fill)
{
	const struct nvs_rec_submission *rec = s->rec;
	uint32_t ring = s->channel->known ? s->channel->rec.entries : 0, entries;
	struct occupied_channel *c = get_channel(p, s->channel->channel);
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;
	struct under_way *u;
	bool follows;
	int r;

	*fill = (struct nvs_occupancy){0};
	if (!c)
		return -ENOMEM;
	if (!ring || rec->old_put >= ring || rec->new_put >= ring)
		return 0;
	entries = (rec->new_put + ring - rec->old_put) % ring;
	follows = c->known && rec->old_put == c->put;
	if (!follows) /* submissions in between are missing, so nothing is proven about them */
		entries = (rec->new_put + ring - c->put) % ring;
	fill->ring_before = (uint32_t)c->entries;
	fill->pushbuffer_before = c->bytes;
	fill->ring_full = follows && ring_was_full(c, entries, ring);
	while (follows && nvs_segment_next(&it, &seg)) {
		struct pushbuffer_stretch stretch = stretch_of(&seg);

		fill->pushbuffer_full |= seg.dwords && chunk_was_full(c, &stretch);
	}
	drop_done(c, rec);
	c->put = rec->new_put;
	r = entries ? add_entries(c, entries, ring) : 0;
	it = nvs_segments(s);
	while (!r && nvs_queue_count(&c->items) && nvs_segment_next(&it, &seg)) {
		struct pushbuffer_stretch stretch = stretch_of(&seg);

		if (!seg.dwords)
			continue;
		track_region(c, &stretch);
		add_stretch(c, &stretch);
	}
	u = nvs_queue_last(&c->items);
	if (u)
		u->stretches = c->stretches.end;
	fill->known = c->known;
	fill->ring = (uint32_t)c->entries;
	fill->pushbuffer = c->bytes;
	fill->chunk = c->chunk.again ? c->chunk.to - c->chunk.from : 0;
	return r;
}
