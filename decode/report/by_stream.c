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
		row->context = handle; /* with BY_STREAM, count_stream() sets it */
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

#define COUNTS(COL)                                                                               \
	COL(known, calls, "calls", 0, 0, has_calls(r), r->calls)                                  \
	COL(known, failed, "failed", IF_ANY, 4, has_calls(r), r->failed)                          \
	COL(known, launch_calls, "launches", 0, 0, has_calls(r), r->launches)                     \
	COL(known, graph_launches, "graphs", IF_ANY, 2, has_calls(r), r->graphs)                  \
	COL(known, copies, "copies", IF_ANY, 2, has_calls(r), r->copies)                          \
	COL(known, copied_bytes, "copy bytes", IF_ANY, 2,                                         \
	    has_calls(r) && (!r->size_unknown || r->copied), r->copied)                           \
	COL(known, memset_calls, "memsets", IF_ANY, 4, has_calls(r), r->memsets)                  \
	COL(known, sync_calls, "syncs", IF_ANY, 3, has_calls(r), r->syncs)                        \
	COL(known, submissions, "subs", 0, 0, !r->uncounted, r->submissions)                      \
	COL(known, entries, "entries", DETAIL, 0, !r->uncounted, r->entries)                      \
	COL(known, command_bytes, "cmd bytes", 0, 3, !r->uncounted, r->bytes)                     \
	COL(us, host_us_total, "host us", 0, 1, r->times.count, r->times.ns)                      \
	COL(us, host_us_mean, "us/call", BESIDE, 1, r->times.count, nvs_duration_mean(&r->times)) \
	COL(us, wait_us_total, "us waiting", IF_ANY, 2, r->waits.count, r->waits.ns)

#define STREAM_COLUMNS(COL)                                              \
	COL(by, stream, "stream", 0, 0, nvs_stream_value, r->key.handle) \
	COUNTS(COL)                                                      \
	COL(known, threads, "threads", 0, 5, !r->many, r->threads)       \
	COL(hex, context, "context", DETAIL, 0, r->context, r->context)  \
	NVS_SOURCE_COLUMNS(COL, r->key.source)
NVS_COLUMNS(stream_columns, struct stream_row, STREAM_COLUMNS)

#define THREAD_COLUMNS(COL)                                                             \
	COL(known, thread, "thread", 0, 0, r->key.handle != NVS_NONE, r->key.handle)    \
	COL(nonzero, tid, "tid", 0, 3, tid_of(r))                                       \
	COUNTS(COL##_SAME)                                                              \
	COL(text, thread_name, "name", NAME, 0, thread_of(r) ? thread_of(r)->name : "") \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->key.source)
NVS_COLUMNS(thread_columns, struct stream_row, THREAD_COLUMNS)

#define CONTEXT_COLUMNS(COL)                \
	COL(same, context, "context", 0, 0) \
	COUNTS(COL##_SAME)                  \
	COL(same, threads, "threads", 0, 5) \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->key.source)
NVS_COLUMNS(context_columns, struct stream_row, CONTEXT_COLUMNS)

/* ---- from the traces to the table ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	struct by_stream_state *st = each;

	st->source = s;
	st->by = run->report->columns == stream_columns	  ? BY_STREAM
		 : run->report->columns == thread_columns ? BY_THREAD
							  : BY_CONTEXT;
	st->all = run->state;
	if (!st->all->rows.size)
		st->all->rows = NVS_ROWS(struct stream_row, key);
	reader->call = on_call;
	reader->submission = on_submission;
	reader->tallies = true;
	return 0;
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

static int print_rows(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, context_columns, "calls");
	const struct stream_totals *all = run->state;

	table.columns = run->report->columns;
	table.ncolumns = run->report->ncolumns;
	return nvs_table_print_rows(run->out, &table, &all->rows, &run->options->print);
}

static int print_streams(struct nvs_run *run)
{
	struct nvs_rows *rows = &((struct stream_totals *)run->state)->rows;
	size_t unused = run->options->print.format == NVS_FORMAT_TEXT ? fold_unused(rows) : 0;
	int r = print_rows(run);

	if (!r && unused)
		fprintf(run->out->file, "%zu stream%s unused\n", unused, unused == 1 ? "" : "s");
	return r;
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
	.begin = begin_trace, .free = free_rows

NVS_REPORT(by_stream, .name = "by-stream", .group = NVS_GPU_WORK, .place = 60, .help = "per stream",
	   .man = "Calls, launches, copies, host time and command bytes per stream. "
		  "Streams that were created but never used have rows in JSON and CSV; "
		  "text only counts them.\nSubmissions of calls that work on no stream are "
		  "in no row.",
	   BY_HANDLE, NVS_REPORT_COLUMNS(stream_columns), .print = print_streams);

NVS_REPORT(by_thread, .name = "by-thread", .group = NVS_HOST_TIME, .place = 70,
	   .help = "per thread",
	   .man = "The same per thread, including submissions outside of all calls.", BY_HANDLE,
	   NVS_REPORT_COLUMNS(thread_columns), .print = print_rows);

NVS_REPORT(by_context, .name = "by-context", .group = NVS_GPU_WORK, .place = 80,
	   .help = "per context",
	   .man = "The same per context. A row without a name has what belongs to an "
		  "unknown context, such as submissions outside of all calls.",
	   BY_HANDLE, NVS_REPORT_COLUMNS(context_columns), .print = print_rows);
