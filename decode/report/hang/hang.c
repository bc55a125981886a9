/* SPDX-License-Identifier: MIT */
/* --hang: where a program hangs and why, for a process that was killed or is running, or for the
 * ranks of a job. Prints text, then a table of calls and one of channels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/hang/hang.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

struct hang_row {
	const struct nvs_source *source;
	const struct nvs_hang *trace; /* a trace; else a call or a channel */
	const struct nvs_hang_call *call;
	const struct nvs_hang_channel *channel;
	char *work;
};

/* ---- columns ---- */

static const struct nvs_unfinished_channel *get_channel_of(const struct hang_row *r)
{
	const struct nvs_hang_channel *c = r->channel ? r->channel
					   : r->call  ? r->call->channel
						      : NULL;

	return c ? c->channel : NULL;
}

static const struct nvs_unfinished *get_first(const struct hang_row *r)
{
	static const struct nvs_unfinished none;

	return r->channel ? r->channel->first : &none;
}

static const struct nvs_unfinished_call *get_call(const struct hang_row *r)
{
	static const struct nvs_unfinished_call none;

	return r->call ? r->call->call : &none;
}

static const struct nvs_trace_channel *get_ring_of(const struct hang_row *r)
{
	const struct nvs_trace_channel *c =
		r->channel ? nvs_trace_channel_at(r->source->trace, r->channel->channel->number)
			   : NULL;

	return c && c->known && c->rec.entries ? c : NULL;
}

static const struct nvs_callsite *get_site(const struct hang_row *r)
{
	uint32_t stack = r->channel ? get_first(r)->stack : r->call ? get_call(r)->stack : NVS_NONE;

	return nvs_trace_callsite(r->source->trace, stack);
}

static uint32_t get_thread_of(const struct hang_row *r)
{
	return r->channel ? get_first(r)->thread : get_call(r)->thread;
}

static const struct nvs_trace_thread *find_thread(const struct hang_row *r)
{
	const struct nvs_trace_thread *t =
		r->trace ? NULL : nvs_trace_thread_at(r->source->trace, get_thread_of(r));

	return t && t->tid ? t : NULL;
}

/* The value of the column state. */
static const char *get_state_of(const struct hang_row *r)
{
	static const char *const of_channel[] = {"not done", "waits", "waits or runs"};
	static const char *const of_call[] = {"", "nothing", "channel", "all", "room"};

	if (r->channel)
		return of_channel[r->channel->state];
	if (r->call)
		return of_call[r->call->wait];
	switch (nvs_trace_session(r->source->trace)->end) {
	case NVS_END_ORDERLY:
		return "ended";
	case NVS_END_RUNNING:
		return "runs";
	default:
		return "killed";
	}
}

static const char *get_api_of(const struct hang_row *r)
{
	return r->call	    ? nvs_call_name(get_call(r)->api)
	       : r->channel ? nvs_api_name(get_site(r), get_first(r)->api)
			    : "";
}

static void get_since(const void *row, struct nvs_value *v)
{
	const struct hang_row *r = row;
	uint64_t ticks = r->channel ? get_first(r)->time : get_call(r)->begin;

	if (!r->trace && nvs_clock_since_start(r->source->trace, ticks, &v->ns))
		v->kind = NVS_VALUE_NS;
}

static double get_age_of(const struct hang_row *r)
{
	uint64_t begin = r->channel ? get_first(r)->time : get_call(r)->begin;
	uint64_t end = r->channel ? r->channel->in->seen : get_call(r)->end;

	return (double)nvs_call_ns(r->source->trace, begin, end) / 1e9;
}

static const struct nvs_unfinished_sem *get_sem(const struct hang_row *r)
{
	static const struct nvs_unfinished_sem none;

	return r->channel && r->channel->sem ? r->channel->sem : &none;
}

static bool has_sem(const struct hang_row *r)
{
	return r->channel && r->channel->sem;
}

static const struct nvs_hang_channel *get_releaser(const struct hang_row *r)
{
	return r->channel ? r->channel->releaser : NULL;
}

