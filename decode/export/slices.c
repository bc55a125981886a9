/* SPDX-License-Identifier: MIT */
/* Makes slices of events, in batches, and the thread that passes them on: see slices.h. */
#include "decode/export/slices.h"
#include <errno.h>
#include "decode/analysis/call_text.h"
#include "decode/base/batches.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/nvtx_names.h"

#define BATCH_ITEMS 512u
#define ITEMS 3u /* that an event is at most: itself and two tracks */
#define BATCH_FIELDS 4096u
#define ITEM_FIELDS (NVS_CALL_MAX_ARGS + 5) /* of a call; others have fewer */
#define SHORT_TEXT 512u /* longer ones are allocated */
#define ITEM_TEXT ((ITEM_FIELDS + 4) * SHORT_TEXT) /* at most, of an item and its track */
#define BATCH_TEXT (8 * ITEM_TEXT)

struct slice_item {
	enum slice_what { TRACK, SLICE, RANGE, MEMORY } what;
	union {
		struct nvs_track track;
		struct nvs_slice slice;
		struct nvs_slice_range range;
		struct {
			int64_t at;
			uint64_t bytes;
		} memory;
	};
};

struct long_text {
	struct long_text *next;
	char text[];
};

struct slice_batch {
	struct nvs_event_stream *w;
	int status; /* of the items that were passed on */
	uint32_t nitems, nfields, ntext;
	struct long_text *longs;
	struct slice_item items[BATCH_ITEMS];
	struct nvs_slice_field fields[BATCH_FIELDS];
	char text[BATCH_TEXT];
};

/* A track that was passed on. */
struct known_track {
	struct nvs_track_key key;
	bool passed;
	uint32_t tid;
};

struct slice_queue {
	struct nvs_slices slices; /* first */
	const struct nvs_slice_sink *sink;
	struct nvs_batches batches; /* of struct slice_batch */
	struct nvs_rows tracks; /* struct known_track, of the current trace */
	const struct known_track *latest[NVS_TRACKS];
	uint64_t ranges; /* with an id, so far */
	int failed; /* of an item; belongs to the thread while it has a batch */
	bool no_memory;
};

static struct slice_queue *queue_of(const struct nvs_event_stream *w)
{
	return w->to;
}

/* ---- the thread ---- */

static int pass_item(struct nvs_event_stream *w, const struct slice_item *i)
{
	const struct nvs_slice_sink *sink = queue_of(w)->sink;

	switch (i->what) {
	case TRACK:
		return sink->track(w, &i->track);
	case SLICE:
		return sink->slice(w, &i->slice);
	case RANGE:
		return sink->range(w, &i->range);
	case MEMORY:
		return sink->memory(w, i->memory.at, i->memory.bytes);
	}
	return 0;
}

static void pass_items(void *job)
{
	struct slice_batch *b = job;
	struct slice_queue *q = queue_of(b->w);

	for (uint32_t i = 0; i < b->nitems && !q->failed; i++)
		q->failed = pass_item(b->w, b->items + i);
	b->status = q->failed;
}

/* ---- batches ---- */

static void empty_batch(void *batch)
{
	struct slice_batch *b = batch;

	b->nitems = b->nfields = b->ntext = 0;
	while (b->longs) {
		struct long_text *next = b->longs->next;

		free(b->longs);
		b->longs = next;
	}
}

/* The current batch, with room for an item and its tracks. NULL if memory is short. */
static struct slice_batch *get_batch(struct nvs_event_stream *w)
{
	struct slice_queue *q = queue_of(w);
	struct slice_batch *b = q->batches.now;

	if (b && BATCH_ITEMS - b->nitems >= ITEMS && BATCH_FIELDS - b->nfields >= ITEM_FIELDS &&
	    BATCH_TEXT - b->ntext >= ITEM_TEXT)
		return b;
	nvs_batches_put(&q->batches);
	b = nvs_batches_start(&q->batches);
	q->no_memory |= !b;
	if (b) {
		empty_batch(b);
		b->w = w;
	}
	return b;
}

