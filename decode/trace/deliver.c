/* SPDX-License-Identifier: MIT */
/* Delivers a complete submission: counts it, and calls the consumer. */
#include "decode/trace/internal.h"

static void add_counts(struct nvs_counts *c, const struct nvs_submission *s, uint64_t segments,
		       uint64_t bytes)
{
	c->submissions += !(s->rec->rec.flags & NVS_SUB_CONTINUED);
	c->entries += s->nentries;
	c->segments += segments;
	c->bytes += bytes;
	c->spooled += !!(s->marks & NVS_MARK_SPOOL);
	c->late += !!(s->marks & NVS_MARK_LATE);
	c->uncertain += !!(s->marks & NVS_MARK_UNCERTAIN);
}

int nvs_submission_deliver(struct nvs_trace *t, struct nvs_submission *s)
{
	struct nvs_session *session = &t->session;
	uint64_t segments = 0, bytes = s->ndata;

	for (uint32_t i = 0; i < s->nentries; i++) {
		const struct nvs_gp_entry *e = s->entries + i;

		segments += e->state == NVS_SEG_HERE || e->state == NVS_SEG_SKIPPED;
		bytes += e->state == NVS_SEG_SKIPPED ? e->bytes : 0;
	}
	if (t->spools->nuncertain && nvs_spool_uncertain(t, s->rec->channel, s->rec->sequence))
		s->marks |= NVS_MARK_UNCERTAIN;
	nvs_verify_submission(t, (struct nvs_channel_state *)s->channel, s->rec);
	add_counts(&session->counts, s, segments, bytes);
	add_counts(&s->channel->counts, s, segments, bytes);
	s->thread->submissions += !(s->rec->rec.flags & NVS_SUB_CONTINUED);
	if (s->rec->progress_address)
		s->channel->progress_address = s->rec->progress_address;
	if (!session->first_submission || s->rec->rec.time < session->first_submission)
		session->first_submission = s->rec->rec.time;
	if (s->rec->rec.time > session->last_submission)
		session->last_submission = s->rec->rec.time;
	s->number = t->number++;
	return t->consumer->submission ? t->consumer->submission(t->arg, t, s) : 0;
}
