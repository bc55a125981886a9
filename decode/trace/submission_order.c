/* SPDX-License-Identifier: MIT */
/*
 * Hands submissions out in their channel's order. Nearly all pass straight through; one that comes
 * in pieces is put together, and one that comes before its predecessor (two threads, one channel)
 * waits a little.
 */
#include <stdlib.h>
#include "decode/trace/internal.h"

#define MAX_WAITING 64 /* of a channel, before the missing predecessor is given up */
#define MAX_UNFINISHED 4096 /* likewise, behind one whose pieces do not come */

struct nvs_held {
	struct nvs_held *next; /* of its channel */
	struct nvs_chan *chan;
	struct nvs_thr *thr;
	uint64_t sequence;
	uint64_t behind; /* of a gap that came early: the sequence after it; 0: a submission */
	uint32_t marks, get;
	bool linked; /* in its channel's list; else handed out already, and here for its pieces only
		      */
	bool whole;
	uint32_t cursor; /* entry whose bytes come next */
	uint32_t at; /* bytes of it that are here */
	const uint8_t *here; /* bytes that stood in the record, not yet laid in order */
	uint8_t *data;
	size_t ndata, room;
	size_t bytes; /* of this block, in t->held_bytes */
	struct nvs_rec_submission rec; /* entries follow */
};

static struct nvs_gp_entry *entries_of(struct nvs_held *h)
{
	return (struct nvs_gp_entry *)(h + 1);
}

static void discard(struct nvs_trace *t, struct nvs_held *h)
{
	if (h->thr->filling == h)
		h->thr->filling = NULL;
	t->held_bytes -= h->bytes + h->room;
	t->held_count--;
	free(h->data);
	free(h);
}

static int deliver_held(struct nvs_trace *t, struct nvs_held *h)
{
	struct nvs_submission s = {.rec = &h->rec,
				   .nentries = h->rec.nentries,
				   .marks = h->marks,
				   .entries = entries_of(h),
				   .data = h->data,
				   .ndata = h->ndata,
				   .thread = &h->thr->pub,
				   .channel = &h->chan->pub,
				   .get = h->get};

	return nvs_deliver(t, &s);
}

/* The chain goes on behind submissions that a GAP record tells of. */
static void pass(struct nvs_trace *t, struct nvs_chan *chan, uint64_t from, uint64_t behind,
		 uint32_t put)
{
	if (from < chan->pub.next_sequence)
		return;
	if (from > chan->pub.next_sequence)
		nvs_trace_add_finding(
			t, NVS_FINDING_PROBLEM, "channel %u: submissions %llu to %llu are missing",
			chan->pub.channel, (unsigned long long)chan->pub.next_sequence,
			(unsigned long long)from - 1);
	chan->pub.next_sequence = behind;
	chan->pub.next_put = put;
}

static int hand_out(struct nvs_trace *t, struct nvs_held *h)
{
	struct nvs_chan *chan = h->chan;
	int r = 0;

	chan->held = h->next;
	chan->nheld--;
	if (h->behind)
		pass(t, chan, h->sequence, h->behind, h->rec.new_put);
	else
		r = deliver_held(t, h);
	discard(t, h);
	return r;
}

/* Hands out the head of the list while it is next, or while FORCE. */
static int drain(struct nvs_trace *t, struct nvs_chan *chan, bool force)
{
	while (chan->held) {
		struct nvs_held *h = chan->held;
		int r;

		if (!h->whole)
			return 0;
		if (h->sequence > chan->pub.next_sequence && !force && chan->nheld <= MAX_WAITING)
			return 0;
		r = hand_out(t, h);
		if (r)
			return r;
	}
	return 0;
}

