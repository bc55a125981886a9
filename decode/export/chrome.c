/* SPDX-License-Identifier: MIT */
/*
 * --export=chrome: the trace events of chrome://tracing, as JSON, which other viewers read as well.
 * An event is a line. A process has a thread for each of its threads and for each channel.
 */
#include <errno.h>
#include <inttypes.h>
#include "decode/export/events.h"
#include "decode/query/nvtx_names.h"
#include "decode/cli/output.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/base/keyed_rows.h"

/* Numbers of threads that stand for channels, above all others; and for the GPU's work of these. */
#define CHANNELS 0x60000000u
#define WORKS 0x70000000u

/* A thread of the viewer that has a name. */
struct thread {
	uint32_t tid; /* its key */
	bool named;
};

struct state {
	struct nvs_rows threads; /* struct thread, of this trace */
	uint64_t ranges; /* that stand apart from a thread's nest */
	bool event; /* one has been */
};

static FILE *file_of(const struct nvs_walk *w)
{
	return w->run->out->file;
}

static void text(const struct nvs_walk *w, const char *s)
{
	nvs_out_json(w->run->out, s, strlen(s));
}

/* us with three decimals. */
static void put_us(const struct nvs_walk *w, const char *key, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	fprintf(file_of(w), ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", size / 1000,
		(unsigned)(size % 1000));
}

/* Up to its time; finish() ends it. */
static void begin_event(const struct nvs_walk *w, const char *phase, const char *category,
			const char *name, uint32_t tid, int64_t at)
{
	struct state *st = w->to;
	FILE *f = file_of(w);

	fprintf(f, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", st->event ? ",\n" : "",
		phase, w->pid, tid);
	st->event = true;
	text(w, name);
	fputs(",\"cat\":", f);
	text(w, category);
	put_us(w, "ts", at);
}

static int finish(const struct nvs_walk *w)
{
	fputc('}', file_of(w));
	return ferror(file_of(w));
}

static void name_thread(const struct nvs_walk *w, const char *what, uint32_t tid, const char *name)
{
	struct state *st = w->to;

	fprintf(file_of(w),
		"%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
		st->event ? ",\n" : "", w->pid, tid, what);
	st->event = true;
	text(w, name);
	fputs("}}", file_of(w));
}

/* True: it has a name now that it had not before. */
static bool is_new(const struct nvs_walk *w, uint32_t tid)
{
	struct thread *t = nvs_rows_at(&((struct state *)w->to)->threads, &tid);

	if (!t || t->named)
		return false;
	t->named = true;
	return true;
}

static uint32_t thread_of(const struct nvs_walk *w, uint32_t thread)
{
	uint32_t tid = nvs_walk_tid(w, thread);
	char room[32];

	if (is_new(w, tid))
		name_thread(w, "thread_name", tid, nvs_walk_thread(w, thread, room, sizeof(room)));
	return tid;
}

static uint32_t channel_of(const struct nvs_walk *w, uint32_t channel)
{
	uint32_t tid = CHANNELS + channel;
	char room[128];

	if (is_new(w, tid))
		name_thread(w, "thread_name", tid,
			    nvs_walk_channel(w, channel, room, sizeof(room)));
	return tid;
}

static uint32_t works_of(const struct nvs_walk *w, uint32_t channel)
{
	uint32_t tid = WORKS + channel;
	char name[160], room[128];

	if (is_new(w, tid)) {
		nvs_walk_channel(w, channel, room, sizeof(room));
		snprintf(name, sizeof(name), "GPU's work of %s", room);
		name_thread(w, "thread_name", tid, name);
	}
	return tid;
}

/* ---- arguments: begin_args(), these, "}" ---- */

static void begin_args(const struct nvs_walk *w)
{
	fputs(",\"args\":{", file_of(w));
}

static void put_key(const struct nvs_walk *w, const char *key, bool *any)
{
	fputs(*any ? "," : "", file_of(w));
	text(w, key);
	fputc(':', file_of(w));
	*any = true;
}

