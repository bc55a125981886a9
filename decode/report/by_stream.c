/* SPDX-License-Identifier: MIT */
/* --by-stream, --by-thread and --by-context: the same counts by different handles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/distinct.h"
#include "decode/base/hash.h"
#include "decode/calls/roles.h"
#include "decode/analysis/current_context.h"
#include "decode/report/core/trace_columns.h"
#include "decode/query/durations.h"
#include "decode/report/core/report.h"

enum by { BY_STREAM, BY_THREAD, BY_CONTEXT };

#define NO_THREAD (NVS_NONE - 1) /* before the first; NVS_NONE is an unknown thread */

struct stream_row {
	struct stream_row_key {
		uint64_t handle; /* stream, thread number or context */
		const struct nvs_source *source;
	} key;
	uint64_t number; /* index among all rows, from 1 */
	uint64_t calls, failed, launches, copies, copied, memsets, graphs, syncs, submissions,
		entries, bytes;
	uint64_t context, threads;
	bool many; /* threads are unknown: too many to count */
	bool uncounted; /* submissions are unknown */
	bool size_unknown; /* the size of some copy is unknown */
	bool used; /* a stream that was not only created and destroyed */
	uint32_t last_thread;
	struct nvs_duration_sum times, waits;
};

struct by_stream_state {
	struct nvs_source *source;
	enum by by;
	struct stream_totals {
		struct nvs_rows rows;
		struct nvs_distinct threads; /* distinct threads of each row */
	} * all; /* shared by all traces */
	struct nvs_contexts contexts;
};

/* ---- counting ---- */

static void note_thread(struct by_stream_state *st, struct stream_row *row, uint32_t thread)
{
	const uint64_t thing[2] = {row->number, thread};
	int r = nvs_distinct_add(&st->all->threads, nvs_hash64(thing, sizeof(thing)));

	row->last_thread = thread;
	row->threads += r > 0;
	row->many |= r < 0;
}

static int count_call(struct by_stream_state *st, struct stream_row *row,
		      const struct nvs_call *call)
{
	uint8_t group = call->api->group;
	uint64_t bytes, copies;
	bool done = !call->result && !(call->flags & NVS_CALL_CAPTURED);

	row->calls++;
	row->failed += nvs_call_failed(call);
	row->launches += done && group == NVS_CALL_GROUP_LAUNCH;
	row->graphs += done && group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	row->memsets += done && group == NVS_CALL_GROUP_MEMSET;
	row->uncounted |= call->uncounted;
	if (done && group == NVS_CALL_GROUP_COPY) {
		row->size_unknown |= !nvs_call_copied(call, &bytes, &copies);
		row->copies += copies;
		row->copied += bytes;
	}
	if (row->last_thread != call->thread)
		note_thread(st, row, call->thread);
	row->syncs += group == NVS_CALL_GROUP_SYNC;
	if (call->end && call->depth <= 1 &&
	    nvs_duration_sum_add_later(st->source->waiting, &row->times, call))
		return -ENOMEM;
	return call->end && group == NVS_CALL_GROUP_SYNC
		       ? nvs_duration_sum_add_later(st->source->waiting, &row->waits, call)
		       : 0;
}

static bool has_selected(const struct nvs_call *call)
{
	return call->asked_submissions || call->asked_entries || call->asked_bytes;
}

static void add_submissions(struct by_stream_state *st, struct stream_row *row, uint32_t thread,
			    uint64_t submissions, uint64_t entries, uint64_t bytes)
{
	row->submissions += submissions;
	row->entries += entries;
	row->bytes += bytes;
	row->used = true;
	if (row->last_thread != thread)
		note_thread(st, row, thread);
}

/* Adds the selected submissions of a call. A selected call may have unselected ones. */
static void add_asked(struct by_stream_state *st, struct stream_row *row,
		      const struct nvs_call *call)
{
	if (has_selected(call))
		add_submissions(st, row, call->thread, call->asked_submissions, call->asked_entries,
				call->asked_bytes);
}

static struct stream_row *row_of(struct by_stream_state *st, uint64_t handle)
{
	struct stream_row_key key = {handle, st->source};
	struct stream_row *row = nvs_rows_at(&st->all->rows, &key);

	if (row && !row->number) {
		row->number = st->all->rows.n;
		row->last_thread = NO_THREAD;
	}
	return row;
}

static int count_stream(struct by_stream_state *st, const struct nvs_call *call, uint64_t context,
			bool selected)
{
	uint64_t stream;
	struct stream_row *row;
	int r;

	if (!nvs_call_stream(call, &stream))
		return 0;
	row = row_of(st, stream);
	if (!row)
		return -ENOMEM;
	row->context = context;
	if (nvs_call_creates_stream(call))
		return 0;
	add_asked(st, row, call);
	r = selected ? count_call(st, row, call) : 0;
	if (call->api->role != NVS_CALL_ROLE_STREAM_DESTROY)
		row->used = true;
	else if (nvs_call_ends_stream(call, stream))
		nvs_rows_remove(&st->all->rows, row);
	return r;
}

