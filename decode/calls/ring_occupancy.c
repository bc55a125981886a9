/* SPDX-License-Identifier: MIT */
/*
 * A queue of submissions under way for each channel, and one of their stretches of the pushbuffer.
 * A ring's entries bound the first; of the second, what does not fit goes, which makes the
 * pushbuffer look emptier, not fuller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/ring_occupancy.h"

#define STRETCHES (1u << 16) /* of a channel */
#define APART 4096u /* bytes that may lie between one stretch and the next */
/* Left when a driver waits: entries of a ring, and bytes of the pushbuffer; of small ones a part.
 */
#define LEFT_RING 16u
#define LEFT_BYTES (128u << 10)
#define LEFT_PART 16u

/* A queue of items of SIZE bytes, in a ring of a power of two. */
struct queue {
	uint8_t *item;
	uint32_t size, room;
	uint64_t first, end; /* counts */
};

struct under_way {
	uint32_t entries, payload;
	uint64_t slot; /* that the payload is released to; 0: none is known */
	uint64_t stretches; /* end of the channel's, as a count */
};

struct stretch {
	uint64_t from, to;
};

/* Addresses that commands have gone through, one behind the other. */
struct region {
	uint64_t from, to;
	bool again; /* and from the beginning, once more */
};

struct channel {
	struct queue items, stretches;
	uint64_t entries, bytes; /* of these */
	struct region chunk, elsewhere; /* the longest, and the latest beside it */
	uint32_t put;
	bool begun, known;
};

struct nvs_pending {
	struct nvs_numbers channels;
};

struct nvs_pending *nvs_pending_new(void)
{
	return calloc(1, sizeof(struct nvs_pending));
}

static void free_channel(void *item)
{
	struct channel *c = item;

	free(c->items.item);
	free(c->stretches.item);
	free(c);
}

void nvs_pending_free(struct nvs_pending *p)
{
	if (p)
		nvs_numbers_free(&p->channels, free_channel);
	free(p);
}

/* ---- queues ---- */

static void *queue_at(const struct queue *q, uint64_t at)
{
	return q->item + (at & (q->room - 1)) * q->size;
}

/* Room for one more at the end; false: there is none. */
static bool queue_grow(struct queue *q, uint32_t most)
{
	uint32_t room = q->room ? 2 * q->room : 16;
	struct queue wider = *q;

	if (q->end - q->first < q->room)
		return true;
	if (room > most || !nvs_budget_spare((uint64_t)room * q->size))
		return false;
	wider.room = room;
	wider.item = malloc((size_t)room * q->size);
	if (!wider.item)
		return false;
	for (uint64_t i = q->first; i != q->end; i++)
		memcpy(queue_at(&wider, i), queue_at(q, i), q->size);
	free(q->item);
	*q = wider;
	return true;
}

static void forget_stretch(struct channel *c)
{
	const struct stretch *s = queue_at(&c->stretches, c->stretches.first++);

	c->bytes -= s->to - s->from;
}

static void forget(struct channel *c)
{
	const struct under_way *u = queue_at(&c->items, c->items.first++);

	c->entries -= u->entries;
	while (c->stretches.first < u->stretches)
		forget_stretch(c);
}

/* ---- what is done ---- */

static void retire(struct channel *c, const struct nvs_rec_submission *rec)
{
	uint32_t done = (uint32_t)rec->progress[0];

	c->known = rec->progress_address;
	while (c->known && c->items.first != c->items.end) {
		const struct under_way *u = queue_at(&c->items, c->items.first);

		if (u->slot == rec->progress_address && (int32_t)(done - u->payload) < 0)
			return;
		/* The last one may release what is to be seen yet. */
		if (u->slot != rec->progress_address && c->items.first + 1 == c->items.end)
			return;
		forget(c);
	}
}

void nvs_pending_release(struct nvs_pending *p, const struct nvs_submission *s,
			 const struct nvs_op *op)
{
	struct channel *c = nvs_number_get(&p->channels, s->channel->channel);
	struct under_way *u;

	if (!c || c->items.first == c->items.end || op->sem.op != NVS_SEM_SET ||
	    op->sem.by == NVS_BY_GRID)
		return;
	u = queue_at(&c->items, c->items.end - 1);
	/* While the slot is not known, the last release is the likeliest. */
	if (s->rec->progress_address && op->sem.address != s->rec->progress_address)
		return;
	u->slot = op->sem.address;
	u->payload = (uint32_t)op->sem.payload;
}

/* ---- what a submission takes ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct stretch stretch_of(const struct nvs_segment *seg)
{
	return (struct stretch){seg->address, seg->address + 4ull * seg->dwords};
}

static bool ring_was_full(const struct channel *c, uint32_t entries, uint32_t ring)
{
	return c->entries + entries + least(LEFT_RING, ring / LEFT_PART) >= ring;
}

/* It lies where commands lay before, nearly all of the chunk was under way, and the oldest of that
 * is what comes next. */