NVS_SOURCE_GETTERS(struct hang_row, r->source)
NVS_GET_TEXT(struct hang_row, kind, r->trace ? "trace" : r->call ? "call" : "channel")
NVS_GET_TEXT(struct hang_row, says, r->trace ? r->trace->text : "")
NVS_GET_TEXT(struct hang_row, state, get_state_of(r))
NVS_GET_KNOWN(struct hang_row, channel, get_channel_of(r),
	      get_channel_of(r) ? get_channel_of(r)->number : 0)
NVS_GET_KNOWN(struct hang_row, outstanding, r->channel,
	      get_channel_of(r) ? nvs_unfinished_count(get_channel_of(r)) : 0)
NVS_GET_KNOWN(struct hang_row, entries, r->channel,
	      get_channel_of(r) ? get_channel_of(r)->entries : 0)
NVS_GET_KNOWN(struct hang_row, ring, get_ring_of(r),
	      get_ring_of(r) ? get_ring_of(r)->rec.entries : 0)
NVS_GET_KNOWN(struct hang_row, submission, r->channel, get_first(r)->number)
NVS_GET_KNOWN(struct hang_row, thread, !r->trace && get_thread_of(r) != NVS_NONE, get_thread_of(r))
NVS_GET_KNOWN(struct hang_row, tid, find_thread(r), find_thread(r) ? find_thread(r)->tid : 0)
NVS_GET_REAL(struct hang_row, age, !r->trace, get_age_of(r))
NVS_GET_TEXT(struct hang_row, work, r->work)
NVS_GET_HEX(struct hang_row, semaphore, has_sem(r), get_sem(r)->address)
NVS_GET_TEXT(struct hang_row, condition, has_sem(r) ? nvs_hang_condition(get_sem(r)) : "")
NVS_GET_KNOWN(struct hang_row, wanted, has_sem(r), get_sem(r)->payload)
NVS_GET_KNOWN(struct hang_row, value, has_sem(r) && r->channel->has_value,
	      r->channel ? r->channel->value : 0)
NVS_GET_KNOWN(struct hang_row, by_channel, get_releaser(r),
	      get_releaser(r) ? get_releaser(r)->channel->number : 0)
NVS_GET_KNOWN(struct hang_row, by_submission, get_releaser(r),
	      get_releaser(r) ? r->channel->releasing_submission->number : 0)
NVS_GET_TEXT(struct hang_row, api, get_api_of(r))
NVS_GET_TEXT(struct hang_row, callsite, get_site(r)->site)
NVS_GET_TEXT(struct hang_row, module, get_site(r)->site_module)
NVS_GET_KNOWN(struct hang_row, launched, r->trace && r->trace->of->collectives,
	      r->trace ? r->trace->of->collectives : 0)
NVS_GET_KNOWN(struct hang_row, stuck, r->trace && r->trace->collective,
	      r->trace && r->trace->collective ? r->trace->collective->collective : 0)

#define OF_CALLS                                                                           \
	{"thread", "thr", get_thread, 0}, {"tid", "tid", get_tid, NVS_COLUMN_DETAIL},      \
		{"age_s", "for s", get_age, 0}, {"time_ns", "seconds", get_since, 0, 2},   \
		{"channel", "chan", get_channel, 0}, {"state", "waits for", get_state, 0}, \
		{"api", "api", get_api, NVS_COLUMN_NAME},                                  \
		{"callsite", "callsite", get_callsite, NVS_COLUMN_NAME, 1},                \
	{                                                                                  \
		"module", "module", get_module, NVS_COLUMN_DETAIL                          \
	}
#define OF_CHANNELS                                                                              \
	{"outstanding", "undone", get_outstanding, 0}, {"ring_used", "used", get_entries, 0, 2}, \
		{"gpfifo_entries", "ring", get_ring, 0, 2},                                      \
		{"submission", "first", get_submission, 0}, {"state", "state", get_state, 0},    \
		{"semaphore", "semaphore", get_semaphore, NVS_COLUMN_IF_KNOWN},                  \
		{"value", "value", get_value, NVS_COLUMN_IF_KNOWN},                              \
		{"condition", "", get_condition, NVS_COLUMN_DETAIL},                             \
		{"wanted", "wanted", get_wanted, NVS_COLUMN_IF_KNOWN},                           \
		{"release_channel", "by chan", get_by_channel, NVS_COLUMN_IF_KNOWN},             \
		{"release_submission", "subm.", get_by_submission, NVS_COLUMN_IF_KNOWN},         \
		{"does", "does", get_work, NVS_COLUMN_NAME | NVS_COLUMN_IF_KNOWN},               \
	{                                                                                        \
		"api", "api", get_api, NVS_COLUMN_NAME, 1                                        \
	}

