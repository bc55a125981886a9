/* SPDX-License-Identifier: MIT */
/* --export=perfetto: Perfetto's native format (packets of perfetto.protos.Trace). A process has a
 * track per thread with calls as slices, below it one per NVTX domain, and a track per channel with
 * submissions as instants. A flow leads from a call over its submissions to the instants at which
 * they were seen to be done. Packets are unsorted: the reader sorts them. */
#include <errno.h>
#include "decode/base/hash.h"
#include "decode/export/proto.h"
#include "decode/export/events.h"
#include "decode/query/nvtx_names.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/base/keyed_rows.h"

/* Field numbers, by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
};
enum { FLAGS_CLEARED = 1, FLAGS_NEEDED = 2 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2, REALTIME = 1 };
enum { INTERNED_EVENTS = 2, INTERNED_ANNOTATIONS = 3, INTERNED_ID = 1, INTERNED_NAME = 2 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,
};
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_LAST_FLOW = 48,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
};
enum {
	ANNOTATION_ID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_TEXT = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
};

#define MOST_NAMES (1u << 16) /* interned names; later ones are written in full */

enum track_kind { PROCESS, THREAD, NVTX, CHANNEL, WORK, RING, MEMORY };

struct track {
	struct {
		uint32_t kind, number, domain;
	} key;
	uint64_t uuid;
};

struct interned_name {
	uint64_t key; /* hash plus field of the kind of name */
	uint32_t number;
};

struct perfetto_state {
	struct nvs_proto packet,
		names; /* NAMES: for a packet with a name or track while PACKET is incomplete */
	struct nvs_rows tracks,
		known; /* struct track, struct interned_name: of the current trace */
	uint64_t ranges; /* started ranges of the current trace */
	bool begun; /* its packet sequence has begun */
};

static void begin_packet(const struct nvs_event_stream *w, struct nvs_proto *p)
{
	struct perfetto_state *st = w->to;

	nvs_proto_begin(p, TRACE_PACKET);
	nvs_proto_uint(p, PACKET_SEQUENCE, w->process);
	nvs_proto_uint(p, PACKET_FLAGS, st->begun ? FLAGS_NEEDED : FLAGS_CLEARED);
	st->begun = true;
}

static int end_packet(const struct nvs_event_stream *w, struct nvs_proto *p)
{
	FILE *file = w->run->out->file;

	nvs_proto_end(p);
	if (p->failed)
		return -ENOMEM;
	fwrite(p->data, 1, p->n, file);
	p->n = 0;
	return ferror(file);
}

/* ---- names ---- */

/* Returns the interned number of TEXT for FIELD; 0: it is not interned. */
static uint32_t intern_name(const struct nvs_event_stream *w, uint32_t field, const char *text)
{
	struct perfetto_state *st = w->to;
	uint64_t key = nvs_hash64(text, strlen(text)) + field;
	struct nvs_proto *p = &st->names;
	size_t before = st->known.n;
	struct interned_name *name = before < MOST_NAMES ? nvs_rows_at(&st->known, &key) : NULL;

	if (!name || name->number)
		return name ? name->number : 0;
	name->number = (uint32_t)st->known.n;
	begin_packet(w, p);
	nvs_proto_begin(p, PACKET_INTERNED);
	nvs_proto_begin(p, field);
	nvs_proto_uint(p, INTERNED_ID, name->number);
	nvs_proto_text(p, INTERNED_NAME, text, strlen(text));
	nvs_proto_end(p);
	nvs_proto_end(p);
	return end_packet(w, p) ? 0 : name->number;
}

static void put_name(const struct nvs_event_stream *w, const char *text)
{
	struct perfetto_state *st = w->to;
	uint32_t number = intern_name(w, INTERNED_EVENTS, text);

	if (number)
		nvs_proto_uint(&st->packet, EVENT_NAME_ID, number);
	else
		nvs_proto_text(&st->packet, EVENT_NAME, text, strlen(text));
}

/* ---- annotations of an event: begin_annotation(), a value, nvs_proto_end() ---- */