static void note_number(const struct nvs_walk *w, const char *key, uint64_t value, bool *any)
{
	put_key(w, key, any);
	fprintf(file_of(w), "%" PRIu64, value);
}

static void note_text(const struct nvs_walk *w, const char *key, const char *value, bool *any)
{
	if (!value || !*value)
		return;
	put_key(w, key, any);
	text(w, value);
}

/* As the reports write them: what is wider than a double is text anyway. */
static void note_argument(const struct nvs_walk *w, const struct nvs_call *call, uint32_t index,
			  bool *any)
{
	struct nvs_arg arg = nvs_call_arg_at(call, index);
	char value[1100];

	if (!arg.absent)
		note_text(w, arg.name, nvs_call_print(call, index, value, sizeof(value)), any);
}

/* ---- what is told ---- */

static int on_begin(struct nvs_walk *w)
{
	struct state *st = w->to;

	nvs_rows_free(&st->threads, NULL);
	st->threads = NVS_ROWS(struct thread, tid);
	name_thread(w, "process_name", 0, w->name);
	return ferror(file_of(w));
}

/* A flow starts at the call. It has no end: which of its submissions is done last is not known. */
static void flow(const struct nvs_walk *w, const char *phase, uint32_t tid, int64_t at,
		 uint64_t number)
{
	begin_event(w, phase, "submission", "submits", tid, at);
	fprintf(file_of(w), ",\"id\":\"0x%" PRIx64 "\"", number);
	finish(w);
}

static int on_call(struct nvs_walk *w, const struct nvs_walk_call *c)
{
	const struct nvs_call *call = c->call;
	uint32_t tid = thread_of(w, call->thread);
	bool any = false;
	char room[32];

	begin_event(w, c->ended ? "X" : "B", nvs_call_group_name(nvs_call_group(call)), c->name,
		    tid, c->begin);
	if (c->ended)
		put_us(w, "dur", c->end - c->begin);
	begin_args(w);
	note_text(w, "kernel", c->kernel, &any);
	for (uint32_t i = 0; i < call->nargs; i++)
		note_argument(w, call, i, &any);
	note_text(w, "result", nvs_walk_error(call, room, sizeof(room)), &any);
	if (call->flags & NVS_CALL_CAPTURED)
		note_text(w, "captured", "into a graph", &any);
	if (!call->uncounted && call->asked_submissions) {
		note_number(w, "submissions", call->asked_submissions, &any);
		note_number(w, "command_bytes", call->asked_bytes, &any);
	}
	fputc('}', file_of(w));
	if (call->submissions) {
		finish(w);
		flow(w, "s", tid, c->begin, c->flow);
		return ferror(file_of(w));
	}
	return finish(w);
}

static void counter(const struct nvs_walk *w, const char *name, const char *key, int64_t at,
		    uint64_t value)
{
	bool any = false;

	begin_event(w, "C", "counter", name, 0, at);
	begin_args(w);
	note_number(w, key, value, &any);
	fputc('}', file_of(w));
	finish(w);
}

static int on_submission(struct nvs_walk *w, const struct nvs_walk_submission *one)
{
	const struct nvs_submission *s = one->s;
	uint32_t tid = channel_of(w, s->channel->channel);
	char room[256];
	bool any = false;

	begin_event(w, "X", "submission", one->api, tid, one->at);
	/* No time passes: but a flow needs a slice to end at. */
	put_us(w, "dur", 0);
	begin_args(w);
	note_number(w, "submission", s->number, &any);
	note_number(w, "channel", s->channel->channel, &any);
	note_number(w, "sequence", s->rec->sequence, &any);
	note_number(w, "entries", s->nentries, &any);
	note_number(w, "command_bytes", nvs_submission_bytes(s), &any);
	nvs_words_tally(room, sizeof(room), one->tally);
	note_text(w, "work", room, &any);
	note_text(w, "site", one->site, &any);
	fputc('}', file_of(w));
	finish(w);
	if (one->flow)
		flow(w, "t", tid, one->at, one->flow);
	snprintf(room, sizeof(room), "channel %u", s->channel->channel);
	if (one->counted)
		counter(w, room, "entries not seen done", one->at, one->pending);
	return ferror(file_of(w));
}

