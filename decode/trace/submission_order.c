/* SPDX-License-Identifier: MIT */
/*
 * Delivers submissions in their channel's order. Nearly all pass straight through; one that comes
 * in pieces is assembled, and one that comes before its predecessor (two threads on one channel)
 * waits for it, up to a limit.
 */
#include <stdlib.h>
#include "decode/trace/internal.h"

#define MAX_WAITING 64 /* per channel, before a missing predecessor is given up */
#define MAX_UNFINISHED 4096 /* the same, after a submission whose pieces do not come */

struct nvs_held_submission {
	struct nvs_held_submission *next; /* in its channel's list */
	struct nvs_channel_state *chan;
	struct nvs_thread_state *thr;
	uint64_t sequence;
	uint64_t behind; /* for a gap that came early: the sequence after it; 0: a submission */
	uint32_t marks, get;
	bool linked; /* in its channel's list; otherwise already delivered, and kept only to follow
		      * its pieces */
	bool whole;
	uint32_t cursor; /* entry of the next bytes */
	uint32_t at; /* bytes of that entry so far */
	const uint8_t *here; /* bytes from the record itself, not yet copied to data */
	uint8_t *data;
	size_t ndata, room;
	size_t bytes; /* size of this block, counted in t->held_bytes */
	struct nvs_rec_submission rec; /* entries follow */
};

static struct nvs_gp_entry *get_entries(struct nvs_held_submission *h)
{
	return (struct nvs_gp_entry *)(h + 1);
}

static void discard_held(struct nvs_trace *t, struct nvs_held_submission *h)
{
	if (h->thr->filling == h)
		h->thr->filling = NULL;
	t->held_bytes -= h->bytes + h->room;
	t->held_count--;
	free(h->data);
	free(h);
}

static int deliver_held(struct nvs_trace *t, struct nvs_held_submission *h)
{
	struct nvs_submission s = {.rec = &h->rec,
				   .nentries = h->rec.nentries,
				   .marks = h->marks,
				   .entries = get_entries(h),
				   .data = h->data,
				   .ndata = h->ndata,
				   .thread = &h->thr->pub,
				   .channel = &h->chan->pub,
				   .get = h->get};

	return nvs_submission_deliver(t, &s);
}

/* Advances the chain over submissions reported by a GAP record. */
static void pass_gap(struct nvs_trace *t, struct nvs_channel_state *chan, uint64_t from,
		     uint64_t behind, uint32_t put)
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

static int deliver_head(struct nvs_trace *t, struct nvs_held_submission *h)
{
	struct nvs_channel_state *chan = h->chan;
	int r = 0;

	chan->held = h->next;
	chan->nheld--;
	if (h->behind)
		pass_gap(t, chan, h->sequence, h->behind, h->rec.new_put);
	else
		r = deliver_held(t, h);
	discard_held(t, h);
	return r;
}

/* Delivers submissions from the head of the list while they are next in sequence, or regardless if
 * FORCE. */
static int drain_channel(struct nvs_trace *t, struct nvs_channel_state *chan, bool force)
{
	while (chan->held) {
		struct nvs_held_submission *h = chan->held;
		int r;

		if (!h->whole)
			return 0;
		if (h->sequence > chan->pub.next_sequence && !force && chan->nheld <= MAX_WAITING)
			return 0;
		r = deliver_head(t, h);
		if (r)
			return r;
	}
	return 0;
}

static int append_data(struct nvs_trace *t, struct nvs_held_submission *h, const uint8_t *bytes,
		       size_t n)
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

/* Copies bytes of the record to their position, up to the next segment that is still missing. */
static int advance_cursor(struct nvs_trace *t, struct nvs_held_submission *h)
{
	for (; h->cursor < h->rec.nentries; h->cursor++) {
		const struct nvs_gp_entry *e = get_entries(h) + h->cursor;
		int r;

		if (e->state == NVS_SEG_FOLLOWS)
			return 0;
		if (e->state != NVS_SEG_HERE || !h->linked)
			continue;
		r = append_data(t, h, h->here, e->bytes);
		if (r)
			return r;
		h->here += e->bytes;
	}
	return 0;
}

/* Gives up the segment at the cursor, which is missing or incomplete. */
static int skip_segment(struct nvs_trace *t, struct nvs_held_submission *h)
{
	struct nvs_gp_entry *e = get_entries(h) + h->cursor;

	if (e->state == NVS_SEG_FOLLOWS) {
		if (h->linked)
			h->ndata -= h->at;
		h->at = 0;
		e->state = NVS_SEG_GAP;
	}
	return advance_cursor(t, h);
}