static struct nvs_proto *begin_annotation(const struct nvs_event_stream *w, const char *name)
{
	struct perfetto_state *st = w->to;
	struct nvs_proto *p = &st->packet;
	uint32_t number = intern_name(w, INTERNED_ANNOTATIONS, name);

	nvs_proto_begin(p, EVENT_ANNOTATION);
	if (number)
		nvs_proto_uint(p, ANNOTATION_ID, number);
	else
		nvs_proto_text(p, ANNOTATION_NAME, name, strlen(name));
	return p;
}

static void annotate_number(const struct nvs_event_stream *w, const char *name, uint64_t value)
{
	struct nvs_proto *p = begin_annotation(w, name);

	nvs_proto_uint(p, ANNOTATION_UINT, value);
	nvs_proto_end(p);
}

static void annotate_text(const struct nvs_event_stream *w, const char *name, const char *text)
{
	struct nvs_proto *p;

	if (!text || !*text)
		return;
	p = begin_annotation(w, name);
	nvs_proto_text(p, ANNOTATION_TEXT, text, strlen(text));
	nvs_proto_end(p);
}

/* ---- tracks ---- */

static uint64_t track_of(const struct nvs_event_stream *w, enum track_kind kind, uint32_t number,
			 uint32_t domain);

static void describe_thread(const struct nvs_event_stream *w, struct nvs_proto *p, uint32_t thread)
{
	char room[32];
	const char *name = nvs_event_thread_name(w, thread, room, sizeof(room));

	nvs_proto_begin(p, TRACK_THREAD);
	nvs_proto_uint(p, THREAD_PID, w->pid);
	nvs_proto_uint(p, THREAD_TID, nvs_event_tid(w, thread));
	nvs_proto_text(p, THREAD_NAME, name, strlen(name));
	nvs_proto_end(p);
}

static void describe_counter(struct nvs_proto *p, const char *name, unsigned unit)
{
	nvs_proto_text(p, TRACK_NAME, name, strlen(name));
	nvs_proto_begin(p, TRACK_COUNTER);
	nvs_proto_uint(p, COUNTER_UNIT, unit);
	nvs_proto_end(p);
}

static void describe_nvtx(const struct nvs_event_stream *w, struct nvs_proto *p, uint32_t domain)
{
	const char *name = domain ? nvs_nvtx_domain(nvs_nvtx_names(w->source->nvtx), domain) : "";
	char text[256];

	snprintf(text, sizeof(text), "NVTX%s%.200s", *name ? " " : "", name);
	nvs_proto_text(p, TRACK_NAME, text, strlen(text));
}

static void describe_track(const struct nvs_event_stream *w, struct nvs_proto *p,
			   const struct track *t)
{
	char text[160], room[128];

	switch (t->key.kind) {
	case PROCESS:
		nvs_proto_begin(p, TRACK_PROCESS);
		nvs_proto_uint(p, PROCESS_PID, w->pid);
		nvs_proto_text(p, PROCESS_NAME, w->name, strlen(w->name));
		nvs_proto_end(p);
		break;
	case THREAD:
		describe_thread(w, p, t->key.number);
		break;
	case NVTX:
		describe_nvtx(w, p, t->key.domain);
		break;
	case CHANNEL:
		nvs_event_channel_name(w, t->key.number, text, sizeof(text));
		nvs_proto_text(p, TRACK_NAME, text, strlen(text));
		break;
	case WORK:
		nvs_event_channel_name(w, t->key.number, room, sizeof(room));
		snprintf(text, sizeof(text), "GPU work of %s", room);
		nvs_proto_text(p, TRACK_NAME, text, strlen(text));
		break;
	case RING:
		snprintf(text, sizeof(text), "channel %u: entries not seen done", t->key.number);
		describe_counter(p, text, UNIT_COUNT);
		break;
	case MEMORY:
		describe_counter(p, "device memory allocated by calls", UNIT_BYTES);
		break;
	}
}