static bool chunk_was_full(const struct channel *c, const struct stretch *new)
{
	uint64_t all = c->chunk.to - c->chunk.from, left = least(LEFT_BYTES, all / LEFT_PART);
	const struct stretch *old;

	if (c->stretches.first == c->stretches.end || new->from < c->chunk.from ||
	    new->from >= c->chunk.to || c->bytes + left < all)
		return false;
	old = queue_at(&c->stretches, c->stretches.first);
	return new->from < old->to && old->from < new->to + left;
}

/* True: it lies in the region, or carries it on. */
static bool goes_on(struct region *r, const struct stretch *s)
{
	if (s->from < r->from || s->from >= r->to + APART)
		return false;
	r->again |= s->from < r->to;
	r->to = s->to > r->to ? s->to : r->to;
	return true;
}

static void follow(struct channel *c, const struct stretch *s)
{
	struct region before = c->chunk;

	if (goes_on(&c->chunk, s))
		return;
	if (!goes_on(&c->elsewhere, s))
		c->elsewhere = (struct region){s->from, s->to, false};
	if (c->elsewhere.to - c->elsewhere.from > before.to - before.from) {
		c->chunk = c->elsewhere;
		c->elsewhere = before;
	}
}

static void take(struct channel *c, const struct stretch *s)
{
	if (!queue_grow(&c->stretches, STRETCHES)) {
		if (c->stretches.first == c->stretches.end)
			return;
		forget_stretch(c);
	}
	*(struct stretch *)queue_at(&c->stretches, c->stretches.end++) = *s;
	c->bytes += s->to - s->from;
}

/* Entries of a ring that are taken once more have been done. */
static int add(struct channel *c, uint32_t entries, uint32_t ring)
{
	struct under_way *u;

	while (c->items.first != c->items.end && c->entries + entries >= ring)
		forget(c);
	if (c->items.first != c->items.end) {
		u = queue_at(&c->items, c->items.end - 1);
		if (!u->slot) { /* done with the next one, for all that is known */
			u->entries += entries;
			c->entries += entries;
			return 0;
		}
	}
	if (!queue_grow(&c->items, 1u << 31)) {
		if (c->items.first == c->items.end)
			return -ENOMEM;
		forget(c);
	}
	*(struct under_way *)queue_at(&c->items, c->items.end++) = (struct under_way){entries};
	c->entries += entries;
	return 0;
}

static struct channel *channel_of(struct nvs_pending *p, uint32_t number)
{
	struct channel *c = nvs_number_make(&p->channels, number, sizeof(*c));

	if (c && !c->begun) {
		c->begun = true;
		c->items.size = sizeof(struct under_way);
		c->stretches.size = sizeof(struct stretch);
	}
	return c;
}

int nvs_pending_submission(struct nvs_pending *p, const struct nvs_submission *s,
			   struct nvs_fill *fill)
{
	const struct nvs_rec_submission *rec = s->rec;
	uint32_t ring = s->channel->known ? s->channel->rec.entries : 0, entries;
	struct channel *c = channel_of(p, s->channel->channel);
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;
	bool follows;
	int r;

	*fill = (struct nvs_fill){0};
	if (!c)
		return -ENOMEM;
	if (!ring || rec->old_put >= ring || rec->new_put >= ring)
		return 0;
	entries = (rec->new_put + ring - rec->old_put) % ring;
	follows = c->known && rec->old_put == c->put;
	if (!follows) /* what came between is not known: of it nothing is proven */
		entries = (rec->new_put + ring - c->put) % ring;
	fill->ring_before = (uint32_t)c->entries;
	fill->pushbuffer_before = c->bytes;
	fill->ring_full = follows && ring_was_full(c, entries, ring);
	while (follows && nvs_segment_next(&it, &seg)) {
		struct stretch stretch = stretch_of(&seg);

		fill->pushbuffer_full |= seg.dwords && chunk_was_full(c, &stretch);
	}
	retire(c, rec);
	c->put = rec->new_put;
	r = entries ? add(c, entries, ring) : 0;
	it = nvs_segments(s);
	while (!r && c->items.first != c->items.end && nvs_segment_next(&it, &seg)) {
		struct stretch stretch = stretch_of(&seg);

		if (!seg.dwords)
			continue;
		follow(c, &stretch);
		take(c, &stretch);
	}
	if (c->items.first != c->items.end)
		((struct under_way *)queue_at(&c->items, c->items.end - 1))->stretches =
			c->stretches.end;
	fill->known = c->known;
	fill->ring = (uint32_t)c->entries;
	fill->pushbuffer = c->bytes;
	fill->chunk = c->chunk.again ? c->chunk.to - c->chunk.from : 0;
	return r;
}