/* Ends what was added to the current batch. Returns 0, or the failure of an earlier item. */
static int end_item(const struct slice_queue *q)
{
	const struct slice_batch *b = q->batches.now;

	return q->no_memory ? -ENOMEM : b->status;
}

static struct slice_item *add_item(struct slice_batch *b, enum slice_what what)
{
	struct slice_item *i = b->items + b->nitems++;

	i->what = what;
	return i;
}

static const char *keep_text(struct slice_queue *q, const char *text)
{
	struct slice_batch *b = q->batches.now;
	size_t n = strlen(text) + 1;
	struct long_text *more;
	char *to;

	if (n <= SHORT_TEXT) {
		to = b->text + b->ntext;
		b->ntext += (uint32_t)n;
		return memcpy(to, text, n);
	}
	more = malloc(sizeof(*more) + n);
	q->no_memory |= !more;
	if (!more)
		return "";
	more->next = b->longs;
	b->longs = more;
	return memcpy(more->text, text, n);
}

/* ---- tracks ---- */

static const char *name_track(const struct nvs_event_stream *w, const struct nvs_track_key *key,
			      char *room, size_t size)
{
	char channel[128];

	switch (key->kind) {
	case NVS_TRACK_THREAD:
		return nvs_event_thread_name(w, key->number, room, size);
	case NVS_TRACK_CHANNEL:
		return nvs_event_channel_name(w, key->number, room, size);
	case NVS_TRACK_WORK:
		snprintf(room, size, "GPU work of %s",
			 nvs_event_channel_name(w, key->number, channel, sizeof(channel)));
		return room;
	}
	return key->domain ? nvs_nvtx_domain(nvs_nvtx_names(w->source->nvtx), key->domain) : "";
}

/* Passes a track on before its first event. Returns the tid of a thread. */
static uint32_t add_track(struct nvs_event_stream *w, struct nvs_track_key key)
{
	struct slice_queue *q = queue_of(w);
	const struct known_track *latest = q->latest[key.kind];
	struct known_track *t;
	struct nvs_track *track;
	char room[160];

	if (latest && latest->key.number == key.number && latest->key.domain == key.domain)
		return latest->tid;
	t = nvs_rows_at(&q->tracks, &key);
	q->latest[key.kind] = t;
	q->no_memory |= !t;
	if (!t || t->passed)
		return t ? t->tid : 0;
	t->passed = true;
	if (key.kind == NVS_TRACK_THREAD)
		t->tid = nvs_event_tid(w, key.number);
	track = &add_item(q->batches.now, TRACK)->track;
	*track = (struct nvs_track){key, t->tid,
				    keep_text(q, name_track(w, &key, room, sizeof(room)))};
	return t->tid;
}

/* ---- slices ---- */

static struct nvs_slice_field *add_field(struct slice_queue *q, struct nvs_slice *s,
					 const char *name)
{
	struct slice_batch *b = q->batches.now;
	struct nvs_slice_field *f = b->fields + b->nfields++;

	s->nfields++;
	*f = (struct nvs_slice_field){.name = name, .kind = NVS_KIND_UNSIGNED};
	return f;
}

static struct nvs_slice_field *add_number(struct slice_queue *q, struct nvs_slice *s,
					  const char *name, uint64_t number)
{
	struct nvs_slice_field *f = add_field(q, s, name);

	f->number = number;
	return f;
}

/* An empty text is not a field. */
static void add_text(struct slice_queue *q, struct nvs_slice *s, const char *name, const char *text)
{
	if (text && *text)
		add_field(q, s, name)->text = keep_text(q, text);
}

