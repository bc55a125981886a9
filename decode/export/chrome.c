/* SPDX-License-Identifier: MIT */
/* --export=chrome: trace events of chrome://tracing as JSON, one event per line; other viewers read
 * it, too. A process has one thread for each of its threads and one for each channel. */
#include <errno.h>
#include <inttypes.h>
#include "decode/export/slices.h"
#include "decode/cli/json.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/base/keyed_rows.h"

/* Thread numbers of channels, and of the GPU work of channels; above all real ones. */
#define CHANNELS 0x60000000u
#define WORKS 0x70000000u

/* A thread of the viewer, and whether its name was printed. */
struct named_thread {
	uint32_t tid; /* its key */
	bool named;
};

struct chrome_state {
	struct nvs_rows threads; /* struct named_thread, of the current trace */
	uint64_t ranges; /* async ranges so far */
	bool event; /* an event was printed: a comma is needed */
};

static FILE *file_of(const struct nvs_event_stream *w)
{
	return w->run->out->file;
}

static void print_text(const struct nvs_event_stream *w, const char *s)
{
	nvs_json_string(file_of(w), s, strlen(s));
}

/* In us with three decimals. */
static void print_us(const struct nvs_event_stream *w, const char *key, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	fprintf(file_of(w), ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", size / 1000,
		(unsigned)(size % 1000));
}

/* Prints the fields up to the time; end_event() ends it. */
static void begin_event(const struct nvs_event_stream *w, const char *phase, const char *category,
			const char *name, uint32_t tid, int64_t at)
{
	struct chrome_state *st = w->to;
	FILE *f = file_of(w);

	fprintf(f, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", st->event ? ",\n" : "",
		phase, w->pid, tid);
	st->event = true;
	print_text(w, name);
	fputs(",\"cat\":", f);
	print_text(w, category);
	print_us(w, "ts", at);
}

static int end_event(const struct nvs_event_stream *w)
{
	fputc('}', file_of(w));
	return ferror(file_of(w));
}

static void name_thread(const struct nvs_event_stream *w, const char *what, uint32_t tid,
			const char *name)
{
	struct chrome_state *st = w->to;

	fprintf(file_of(w),
		"%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
		st->event ? ",\n" : "", w->pid, tid, what);
	st->event = true;
	print_text(w, name);
	fputs("}}", file_of(w));
}

/* Returns true the first time: the thread's name must be printed. */
static bool is_new(const struct nvs_event_stream *w, uint32_t tid)
{
	struct named_thread *t = nvs_rows_at(&((struct chrome_state *)w->to)->threads, &tid);

	if (!t || t->named)
		return false;
	t->named = true;
	return true;
}

static uint32_t tid_of(const struct nvs_event_stream *w, enum nvs_track_kind track, uint32_t number)
{
	uint32_t tid = track == NVS_TRACK_THREAD    ? nvs_event_tid(w, number)
		       : track == NVS_TRACK_CHANNEL ? CHANNELS + number
						    : WORKS + number;
	char room[160];

	if (is_new(w, tid))
		name_thread(w, "thread_name", tid,
			    nvs_track_name(w, track, number, room, sizeof(room)));
	return tid;
}

/* Arguments of calls as text, as in reports: a JSON number cannot hold 64 bits. */
static void print_args(const struct nvs_event_stream *w, const struct nvs_slice_field *fields,
		       uint32_t n)
{
	char text[1100];

	fputs(",\"args\":{", file_of(w));
	for (const struct nvs_slice_field *f = fields; f < fields + n; f++) {
		fputs(f > fields ? "," : "", file_of(w));
		print_text(w, f->name);
		fputc(':', file_of(w));
		if (f->text)
			print_text(w, f->text);
		else if (f->call)
			print_text(w, nvs_call_print(f->call, (uint32_t)f->number, text,
						     sizeof(text)));
		else
			fprintf(file_of(w), "%" PRIu64, f->number);
	}
	fputc('}', file_of(w));
}

/* ---- callbacks of the walk ---- */

