/* SPDX-License-Identifier: MIT */
/* --export=chrome: trace events of chrome://tracing as JSON, one event per line; other viewers read
 * it, too. A process has one thread for each of its threads and one for each channel. */
#include <errno.h>
#include "decode/base/digits.h"
#include "decode/calls/args.h"
#include "decode/export/slices.h"
#include "decode/cli/json.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
#include "decode/base/keyed_rows.h"
#include "decode/gpu/method_format.h"

/* Thread numbers of channels, and of the GPU work of channels; above all real ones. */
#define CHANNELS 0x60000000u
#define WORKS 0x70000000u
#define WRITTEN_BYTES (64u << 10) /* text is written when there is as much */

/* A thread of the viewer, and whether its name was printed. */
struct named_thread {
	uint32_t tid; /* its key */
	bool named;
};

struct chrome_state {
	struct nvs_rows threads; /* struct named_thread, of the current trace */
	bool event; /* an event was printed: a comma is needed */
	struct nvs_line_buffer text; /* not written yet */
};

/* ---- text: collected in STATE.text, written by end_event() ---- */

/* Room for N bytes; the caller adds to TEXT.length what it uses. NULL if memory is short. */
static inline char *reserve_text(const struct nvs_event_stream *w, size_t n)
{
	struct nvs_line_buffer *l = &((struct chrome_state *)nvs_slices_to(w))->text;

	return l->room - l->length >= n ? l->text + l->length : nvs_line_reserve(l, n);
}

static inline void end_text(const struct nvs_event_stream *w, const char *end)
{
	struct nvs_line_buffer *l = &((struct chrome_state *)nvs_slices_to(w))->text;

	l->length = (size_t)(end - l->text);
}

static inline void put_part(const struct nvs_event_stream *w, const char *text, size_t n)
{
	char *to = reserve_text(w, n);

	if (to)
		end_text(w, nvs_put_text(to, text, n));
}

/* A literal. */
#define PUT(w, text) put_part(w, text, sizeof(text) - 1)

static void put_number(const struct nvs_event_stream *w, uint64_t number)
{
	char *to = reserve_text(w, NVS_DIGITS);

	if (to)
		end_text(w, nvs_put_dec(to, number));
}

/* In quotes. */
static void put_text(const struct nvs_event_stream *w, const char *s)
{
	size_t n = strlen(s);
	char *to = reserve_text(w, NVS_JSON_BYTES * n + 2);

	if (!to)
		return;
	*to++ = '"';
	to = nvs_json_escape(to, s, n);
	*to++ = '"';
	end_text(w, to);
}

/* The same for a name of our own: nothing in it is escaped. */
static void put_own(const struct nvs_event_stream *w, const char *s)
{
	PUT(w, "\"");
	put_part(w, s, strlen(s));
	PUT(w, "\"");
}

/* In us with three decimals. */
static void put_us(const struct nvs_event_stream *w, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	unsigned rest = (unsigned)(size % 1000);
	const char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
				 (char)('0' + rest % 10)};
	char *to = reserve_text(w, 1 + NVS_DIGITS + sizeof(decimals));

	if (!to)
		return;
	if (ns < 0)
		*to++ = '-';
	to = nvs_put_dec(to, size / 1000);
	end_text(w, nvs_put_text(to, decimals, sizeof(decimals)));
}

/* Begins an object and its comma. */
static void begin_object(const struct nvs_event_stream *w, const char *phase, uint32_t tid)
{
	struct chrome_state *st = nvs_slices_to(w);

	if (st->event)
		PUT(w, ",\n");
	st->event = true;
	PUT(w, "{\"ph\":");
	put_own(w, phase);
	PUT(w, ",\"pid\":");
	put_number(w, w->pid);
	PUT(w, ",\"tid\":");
	put_number(w, tid);
	PUT(w, ",\"name\":");
}

/* The fields up to the time; end_event() ends it. */
static void begin_event(const struct nvs_event_stream *w, const char *phase, const char *category,
			const char *name, uint32_t tid, int64_t at)
{
	begin_object(w, phase, tid);
	put_text(w, name);
	PUT(w, ",\"cat\":");
	put_own(w, category);
	PUT(w, ",\"ts\":");
	put_us(w, at);
}

static int write_text(FILE *file, struct chrome_state *st)
{
	struct nvs_line_buffer *l = &st->text;

	if (l->length)
		fwrite(l->text, 1, l->length, file);
	l->length = 0;
	return ferror(file);
}

static int end_event(const struct nvs_event_stream *w)
{
	struct chrome_state *st = nvs_slices_to(w);

	PUT(w, "}");
	return st->text.length < WRITTEN_BYTES ? 0 : write_text(w->run->out->file, st);
}

static void name_thread(const struct nvs_event_stream *w, const char *what, uint32_t tid,
			const char *name)
{
	begin_object(w, "M", tid);
	put_text(w, what);
	PUT(w, ",\"args\":{\"name\":");
	put_text(w, name);
	PUT(w, "}}");
}

/* Returns true the first time: the thread's name must be printed. */
static bool is_new(const struct nvs_event_stream *w, uint32_t tid)
{
	struct named_thread *t = nvs_rows_at(&((struct chrome_state *)nvs_slices_to(w))->threads,
					     &tid);

	if (!t || t->named)
		return false;
	t->named = true;
	return true;
}

