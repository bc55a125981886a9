/* SPDX-License-Identifier: MIT */
/* Makes slices of events: see slices.h. */
#include "decode/export/slices.h"
#include "decode/analysis/call_text.h"

static struct nvs_slice_field *add_field(struct nvs_slice *s, const char *name)
{
	struct nvs_slice_field *f = s->fields + s->nfields++;

	*f = (struct nvs_slice_field){.name = name};
	return f;
}

static struct nvs_slice_field *add_number(struct nvs_slice *s, const char *name, uint64_t number)
{
	struct nvs_slice_field *f = add_field(s, name);

	f->number = number;
	return f;
}

/* An empty text is not a field. */
static void add_text(struct nvs_slice *s, const char *name, const char *text)
{
	if (text && *text)
		add_field(s, name)->text = text;
}

static void add_arguments(struct nvs_slice *s, const struct nvs_call *call)
{
	for (uint32_t i = 0; i < call->nargs; i++)
		if (!(call->absent >> i & 1))
			add_number(s, call->api->arg[i], i)->call = call;
}

/* Sets all but the fields, of which there is room for many more than most slices have. */
static void start_slice(struct nvs_slice *s, enum nvs_track_kind track, uint32_t number,
			const char *category, const char *name, int64_t begin, int64_t end,
			uint64_t flow)
{
	s->track = track;
	s->number = number;
	s->category = category;
	s->name = name;
	s->begin = begin;
	s->end = end;
	s->ended = true;
	s->flow = flow;
	s->counted = false;
	s->nfields = 0;
}

int nvs_slice_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_call *call = c->call;
	struct nvs_slice s;
	char room[32];

	start_slice(&s, NVS_TRACK_THREAD, call->thread, nvs_call_group_name(nvs_call_group(call)),
		    c->name, c->begin, c->end, call->submissions ? c->flow : 0);
	s.ended = c->ended;
	add_text(&s, "kernel", c->kernel);
	add_arguments(&s, call);
	add_text(&s, "result", nvs_event_call_error(call, room, sizeof(room)));
	if (call->flags & NVS_CALL_CAPTURED)
		add_text(&s, "captured", "into a graph");
	if (!call->uncounted && call->asked_submissions) {
		add_number(&s, "submissions", call->asked_submissions);
		add_number(&s, "command_bytes", call->asked_bytes);
	}
	return w->walker->slice(w, &s);
}

int nvs_slice_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	const struct nvs_submission *sub = one->s;
	uint32_t channel = sub->channel->channel;
	struct nvs_slice s;
	char work[256];

	start_slice(&s, NVS_TRACK_CHANNEL, channel, "submission", one->api, one->at, one->at,
		    one->flow);
	s.counted = one->counted;
	s.pending = one->pending;
	nvs_tally_text(work, sizeof(work), one->tally);
	add_number(&s, "submission", sub->number);
	add_number(&s, "channel", channel)->of_track = true;
	add_number(&s, "sequence", sub->rec->sequence);
	add_number(&s, "entries", sub->nentries);
	add_number(&s, "command_bytes", nvs_submission_bytes(sub));
	add_text(&s, "work", work);
	add_text(&s, "site", one->site);
	return w->walker->slice(w, &s);
}

int nvs_slice_release(struct nvs_event_stream *w, const struct nvs_event_release *r)
{
	struct nvs_slice s;

	start_slice(&s, NVS_TRACK_CHANNEL, r->channel->channel, "release", "seen done", r->at,
		    r->at, r->flow);
	add_number(&s, "submission", r->submission);
	add_number(&s, "payload", r->payload);
	if (r->gpu)
		add_number(&s, "gpu_ns", r->gpu);
	return w->walker->slice(w, &s);
}

int nvs_slice_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	struct nvs_slice s;

	start_slice(&s, NVS_TRACK_WORK, g->work->channel, "gpu", *g->name ? g->name : "-", g->begin,
		    g->end, g->flow);
	add_number(&s, "submission", g->work->number);
	if (g->work->flags & NVS_WORK_SINGLE_COPY)
		add_number(&s, "bytes", g->work->bytes);
	add_text(&s, "note", nvs_event_gpu_note(g));
	add_number(&s, "clock_error_ns", g->error_ns);
	return w->walker->slice(w, &s);
}

const char *nvs_track_name(const struct nvs_event_stream *w, enum nvs_track_kind kind,
			   uint32_t number, char *room, size_t size)
{
	char channel[128];

	if (kind == NVS_TRACK_THREAD)
		return nvs_event_thread_name(w, number, room, size);
	if (kind == NVS_TRACK_CHANNEL)
		return nvs_event_channel_name(w, number, room, size);
	snprintf(room, size, "GPU work of %s",
		 nvs_event_channel_name(w, number, channel, sizeof(channel)));
	return room;
}