static int append(struct nvs_trace *t, struct nvs_held *h, const uint8_t *bytes, size_t n)
{
	if (!n)
		return 0;
	if (n > h->room - h->ndata) {
		size_t room = h->room ? h->room : 4096;
		uint8_t *p;

		while (room - h->ndata < n)
			room *= 2;
		if (room - h->room > NVS_MAX_WHOLE - t->held_bytes)
			return -EFBIG;
		p = realloc(h->data, room);
		if (!p)
			return -ENOMEM;
		t->held_bytes += room - h->room;
		h->data = p;
		h->room = room;
	}
	memcpy(h->data + h->ndata, bytes, n);
	h->ndata += n;
	return 0;
}

/* Lays what stood in the record into its place, up to the next segment that is still to come. */
static int advance(struct nvs_trace *t, struct nvs_held *h)
{
	for (; h->cursor < h->rec.nentries; h->cursor++) {
		const struct nvs_gp_entry *e = entries_of(h) + h->cursor;
		int r;

		if (e->state == NVS_SEG_FOLLOWS)
			return 0;
		if (e->state != NVS_SEG_HERE || !h->linked)
			continue;
		r = append(t, h, h->here, e->bytes);
		if (r)
			return r;
		h->here += e->bytes;
	}
	return 0;
}

/* The segment at the cursor does not come, or not all of it. */
static int give_up(struct nvs_trace *t, struct nvs_held *h)
{
	struct nvs_gp_entry *e = entries_of(h) + h->cursor;

	if (e->state == NVS_SEG_FOLLOWS) {
		if (h->linked)
			h->ndata -= h->at;
		h->at = 0;
		e->state = NVS_SEG_GAP;
	}
	return advance(t, h);
}

/* Segments that did not come become gaps. */
static int finish(struct nvs_trace *t, struct nvs_held *h, bool torn)
{
	struct nvs_chan *chan = h->chan;
	int r = 0;

	while (h->cursor < h->rec.nentries && !r)
		r = give_up(t, h);
	if (torn) {
		h->marks |= NVS_MARK_TORN;
		t->session.counts.torn++;
		chan->pub.counts.torn++;
	}
	h->thr->filling = NULL;
	h->whole = true;
	if (h->linked)
		return r ? r : drain(t, chan, false);
	discard(t, h);
	return r;
}

static void link_held(struct nvs_held *h)
{
	struct nvs_held **at = &h->chan->held;

	while (*at && (*at)->sequence <= h->sequence)
		at = &(*at)->next;
	h->next = *at;
	*at = h;
	h->chan->nheld++;
	h->linked = true;
}

/* Takes a copy: to be handed out later (LINK), or only to follow its pieces. */
static struct nvs_held *hold(struct nvs_trace *t, const struct nvs_submission *s, bool link)
{
	size_t entries = s->nentries * sizeof(struct nvs_gp_entry);
	size_t ndata = link ? s->ndata : 0, bytes = sizeof(struct nvs_held) + entries + ndata;
	struct nvs_held *h;

	if (bytes > NVS_MAX_WHOLE - t->held_bytes)
		return NULL;
	h = calloc(1, bytes);
	if (!h)
		return NULL;
	h->chan = (struct nvs_chan *)s->channel;
	h->thr = (struct nvs_thr *)s->thread;
	h->sequence = s->rec->sequence;
	h->marks = s->marks;
	h->get = s->get;
	h->bytes = bytes;
	memcpy(&h->rec, s->rec, sizeof(h->rec));
	memcpy(entries_of(h), s->entries, entries);
	h->here = (uint8_t *)(h + 1) + entries;
	if (ndata)
		memcpy((uint8_t *)(h + 1) + entries, s->data, ndata);
	t->held_bytes += bytes;
	t->held_count++;
	if (link)
		link_held(h);
	return h;
}

