/* SPDX-License-Identifier: MIT */
/* --export=chrome: trace events of chrome://tracing as JSON, one event per line; other viewers read
 * it, too. A process has one thread for each of its threads and one for each channel. */
#include <errno.h>
#include <inttypes.h>
#include "decode/export/events.h"
#include "decode/query/nvtx_names.h"
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

static uint32_t thread_of(const struct nvs_event_stream *w, uint32_t thread)
{
	uint32_t tid = nvs_event_tid(w, thread);
	char room[32];

	if (is_new(w, tid))
		name_thread(w, "thread_name", tid,
			    nvs_event_thread_name(w, thread, room, sizeof(room)));
	return tid;
}

static uint32_t channel_of(const struct nvs_event_stream *w, uint32_t channel)
{
	uint32_t tid = CHANNELS + channel;
	char room[128];

	if (is_new(w, tid))
		name_thread(w, "thread_name", tid,
			    nvs_event_channel_name(w, channel, room, sizeof(room)));
	return tid;
}

static uint32_t works_of(const struct nvs_event_stream *w, uint32_t channel)
{
	uint32_t tid = WORKS + channel;
	char name[160], room[128];

	if (is_new(w, tid)) {
		nvs_event_channel_name(w, channel, room, sizeof(room));
		snprintf(name, sizeof(name), "GPU work of %s", room);
		name_thread(w, "thread_name", tid, name);
	}
	return tid;
}

/* ---- arguments: begin_args(), then these, then "}" ---- */

static void begin_args(const struct nvs_event_stream *w)
{
	fputs(",\"args\":{", file_of(w));
}

static void print_key(const struct nvs_event_stream *w, const char *key, bool *any)
{
	fputs(*any ? "," : "", file_of(w));
	print_text(w, key);
	fputc(':', file_of(w));
	*any = true;
}

static void print_number(const struct nvs_event_stream *w, const char *key, uint64_t value,
			 bool *any)
{
	print_key(w, key, any);
	fprintf(file_of(w), "%" PRIu64, value);
}

static void print_string(const struct nvs_event_stream *w, const char *key, const char *value,
			 bool *any)
{
	if (!value || !*value)
		return;
	print_key(w, key, any);
	print_text(w, value);
}

/* As text, as in reports: a JSON number cannot hold 64 bits. */
static void print_argument(const struct nvs_event_stream *w, const struct nvs_call *call,
			   uint32_t index, bool *any)
{
	struct nvs_arg arg = nvs_call_arg_at(call, index);
	char value[1100];

	if (!arg.absent)
		print_string(w, arg.name, nvs_call_print(call, index, value, sizeof(value)), any);
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

static int on_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_call *call = c->call;
	uint32_t tid = thread_of(w, call->thread);
	bool any = false;
	char room[32];

	begin_event(w, c->ended ? "X" : "B", nvs_call_group_name(nvs_call_group(call)), c->name,
		    tid, c->begin);
	if (c->ended)
		print_us(w, "dur", c->end - c->begin);
	begin_args(w);
	print_string(w, "kernel", c->kernel, &any);
	for (uint32_t i = 0; i < call->nargs; i++)
		print_argument(w, call, i, &any);
	print_string(w, "result", nvs_event_call_error(call, room, sizeof(room)), &any);
	if (call->flags & NVS_CALL_CAPTURED)
		print_string(w, "captured", "into a graph", &any);
	if (!call->uncounted && call->asked_submissions) {
		print_number(w, "submissions", call->asked_submissions, &any);
		print_number(w, "command_bytes", call->asked_bytes, &any);
	}
	fputc('}', file_of(w));
	if (call->submissions) {
		end_event(w);
		print_flow(w, "s", tid, c->begin, c->flow);
		return ferror(file_of(w));
	}
	return end_event(w);
}