static const struct nvs_column columns[] = {
	{"kind", "kind", get_kind, 0},
	{"says", "says", get_says, NVS_COLUMN_NAME},
	{"collectives", "collectives", get_launched, 0},
	{"collective_undone", "stuck in", get_stuck, 0},
	OF_CALLS,
	{"outstanding", "undone", get_outstanding, 0},
	{"ring_used", "used", get_entries, 0},
	{"gpfifo_entries", "ring", get_ring, 0},
	{"submission", "first", get_submission, 0},
	{"semaphore", "semaphore", get_semaphore, 0},
	{"value", "value", get_value, 0},
	{"condition", "", get_condition, 0},
	{"wanted", "wanted", get_wanted, 0},
	{"release_channel", "by chan", get_by_channel, 0},
	{"release_submission", "subm.", get_by_submission, 0},
	{"does", "does", get_work, NVS_COLUMN_NAME},
	NVS_SOURCE_COLUMNS,
};
static const struct nvs_column call_columns[] = {OF_CALLS, NVS_SOURCE_COLUMNS};
static const struct nvs_column channel_columns[] = {
	{"channel", "chan", get_channel, 0},
	OF_CHANNELS,
	{"callsite", "callsite", get_callsite, NVS_COLUMN_NAME, 1},
	NVS_SOURCE_COLUMNS,
};

/* ---- rows ---- */

struct hang_rows {
	struct hang_row *traces, *calls, *channels;
	size_t ntraces, ncalls, nchannels;
};

static int name_work(struct hang_row *r)
{
	size_t n;
	FILE *f = open_memstream(&r->work, &n);

	if (!f)
		return -ENOMEM;
	nvs_hang_print_work(f, get_first(r));
	if (fclose(f) || !r->work)
		return -ENOMEM;
	nvs_budget_adopt(r->work);
	return 0;
}

static int add_rows(struct hang_rows *rows, const struct nvs_hang *h)
{
	struct nvs_source *s = h->of->source;
	int r = 0;

	rows->traces[rows->ntraces++] = (struct hang_row){.source = s, .trace = h};
	for (uint32_t i = 0; i < h->ncalls; i++)
		if (nvs_filter_thread(s, h->calls[i].call->thread))
			rows->calls[rows->ncalls++] = (struct hang_row){.source = s,
									.call = h->calls + i};
	for (uint32_t i = 0; i < h->nchannels && !r; i++)
		if (nvs_filter_channel(s, h->channels[i].channel->number)) {
			rows->channels[rows->nchannels] =
				(struct hang_row){.source = s, .channel = h->channels + i};
			r = name_work(rows->channels + rows->nchannels++);
		}
	return r;
}

static int make_rows(struct hang_rows *rows, const struct nvs_hang *hangs, uint32_t n)
{
	size_t ncalls = 0, nchannels = 0;
	int r = 0;

	for (uint32_t i = 0; i < n; i++) {
		ncalls += hangs[i].ncalls;
		nchannels += hangs[i].nchannels;
	}
	rows->traces = calloc(n + ncalls + nchannels + 1, sizeof(*rows->traces));
	if (!rows->traces)
		return -ENOMEM;
	rows->calls = rows->traces + n;
	rows->channels = rows->calls + ncalls;
	for (uint32_t i = 0; i < n && !r; i++)
		r = add_rows(rows, hangs + i);
	return r;
}

/* ---- printing ---- */

static void print_traces(struct nvs_run *run, const struct nvs_hang *hangs, const char *ranks)
{
	if (ranks)
		nvs_print_wrapped(run->out, ranks, 0);
	for (uint32_t i = 0; i < run->n; i++) {
		if (run->n > 1) {
			fputs(i || ranks ? "\n" : "", run->out->file);
			nvs_print_text(run->out->file, run->sources[i].path, 200);
			fputs(":\n", run->out->file);
		}
		nvs_print_wrapped(run->out, hangs[i].text, 0);
	}
}