/* uuid of the parent track. */
static uint64_t parent_of(const struct nvs_event_stream *w, const struct track *t)
{
	return t->key.kind == PROCESS ? 0
	       : t->key.kind == NVTX  ? track_of(w, THREAD, t->key.number, 0)
				      : track_of(w, PROCESS, 0, 0);
}

static int write_track(const struct nvs_event_stream *w, uint64_t uuid, const struct track *t,
		       const char *name)
{
	struct nvs_proto *p = &((struct perfetto_state *)w->to)->names;
	uint64_t parent = t ? parent_of(w, t) : track_of(w, PROCESS, 0, 0);

	begin_packet(w, p);
	nvs_proto_begin(p, PACKET_TRACK);
	nvs_proto_uint(p, TRACK_UUID, uuid);
	if (parent)
		nvs_proto_uint(p, TRACK_PARENT, parent);
	if (t)
		describe_track(w, p, t);
	else
		nvs_proto_text(p, TRACK_NAME, name, strlen(name));
	nvs_proto_end(p);
	return end_packet(w, p);
}

/* Returns 0 if memory is short. */
static uint64_t track_of(const struct nvs_event_stream *w, enum track_kind kind, uint32_t number,
			 uint32_t domain)
{
	struct perfetto_state *st = w->to;
	struct track *t, key = {{kind, number, domain}, 0};

	t = nvs_rows_at(&st->tracks, &key.key);
	if (!t || t->uuid)
		return t ? t->uuid : 0;
	t->uuid = (uint64_t)w->process << 48 | st->tracks.n;
	key.uuid = t->uuid;
	return write_track(w, key.uuid, &key, NULL) < 0 ? 0 : key.uuid;
}

/* ---- events ---- */

static struct nvs_proto *begin_event(const struct nvs_event_stream *w, int64_t at, unsigned type,
				     uint64_t track)
{
	struct nvs_proto *p = &((struct perfetto_state *)w->to)->packet;

	begin_packet(w, p);
	nvs_proto_uint(p, PACKET_TIMESTAMP, w->base + (uint64_t)at);
	nvs_proto_begin(p, PACKET_EVENT);
	nvs_proto_uint(p, EVENT_TYPE, type);
	nvs_proto_uint(p, EVENT_TRACK, track);
	return p;
}

static int end_event(const struct nvs_event_stream *w)
{
	struct nvs_proto *p = &((struct perfetto_state *)w->to)->packet;

	nvs_proto_end(p);
	return end_packet(w, p);
}

static void put_category(struct nvs_proto *p, const char *text)
{
	nvs_proto_text(p, EVENT_CATEGORY, text, strlen(text));
}

static int write_counter(const struct nvs_event_stream *w, int64_t at, uint64_t track,
			 uint64_t value)
{
	struct nvs_proto *p;

	if (!track)
		return -ENOMEM;
	p = begin_event(w, at, TYPE_COUNTER, track);
	nvs_proto_int(p, EVENT_COUNTER, (int64_t)value);
	return end_event(w);
}

static int end_slice(const struct nvs_event_stream *w, int64_t at, uint64_t track)
{
	begin_event(w, at, TYPE_END, track);
	return end_event(w);
}

/* ---- callbacks of the walk ---- */

static int on_begin(struct nvs_event_stream *w)
{
	struct perfetto_state *st = w->to;
	struct nvs_proto *p = &st->packet;

	nvs_rows_free(&st->tracks, NULL);
	nvs_rows_free(&st->known, NULL);
	st->tracks = NVS_ROWS(struct track, key);
	st->known = NVS_ROWS(struct interned_name, key);
	st->ranges = 0;
	st->begun = false;
	begin_packet(w, p);
	nvs_proto_begin(p, PACKET_DEFAULTS);
	nvs_proto_uint(p, PACKET_CLOCK, REALTIME);
	nvs_proto_end(p);
	nvs_proto_begin(p, PACKET_CLOCKS);
	nvs_proto_begin(p, CLOCKS_CLOCK);
	nvs_proto_uint(p, CLOCK_ID, REALTIME);
	nvs_proto_uint(p, CLOCK_TIME, w->base);
	nvs_proto_end(p);
	nvs_proto_uint(p, CLOCKS_PRIMARY, REALTIME);
	nvs_proto_end(p);
	return end_packet(w, p);
}