static uint32_t tid_of(const struct nvs_track_key *track, uint32_t tid)
{
	switch (track->kind) {
	case NVS_TRACK_CHANNEL:
		return CHANNELS + track->number;
	case NVS_TRACK_WORK:
		return WORKS + track->number;
	}
	return tid;
}

/* A call's argument, in quotes: a JSON number cannot hold 64 bits. */
static void put_argument(const struct nvs_event_stream *w, const struct nvs_slice_field *f)
{
	char *to = reserve_text(w, NVS_ARG_NUMBER_BYTES + 2);

	if (!to)
		return;
	*to++ = '"';
	to = nvs_arg_put_number(to, f->kind, f->number);
	*to++ = '"';
	end_text(w, to);
}

static void put_args(const struct nvs_event_stream *w, const struct nvs_slice_field *fields,
		     uint32_t n)
{
	PUT(w, ",\"args\":{");
	for (const struct nvs_slice_field *f = fields; f < fields + n; f++) {
		if (f > fields)
			PUT(w, ",");
		if (f->argument)
			put_text(w, f->name);
		else
			put_own(w, f->name);
		PUT(w, ":");
		if (f->text)
			put_text(w, f->text);
		else if (f->argument)
			put_argument(w, f);
		else
			put_number(w, f->number);
	}
	PUT(w, "}");
}

/* ---- callbacks of the walk ---- */

static int on_begin(struct nvs_event_stream *w)
{
	struct chrome_state *st = nvs_slices_to(w);

	nvs_rows_free(&st->threads, NULL);
	st->threads = NVS_ROWS(struct named_thread, tid);
	name_thread(w, "process_name", 0, w->name);
	return 0;
}

static int on_track(struct nvs_event_stream *w, const struct nvs_track *t)
{
	uint32_t tid = tid_of(&t->key, t->tid);

	if (t->key.kind != NVS_TRACK_NVTX && is_new(w, tid))
		name_thread(w, "thread_name", tid, t->name);
	return 0;
}

/* A flow starts at the call. It has no end, as it is unknown which of the call's submissions is
 * done last. */
static int put_flow(const struct nvs_event_stream *w, const char *phase, uint32_t tid, int64_t at,
		    uint64_t number)
{
	char text[NVS_DIGITS];

	begin_event(w, phase, "submission", "submits", tid, at);
	PUT(w, ",\"id\":\"0x");
	put_part(w, text, (size_t)(nvs_put_hex(text, number) - text));
	PUT(w, "\"");
	return end_event(w);
}

static int put_counter(const struct nvs_event_stream *w, const char *name, const char *key,
		       int64_t at, uint64_t value)
{
	begin_event(w, "C", "counter", name, 0, at);
	put_args(w, &(struct nvs_slice_field){.name = key, .number = value}, 1);
	return end_event(w);
}

static int on_slice(struct nvs_event_stream *w, const struct nvs_slice *s)
{
	uint32_t tid = tid_of(&s->track, s->tid);
	char name[32] = "channel ";
	int r;

	begin_event(w, s->ended ? "X" : "B", s->category, s->name, tid, s->begin);
	/* A flow needs a slice to end at, even of length 0. */
	if (s->ended) {
		PUT(w, ",\"dur\":");
		put_us(w, s->end - s->begin);
	}
	put_args(w, s->fields, s->nfields);
	r = end_event(w);
	if (!r && s->flow)
		r = put_flow(w, s->track.kind == NVS_TRACK_THREAD ? "s" : "t", tid, s->begin,
			     s->flow);
	if (r || !s->counted)
		return r;
	*nvs_put_dec(name + strlen(name), s->track.number) = '\0';
	return put_counter(w, name, "entries not seen done", s->begin, s->pending);
}

/* Ranges pushed in the default domain nest with the thread's calls. Others may overlap: they are
 * async events with an id. */
static int on_range(struct nvs_event_stream *w, const struct nvs_slice_range *r)
{
	const char *phase = r->marked  ? "i"
			    : r->nests ? (r->ends ? "E" : "B")
				       : (r->ends ? "e" : "b");
	struct nvs_slice_field detail = {.name = "nvtx", .text = r->detail};

	begin_event(w, phase, r->started ? "nvtx started" : "nvtx", r->name, r->tid, r->at);
	if (r->marked) {
		PUT(w, ",\"s\":\"t\"");
	} else if (!r->nests) {
		PUT(w, ",\"id\":");
		put_number(w, r->id);
	}
	if (r->ends)
		return end_event(w);
	put_args(w, &detail, *r->detail != '\0');
	return end_event(w);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	return put_counter(w, "device memory allocated by calls", "bytes", at, bytes);
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
	struct chrome_state st = {.event = false};
	int r;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", run->out->file);
	r = nvs_slices_deliver(run, &sink, &st);
	write_text(run->out->file, &st);
	fputs("\n]}\n", run->out->file);
	nvs_rows_free(&st.threads, NULL);
	nvs_line_free(&st.text);
	return r;
}

NVS_REPORT(export_chrome, .name = "export=chrome", .group = NVS_EXPORTS, .place = 320,
	   .help = "the same as Chrome's trace events (JSON)",
	   .man = "The same as Chrome trace events, in JSON, for chrome://tracing, Perfetto, "
		  "speedscope and others. The file is several times as large.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT, .print = print);