/* Ends a submission; its missing segments become gaps. */
static int finish_held(struct nvs_trace *t, struct nvs_held_submission *h, bool torn)
{
	struct nvs_channel_state *chan = h->chan;
	int r = 0;

	while (h->cursor < h->rec.nentries && !r)
		r = skip_segment(t, h);
	if (torn) {
		h->marks |= NVS_MARK_TORN;
		t->session.counts.torn++;
		chan->pub.counts.torn++;
	}
	h->thr->filling = NULL;
	h->whole = true;
	if (h->linked)
		return r ? r : drain_channel(t, chan, false);
	discard_held(t, h);
	return r;
}

static void link_held(struct nvs_held_submission *h)
{
	struct nvs_held_submission **at = &h->chan->held;

	while (*at && (*at)->sequence <= h->sequence)
		at = &(*at)->next;
	h->next = *at;
	*at = h;
	h->chan->nheld++;
	h->linked = true;
}

/* Copies a submission: to deliver it later (LINK), or only to follow its pieces. */
static struct nvs_held_submission *hold_copy(struct nvs_trace *t, const struct nvs_submission *s,
					     bool link)
{
	size_t entries = s->nentries * sizeof(struct nvs_gp_entry);
	size_t ndata = link ? s->ndata : 0,
	       bytes = sizeof(struct nvs_held_submission) + entries + ndata;
	struct nvs_held_submission *h;

	if (bytes > NVS_MAX_WHOLE - t->held_bytes)
		return NULL;
	h = calloc(1, bytes);
	if (!h)
		return NULL;
	h->chan = (struct nvs_channel_state *)s->channel;
	h->thr = (struct nvs_thread_state *)s->thread;
	h->sequence = s->rec->sequence;
	h->marks = s->marks;
	h->get = s->get;
	h->bytes = bytes;
	memcpy(&h->rec, s->rec, sizeof(h->rec));
	memcpy(get_entries(h), s->entries, entries);
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
	struct nvs_channel_state *chan = (struct nvs_channel_state *)s->channel;
	struct nvs_held_submission *h;
	int r = 0;

	if (!link)
		r = nvs_submission_deliver(t, s);
	if (r)
		return r;
	h = hold_copy(t, s, link);
	if (!h)
		return -EFBIG;
	r = advance_cursor(t, h);
	more = more && h->cursor < h->rec.nentries;
	if (more)
		h->thr->filling = h;
	if (r || more) {
		/* A submission whose pieces never come must not block its channel. */
		if (!r && chan->nheld > MAX_UNFINISHED && !chan->held->whole)
			r = finish_held(t, chan->held, true);
		return r;
	}
	h->whole = true;
	if (!link) {
		discard_held(t, h);
		return 0;
	}
	if (chan->nheld > MAX_UNFINISHED && !chan->held->whole)
		return finish_held(t, chan->held, true);
	return drain_channel(t, chan, false);
}

/* REC must have been checked. */
static uint32_t read_gp_get(const struct nvs_rec_submission *rec, size_t ndata)
{
	const uint8_t *data = (const uint8_t *)(rec->entries + rec->nentries);
	uint32_t get;

	if (!(rec->rec.flags & NVS_SUB_GET))
		return NVS_NONE;
	memcpy(&get, data + ((ndata + 7) & ~(size_t)7), sizeof(get));
	return get;
}

int nvs_order_submission(struct nvs_trace *t, const struct nvs_rec_submission *rec, size_t ndata,
			 uint32_t marks)
{
	struct nvs_channel_state *chan = nvs_model_channel(t, rec->channel);
	struct nvs_thread_state *thr = rec->thread == NVS_NONE ? &t->no_thread
							       : nvs_model_thread(t, rec->thread);
	struct nvs_submission s = {.rec = rec,
				   .nentries = rec->nentries,
				   .marks = marks,
				   .entries = rec->entries,
				   .ndata = ndata,
				   .data = (const uint8_t *)(rec->entries + rec->nentries),
				   .get = read_gp_get(rec, ndata)};
	bool more = rec->rec.flags & NVS_SUB_MORE, in_order;
	int r;

	if (!chan || !thr)
		return -E2BIG;
	s.thread = &thr->pub;
	s.channel = &chan->pub;
	if (thr->filling) {
		r = finish_held(t, thr->filling, true);
		if (r)
			return r;
	}
	in_order = rec->sequence <= chan->pub.next_sequence && !chan->held;
	if (!more && in_order)
		return nvs_submission_deliver(t, &s);
	return hold_submission(t, &s, more, in_order);
}

static bool data_fits(const struct nvs_held_submission *h, const struct nvs_rec_data *rec)
{
	const struct nvs_gp_entry *e = (const struct nvs_gp_entry *)(h + 1) + h->cursor;

	/* The entry that was given up may have been the last one. */
	if (h->cursor >= h->rec.nentries || rec->entry != h->cursor || rec->offset != h->at)
		return false;
	return rec->bytes <= ((e->entry >> 42) & 0x1fffff) * 4 - h->at;
}

