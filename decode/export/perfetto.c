/* SPDX-License-Identifier: MIT */
/* --export=perfetto: Perfetto's native format (packets of perfetto.protos.Trace). A process has a
 * track per thread with calls as slices, below it one per NVTX domain, and a track per channel with
 * submissions as instants. A flow leads from a call over its submissions to the instants at which
 * they were seen to be done. Packets are unsorted: the reader sorts them. */
#include <errno.h>
#include "decode/base/hash.h"
#include "decode/export/proto.h"
#include "decode/export/slices.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
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

/* Kinds of tracks beyond enum nvs_track_kind. */
enum { PROCESS = NVS_TRACKS, RING, MEMORY, KINDS };

/* It is written when the first event on it is. */
struct track {
	struct nvs_track_key key;
	uint64_t uuid; /* 0: not written yet */
	char *name; /* of those that are passed on */
	uint32_t tid;
};

struct interned_name {
	uint64_t key; /* hash plus field of the kind of name */
	uint32_t number;
};

/* A name of annotations that was used lately, by its address: these live as long as the trace. */
struct recent_name {
	const char *text;
	uint32_t number;
};

#define RECENT_NAMES 256u

struct perfetto_state {
	struct recent_name recent[RECENT_NAMES]; /* of the current trace */
	struct nvs_proto packet,
		names; /* NAMES: for a packet with a name or track while PACKET is incomplete */
	struct nvs_rows tracks,
		known; /* struct track, struct interned_name: of the current trace */
	struct track *latest[KINDS]; /* of each kind, in the current trace */
	uint64_t written; /* tracks of the current trace */
	bool begun; /* its packet sequence has begun */
};

static void begin_packet(const struct nvs_event_stream *w, struct nvs_proto *p)
{
	struct perfetto_state *st = nvs_slices_to(w);

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
	fwrite_unlocked(p->data, 1, p->n, file);
	p->n = 0;
	return ferror_unlocked(file);
}

/* ---- names ---- */

