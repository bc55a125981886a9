/* SPDX-License-Identifier: MIT */
/* Verifies that the trace is complete: chains, final PUTs, totals, gaps. Checks run while reading,
 * and add one finding for each problem. */
#include "decode/trace/internal.h"

#define PROBLEM(t, ...) nvs_trace_add_finding(t, NVS_FINDING_PROBLEM, __VA_ARGS__)
#define REMARK(t, ...) nvs_trace_add_finding(t, NVS_FINDING_REMARK, __VA_ARGS__)
#define NOTE(t, ...) nvs_trace_add_finding(t, NVS_FINDING_NOTE, __VA_ARGS__)
#define S(n) ((n) == 1 ? "" : "s")
typedef unsigned long long ull; /* for printing */

static void report_broken_chain(struct nvs_trace *t, struct nvs_channel_state *chan,
				const struct nvs_rec_submission *rec)
{
	ull have = rec->sequence, want = chan->pub.next_sequence;

	chan->pub.breaks++;
	if (have < want)
		PROBLEM(t, "channel %u: submission %llu is repeated or late, expected %llu",
			rec->channel, have, want);
	else if (have > want)
		PROBLEM(t, "channel %u: submissions %llu to %llu are missing", rec->channel, want,
			have - 1);
	else
		PROBLEM(t,
			"channel %u: submission %llu begins at PUT %u, but the previous one ended "
			"at %u",
			rec->channel, have, rec->old_put, chan->pub.next_put);
}

void nvs_verify_submission(struct nvs_trace *t, struct nvs_channel_state *chan,
			   const struct nvs_rec_submission *rec)
{
	uint32_t ring = chan->pub.rec.entries;

	if (rec->sequence != chan->pub.next_sequence || rec->old_put != chan->pub.next_put)
		report_broken_chain(t, chan, rec);
	if (ring && (rec->old_put >= ring || rec->new_put >= ring))
		PROBLEM(t, "channel %u: submission %llu: PUT %u to %u in a ring of %u",
			rec->channel, (ull)rec->sequence, rec->old_put, rec->new_put, ring);
	else if (ring && (rec->new_put + (ull)ring - rec->old_put) % ring != rec->nentries)
		PROBLEM(t, "channel %u: submission %llu: PUT %u to %u, but %u entries",
			rec->channel, (ull)rec->sequence, rec->old_put, rec->new_put,
			rec->nentries);
	if (rec->sequence >= chan->pub.next_sequence)
		chan->pub.next_sequence = rec->sequence + 1;
	chan->pub.next_put = rec->new_put;
}

static void count_gap(struct nvs_counts *c, const struct nvs_rec_gap *rec)
{
	bool choice = rec->reason == NVS_GAP_CHOICE;

	c->gaps += !choice;
	*(choice ? &c->skipped_submissions : &c->lost_submissions) += rec->submissions;
	*(choice ? &c->skipped_bytes : &c->lost_bytes) += rec->bytes;
}

#define LOST_FORMAT "gap: channel %u: %llu submission%s from %llu on lost (%s)"

/* A gap that continues the channel's last one belongs to its finding. */
static void report_lost(struct nvs_trace *t, const struct nvs_rec_gap *rec, const char *why,
			struct nvs_channel_gap *gap)
{
	uint32_t before = t->findings.count;

	if (gap && gap->end == rec->sequence && gap->end > gap->first &&
	    gap->reason == rec->reason) {
		gap->end += rec->submissions;
		nvs_trace_change_finding(t, gap->finding, LOST_FORMAT, rec->channel,
					 (ull)(gap->end - gap->first), "s", (ull)gap->first, why);
		return;
	}
	PROBLEM(t, LOST_FORMAT, rec->channel, (ull)rec->submissions, S(rec->submissions),
		(ull)rec->sequence, why);
	if (gap && t->findings.count > before)
		*gap = (struct nvs_channel_gap){rec->sequence, rec->sequence + rec->submissions,
						rec->reason, before};
}