/* Completes the current segment. */
static int close_segment(struct nvs_trace *t, struct nvs_held_submission *h)
{
	struct nvs_gp_entry *e = get_entries(h) + h->cursor;

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
	return advance_cursor(t, h);
}

int nvs_order_data(struct nvs_trace *t, const struct nvs_rec_data *rec)
{
	struct nvs_thread_state *thr = rec->thread == NVS_NONE ? &t->no_thread
							       : nvs_model_thread(t, rec->thread);
	struct nvs_held_submission *h = thr ? thr->filling : NULL;
	int r = 0;

	if (!h || h->chan->pub.channel != rec->channel || h->sequence != rec->sequence) {
		nvs_trace_add_finding(
			t, NVS_FINDING_PROBLEM,
			"channel %u: data of submission %llu without its submission record",
			rec->channel, (unsigned long long)rec->sequence);
		return 0;
	}
	/* Skip a segment whose copy failed midway; a GAP record reports it. */
	while (!r && h->cursor < h->rec.nentries && h->cursor < rec->entry)
		r = skip_segment(t, h);
	if (rec->bytes && !r) {
		uint32_t length;

		if (!data_fits(h, rec))
			return finish_held(t, h, true);
		if (h->linked)
			r = append_data(t, h, nvs_record_tail(&rec->rec, rec->bytes), rec->bytes);
		h->at += rec->bytes;
		length = ((get_entries(h)[h->cursor].entry >> 42) & 0x1fffff) * 4;
		if (!r && h->at == length)
			r = close_segment(t, h);
	}
	/* Segments still open after LAST are reported by a GAP record. */
	if (!r && (h->cursor == h->rec.nentries || rec->rec.flags & NVS_DATA_LAST))
		return finish_held(t, h, false);
	return r;
}

/* Keeps a gap for later: threads that submit on one channel may record their gaps in any order. */
static int hold_gap(struct nvs_trace *t, struct nvs_channel_state *chan,
		    const struct nvs_rec_gap *rec, uint64_t behind)
{
	struct nvs_held_submission *h;

	if (sizeof(*h) > NVS_MAX_WHOLE - t->held_bytes)
		return -EFBIG;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->chan = chan;
	h->thr = &t->no_thread;
	h->sequence = rec->sequence;
	h->behind = behind;
	h->whole = true;
	h->bytes = sizeof(*h);
	h->rec.new_put = rec->new_put;
	t->held_bytes += sizeof(*h);
	t->held_count++;
	link_held(h);
	return drain_channel(t, chan, false);
}

int nvs_order_gap(struct nvs_trace *t, const struct nvs_rec_gap *rec)
{
	struct nvs_channel_state *chan;
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
	pass_gap(t, chan, rec->sequence, behind, rec->new_put);
	return drain_channel(t, chan, false);
}

int nvs_order_flush(struct nvs_trace *t, uint32_t channel)
{
	if (channel != NVS_NONE) {
		struct nvs_channel_state *chan = nvs_number_get(&t->channels, channel);

		return chan && chan->held ? drain_channel(t, chan, true) : 0;
	}
	for (uint32_t i = 0; t->held_count && i < t->channels.count; i++) {
		struct nvs_channel_state *chan = nvs_number_get(&t->channels, i);
		int r = chan ? drain_channel(t, chan, true) : 0;

		if (r)
			return r;
	}
	return 0;
}

int nvs_order_end(struct nvs_trace *t)
{
	int r = t->no_thread.filling ? finish_held(t, t->no_thread.filling, true) : 0;

	for (uint32_t i = 0; t->held_count && !r && i < t->threads.count; i++) {
		struct nvs_thread_state *thr = nvs_number_get(&t->threads, i);

		if (thr && thr->filling)
			r = finish_held(t, thr->filling, true);
	}
	return r ? r : nvs_order_flush(t, NVS_NONE);
}

void nvs_order_free(struct nvs_trace *t)
{
	for (uint32_t i = 0; i < t->channels.count; i++) {
		struct nvs_channel_state *chan = nvs_number_get(&t->channels, i);

		while (chan && chan->held) {
			struct nvs_held_submission *h = chan->held;

			chan->held = h->next;
			discard_held(t, h);
		}
		if (chan)
			chan->nheld = 0;
	}
	for (uint32_t i = 0; i < t->threads.count; i++) {
		struct nvs_thread_state *thr = nvs_number_get(&t->threads, i);

		if (thr && thr->filling)
			discard_held(t, thr->filling);
	}
	if (t->no_thread.filling)
		discard_held(t, t->no_thread.filling);
}