static int hold_submission(struct nvs_trace *t, struct nvs_submission *s, bool more, bool in_order)
{
	bool link = !in_order || (t->consumer->flags & NVS_READ_WHOLE);
	struct nvs_chan *chan = (struct nvs_chan *)s->channel;
	struct nvs_held *h;
	int r = 0;

	if (!link)
		r = nvs_deliver(t, s);
	if (r)
		return r;
	h = hold(t, s, link);
	if (!h)
		return -EFBIG;
	r = advance(t, h);
	more = more && h->cursor < h->rec.nentries;
	if (more)
		h->thr->filling = h;
	if (r || more) {
		/* One whose pieces never come must not hold up its channel for ever. */
		if (!r && chan->nheld > MAX_UNFINISHED && !chan->held->whole)
			r = finish(t, chan->held, true);
		return r;
	}
	h->whole = true;
	if (!link) {
		discard(t, h);
		return 0;
	}
	if (chan->nheld > MAX_UNFINISHED && !chan->held->whole)
		return finish(t, chan->held, true);
	return drain(t, chan, false);
}

/* Of a record that has been checked. */
static uint32_t get_of(const struct nvs_rec_submission *rec, size_t ndata)
{
	const uint8_t *data = (const uint8_t *)(rec->entries + rec->nentries);
	uint32_t get;

	if (!(rec->rec.flags & NVS_SUB_GET))
		return NVS_NONE;
	memcpy(&get, data + ((ndata + 7) & ~(size_t)7), sizeof(get));
	return get;
}

int nvs_pieces_submission(struct nvs_trace *t, const struct nvs_rec_submission *rec, size_t ndata,
			  uint32_t marks)
{
	struct nvs_chan *chan = nvs_model_channel(t, rec->channel);
	struct nvs_thr *thr = rec->thread == NVS_NONE ? &t->nobody
						      : nvs_model_thread(t, rec->thread);
	struct nvs_submission s = {.rec = rec,
				   .nentries = rec->nentries,
				   .marks = marks,
				   .entries = rec->entries,
				   .ndata = ndata,
				   .data = (const uint8_t *)(rec->entries + rec->nentries),
				   .get = get_of(rec, ndata)};
	bool more = rec->rec.flags & NVS_SUB_MORE, in_order;
	int r;

	if (!chan || !thr)
		return -E2BIG;
	s.thread = &thr->pub;
	s.channel = &chan->pub;
	if (thr->filling) {
		r = finish(t, thr->filling, true);
		if (r)
			return r;
	}
	in_order = rec->sequence <= chan->pub.next_sequence && !chan->held;
	if (!more && in_order)
		return nvs_deliver(t, &s);
	return hold_submission(t, &s, more, in_order);
}

static bool data_fits(const struct nvs_held *h, const struct nvs_rec_data *rec)
{
	const struct nvs_gp_entry *e = (const struct nvs_gp_entry *)(h + 1) + h->cursor;

	/* What was given up may have been the last one. */
	if (h->cursor >= h->rec.nentries || rec->entry != h->cursor || rec->offset != h->at)
		return false;
	return rec->bytes <= ((e->entry >> 42) & 0x1fffff) * 4 - h->at;
}

/* A segment is complete. */
static int close_segment(struct nvs_trace *t, struct nvs_held *h)
{
	struct nvs_gp_entry *e = entries_of(h) + h->cursor;

	if (h->linked) {
		e->state = NVS_SEG_HERE;
		e->bytes = h->at;
	} else {
		t->session.counts.segments++;
		t->session.counts.bytes += h->at;
		h->chan->pub.counts.segments++;
		h->chan->pub.counts.bytes += h->at;
	}
	h->cursor++;
	h->at = 0;
	return advance(t, h);
}