static void verify_gap(struct nvs_trace *t, const struct nvs_rec_gap *rec)
{
	struct nvs_session *s = &t->session;
	const char *why = nvs_gap_reason_name(rec->reason);
	struct nvs_channel_state *chan = rec->channel == NVS_NONE
						 ? NULL
						 : nvs_model_channel(t, rec->channel);

	/* The segment's state already reports this. */
	if (rec->reason == NVS_GAP_CHOICE && rec->rec.flags & NVS_GAP_NOT_KEPT)
		return;
	count_gap(&s->counts, rec);
	if (chan)
		count_gap(&chan->pub.counts, rec);
	if (rec->reason == NVS_GAP_CHOICE)
		return;
	if (rec->reason == NVS_GAP_DISARMED)
		PROBLEM(t,
			"gap: the doorbell page at %#llx was disarmed because a store could not be "
			"completed",
			(ull)rec->address);
	else if (rec->channel == NVS_NONE)
		PROBLEM(t, "gap: %llu submission%s lost (%s), channel unknown",
			(ull)rec->submissions, S(rec->submissions), why);
	else if (rec->submissions)
		report_lost(t, rec, why, chan ? &chan->gap : NULL);
	else
		PROBLEM(t, "gap: channel %u: submission %llu: %llu bytes at %#llx lost (%s)",
			rec->channel, (ull)rec->sequence, (ull)rec->bytes, (ull)rec->address, why);
}

static void compare_final(struct nvs_trace *t, const struct nvs_channel_state *chan,
			  const struct nvs_rec_channel_gone *rec)
{
	if (chan->pub.next_sequence != rec->submissions)
		PROBLEM(t, "channel %u: %llu submissions were made, %llu are recorded",
			rec->channel, (ull)rec->submissions, (ull)chan->pub.next_sequence);
	if (chan->pub.next_put != rec->last_put)
		PROBLEM(t, "channel %u: the last PUT seen was %u, the last one recorded is %u",
			rec->channel, rec->last_put, chan->pub.next_put);
	if (!(rec->rec.flags & NVS_CHAN_GONE_PUT_UNKNOWN) && rec->final_put != rec->last_put)
		PROBLEM(t, "channel %u: GP_PUT was %u at its end, but the last one seen was %u",
			rec->channel, rec->final_put, rec->last_put);
}

static void verify_channel_gone(struct nvs_trace *t, const struct nvs_rec_channel_gone *rec)
{
	const struct nvs_channel_state *chan = nvs_model_channel(t, rec->channel);

	if (!chan)
		return;
	if (!(rec->rec.flags & NVS_CHAN_GONE_AT_EXIT))
		compare_final(t, chan, rec);
	if (!(rec->rec.flags & NVS_CHAN_GONE_PUT_UNKNOWN))
		return;
	if (chan->pub.rec.flags & NVS_CHAN_BOUND)
		PROBLEM(t, "channel %u: GP_PUT could not be read at its end", rec->channel);
	else if (!chan->pub.counts.lost_submissions)
		REMARK(t,
		       "channel %u: the process never mapped its ring and USERD, so it cannot "
		       "submit to it",
		       rec->channel);
}

/* A store that is not patched costs time, but loses nothing. One that was first seen just before
 * the end cost hardly any: which run has such a store depends on how the threads were scheduled. */
static void verify_site(struct nvs_trace *t, const struct nvs_rec_check *rec)
{
	static const char *const why[] = {
		[NVS_SITE_FORM] = "its instruction form is not supported",
		[NVS_SITE_SURROUNDINGS] = "the surrounding code prevents it",
		[NVS_SITE_NO_NEAR] = "there is no free memory within reach",
		[NVS_SITE_NO_WRITE] = "the code cannot be written",
		[NVS_SITE_NO_BARRIER] = "the kernel lacks membarrier",
	};

	if (rec->value == NVS_SITE_NOT_YET)
		NOTE(t,
		     "the store at %#llx is not patched: it was first seen too shortly before the "
		     "end",
		     (ull)rec->start);
	else if (rec->value && rec->value < sizeof(why) / sizeof(*why))
		REMARK(t, "the store at %#llx is not patched and traps each time: %s",
		       (ull)rec->start, why[rec->value]);
}