/* Counts a submission outside of all calls; others are counted by their calls. */
static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct by_stream_state *st = arg;
	struct stream_row *row;

	/* no stream is known here */
	if (call || st->by == BY_STREAM || !nvs_filter_selects(st->source, s, NULL))
		return 0;
	row = row_of(st, st->by == BY_THREAD ? s->thread->thread : 0);
	if (!row)
		return -ENOMEM;
	add_submissions(st, row, s->thread->thread, !(s->rec->rec.flags & NVS_SUB_CONTINUED),
			s->nentries, nvs_submission_bytes(s));
	return 0;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct by_stream_state *st = arg;
	uint64_t handle;
	struct stream_row *row;
	bool selected;
	int r = nvs_contexts_call(&st->contexts, call, &handle);

	if (r)
		return r;
	selected = nvs_filter_call(st->source, call);
	if (!selected && !has_selected(call))
		return 0;
	if (st->by == BY_STREAM)
		return count_stream(st, call, handle, selected);
	row = row_of(st, st->by == BY_THREAD ? call->thread : handle);
	if (!row)
		return -ENOMEM;
	add_asked(st, row, call);
	return selected ? count_call(st, row, call) : 0;
}

/* ---- columns ---- */

/* Returns NULL if unknown. */
static const struct nvs_trace_thread *thread_of(const struct stream_row *r)
{
	return nvs_trace_thread_at(r->key.source->trace, (uint32_t)r->key.handle);
}

static uint32_t tid_of(const struct stream_row *r)
{
	return thread_of(r) ? thread_of(r)->tid : 0;
}

/* Without calls, only submissions are known. */
static bool has_calls(const struct stream_row *r)
{
	const struct nvs_source *s = r->key.source;

	return nvs_pass_has_record(s->second ? s->second : s->first, NVS_REC_API);
}

NVS_SOURCE_GETTERS(struct stream_row, r->key.source)
NVS_GET_TEXT(struct stream_row, name, thread_of(r) ? thread_of(r)->name : "")
NVS_GET_KNOWN(struct stream_row, calls, has_calls(r), r->calls)
NVS_GET_KNOWN(struct stream_row, failed, has_calls(r), r->failed)
NVS_GET_KNOWN(struct stream_row, launches, has_calls(r), r->launches)
NVS_GET_KNOWN(struct stream_row, graphs, has_calls(r), r->graphs)
NVS_GET_KNOWN(struct stream_row, copies, has_calls(r), r->copies)
NVS_GET_KNOWN(struct stream_row, copied, has_calls(r) && (!r->size_unknown || r->copied), r->copied)
NVS_GET_KNOWN(struct stream_row, memsets, has_calls(r), r->memsets)
NVS_GET_KNOWN(struct stream_row, syncs, has_calls(r), r->syncs)
NVS_GET_KNOWN(struct stream_row, submissions, !r->uncounted, r->submissions)
NVS_GET_KNOWN(struct stream_row, entries, !r->uncounted, r->entries)
NVS_GET_KNOWN(struct stream_row, bytes, !r->uncounted, r->bytes)
NVS_GET_KNOWN(struct stream_row, threads, !r->many, r->threads)
NVS_GET_REAL(struct stream_row, total, r->times.count, (double)r->times.ns / 1000)
NVS_GET_REAL(struct stream_row, mean, r->times.count, nvs_duration_mean(&r->times) / 1000)
NVS_GET_REAL(struct stream_row, waits, r->waits.count, (double)r->waits.ns / 1000)

NVS_GET_KNOWN(struct stream_row, thread, r->key.handle != NVS_NONE, r->key.handle)
NVS_GET_KNOWN(struct stream_row, tid, tid_of(r), tid_of(r))
NVS_GET_HEX(struct stream_row, context, r->context, r->context)
NVS_GET_HEX(struct stream_row, own, r->key.handle, r->key.handle)

static void get_stream(const void *row, struct nvs_value *v)
{
	nvs_stream_value(((const struct stream_row *)row)->key.handle, v);
}