static int on_begin(struct nvs_event_stream *w)
{
	struct chrome_state *st = w->to;

	nvs_rows_free(&st->threads, NULL);
	st->threads = NVS_ROWS(struct named_thread, tid);
	name_thread(w, "process_name", 0, w->name);
	return ferror(file_of(w));
}

/* A flow starts at the call. It has no end, as it is unknown which of the call's submissions is
 * done last. */
static void print_flow(const struct nvs_event_stream *w, const char *phase, uint32_t tid,
		       int64_t at, uint64_t number)
{
	begin_event(w, phase, "submission", "submits", tid, at);
	fprintf(file_of(w), ",\"id\":\"0x%" PRIx64 "\"", number);
	end_event(w);
}

static void print_counter(const struct nvs_event_stream *w, const char *name, const char *key,
			  int64_t at, uint64_t value)
{
	begin_event(w, "C", "counter", name, 0, at);
	print_args(w, &(struct nvs_slice_field){.name = key, .number = value}, 1);
	end_event(w);
}

static int on_slice(struct nvs_event_stream *w, const struct nvs_slice *s)
{
	uint32_t tid = tid_of(w, s->track, s->number);
	char name[32];

	begin_event(w, s->ended ? "X" : "B", s->category, s->name, tid, s->begin);
	/* A flow needs a slice to end at, even of length 0. */
	if (s->ended)
		print_us(w, "dur", s->end - s->begin);
	print_args(w, s->fields, s->nfields);
	end_event(w);
	if (s->flow)
		print_flow(w, s->track == NVS_TRACK_THREAD ? "s" : "t", tid, s->begin, s->flow);
	snprintf(name, sizeof(name), "channel %u", s->number);
	if (s->counted)
		print_counter(w, name, "entries not seen done", s->begin, s->pending);
	return ferror(file_of(w));
}

/* Ranges pushed in the default domain nest with the thread's calls. Others may overlap: they are
 * async events with an id. */
static int on_range(struct nvs_event_stream *w, const struct nvs_event_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	bool ends = e->what == NVS_NVTX_ENDED, marked = e->what == NVS_NVTX_MARKED;
	bool nests = e->node->key.kind == NVS_NVTX_PUSH && !e->node->key.domain;
	const char *phase = marked ? "i" : nests ? (ends ? "E" : "B") : (ends ? "e" : "b");
	struct nvs_slice_field detail = {.name = "nvtx"};
	char text[NVS_CALL_TEXT_BYTES];

	if (!marked && !nests && !ends && e->tag)
		*e->tag = ++((struct chrome_state *)w->to)->ranges;
	begin_event(w, phase, e->node->key.kind == NVS_NVTX_START ? "nvtx started" : "nvtx",
		    *range->name ? range->name : "-",
		    tid_of(w, NVS_TRACK_THREAD, ends ? e->told : e->thread),
		    ends ? range->end : range->begin);
	if (marked)
		fputs(",\"s\":\"t\"", file_of(w));
	else if (!nests)
		fprintf(file_of(w), ",\"id\":%" PRIu64, e->tag ? *e->tag : 0);
	if (ends)
		return end_event(w);
	detail.text = nvs_walk_range_detail(w, range, text, sizeof(text));
	print_args(w, &detail, *detail.text != '\0');
	return end_event(w);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	print_counter(w, "device memory allocated by calls", "bytes", at, bytes);
	return ferror(file_of(w));
}

static const struct nvs_event_sink walker = {
	.times = true,
	.begin = on_begin,
	NVS_SLICE_EVENTS,
	.slice = on_slice,
	.range = on_range,
	.memory = on_memory,
};

static int print(struct nvs_run *run)
{
	struct chrome_state st = {.event = false};
	int r;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", run->out->file);
	r = nvs_events_deliver(run, &walker, &st);
	fputs("\n]}\n", run->out->file);
	nvs_rows_free(&st.threads, NULL);
	return r < 0 ? r : 0;
}

NVS_REPORT(export_chrome, .name = "export=chrome", .group = NVS_EXPORTS, .place = 320,
	   .help = "the same as Chrome's trace events (JSON)",
	   .man = "The same as Chrome trace events, in JSON, for chrome://tracing, Perfetto, "
		  "speedscope and others. The file is several times as large.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT, .print = print);