static int print_tables(struct nvs_run *run, const struct nvs_table *all,
			const struct hang_rows *rows)
{
	struct nvs_table calls = NVS_RUN_TABLE(run, call_columns, NULL);
	struct nvs_table channels = NVS_RUN_TABLE(run, channel_columns, NULL);
	struct nvs_print_options of_calls = run->options->print, of_channels = of_calls;
	const char *sort = run->options->print.sort;
	int r = 0;

	if (sort && !nvs_table_column(all, sort + (*sort == '-')))
		return nvs_table_no_column(all, sort);
	if (sort && !nvs_table_column(&calls, sort + (*sort == '-')))
		of_calls.sort = NULL;
	if (sort && !nvs_table_column(&channels, sort + (*sort == '-')))
		of_channels.sort = NULL;
	if (rows->ncalls) {
		fputc('\n', run->out->file);
		r = nvs_table_print_array(run->out, &calls, rows->calls, rows->ncalls,
					  sizeof(struct hang_row), &of_calls);
	}
	if (rows->nchannels && !r) {
		fputc('\n', run->out->file);
		r = nvs_table_print_array(run->out, &channels, rows->channels, rows->nchannels,
					  sizeof(struct hang_row), &of_channels);
	}
	return r;
}

/* Moves the rows into one array, for JSON and CSV: traces, calls, channels. */
static size_t join_rows(struct hang_rows *rows)
{
	struct hang_row *at = rows->traces + rows->ntraces;

	memmove(at, rows->calls, rows->ncalls * sizeof(*at));
	memmove(at + rows->ncalls, rows->channels, rows->nchannels * sizeof(*at));
	return rows->ntraces + rows->ncalls + rows->nchannels;
}

static int print_all(struct nvs_run *run, struct nvs_hang *hangs)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct hang_rows rows = {0};
	char *ranks = NULL;
	int r = nvs_hang_format_ranks(hangs, run->n, &ranks);

	if (!r)
		r = make_rows(&rows, hangs, run->n);
	run->said = true;
	if (!r && run->options->print.format == NVS_FORMAT_TEXT) {
		print_traces(run, hangs, ranks);
		r = print_tables(run, &table, &rows);
	} else if (!r) {
		size_t n = join_rows(&rows);

		r = nvs_table_print_array(run->out, &table, rows.traces, n, sizeof(struct hang_row),
					  &run->options->print);
		rows.channels = rows.traces + rows.ntraces + rows.ncalls;
	}
	for (size_t i = 0; i < rows.nchannels; i++)
		free(rows.channels[i].work);
	free(rows.traces);
	free(ranks);
	return r;
}

static int print_hang(struct nvs_run *run)
{
	struct nvs_hang *hangs = calloc(run->n + 1ul, sizeof(*hangs));
	int r = hangs ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->n && !r; i++) {
		r = nvs_hang_analyze(hangs + i, (struct nvs_unfinished_work *)run->each + i);
		if (!r)
			r = nvs_hang_format_text(hangs + i);
	}
	if (!r)
		r = print_all(run, hangs);
	for (uint32_t i = 0; i < run->n && hangs; i++)
		nvs_hang_free(hangs + i);
	free(hangs);
	return r;
}

/* ---- the report ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	nvs_unfinished_work_begin(each, s, reader);
	return 0;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *each)
{
	return nvs_unfinished_work_end(each);
}

static void free_each(struct nvs_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		nvs_unfinished_work_free((struct nvs_unfinished_work *)run->each + i);
}

NVS_REPORT(hang, .name = "hang", .place = 94,
	   .help = "where a program that runs or was killed hangs, and\n"
		   "what it waits for; also for all ranks of a job",
	   .man = "First as text: the calls that have not returned, with their call site, "
		  "and what they wait for: the first unfinished submission of a channel, "
		  "with its kernel; the semaphore that it waits for, its value and the "
		  "value wanted; and which submission of which channel would release it, "
		  "if any. Then a table of calls and one of channels. For the ranks of a "
		  "job, one trace each, also the collective that is not done and the ranks "
		  "that have not launched it. What is done is known as of the library's "
		  "last poll, which it does ten times a second. For a running process, "
		  "semaphores are read from its memory, if the system permits.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_WHOLE | NVS_NEED_APART, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .each = sizeof(struct nvs_unfinished_work),
	   .begin = begin_trace, .end = end_trace, .print = print_hang, .free = free_each);
