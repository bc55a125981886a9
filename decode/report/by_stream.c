/* SPDX-License-Identifier: MIT */
/* --by-stream, --by-thread and --by-context: the same counts, summed up by different handles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/contexts.h"
#include "decode/report/report.h"
#include "decode/report/times.h"

enum by { BY_STREAM, BY_THREAD, BY_CONTEXT };

struct row {
	struct key {
		uint64_t handle; /* stream, thread number or context */
		uint32_t trace;
		uint32_t per_thread; /* a stream handle in a call of the per-thread kind */
	} key;
	char name[48];
	uint64_t tid, calls, failed, launches, copies, copied, memsets, graphs, syncs, submissions,
		entries, bytes;
	uint64_t threads, context;
	bool uncounted; /* what was submitted is not known */
	bool untold; /* how much some copy moved is not known */
	bool used; /* a stream: more than made and destroyed */
	uint32_t last_thread;
	struct nvs_total times, waits;
};

struct state {
	struct nvs_source *source;
	enum by by;
	struct nvs_rows *rows; /* of all traces */
	struct nvs_contexts contexts;
};

/* ---- counting ---- */

static int count(struct state *st, struct row *row, const struct nvs_call *call)
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
	row->submissions += call->submissions;
	row->entries += call->entries;
	row->bytes += call->bytes;
	if (done && group == NVS_CALL_GROUP_COPY) {
		row->untold |= !nvs_call_copied(call, &bytes, &copies);
		row->copies += copies;
		row->copied += bytes;
	}
	if (row->last_thread != call->thread) {
		row->threads += row->last_thread == NVS_NONE || row->threads < 2;
		row->last_thread = call->thread;
	}
	row->syncs += group == NVS_CALL_GROUP_SYNC;
	if (call->end && call->depth <= 1 &&
	    nvs_total_later(st->source->waiting, &row->times, call))
		return -ENOMEM;
	return call->end && group == NVS_CALL_GROUP_SYNC
		       ? nvs_total_later(st->source->waiting, &row->waits, call)
		       : 0;
}

static struct row *row_of_call(struct state *st, uint64_t handle, bool per_thread)
{
	struct key key = {handle, st->source->index, per_thread};
	struct row *row = nvs_rows_at(st->rows, &key);

	if (row && !row->calls)
		row->last_thread = NVS_NONE;
	return row;
}

static int count_stream(struct state *st, const struct nvs_call *call, uint64_t context)
{
	uint64_t stream = 0;
	struct row *row;
	int r;

	if (!nvs_call_kind(call, NVS_KIND_STREAM, &stream) &&
	    call->api->group != NVS_CALL_GROUP_COPY && call->api->group != NVS_CALL_GROUP_MEMSET)
		return 0;
	row = row_of_call(st, stream, call->api->per_thread && !stream);
	if (!row)
		return -ENOMEM;
	row->context = context;
	if (nvs_makes_stream(call))
		return 0;
	r = count(st, row, call);
	if (call->api->role != NVS_CALL_ROLE_STREAM_DESTROY)
		row->used = true;
	else if (!call->result && call->end && !row->key.per_thread)
		nvs_rows_forget(st->rows, row); /* the same handle is another one from here on */
	return r;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	uint64_t handle;
	struct row *row;
	int r = nvs_contexts_call(&st->contexts, call, &handle);

	if (r || !nvs_filter_call(st->source, call))
		return r;
	if (st->by == BY_STREAM)
		return count_stream(st, call, handle);
	row = row_of_call(st, st->by == BY_THREAD ? call->thread : handle, false);
	return row ? count(st, row, call) : -ENOMEM;
}

/* ---- names, now that all has been read ---- */

static void name_thread(const struct nvs_run *run, struct row *row)
{
	const struct nvs_trace *trace = run->sources[row->key.trace].trace;
	const struct nvs_trace_thread *t = nvs_trace_thread_at(trace, (uint32_t)row->key.handle);

	snprintf(row->name, sizeof(row->name), "%s", t ? t->name : "");
	row->tid = t ? t->tid : 0;
}

static void name_handle(struct row *row, bool stream)
{
	uint64_t handle = row->key.handle;

	if (handle > (stream ? 2 : 0))
		snprintf(row->name, sizeof(row->name), "0x%llx", (unsigned long long)handle);
	else
		snprintf(row->name, sizeof(row->name), "%s",
			 !stream			      ? "none"
			 : handle == 2 || row->key.per_thread ? "per-thread default"
							      : "default");
}

/* ---- columns ---- */

NVS_GET_TEXT(struct row, name, r->name)
NVS_GET_COUNT(struct row, calls, r->calls)
NVS_GET_COUNT(struct row, failed, r->failed)
NVS_GET_COUNT(struct row, launches, r->launches)
NVS_GET_COUNT(struct row, graphs, r->graphs)
NVS_GET_COUNT(struct row, copies, r->copies)
NVS_GET_KNOWN(struct row, copied, !r->untold || r->copied, r->copied)
NVS_GET_COUNT(struct row, memsets, r->memsets)
NVS_GET_COUNT(struct row, syncs, r->syncs)
NVS_GET_KNOWN(struct row, submissions, !r->uncounted, r->submissions)
NVS_GET_KNOWN(struct row, entries, !r->uncounted, r->entries)
NVS_GET_KNOWN(struct row, bytes, !r->uncounted, r->bytes)
NVS_GET_TEXT(struct row, threads, r->threads > 1 ? "several" : "one")
NVS_GET_REAL(struct row, total, r->times.count, (double)r->times.ns / 1000)
NVS_GET_REAL(struct row, mean, r->times.count, nvs_total_mean(&r->times) / 1000)
NVS_GET_REAL(struct row, waits, r->waits.count, (double)r->waits.ns / 1000)