/* Returns the interned number of TEXT for FIELD; 0: it is not interned. */
static uint32_t find_or_add_name(const struct nvs_event_stream *w, uint32_t field, const char *text)
{
	struct perfetto_state *st = nvs_slices_to(w);
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

/* The same for an annotation, without a hash if it was used lately. */
static uint32_t intern_annotation(const struct nvs_event_stream *w, const char *text)
{
	struct perfetto_state *st = nvs_slices_to(w);
	uint64_t place = (uintptr_t)text * 0x9e3779b97f4a7c15ull;
	struct recent_name *recent = st->recent + (place >> 32) % RECENT_NAMES;

	if (recent->text == text)
		return recent->number;
	*recent = (struct recent_name){text, find_or_add_name(w, INTERNED_ANNOTATIONS, text)};
	return recent->number;
}

static void put_name(const struct nvs_event_stream *w, const char *text)
{
	struct perfetto_state *st = nvs_slices_to(w);
	uint32_t number = find_or_add_name(w, INTERNED_EVENTS, text);

	if (number)
		nvs_proto_uint(&st->packet, EVENT_NAME_ID, number);
	else
		nvs_proto_text(&st->packet, EVENT_NAME, text, strlen(text));
}

/* ---- annotations of an event: begin_annotation(), a value, nvs_proto_end() ---- */

static struct nvs_proto *begin_annotation(const struct nvs_event_stream *w, const char *name)
{
	struct perfetto_state *st = nvs_slices_to(w);
	struct nvs_proto *p = &st->packet;
	uint32_t number = intern_annotation(w, name);

	nvs_proto_begin(p, EVENT_ANNOTATION);
	if (number)
		nvs_proto_uint(p, ANNOTATION_ID, number);
	else
		nvs_proto_text(p, ANNOTATION_NAME, name, strlen(name));
	return p;
}

/* VALUE is in the annotation's field KIND. */
static void annotate_number(const struct nvs_event_stream *w, const char *name, uint32_t kind,
			    uint64_t value)
{
	struct nvs_proto *p = &((struct perfetto_state *)nvs_slices_to(w))->packet;
	uint32_t number = intern_annotation(w, name);

	if (number) {
		nvs_proto_pair(p, EVENT_ANNOTATION, (const uint32_t[]){ANNOTATION_ID, kind},
			       (const uint64_t[]){number, value});
		return;
	}
	begin_annotation(w, name);
	nvs_proto_uint(p, kind, value);
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

static uint64_t track_of(const struct nvs_event_stream *w, uint32_t kind, uint32_t number,
			 uint32_t domain);

static void describe_thread(const struct nvs_event_stream *w, struct nvs_proto *p,
			    const struct track *t)
{
	nvs_proto_begin(p, TRACK_THREAD);
	nvs_proto_uint(p, THREAD_PID, w->pid);
	nvs_proto_uint(p, THREAD_TID, t->tid);
	nvs_proto_text(p, THREAD_NAME, t->name, strlen(t->name));
	nvs_proto_end(p);
}

static void describe_counter(struct nvs_proto *p, const char *name, unsigned unit)
{
	nvs_proto_text(p, TRACK_NAME, name, strlen(name));
	nvs_proto_begin(p, TRACK_COUNTER);
	nvs_proto_uint(p, COUNTER_UNIT, unit);
	nvs_proto_end(p);
}

static void describe_nvtx(struct nvs_proto *p, const char *domain)
{
	char text[256];

	snprintf(text, sizeof(text), "NVTX%s%.200s", *domain ? " " : "", domain);
	nvs_proto_text(p, TRACK_NAME, text, strlen(text));
}

static void describe_track(const struct nvs_event_stream *w, struct nvs_proto *p,
			   const struct track *t)
{
	char text[160];

	switch (t->key.kind) {
	case PROCESS:
		nvs_proto_begin(p, TRACK_PROCESS);
		nvs_proto_uint(p, PROCESS_PID, w->pid);
		nvs_proto_text(p, PROCESS_NAME, w->name, strlen(w->name));
		nvs_proto_end(p);
		break;
	case NVS_TRACK_THREAD:
		describe_thread(w, p, t);
		break;
	case NVS_TRACK_NVTX:
		describe_nvtx(p, t->name);
		break;
	case NVS_TRACK_CHANNEL:
	case NVS_TRACK_WORK:
		nvs_proto_text(p, TRACK_NAME, t->name, strlen(t->name));
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
	return t->key.kind == PROCESS	       ? 0
	       : t->key.kind == NVS_TRACK_NVTX ? track_of(w, NVS_TRACK_THREAD, t->key.number, 0)
					       : track_of(w, PROCESS, 0, 0);
}

static int write_track(const struct nvs_event_stream *w, uint64_t uuid, const struct track *t,
		       const char *name)
{
	struct nvs_proto *p = &((struct perfetto_state *)nvs_slices_to(w))->names;
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
static uint64_t track_of(const struct nvs_event_stream *w, uint32_t kind, uint32_t number,
			 uint32_t domain)
{
	struct perfetto_state *st = nvs_slices_to(w);
	struct nvs_track_key key = {kind, number, domain};
	struct track *t = st->latest[kind];

	if (t && t->key.number == number && t->key.domain == domain)
		return t->uuid;
	t = nvs_rows_at(&st->tracks, &key);
	if (!t)
		return 0;
	st->latest[kind] = t;
	if (t->uuid)
		return t->uuid;
	t->uuid = (uint64_t)w->process << 48 | ++st->written;
	return write_track(w, t->uuid, t, NULL) < 0 ? 0 : t->uuid;
}

static void free_track(void *row)
{
	free(((struct track *)row)->name);
}

/* ---- events ---- */

static struct nvs_proto *begin_event(const struct nvs_event_stream *w, int64_t at, unsigned type,
				     uint64_t track)
{
	struct nvs_proto *p = &((struct perfetto_state *)nvs_slices_to(w))->packet;

	begin_packet(w, p);
	nvs_proto_uint(p, PACKET_TIMESTAMP, w->base + (uint64_t)at);
	nvs_proto_begin(p, PACKET_EVENT);
	nvs_proto_uint(p, EVENT_TYPE, type);
	nvs_proto_uint(p, EVENT_TRACK, track);
	return p;
}

static int end_event(const struct nvs_event_stream *w)
{
	struct nvs_proto *p = &((struct perfetto_state *)nvs_slices_to(w))->packet;

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
	struct perfetto_state *st = nvs_slices_to(w);
	struct nvs_proto *p = &st->packet;

	nvs_rows_free(&st->tracks, free_track);
	nvs_rows_free(&st->known, NULL);
	memset(st->recent, 0, sizeof(st->recent));
	memset(st->latest, 0, sizeof(st->latest));
	st->tracks = NVS_ROWS(struct track, key);
	st->known = NVS_ROWS(struct interned_name, key);
	st->written = 0;
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

static int on_track(struct nvs_event_stream *w, const struct nvs_track *passed)
{
	struct perfetto_state *st = nvs_slices_to(w);
	struct track *t = nvs_rows_at(&st->tracks, &passed->key);

	if (!t)
		return -ENOMEM;
	t->name = strdup(passed->name);
	t->tid = passed->tid;
	return t->name ? 0 : -ENOMEM;
}

static void annotate_fields(const struct nvs_event_stream *w, const struct nvs_slice *s)
{
	for (const struct nvs_slice_field *f = s->fields; f < s->fields + s->nfields; f++)
		if (f->text)
			annotate_text(w, f->name, f->text);
		else if (!f->of_track)
			annotate_number(w, f->name,
					f->kind == NVS_KIND_SIGNED     ? ANNOTATION_INT
					: f->kind <= NVS_KIND_UNSIGNED ? ANNOTATION_UINT
								       : ANNOTATION_POINTER,
					f->number);
}

static int on_slice(struct nvs_event_stream *w, const struct nvs_slice *s)
{
	uint64_t track = track_of(w, s->track.kind, s->track.number, 0);
	bool instant = s->track.kind == NVS_TRACK_CHANNEL;
	struct nvs_proto *p;
	int r;

	if (!track)
		return -ENOMEM;
	p = begin_event(w, s->begin, instant ? TYPE_INSTANT : TYPE_BEGIN, track);
	put_category(p, s->category);
	put_name(w, s->name);
	if (s->flow)
		nvs_proto_fixed64(p, EVENT_FLOW, s->flow);
	annotate_fields(w, s);
	r = end_event(w);
	if (!r && s->ended && !instant)
		r = end_slice(w, s->end, track);
	if (r || !s->counted)
		return r;
	return write_counter(w, s->begin, track_of(w, RING, s->track.number, 0), s->pending);
}

/* Started ranges may overlap: each has a separate track named after it. */
static uint64_t range_track(const struct nvs_event_stream *w, const struct nvs_slice_range *r)
{
	uint64_t uuid = (uint64_t)w->process << 48 | 1ull << 40 | r->id;

	if (!r->started)
		return track_of(w, NVS_TRACK_NVTX, r->track.number, r->track.domain);
	if (r->ends)
		return r->id ? uuid : 0;
	return write_track(w, uuid, NULL, r->name) < 0 ? 0 : uuid;
}

static int on_range(struct nvs_event_stream *w, const struct nvs_slice_range *r)
{
	uint64_t track = range_track(w, r);
	struct nvs_proto *p;

	if (r->ends)
		return track ? end_slice(w, r->at, track) : 0;
	if (!track)
		return -ENOMEM;
	p = begin_event(w, r->at, r->marked ? TYPE_INSTANT : TYPE_BEGIN, track);
	put_category(p, "nvtx");
	put_name(w, r->name);
	annotate_text(w, "nvtx", r->detail);
	return end_event(w);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	return write_counter(w, at, track_of(w, MEMORY, 0, 0), bytes);
}

static const struct nvs_slice_sink sink = {
	.begin = on_begin,
	.track = on_track,
	.slice = on_slice,
	.range = on_range,
	.memory = on_memory,
};

static int print(struct nvs_run *run)
{
	struct perfetto_state st = {.begun = false};
	int r = nvs_slices_deliver(run, &sink, &st);

	nvs_proto_free(&st.packet);
	nvs_proto_free(&st.names);
	nvs_rows_free(&st.tracks, free_track);
	nvs_rows_free(&st.known, NULL);
	return r;
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
