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
		return nvs_trace_goes_on(r->source->trace) ? "ran" : "ended";
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

static uint64_t get_begin_of(const struct hang_row *r)
{
	return r->channel ? get_first(r)->time : get_call(r)->begin;
}

static double get_age_of(const struct hang_row *r)
{
	uint64_t end = r->channel ? r->channel->in->seen : get_call(r)->end;

	return (double)nvs_call_ns(r->source->trace, get_begin_of(r), end) / 1e9;
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

#define OF_CALLS(COL)                                                                             \
	COL(known, thread, "thr", 0, 0, !r->trace && get_thread_of(r) != NVS_NONE,                \
	    get_thread_of(r))                                                                     \
	COL(guarded, tid, "tid", DETAIL, 0, find_thread(r), find_thread(r)->tid)                  \
	COL(real, age_s, "for s", 0, 0, !r->trace, get_age_of(r))                                 \
	COL(by, time_ns, "seconds", 0, 2, nvs_source_time, r->source, !r->trace, get_begin_of(r)) \
	COL(guarded, channel, "chan", 0, 0, get_channel_of(r), get_channel_of(r)->number)         \
	COL(text, state, "waits for", 0, 0, get_state_of(r))                                      \
	COL(text, api, "api", NAME, 0, get_api_of(r))                                             \
	COL(text, callsite, "callsite", NAME, 1, get_site(r)->site)                               \
	COL(text, module, "module", DETAIL, 0, get_site(r)->site_module)

#define CALL_COLUMNS(COL) \
	OF_CALLS(COL)     \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(call_columns, struct hang_row, CALL_COLUMNS)

#define CHANNEL_COLUMNS(COL)                                                                    \
	COL(same, channel, "chan", 0, 0)                                                        \
	COL(known, outstanding, "undone", 0, 0, r->channel,                                     \
	    get_channel_of(r) ? nvs_unfinished_count(get_channel_of(r)) : 0)                    \
	COL(known, ring_used, "used", 0, 2, r->channel,                                         \
	    get_channel_of(r) ? get_channel_of(r)->entries : 0)                                 \
	COL(guarded, gpfifo_entries, "ring", 0, 2, get_ring_of(r), get_ring_of(r)->rec.entries) \
	COL(known, submission, "first", 0, 0, r->channel, get_first(r)->number)                 \
	COL(same, state, "state", 0, 0)                                                         \
	COL(hex, semaphore, "semaphore", IF_KNOWN, 0, has_sem(r), get_sem(r)->address)          \
	COL(guarded, value, "value", IF_KNOWN, 0, has_sem(r) && r->channel->has_value,          \
	    r->channel->value)                                                                  \
	COL(text, condition, "", DETAIL, 0, has_sem(r) ? nvs_hang_condition(get_sem(r)) : "")   \
	COL(known, wanted, "wanted", IF_KNOWN, 0, has_sem(r), get_sem(r)->payload)              \
	COL(guarded, release_channel, "by chan", IF_KNOWN, 0, get_releaser(r),                  \
	    get_releaser(r)->channel->number)                                                   \
	COL(guarded, release_submission, "subm.", IF_KNOWN, 0, get_releaser(r),                 \
	    r->channel->releasing_submission->number)                                           \
	COL(text, does, "does", NAME_IF_KNOWN, 0, r->work)                                      \
	COL(same, api, "api", NAME, 1)                                                          \
	COL(same, callsite, "callsite", NAME, 1)                                                \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(channel_columns, struct hang_row, CHANNEL_COLUMNS)

#define COLUMNS(COL)                                                                          \
	COL(text, kind, "kind", 0, 0, r->trace ? "trace" : r->call ? "call" : "channel")      \
	COL(text, says, "says", NAME, 0, r->trace ? r->trace->text : "")                      \
	COL(guarded, collectives, "collectives", 0, 0, r->trace && r->trace->of->collectives, \
	    r->trace->of->collectives)                                                        \
	COL(guarded, collective_undone, "stuck in", 0, 0, r->trace && r->trace->collective,   \
	    r->trace->collective->collective)                                                 \
	OF_CALLS(COL##_SAME)                                                                  \
	COL(same, outstanding, "undone", 0, 0)                                                \
	COL(same, ring_used, "used", 0, 0)                                                    \
	COL(same, gpfifo_entries, "ring", 0, 0)                                               \
	COL(same, submission, "first", 0, 0)                                                  \
	COL(same, semaphore, "semaphore", 0, 0)                                               \
	COL(same, value, "value", 0, 0)                                                       \
	COL(same, condition, "", 0, 0)                                                        \
	COL(same, wanted, "wanted", 0, 0)                                                     \
	COL(same, release_channel, "by chan", 0, 0)                                           \
	COL(same, release_submission, "subm.", 0, 0)                                          \
	COL(same, does, "does", NAME, 0)                                                      \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(columns, struct hang_row, COLUMNS)

/* ---- rows ---- */

struct hang_rows {
	struct hang_row *traces, *calls, *channels;
	size_t ntraces, ncalls, nchannels;
};

static int name_work(struct hang_row *r)
{
	size_t n;
	FILE *f = open_memstream(&r->work, &n);

	if (f)
		nvs_hang_print_work(f, get_first(r));
	return nvs_budget_end_text(f, &r->work);
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
			fprintf(run->out->file, "%s:\n", NVS_TEXT(run->sources[i].path, 200));
		}
		nvs_print_wrapped(run->out, hangs[i].text, 0);
	}
}

static int print_tables(struct nvs_run *run, const struct hang_rows *rows)
{
	struct nvs_table calls = NVS_RUN_TABLE(run, call_columns, NULL);
	struct nvs_table channels = NVS_RUN_TABLE(run, channel_columns, NULL);
	struct nvs_print_options of_calls = run->options->print, of_channels = of_calls;
	int r = 0;

	of_calls.sort = nvs_table_applicable(&calls, of_calls.sort);
	of_channels.sort = nvs_table_applicable(&channels, of_channels.sort);
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
		r = print_tables(run, &rows);
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

NVS_REPORT(hang, .name = "hang", .group = NVS_STUCK, .place = 94,
	   .help = "where a program that runs or was killed hangs, and "
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