int nvs_pieces_data(struct nvs_trace *t, const struct nvs_rec_data *rec)
{
	struct nvs_thr *thr = rec->thread == NVS_NONE ? &t->nobody
						      : nvs_model_thread(t, rec->thread);
	struct nvs_held *h = thr ? thr->filling : NULL;
	int r = 0;

	if (!h || h->chan->pub.channel != rec->channel || h->sequence != rec->sequence) {
		nvs_trace_add_finding(
			t, NVS_FINDING_PROBLEM,
			"channel %u: a piece of submission %llu without its submission",
			rec->channel, (unsigned long long)rec->sequence);
		return 0;
	}
	/* A segment that failed half-way is left behind; a GAP record tells of it. */
	while (!r && h->cursor < h->rec.nentries && h->cursor < rec->entry)
		r = give_up(t, h);
	if (rec->bytes && !r) {
		uint32_t length;

		if (!data_fits(h, rec))
			return finish(t, h, true);
		if (h->linked)
			r = append(t, h, nvs_tail(&rec->rec, rec->bytes), rec->bytes);
		h->at += rec->bytes;
		length = ((entries_of(h)[h->cursor].entry >> 42) & 0x1fffff) * 4;
		if (!r && h->at == length)
			r = close_segment(t, h);
	}
	/* What a LAST leaves open, a GAP record tells. */
	if (!r && (h->cursor == h->rec.nentries || rec->rec.flags & NVS_DATA_LAST))
		return finish(t, h, false);
	return r;
}

/* Threads that submit on one channel may tell what was left out of it in any order. */
static int hold_gap(struct nvs_trace *t, struct nvs_chan *chan, const struct nvs_rec_gap *rec,
		    uint64_t behind)
{
	struct nvs_held *h;

	if (sizeof(*h) > NVS_MAX_WHOLE - t->held_bytes)
		return -EFBIG;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->chan = chan;
	h->thr = &t->nobody;
	h->sequence = rec->sequence;
	h->behind = behind;
	h->whole = true;
	h->bytes = sizeof(*h);
	h->rec.new_put = rec->new_put;
	t->held_bytes += sizeof(*h);
	t->held_count++;
	link_held(h);
	return drain(t, chan, false);
}

int nvs_pieces_gap(struct nvs_trace *t, const struct nvs_rec_gap *rec)
{
	struct nvs_chan *chan;
	uint64_t behind;

	if (rec->channel == NVS_NONE)
		return 0;
	chan = nvs_model_channel(t, rec->channel);
	if (!chan)
		return -E2BIG;
	if (!rec->submissions || rec->sequence < chan->pub.next_sequence)
		return 0;
	if (__builtin_add_overflow(rec->sequence, rec->submissions, &behind))
		return 0;
	if (rec->sequence > chan->pub.next_sequence)
		return hold_gap(t, chan, rec, behind);
	pass(t, chan, rec->sequence, behind, rec->new_put);
	return drain(t, chan, false);
}

int nvs_pieces_flush(struct nvs_trace *t, uint32_t channel)
{
	if (channel != NVS_NONE) {
		struct nvs_chan *chan = nvs_number_get(&t->channels, channel);

		return chan && chan->held ? drain(t, chan, true) : 0;
	}
	for (uint32_t i = 0; t->held_count && i < t->channels.count; i++) {
		struct nvs_chan *chan = nvs_number_get(&t->channels, i);
		int r = chan ? drain(t, chan, true) : 0;

		if (r)
			return r;
	}
	return 0;
}

int nvs_pieces_end(struct nvs_trace *t)
{
	int r = t->nobody.filling ? finish(t, t->nobody.filling, true) : 0;

	for (uint32_t i = 0; t->held_count && !r && i < t->threads.count; i++) {
		struct nvs_thr *thr = nvs_number_get(&t->threads, i);

		if (thr && thr->filling)
			r = finish(t, thr->filling, true);
	}
	return r ? r : nvs_pieces_flush(t, NVS_NONE);
}

void nvs_pieces_free(struct nvs_trace *t)
{
	for (uint32_t i = 0; i < t->channels.count; i++) {
		struct nvs_chan *chan = nvs_number_get(&t->channels, i);

		while (chan && chan->held) {
			struct nvs_held *h = chan->held;

			chan->held = h->next;
			discard(t, h);
		}
		if (chan)
			chan->nheld = 0;
	}
	for (uint32_t i = 0; i < t->threads.count; i++) {
		struct nvs_thr *thr = nvs_number_get(&t->threads, i);

		if (thr && thr->filling)
			discard(t, thr->filling);
	}
	if (t->nobody.filling)
		discard(t, t->nobody.filling);
}