NVS_GET_KNOWN(struct row, thread, r->key.handle != NVS_NONE, r->key.handle)
NVS_GET_KNOWN(struct row, tid, r->key.handle != NVS_NONE, r->tid)
NVS_GET_HEX(struct row, context, r->context, r->context)

#define COUNTS                                                                                    \
	{"calls", "calls", get_calls, 0}, {"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 4}, \
		{"launches", "launches", get_launches, 0},                                        \
		{"graph_launches", "graphs", get_graphs, NVS_COLUMN_IF_ANY, 2},                   \
		{"copies", "copies", get_copies, NVS_COLUMN_IF_ANY, 2},                           \
		{"bytes_copied", "copy bytes", get_copied, NVS_COLUMN_IF_ANY, 2},                 \
		{"memsets", "memsets", get_memsets, NVS_COLUMN_IF_ANY, 4},                        \
		{"syncs", "syncs", get_syncs, NVS_COLUMN_IF_ANY, 3},                              \
		{"submissions", "subs", get_submissions, 0},                                      \
		{"entries", "entries", get_entries, NVS_COLUMN_DETAIL},                           \
		{"bytes", "cmd bytes", get_bytes, 0, 3},                                          \
		{"host_us_total", "host us", get_total, 0, 1},                                    \
		{"host_us_mean", "us/call", get_mean, NVS_COLUMN_BESIDE, 1},                      \
	{                                                                                         \
		"wait_us_total", "us waiting", get_waits, NVS_COLUMN_IF_ANY, 2                    \
	}

static const struct nvs_column stream_columns[] = {
	{"stream", "stream", get_name, 0},
	COUNTS,
	{"threads", "threads", get_threads, 0, 5},
	{"context", "context", get_context, NVS_COLUMN_DETAIL},
};
static const struct nvs_column thread_columns[] = {
	{"thread", "thread", get_thread, 0},
	{"tid", "tid", get_tid, 0, 3},
	COUNTS,
	{"name", "name", get_name, NVS_COLUMN_NAME},
};
static const struct nvs_column context_columns[] = {
	{"context", "context", get_name, 0},
	COUNTS,
	{"threads", "threads", get_threads, 0, 5},
};

/* ---- from the traces to the table ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, struct state *st, enum by by,
		 struct nvs_reader *reader)
{
	st->source = s;
	st->by = by;
	st->rows = run->state;
	if (!st->rows->size)
		*st->rows = NVS_ROWS(struct row, key);
	reader->call = on_call;
	reader->tallies = true;
	return 0;
}

static int begin_streams(struct nvs_run *run, struct nvs_source *s, void *each,
			 struct nvs_reader *reader)
{
	return begin(run, s, each, BY_STREAM, reader);
}

static int begin_threads(struct nvs_run *run, struct nvs_source *s, void *each,
			 struct nvs_reader *reader)
{
	return begin(run, s, each, BY_THREAD, reader);
}

static int begin_contexts(struct nvs_run *run, struct nvs_source *s, void *each,
			  struct nvs_reader *reader)
{
	return begin(run, s, each, BY_CONTEXT, reader);
}

/* Libraries make streams by the dozen to be ready: a person wants to see those that did something.
 * How many did not. */
static size_t fold_unused(struct nvs_rows *rows)
{
	size_t kept = 0, n = rows->n;

	for (size_t i = 0; i < n; i++) {
		struct row *row = rows->row[i];

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
	struct nvs_rows *rows = run->state;
	size_t unused = run->options->format == NVS_FORMAT_TEXT ? fold_unused(rows) : 0;
	int r;

	for (size_t i = 0; i < rows->n; i++)
		name_handle(rows->row[i], true);
	r = nvs_table_print_rows(run->out, &table, rows, run->options);
	if (!r && unused)
		fprintf(run->out->file, "%zu stream%s unused\n", unused, unused == 1 ? "" : "s");
	return r;
}

static int print_threads(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, thread_columns, "calls");
	struct nvs_rows *rows = run->state;

	for (size_t i = 0; i < rows->n; i++)
		name_thread(run, rows->row[i]);
	return nvs_table_print_rows(run->out, &table, rows, run->options);
}

static int print_contexts(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, context_columns, "calls");
	struct nvs_rows *rows = run->state;

	for (size_t i = 0; i < rows->n; i++)
		name_handle(rows->row[i], false);
	return nvs_table_print_rows(run->out, &table, rows, run->options);
}

static void free_rows(struct nvs_run *run)
{
	struct state *st = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		nvs_contexts_free(&st[i].contexts);
	nvs_rows_free(run->state, NULL);
}

#define BY_HANDLE                                                                                \
	.needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE, \
	.state = sizeof(struct nvs_rows), .each = sizeof(struct state), .free = free_rows

NVS_REPORT(by_stream, .name = "by-stream", .place = 60, .help = "per stream",
	   .man = "Calls, launches, copies, host time and command bytes per stream. Streams that "
		  "were made and never\nused are rows in JSON and CSV; as text they are one line "
		  "that counts them.",
	   BY_HANDLE, NVS_REPORT_COLUMNS(stream_columns), .begin = begin_streams,
	   .print = print_streams);

NVS_REPORT(by_thread, .name = "by-thread", .place = 70, .help = "per thread",
	   .man = "The same per thread.", BY_HANDLE, NVS_REPORT_COLUMNS(thread_columns),
	   .begin = begin_threads, .print = print_threads);

NVS_REPORT(by_context, .name = "by-context", .place = 80, .help = "per context",
	   .man = "The same per context.", BY_HANDLE, NVS_REPORT_COLUMNS(context_columns),
	   .begin = begin_contexts, .print = print_contexts);