static int on_release(struct nvs_walk *w, const struct nvs_walk_release *r)
{
	uint32_t tid = channel_of(w, r->channel->channel);
	bool any = false;

	begin_event(w, "X", "release", "seen done", tid, r->at);
	put_us(w, "dur", 0);
	begin_args(w);
	note_number(w, "submission", r->submission, &any);
	note_number(w, "payload", r->payload, &any);
	if (r->gpu)
		note_number(w, "gpu_ns", r->gpu, &any);
	fputc('}', file_of(w));
	finish(w);
	if (r->flow)
		flow(w, "t", tid, r->at, r->flow);
	return ferror(file_of(w));
}

static int on_gpu(struct nvs_walk *w, const struct nvs_walk_gpu *g)
{
	uint32_t tid = works_of(w, g->work->channel);
	bool any = false;

	begin_event(w, "X", "gpu", *g->name ? g->name : "-", tid, g->begin);
	put_us(w, "dur", g->end - g->begin);
	begin_args(w);
	note_number(w, "submission", g->work->number, &any);
	if (g->work->flags & NVS_WORK_ALONE)
		note_number(w, "bytes", g->work->bytes, &any);
	note_text(w, "note", nvs_walk_note(g), &any);
	note_number(w, "clock_error_ns", g->give, &any);
	fputc('}', file_of(w));
	finish(w);
	if (g->flow)
		flow(w, "t", tid, g->begin, g->flow);
	return ferror(file_of(w));
}

/*
 * What a thread pushes in the default domain nests with its calls. All else overlaps as it likes,
 * and is told by a number of its own.
 */
static int on_range(struct nvs_walk *w, const struct nvs_walk_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	bool ends = e->what == NVS_NVTX_ENDED, marked = e->what == NVS_NVTX_MARKED;
	bool nests = e->node->key.kind == NVS_NVTX_PUSH && !e->node->key.domain;
	const char *phase = marked ? "i" : nests ? (ends ? "E" : "B") : (ends ? "e" : "b");
	struct nvs_nvtx_names *names = nvs_nvtx_names(w->source->nvtx);
	char words[NVS_WORDS_BYTES];
	bool any = false;

	if (!marked && !nests && !ends && e->tag)
		*e->tag = ++((struct state *)w->to)->ranges;
	begin_event(w, phase, e->node->key.kind == NVS_NVTX_START ? "nvtx started" : "nvtx",
		    *range->name ? range->name : "-", thread_of(w, ends ? e->told : e->thread),
		    ends ? range->end : range->begin);
	if (marked)
		fputs(",\"s\":\"t\"", file_of(w));
	else if (!nests)
		fprintf(file_of(w), ",\"id\":%" PRIu64, e->tag ? *e->tag : 0);
	if (ends)
		return finish(w);
	begin_args(w);
	nvs_nvtx_describe(names, range->rec, words, sizeof(words));
	note_text(w, "nvtx", *words ? words + 2 : "", &any); /* behind ", " */
	fputc('}', file_of(w));
	return finish(w);
}

static int on_memory(struct nvs_walk *w, int64_t at, uint64_t bytes)
{
	counter(w, "device memory allocated by calls", "bytes", at, bytes);
	return ferror(file_of(w));
}

static const struct nvs_walker walker = {
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
	struct state st = {.event = false};
	int r;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", run->out->file);
	r = nvs_walk(run, &walker, &st);
	fputs("\n]}\n", run->out->file);
	nvs_rows_free(&st.threads, NULL);
	return r < 0 ? r : 0;
}

NVS_REPORT(export_chrome, .name = "export=chrome", .place = 320,
	   .help = "the same as Chrome's trace events (JSON)",
	   .man = "The same as trace events of Chrome, in JSON, for chrome://tracing, Perfetto, "
		  "speedscope and others. It is several times as large.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT, .print = print);