static void verify_check(struct nvs_trace *t, const struct nvs_rec_check *rec)
{
	if (rec->kind == NVS_CHECK_MAPS && rec->value)
		PROBLEM(t, "%llu doorbell mappings were not armed at the end", (ull)rec->value);
	else if (rec->kind == NVS_CHECK_UNARMED)
		PROBLEM(t, "doorbell mapping %#llx-%#llx is not armed", (ull)rec->start,
			(ull)rec->end);
	else if (rec->kind == NVS_CHECK_HANDLER && rec->value)
		REMARK(t, "the nvsnoop signal handler was replaced %llu time%s and reinstalled",
		       (ull)rec->value, rec->value == 1 ? "" : "s");
	else if (rec->kind == NVS_CHECK_SITE)
		verify_site(t, rec);
}

/* Shows the parameters too: they are what is needed to add the form. */
static void remark_on_channel(struct nvs_trace *t, const struct nvs_rec_remark *rec,
			      const char *driver, const char *object)
{
	const uint32_t *words = (const uint32_t *)(rec + 1);
	uint32_t n = (rec->rec.size - (uint32_t)sizeof(*rec)) / 4;
	char text[9 * 40 + 1] = "";

	REMARK(t,
	       "GPU %d: a channel was created by NV_ESC_RM_ALLOC with parameters of an unknown "
	       "form (driver %s); its submissions are not recorded%s",
	       (int)rec->gpu, driver, object);
	for (uint32_t i = 0; i < n && i < 40; i++)
		snprintf(text + 9 * i, sizeof(text) - 9 * i, " %08x", words[i]);
	if (n)
		NOTE(t, "GPU %d: the parameters of that channel, as words:%s", (int)rec->gpu, text);
}

static void verify_remark(struct nvs_trace *t, const struct nvs_rec_remark *rec)
{
	static const char *const text[] = {
		[NVS_REMARK_GPU_DOORBELL] = "a doorbell page is mapped for the GPU itself; "
					    "submissions made there are not recorded",
		[NVS_REMARK_NO_DOORBELL] =
			"a channel has no doorbell (Pascal or older) and is not recorded",
		[NVS_REMARK_IMPORTED] = "memory or channels came from another process, whose "
					"submissions are not in this trace",
		[NVS_REMARK_LIKELY_DOORBELL] =
			"a mapping of an unknown class looks like a doorbell page and was watched",
	};
	const char *driver = t->session.attr[NVS_ATTR_DRIVER] ? t->session.attr[NVS_ATTR_DRIVER]
							      : "-";
	bool known = rec->kind < sizeof(text) / sizeof(*text) && text[rec->kind];
	char object[40] = "";

	if (rec->client || rec->handle)
		snprintf(object, sizeof(object), " (object %x:%x)", rec->client, rec->handle);
	t->session.newer_driver |= rec->kind == NVS_REMARK_NEWER_RELEASE;
	t->session.unknown_form |= rec->kind >= NVS_REMARK_CHANNEL_FORM &&
				   rec->kind <= NVS_REMARK_UVM_FORM;
	if (rec->kind == NVS_REMARK_NO_DOORBELL_PAGE)
		PROBLEM(t,
			"GPU %d: channels are in use, but no doorbell mapping is known: their "
			"submissions are not recorded%s",
			(int)rec->gpu, object);
	else if (rec->kind == NVS_REMARK_NEWER_RELEASE)
		REMARK(t, "driver release %s is newer than those known to the recording nvsnoop",
		       driver);
	else if (rec->kind == NVS_REMARK_NO_RELEASE)
		REMARK(t,
		       "the driver's release is unknown: its structures were read as those of 580");
	else if (rec->kind == NVS_REMARK_CHANNEL_FORM)
		remark_on_channel(t, rec, driver, object);
	else if (rec->kind == NVS_REMARK_CONFIDENTIAL)
		REMARK(t, "confidential computing is enabled: commands in memory that the CPU "
			  "cannot read are not recorded");
	else if (rec->kind == NVS_REMARK_CALL_FORM)
		REMARK(t,
		       "ioctl %#x with %u bytes of parameters is unknown in this form (driver %s): "
		       "what it created or mapped may be missing",
		       rec->client, rec->handle, driver);
	else if (rec->kind == NVS_REMARK_UVM_FORM)
		REMARK(t,
		       "UVM ioctl %u has parameters of an unknown form (driver %s): what it mapped "
		       "is missing",
		       rec->client, driver);
	else if (rec->kind == NVS_REMARK_SERIALIZED)
		REMARK(t,
		       "class or control %#x has serialized parameters, which are not read (driver "
		       "%s)",
		       rec->client, driver);
	else if (rec->kind == NVS_REMARK_MAPPED_CLASS)
		REMARK(t,
		       "GPU %d: an object of class %#x, which is not known to be memory, was "
		       "mapped "
		       "(object %x, driver %s)",
		       (int)rec->gpu, rec->client, rec->handle, driver);
	/* Normal with every CUDA program. */
	else if (rec->kind == NVS_REMARK_KERNEL_CHANNEL)
		NOTE(t, "GPU %d: submissions of the kernel driver itself are not recorded",
		     (int)rec->gpu);
	else if (known)
		REMARK(t, "GPU %d: %s%s", (int)rec->gpu, text[rec->kind], object);
	else
		REMARK(t, "GPU %d: remark of unknown kind %u", (int)rec->gpu, rec->kind);
}