#define COUNTS                                                                                    \
	{"calls", "calls", get_calls, 0}, {"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 4}, \
		{"launch_calls", "launches", get_launches, 0},                                    \
		{"graph_launches", "graphs", get_graphs, NVS_COLUMN_IF_ANY, 2},                   \
		{"copies", "copies", get_copies, NVS_COLUMN_IF_ANY, 2},                           \
		{"copied_bytes", "copy bytes", get_copied, NVS_COLUMN_IF_ANY, 2},                 \
		{"memset_calls", "memsets", get_memsets, NVS_COLUMN_IF_ANY, 4},                   \
		{"sync_calls", "syncs", get_syncs, NVS_COLUMN_IF_ANY, 3},                         \
		{"submissions", "subs", get_submissions, 0},                                      \
		{"entries", "entries", get_entries, NVS_COLUMN_DETAIL},                           \
		{"command_bytes", "cmd bytes", get_bytes, 0, 3},                                  \
		{"host_us_total", "host us", get_total, 0, 1},                                    \
		{"host_us_mean", "us/call", get_mean, NVS_COLUMN_BESIDE, 1},                      \
	{                                                                                         \
		"wait_us_total", "us waiting", get_waits, NVS_COLUMN_IF_ANY, 2                    \
	}

static const struct nvs_column stream_columns[] = {
	{"stream", "stream", get_stream, 0},
	COUNTS,
	{"threads", "threads", get_threads, 0, 5},
	{"context", "context", get_context, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};
static const struct nvs_column thread_columns[] = {
	{"thread", "thread", get_thread, 0},
	{"tid", "tid", get_tid, 0, 3},
	COUNTS,
	{"thread_name", "name", get_name, NVS_COLUMN_NAME},
	NVS_SOURCE_COLUMNS,
};
static const struct nvs_column context_columns[] = {
	{"context", "context", get_own, 0},
	COUNTS,
	{"threads", "threads", get_threads, 0, 5},
	NVS_SOURCE_COLUMNS,
};

/* ---- from the traces to the table ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, struct by_stream_state *st,
		       enum by by, struct nvs_pass_reader *reader)
{
	st->source = s;
	st->by = by;
	st->all = run->state;
	if (!st->all->rows.size)
		st->all->rows = NVS_ROWS(struct stream_row, key);
	reader->call = on_call;
	reader->submission = on_submission;
	reader->tallies = true;
	return 0;
}

static int begin_streams(struct nvs_run *run, struct nvs_source *s, void *each,
			 struct nvs_pass_reader *reader)
{
	return begin_trace(run, s, each, BY_STREAM, reader);
}

static int begin_threads(struct nvs_run *run, struct nvs_source *s, void *each,
			 struct nvs_pass_reader *reader)
{
	return begin_trace(run, s, each, BY_THREAD, reader);
}

static int begin_contexts(struct nvs_run *run, struct nvs_source *s, void *each,
			  struct nvs_pass_reader *reader)
{
	return begin_trace(run, s, each, BY_CONTEXT, reader);
}

/* Frees rows of streams that were never used and returns their number. Libraries create dozens
 * of streams in advance. */
static size_t fold_unused(struct nvs_rows *rows)
{
	size_t kept = 0, n = rows->n;

	for (size_t i = 0; i < n; i++) {
		struct stream_row *row = rows->row[i];

		if (row->used)
			rows->row[kept++] = row;
		else
			free(row);
	}
	rows->n = kept;
	return n - kept;
}

static int print_streams(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, stream_columns, "calls");
	struct nvs_rows *rows = &((struct stream_totals *)run->state)->rows;
	size_t unused = run->options->print.format == NVS_FORMAT_TEXT ? fold_unused(rows) : 0;
	int r;

	r = nvs_table_print_rows(run->out, &table, rows, &run->options->print);
	if (!r && unused)
		fprintf(run->out->file, "%zu stream%s unused\n", unused, unused == 1 ? "" : "s");
	return r;
}

static int print_threads(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, thread_columns, "calls");
	const struct stream_totals *all = run->state;

	return nvs_table_print_rows(run->out, &table, &all->rows, &run->options->print);
}

static int print_contexts(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, context_columns, "calls");
	const struct stream_totals *all = run->state;

	return nvs_table_print_rows(run->out, &table, &all->rows, &run->options->print);
}

static void free_rows(struct nvs_run *run)
{
	struct by_stream_state *st = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		nvs_contexts_free(&st[i].contexts);
	nvs_rows_free(&((struct stream_totals *)run->state)->rows, NULL);
	nvs_distinct_free(&((struct stream_totals *)run->state)->threads);
}

#define BY_HANDLE                                                                                \
	.needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE, \
	.state = sizeof(struct stream_totals), .each = sizeof(struct by_stream_state),           \
	.free = free_rows

NVS_REPORT(by_stream, .name = "by-stream", .place = 60, .help = "per stream",
	   .man = "Calls, launches, copies, host time and command bytes per stream. "
		  "Streams that were created but never used have rows in JSON and CSV; "
		  "text only counts them.\nSubmissions of calls that work on no stream are "
		  "in no row.",
	   BY_HANDLE, NVS_REPORT_COLUMNS(stream_columns), .begin = begin_streams,
	   .print = print_streams);

NVS_REPORT(by_thread, .name = "by-thread", .place = 70, .help = "per thread",
	   .man = "The same per thread, including submissions outside of all calls.", BY_HANDLE,
	   NVS_REPORT_COLUMNS(thread_columns), .begin = begin_threads, .print = print_threads);

NVS_REPORT(by_context, .name = "by-context", .place = 80, .help = "per context",
	   .man = "The same per context. A row without a name has what belongs to an "
		  "unknown context, such as submissions outside of all calls.",
	   BY_HANDLE, NVS_REPORT_COLUMNS(context_columns), .begin = begin_contexts,
	   .print = print_contexts);