static void add_arguments(struct slice_queue *q, struct nvs_slice *s, const struct nvs_call *call)
{
	char text[1100];

	for (uint32_t i = 0; i < call->nargs; i++) {
		struct nvs_slice_field *f;

		if (call->absent >> i & 1)
			continue;
		f = add_field(q, s, call->api->arg[i]);
		f->argument = true;
		f->kind = call->api->kinds[i];
		if (f->kind == NVS_KIND_STRING)
			f->text = keep_text(q, nvs_call_print(call, i, text, sizeof(text)));
		else
			f->number = nvs_call_arg_at(call, i).value;
	}
}

static struct nvs_slice *add_slice(struct nvs_event_stream *w, enum nvs_track_kind kind,
				   uint32_t number, const char *category, const char *name,
				   int64_t begin, int64_t end, uint64_t flow)
{
	struct nvs_track_key track = {kind, number, 0};
	struct slice_batch *b = get_batch(w);
	struct nvs_slice *s;
	uint32_t tid;

	if (!b)
		return NULL;
	tid = add_track(w, track);
	s = &add_item(b, SLICE)->slice;
	*s = (struct nvs_slice){.track = track,
				.tid = tid,
				.category = category,
				.name = keep_text(queue_of(w), name),
				.begin = begin,
				.end = end,
				.ended = true,
				.flow = flow,
				.fields = b->fields + b->nfields};
	return s;
}

static int on_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_call *call = c->call;
	struct slice_queue *q = queue_of(w);
	struct nvs_slice *s = add_slice(w, NVS_TRACK_THREAD, call->thread,
					nvs_call_group_name(nvs_call_group(call)), c->name,
					c->begin, c->end, call->submissions ? c->flow : 0);
	char room[32];

	if (!s)
		return -ENOMEM;
	s->ended = c->ended;
	add_text(q, s, "kernel", c->kernel);
	add_arguments(q, s, call);
	add_text(q, s, "result", nvs_event_call_error(call, room, sizeof(room)));
	if (call->flags & NVS_CALL_CAPTURED)
		add_text(q, s, "captured", "into a graph");
	if (!call->uncounted && call->asked_submissions) {
		add_number(q, s, "submissions", call->asked_submissions);
		add_number(q, s, "command_bytes", call->asked_bytes);
	}
	return end_item(q);
}

static int on_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	const struct nvs_submission *sub = one->s;
	uint32_t channel = sub->channel->channel;
	struct slice_queue *q = queue_of(w);
	struct nvs_slice *s = add_slice(w, NVS_TRACK_CHANNEL, channel, "submission", one->api,
					one->at, one->at, one->flow);
	char work[256];

	if (!s)
		return -ENOMEM;
	s->counted = one->counted;
	s->pending = one->pending;
	nvs_tally_text(work, sizeof(work), one->tally);
	add_number(q, s, "submission", sub->number);
	add_number(q, s, "channel", channel)->of_track = true;
	add_number(q, s, "sequence", sub->rec->sequence);
	add_number(q, s, "entries", sub->nentries);
	add_number(q, s, "command_bytes", nvs_submission_bytes(sub));
	add_text(q, s, "work", work);
	add_text(q, s, "site", one->site);
	return end_item(q);
}

static int on_release(struct nvs_event_stream *w, const struct nvs_event_release *r)
{
	struct slice_queue *q = queue_of(w);
	struct nvs_slice *s = add_slice(w, NVS_TRACK_CHANNEL, r->channel->channel, "release",
					"seen done", r->at, r->at, r->flow);

	if (!s)
		return -ENOMEM;
	add_number(q, s, "submission", r->submission);
	add_number(q, s, "payload", r->payload);
	if (r->gpu)
		add_number(q, s, "gpu_ns", r->gpu);
	return end_item(q);
}