static void compare_total(struct nvs_trace *t, const char *what, uint64_t counted, uint64_t have)
{
	if (counted != have)
		PROBLEM(t, "totals: the recorder counted %llu %s, the trace has %llu", (ull)counted,
			what, (ull)have);
}

static void verify_totals(struct nvs_trace *t, const struct nvs_rec_totals *rec)
{
	struct nvs_session *s = &t->session;
	const struct nvs_rec_part *before = &t->part.cut;
	const struct nvs_counts *c = &s->counts;

	s->has_totals = true;
	s->at_totals = s->counts;
	memcpy(&s->totals, rec, sizeof(s->totals));
	compare_total(t, "submissions", rec->submissions, c->submissions + before->submissions);
	compare_total(t, "entries", rec->entries, c->entries + before->entries);
	compare_total(t, "segments", rec->segments, c->segments + before->segments);
	compare_total(t, "bytes", rec->bytes, c->bytes + before->bytes);
	compare_total(t, "gaps", rec->gaps, c->gaps + before->gaps);
	compare_total(t, "lost submissions", rec->lost_submissions,
		      c->lost_submissions + before->lost_submissions);
	compare_total(t, "lost bytes", rec->lost_bytes, c->lost_bytes + before->lost_bytes);
	compare_total(t, "orphans", rec->orphans, c->orphans + before->orphans);
}

void nvs_verify_record(struct nvs_trace *t, const struct nvs_rec *rec)
{
	const struct nvs_rec_orphan *orphan = (const void *)rec;
	const struct nvs_rec_cpu_map *map = (const void *)rec;

	switch (rec->type) {
	case NVS_REC_GAP:
		verify_gap(t, (const void *)rec);
		break;
	case NVS_REC_ORPHAN:
		t->session.counts.orphans++;
		PROBLEM(t, "orphan doorbell: token %#x at mapping %d belongs to no known channel",
			orphan->token, (int)orphan->doorbell);
		break;
	case NVS_REC_CPU_MAP:
		if (map->kind == NVS_MAP_DOORBELL && rec->flags & NVS_MAP_UNARMED)
			PROBLEM(t, "doorbell mapping %u at %#llx could not be armed", map->map,
				(ull)map->address);
		break;
	case NVS_REC_CHANNEL_GONE:
		verify_channel_gone(t, (const void *)rec);
		break;
	case NVS_REC_CHECK:
		verify_check(t, (const void *)rec);
		break;
	case NVS_REC_REMARK:
		verify_remark(t, (const void *)rec);
		break;
	case NVS_REC_TOTALS:
		verify_totals(t, (const void *)rec);
		break;
	case NVS_REC_PART:
		nvs_recorded_window_set_cut(t, (const void *)rec);
		break;
	case NVS_REC_WINDOW:
		nvs_recorded_window_add(t, (const void *)rec);
		break;
	case NVS_REC_API:
	case NVS_REC_CALL_BEGIN:
	case NVS_REC_CALL:
		nvs_inflight_record(t, rec);
		break;
	case NVS_REC_END:
		t->end_seen = true;
		t->goes_on = rec->flags & NVS_END_GOES_ON;
		break;
	}
}