static void annotate_argument(const struct nvs_event_stream *w, const struct nvs_call *call,
			      uint32_t index)
{
	struct nvs_arg arg = nvs_call_arg_at(call, index);
	char text[1100];
	struct nvs_proto *p;

	if (arg.absent)
		return;
	if (arg.kind == NVS_KIND_STRING) {
		annotate_text(w, arg.name, nvs_call_print(call, index, text, sizeof(text)));
		return;
	}
	p = begin_annotation(w, arg.name);
	if (arg.kind == NVS_KIND_SIGNED)
		nvs_proto_int(p, ANNOTATION_INT, (int64_t)arg.value);
	else
		nvs_proto_uint(p,
			       arg.kind <= NVS_KIND_UNSIGNED ? ANNOTATION_UINT : ANNOTATION_POINTER,
			       arg.value);
	nvs_proto_end(p);
}

static void annotate_call(const struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_call *call = c->call;
	char room[32];

	annotate_text(w, "kernel", c->kernel);
	for (uint32_t i = 0; i < call->nargs; i++)
		annotate_argument(w, call, i);
	annotate_text(w, "result", nvs_event_call_error(call, room, sizeof(room)));
	if (call->flags & NVS_CALL_CAPTURED)
		annotate_text(w, "captured", "into a graph");
	if (call->uncounted || !call->asked_submissions)
		return;
	annotate_number(w, "submissions", call->asked_submissions);
	annotate_number(w, "command_bytes", call->asked_bytes);
}

static int on_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	uint64_t track = track_of(w, THREAD, c->call->thread, 0);
	struct nvs_proto *p;
	int r;

	if (!track)
		return -ENOMEM;
	p = begin_event(w, c->begin, TYPE_BEGIN, track);
	put_category(p, nvs_call_group_name(nvs_call_group(c->call)));
	put_name(w, c->name);
	if (c->call->submissions)
		nvs_proto_fixed64(p, EVENT_FLOW, c->flow);
	annotate_call(w, c);
	r = end_event(w);
	return r || !c->ended ? r : end_slice(w, c->end, track);
}

static int on_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	const struct nvs_submission *s = one->s;
	uint64_t track = track_of(w, CHANNEL, s->channel->channel, 0);
	char work[256];
	struct nvs_proto *p;
	int r;

	if (!track)
		return -ENOMEM;
	p = begin_event(w, one->at, TYPE_INSTANT, track);
	put_category(p, "submission");
	nvs_tally_text(work, sizeof(work), one->tally);
	put_name(w, one->api);
	if (one->flow)
		nvs_proto_fixed64(p, EVENT_FLOW, one->flow);
	annotate_number(w, "submission", s->number);
	annotate_number(w, "sequence", s->rec->sequence);
	annotate_number(w, "entries", s->nentries);
	annotate_number(w, "command_bytes", nvs_submission_bytes(s));
	annotate_text(w, "work", work);
	annotate_text(w, "site", one->site);
	r = end_event(w);
	if (r || !one->counted)
		return r;
	return write_counter(w, one->at, track_of(w, RING, s->channel->channel, 0), one->pending);
}

static int on_release(struct nvs_event_stream *w, const struct nvs_event_release *release)
{
	uint64_t track = track_of(w, CHANNEL, release->channel->channel, 0);
	struct nvs_proto *p;

	if (!track)
		return -ENOMEM;
	p = begin_event(w, release->at, TYPE_INSTANT, track);
	put_category(p, "release");
	put_name(w, "seen done");
	if (release->flow)
		nvs_proto_fixed64(p, EVENT_FLOW, release->flow);
	annotate_number(w, "submission", release->submission);
	annotate_number(w, "payload", release->payload);
	if (release->gpu)
		annotate_number(w, "gpu_ns", release->gpu);
	return end_event(w);
}