static void print_counter(const struct nvs_event_stream *w, const char *name, const char *key,
			  int64_t at, uint64_t value)
{
	bool any = false;

	begin_event(w, "C", "counter", name, 0, at);
	begin_args(w);
	print_number(w, key, value, &any);
	fputc('}', file_of(w));
	end_event(w);
}

static int on_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	const struct nvs_submission *s = one->s;
	uint32_t tid = channel_of(w, s->channel->channel);
	char room[256];
	bool any = false;

	begin_event(w, "X", "submission", one->api, tid, one->at);
	/* A flow needs a slice to end at, even of length 0. */
	print_us(w, "dur", 0);
	begin_args(w);
	print_number(w, "submission", s->number, &any);
	print_number(w, "channel", s->channel->channel, &any);
	print_number(w, "sequence", s->rec->sequence, &any);
	print_number(w, "entries", s->nentries, &any);
	print_number(w, "command_bytes", nvs_submission_bytes(s), &any);
	nvs_tally_text(room, sizeof(room), one->tally);
	print_string(w, "work", room, &any);
	print_string(w, "site", one->site, &any);
	fputc('}', file_of(w));
	end_event(w);
	if (one->flow)
		print_flow(w, "t", tid, one->at, one->flow);
	snprintf(room, sizeof(room), "channel %u", s->channel->channel);
	if (one->counted)
		print_counter(w, room, "entries not seen done", one->at, one->pending);
	return ferror(file_of(w));
}

static int on_release(struct nvs_event_stream *w, const struct nvs_event_release *r)
{
	uint32_t tid = channel_of(w, r->channel->channel);
	bool any = false;

	begin_event(w, "X", "release", "seen done", tid, r->at);
	print_us(w, "dur", 0);
	begin_args(w);
	print_number(w, "submission", r->submission, &any);
	print_number(w, "payload", r->payload, &any);
	if (r->gpu)
		print_number(w, "gpu_ns", r->gpu, &any);
	fputc('}', file_of(w));
	end_event(w);
	if (r->flow)
		print_flow(w, "t", tid, r->at, r->flow);
	return ferror(file_of(w));
}

static int on_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	uint32_t tid = works_of(w, g->work->channel);
	bool any = false;

	begin_event(w, "X", "gpu", *g->name ? g->name : "-", tid, g->begin);
	print_us(w, "dur", g->end - g->begin);
	begin_args(w);
	print_number(w, "submission", g->work->number, &any);
	if (g->work->flags & NVS_WORK_SINGLE_COPY)
		print_number(w, "bytes", g->work->bytes, &any);
	print_string(w, "note", nvs_event_gpu_note(g), &any);
	print_number(w, "clock_error_ns", g->error_ns, &any);
	fputc('}', file_of(w));
	end_event(w);
	if (g->flow)
		print_flow(w, "t", tid, g->begin, g->flow);
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
	struct nvs_nvtx_names *names = nvs_nvtx_names(w->source->nvtx);
	char words[NVS_CALL_TEXT_BYTES];
	bool any = false;

	if (!marked && !nests && !ends && e->tag)
		*e->tag = ++((struct chrome_state *)w->to)->ranges;
	begin_event(w, phase, e->node->key.kind == NVS_NVTX_START ? "nvtx started" : "nvtx",
		    *range->name ? range->name : "-", thread_of(w, ends ? e->told : e->thread),
		    ends ? range->end : range->begin);
	if (marked)
		fputs(",\"s\":\"t\"", file_of(w));
	else if (!nests)
		fprintf(file_of(w), ",\"id\":%" PRIu64, e->tag ? *e->tag : 0);
	if (ends)
		return end_event(w);
	begin_args(w);
	nvs_nvtx_describe(names, range->rec, words, sizeof(words));
	print_string(w, "nvtx", *words ? words + 2 : "", &any); /* after ", " */
	fputc('}', file_of(w));
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
	.call = on_call,
	.submission = on_submission,
	.release = on_release,
	.range = on_range,
	.gpu = on_gpu,
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