static void verify_channel(struct nvs_trace *t, const struct nvs_channel_state *chan)
{
	const struct nvs_rec_channel_gone *gone = &chan->pub.gone_rec;
	const struct nvs_trace_channel *c = &chan->pub;

	/*
	 * The record of a channel at process exit is of one moment, while other threads may go on
	 * ringing: submissions whose entries were written by then may be recorded later, and
	 * further ones too. A GP_PUT whose doorbell was still due then is included in later
	 * submissions, because they begin where the last one ended.
	 */
	if (chan->pub.gone && gone->rec.flags & NVS_CHAN_GONE_AT_EXIT &&
	    chan->pub.next_sequence <= gone->submissions)
		compare_final(t, chan, gone);
	if (c->rec.flags & NVS_CHAN_NO_DOORBELL)
		PROBLEM(t, "channel %u: class %04x has no doorbell and is not recorded", c->channel,
			c->rec.object_class);
	if (!c->known)
		PROBLEM(t, "channel %u: its allocation is not in the trace", c->channel);
	if (t->end_seen && !c->gone)
		PROBLEM(t, "channel %u: its final GP_PUT is not in the trace", c->channel);
}

void nvs_verify_end(struct nvs_trace *t)
{
	struct nvs_session *s = &t->session;

	for (uint32_t i = 0; i < t->channels.count; i++) {
		const struct nvs_channel_state *chan = nvs_number_get(&t->channels, i);

		if (chan)
			verify_channel(t, chan);
	}
	/* A submission whose copy was cut short by a kill was not rung. */
	if (s->counts.torn && (t->end_seen || s->end == NVS_END_DAMAGED))
		PROBLEM(t, "%llu submission%s incomplete", (ull)s->counts.torn,
			s->counts.torn == 1 ? " is" : "s are");
	else if (s->counts.torn)
		REMARK(t,
		       "%llu submission%s being copied when the program died; the doorbell was not "
		       "rung",
		       (ull)s->counts.torn, s->counts.torn == 1 ? " was" : "s were");
	if (s->counts.skipped_submissions)
		NOTE(t, "%llu submission%s only counted, not recorded, as the options say",
		     (ull)s->counts.skipped_submissions,
		     s->counts.skipped_submissions == 1 ? " was" : "s were");
	nvs_recorded_window_finish(t);
	if (s->header.flags & NVS_HDR_HEADERS)
		NOTE(t, "segment contents were not recorded (level=headers)");
	if (s->counts.uncertain)
		REMARK(t,
		       "%llu submission%s at the end %s recorded, but the doorbell may not have "
		       "been rung",
		       (ull)s->counts.uncertain, S(s->counts.uncertain),
		       s->counts.uncertain == 1 ? "was" : "were");
	if (s->counts.late)
		REMARK(t, "%llu submission%s rung after recording ended, and %s included",
		       (ull)s->counts.late, s->counts.late == 1 ? " was" : "s were",
		       s->counts.late == 1 ? "is" : "are");
	if (t->end_seen && !s->has_totals)
		PROBLEM(t, "the totals are missing");
	if (s->end != NVS_END_RUNNING && !t->end_seen && s->attr[NVS_ATTR_SPOOL] &&
	    !*s->attr[NVS_ATTR_SPOOL])
		PROBLEM(t, "the trace has no end record, and some thread buffers were outside the "
			   "spool: their contents are lost");
	if (!t->end_seen && !nvs_spool_has_buffers(t) && s->end != NVS_END_DAMAGED)
		PROBLEM(t, "the trace has no end record and no spool: records after the last frame "
			   "are lost");
	if (s->attr[NVS_ATTR_NVTX])
		REMARK(t,
		       "NVTX ranges are not recorded: NVTX_INJECTION64_PATH was already set to %s",
		       s->attr[NVS_ATTR_NVTX]);
	if (t->options.spool && !t->options.no_spool && !s->spool_read)
		REMARK(t, "%s is the spool of another recording and was not read",
		       t->options.spool);
	if (s->unknown_records)
		REMARK(t, "%llu record%s of unknown type %s skipped: use a newer nvsnoop-report",
		       (ull)s->unknown_records, S(s->unknown_records),
		       s->unknown_records == 1 ? "was" : "were");
}