static int on_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	uint64_t track = track_of(w, WORK, g->work->channel, 0);
	struct nvs_proto *p;
	int r;

	if (!track)
		return -ENOMEM;
	p = begin_event(w, g->begin, TYPE_BEGIN, track);
	put_category(p, "gpu");
	put_name(w, *g->name ? g->name : "-");
	if (g->flow)
		nvs_proto_fixed64(p, EVENT_FLOW, g->flow);
	annotate_number(w, "submission", g->work->number);
	if (g->work->flags & NVS_WORK_SINGLE_COPY)
		annotate_number(w, "bytes", g->work->bytes);
	annotate_text(w, "note", nvs_event_gpu_note(g));
	annotate_number(w, "clock_error_ns", g->error_ns);
	r = end_event(w);
	return r ? r : end_slice(w, g->end, track);
}

/* Started ranges may overlap: each has a separate track named after it. */
static uint64_t range_track(const struct nvs_event_stream *w, const struct nvs_event_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	struct perfetto_state *st = w->to;
	uint64_t uuid;

	if (e->node->key.kind != NVS_NVTX_START)
		return track_of(w, NVTX, e->what == NVS_NVTX_ENDED ? e->told : e->thread,
				e->node->key.domain);
	if (e->what == NVS_NVTX_ENDED)
		return e->tag ? *e->tag : 0;
	uuid = (uint64_t)w->process << 48 | 1ull << 40 | ++st->ranges;
	if (e->tag)
		*e->tag = uuid;
	return write_track(w, uuid, NULL, range->name) < 0 ? 0 : uuid;
}

static int on_range(struct nvs_event_stream *w, const struct nvs_event_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	uint64_t track = range_track(w, range);
	char text[NVS_CALL_TEXT_BYTES];
	struct nvs_proto *p;

	if (e->what == NVS_NVTX_ENDED)
		return track ? end_slice(w, range->end, track) : 0;
	if (!track)
		return -ENOMEM;
	p = begin_event(w, range->begin, e->what == NVS_NVTX_MARKED ? TYPE_INSTANT : TYPE_BEGIN,
			track);
	put_category(p, "nvtx");
	put_name(w, *range->name ? range->name : "-");
	nvs_nvtx_describe(nvs_nvtx_names(w->source->nvtx), range->rec, text, sizeof(text));
	annotate_text(w, "nvtx", *text ? text + 2 : ""); /* after ", " */
	return end_event(w);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	return write_counter(w, at, track_of(w, MEMORY, 0, 0), bytes);
}

static const struct nvs_event_sink walker = {
	.times = true,
	.begin = on_begin,
	.call = on_call,
	.submission = on_submission,
	.release = on_release,
	.range = on_range,
	.gpu = on_gpu,
	.memory = on_memory,
};

static int print(struct nvs_run *run)
{
	struct perfetto_state st = {.begun = false};
	int r = nvs_events_deliver(run, &walker, &st);

	nvs_proto_free(&st.packet);
	nvs_proto_free(&st.names);
	nvs_rows_free(&st.tracks, NULL);
	nvs_rows_free(&st.known, NULL);
	return r < 0 ? r : 0;
}

NVS_REPORT(
	export_perfetto, .name = "export=perfetto", .group = NVS_EXPORTS, .place = 310,
	.help = "for ui.perfetto.dev: calls by thread, submissions "
		"by channel, flows between them, NVTX, counters",
	.man = "A native trace of Perfetto, for\n.I https://ui.perfetto.dev\nor trace_processor. "
	       "Each thread has a track with its calls and their arguments as slices, each channel "
	       "one with its\nsubmissions and the times at which they were seen done; flows "
	       "connect the three. With\n.BR timing=work ,\nanother track per channel has the GPU "
	       "work of each submission as a slice. The trace also has NVTX ranges and marks, the "
	       "entries of each\nring not seen done, and the device memory allocated by calls.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_BINARY,
	.print = print);