static int on_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	struct slice_queue *q = queue_of(w);
	struct nvs_slice *s = add_slice(w, NVS_TRACK_WORK, g->work->channel, "gpu",
					*g->name ? g->name : "-", g->begin, g->end, g->flow);

	if (!s)
		return -ENOMEM;
	add_number(q, s, "submission", g->work->number);
	if (g->work->flags & NVS_WORK_SINGLE_COPY)
		add_number(q, s, "bytes", g->work->bytes);
	add_text(q, s, "note", nvs_event_gpu_note(g));
	add_number(q, s, "clock_error_ns", g->error_ns);
	return end_item(q);
}

/* ---- ranges and memory ---- */

static uint64_t range_id(struct slice_queue *q, const struct nvs_nvtx_event *e)
{
	uint64_t id;

	if (e->what == NVS_NVTX_ENDED)
		return e->tag ? *e->tag : 0;
	id = ++q->ranges;
	if (e->tag)
		*e->tag = id;
	return id;
}

static int on_range(struct nvs_event_stream *w, const struct nvs_event_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	bool ends = e->what == NVS_NVTX_ENDED, marked = e->what == NVS_NVTX_MARKED;
	bool nests = e->node->key.kind == NVS_NVTX_PUSH && !e->node->key.domain;
	struct nvs_track_key track = {NVS_TRACK_NVTX, ends ? e->told : e->thread,
				      e->node->key.domain};
	struct slice_queue *q = queue_of(w);
	struct slice_batch *b = get_batch(w);
	struct nvs_slice_range *r;
	char text[NVS_CALL_TEXT_BYTES] = "";
	uint32_t tid;

	if (!b)
		return -ENOMEM;
	tid = add_track(w, (struct nvs_track_key){NVS_TRACK_THREAD, track.number, 0});
	add_track(w, track);
	r = &add_item(b, RANGE)->range;
	*r = (struct nvs_slice_range){
		.track = track,
		.tid = tid,
		.ends = ends,
		.marked = marked,
		.started = e->node->key.kind == NVS_NVTX_START,
		.nests = nests,
		.id = marked || nests ? 0 : range_id(q, e),
		.at = ends ? range->end : range->begin,
		.name = keep_text(q, *range->name ? range->name : "-"),
		.detail = keep_text(q, ends ? ""
					    : nvs_walk_range_detail(w, range, text, sizeof(text))),
	};
	return end_item(q);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	struct slice_batch *b = get_batch(w);
	struct slice_item *i = b ? add_item(b, MEMORY) : NULL;

	if (!i)
		return -ENOMEM;
	i->memory.at = at;
	i->memory.bytes = bytes;
	return end_item(queue_of(w));
}

/* ---- traces ---- */

static int on_begin(struct nvs_event_stream *w)
{
	struct slice_queue *q = queue_of(w);

	nvs_rows_free(&q->tracks, NULL);
	q->tracks = NVS_ROWS(struct known_track, key);
	memset(q->latest, 0, sizeof(q->latest));
	return q->sink->begin(w);
}

/* What was passed on points into the trace. */
static int on_end(struct nvs_event_stream *w, bool whole)
{
	struct slice_queue *q = queue_of(w);

	(void)whole;
	nvs_batches_drain(&q->batches);
	return q->no_memory ? -ENOMEM : q->failed;
}

static const struct nvs_event_sink walker = {
	.times = true,
	.begin = on_begin,
	.call = on_call,
	.submission = on_submission,
	.release = on_release,
	.gpu = on_gpu,
	.range = on_range,
	.memory = on_memory,
	.end = on_end,
};

int nvs_slices_deliver(struct nvs_run *run, const struct nvs_slice_sink *sink, void *to)
{
	struct slice_queue q = {.slices = {to}, .sink = sink};
	int r = nvs_batches_init(&q.batches, sizeof(struct slice_batch), pass_items);

	if (!r)
		r = nvs_events_deliver(run, &walker, &q);
	nvs_batches_free(&q.batches, empty_batch);
	nvs_rows_free(&q.tracks, NULL);
	return r < 0 ? r : 0;
}
