/* SPDX-License-Identifier: MIT */
/* --graphs: executable graphs, their nodes, and the cost of launching, uploading and
 * instantiating them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/edges.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/handles.h"
#include "decode/calls/roles.h"
#include "decode/analysis/count_attribution.h"
#include "decode/analysis/size_histogram.h"
#include "decode/report/core/trace_columns.h"
#include "decode/query/durations.h"
#include "decode/report/core/report.h"

/* CUgraphNodeType */
enum { KERNEL, COPY, MEMSET, HOST, CHILD, EMPTY, CONDITIONAL = 13 };

struct graphs_row {
	const struct nvs_exec *exec; /* its key */
	const struct nvs_source *source;
	uint64_t number; /* index over all traces */
	uint64_t kind[4], other, children, conditional_nodes, nodes;
	uint32_t longest; /* longest path, in nodes; 0: unknown */
	uint64_t launches, failed, submissions, entries;
	uint64_t first; /* bytes of the first launch */
	struct nvs_sizes bytes, after_sync, back_to_back; /* of launches */
	bool uncounted; /* submissions of these calls are unknown */
	bool uploaded; /* by any call or launch: the next launch need not upload */
	uint64_t uploads, upload_submissions, upload_bytes;
	uint64_t make_bytes; /* by instantiation and update */
	struct nvs_durations times;
	struct nvs_duration_sum upload_times, make_times;
	/* Instructions of its kernels, for the counters in count_flags (NVS_COUNT_*). */
	uint32_t count_flags;
	uint32_t wrapped; /* NVS_COUNT_* whose sum is too small */
	bool shared; /* counts include launches outside of this graph */
	uint64_t warp, thread;
};

/* A stream, to distinguish launches on an idle stream from back-to-back ones. */
struct launch_stream {
	uint64_t handle;
	uint64_t work; /* number of its latest call; 0: none, or synchronised */
};

struct graphs_state {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_kernel_counts counts;
	struct nvs_count_shares *shares;
	struct nvs_rows rows, streams;
	uint64_t calls, synchronised; /* synchronised: last call before a context was */
	/* Instantiation or update, which precedes its GRAPH record. */
	struct nvs_call made_call;
	bool has_made_call;
};

static struct graphs_row *graph_row(struct graphs_state *st, const struct nvs_exec *exec)
{
	return exec ? nvs_rows_at(&st->rows, &exec) : NULL;
}

/* Returns NULL if the call has no stream, or if out of memory, with *R = -ENOMEM. */
static struct launch_stream *stream_of(struct graphs_state *st, const struct nvs_call *call, int *r)
{
	struct launch_stream *stream;
	uint64_t handle;

	if (!nvs_call_kind(call, NVS_KIND_STREAM, &handle))
		return NULL;
	nvs_call_stream(call, &handle);
	stream = nvs_rows_at(&st->streams, &handle);
	*r = stream ? 0 : -ENOMEM;
	return stream;
}

static int follow_stream(struct graphs_state *st, const struct nvs_call *call)
{
	bool synchronises = call->api->role == NVS_CALL_ROLE_SYNCHRONIZE;
	struct launch_stream *stream;
	int r = 0;

	if (!nvs_call_ran(call) || (!synchronises && !call->submissions))
		return 0;
	st->calls++;
	stream = stream_of(st, call, &r);
	if (stream)
		stream->work = synchronises ? 0 : st->calls;
	else if (synchronises)
		st->synchronised = st->calls;
	return r;
}

static int count_bytes(struct graphs_state *st, struct graphs_row *row, const struct nvs_call *call)
{
	int r = 0;
	const struct launch_stream *stream = stream_of(st, call, &r);

	if (row->launches == 1)
		row->first = call->asked_bytes;
	if (!r)
		r = nvs_sizes_add(&row->bytes, call->asked_bytes);
	/* A launch that had to upload the graph is not comparable to others. */
	if (r || !stream || !row->uploaded)
		return r;
	return nvs_sizes_add(stream->work > st->synchronised ? &row->back_to_back
							     : &row->after_sync,
			     call->asked_bytes);
}

static int count_launch(struct graphs_state *st, const struct nvs_call *call)
{
	uint64_t handle;
	struct graphs_row *row;
	int r;

	if (!nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	row = graph_row(st, nvs_handles_get_exec(st->handles, handle));
	if (!row)
		return -ENOMEM;
	if (call->result || !call->end) {
		row->failed++;
		return 0;
	}
	if (call->flags & NVS_CALL_CAPTURED)
		return 0;
	row->launches++;
	row->uncounted |= call->uncounted;
	row->submissions += call->asked_submissions;
	row->entries += call->asked_entries;
	r = count_bytes(st, row, call);
	return r ? r : nvs_durations_add_later(st->source->waiting, &row->times, call);
}

static int count_upload(struct graphs_state *st, const struct nvs_call *call)
{
	uint64_t handle;
	struct graphs_row *row;

	if (call->result || !call->end || !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	row = graph_row(st, nvs_handles_get_exec(st->handles, handle));
	if (!row)
		return -ENOMEM;
	row->uploads++;
	row->uncounted |= call->uncounted;
	row->upload_submissions += call->asked_submissions;
	row->upload_bytes += call->asked_bytes;
	return nvs_duration_sum_add_later(st->source->waiting, &row->upload_times, call);
}

static int follow_call(struct graphs_state *st, const struct nvs_call *call)
{
	if (!nvs_filter_call(st->source, call))
		return 0;
	if (call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH)
		return count_launch(st, call);
	if (call->api->role == NVS_CALL_ROLE_GRAPH_UPLOAD)
		return count_upload(st, call);
	if (call->api->role == NVS_CALL_ROLE_GRAPH_INSTANTIATE ||
	    call->api->role == NVS_CALL_ROLE_GRAPH_UPDATE) {
		st->made_call = *call;
		st->has_made_call = true;
	}
	return 0;
}

static int note_upload(struct graphs_state *st, const struct nvs_call *call)
{
	struct graphs_row *row;
	uint64_t handle;

	if ((call->api->group != NVS_CALL_GROUP_GRAPH_LAUNCH &&
	     call->api->role != NVS_CALL_ROLE_GRAPH_UPLOAD) ||
	    !nvs_call_ran(call) || !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	row = graph_row(st, nvs_handles_get_exec(st->handles, handle));
	if (!row)
		return -ENOMEM;
	row->uploaded = true;
	return 0;
}

/* Tags of calls in counts: not a launch of these graphs, or not selected. */
enum { ANOTHER, UNSELECTED, GRAPHS };

static uint64_t tag_of(struct graphs_state *st, const struct nvs_call *call)
{
	const struct nvs_exec *exec;
	uint64_t handle;

	if (call->api->group != NVS_CALL_GROUP_GRAPH_LAUNCH ||
	    !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return ANOTHER;
	if (!nvs_filter_call(st->source, call))
		return UNSELECTED;
	exec = nvs_handles_get_exec(st->handles, handle);
	return exec ? GRAPHS + exec->index : ANOTHER;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct graphs_state *st = arg;
	int r = follow_call(st, call);

	if (!r)
		r = note_upload(st, call);
	if (!r)
		r = nvs_count_shares_call(st->shares, call, tag_of(st, call));
	/* Calls that are not selected keep a stream busy, too. */
	return r ? r : follow_stream(st, call);
}

/* Handles an instantiation or update, with the call that preceded its record. */
static int follow_record(struct graphs_state *st, const struct nvs_rec_graph *rec)
{
	struct graphs_row *row = graph_row(st, nvs_handles_get_exec(st->handles, rec->exec));

	if (!row)
		return -ENOMEM;
	if (!st->has_made_call || rec->event == NVS_GRAPH_NODE_SET || rec->first)
		return 0;
	row->make_bytes += st->made_call.asked_bytes;
	row->uncounted |= st->made_call.uncounted;
	st->has_made_call = false;
	return nvs_duration_sum_add_later(st->source->waiting, &row->make_times, &st->made_call);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct graphs_state *st = arg;
	int r = nvs_kernel_counts_record(&st->counts, rec);

	if (!r)
		r = nvs_count_shares_record(st->shares, rec);
	return r || rec->type != NVS_REC_GRAPH ? r : follow_record(st, (const void *)rec);
}

/* ---- instructions ---- */

static int add_share(void *arg, const struct nvs_count_share *share)
{
	struct graphs_state *st = arg;
	uint64_t tag = share->ncalls ? share->calls[0] : (uint64_t)ANOTHER;
	struct graphs_row *row;
	bool one = share->whole;

	for (uint32_t i = 0; i < share->ncalls; i++)
		one = one && share->calls[i] == tag;
	for (uint32_t i = 0; i < share->ncalls; i++) {
		if (share->calls[i] < GRAPHS)
			continue;
		row = graph_row(
			st, nvs_handles_exec_at(st->handles, (uint32_t)(share->calls[i] - GRAPHS)));
		if (!row)
			return -ENOMEM;
		row->count_flags |= share->counted->flags;
		row->wrapped |= share->counted->wrapped;
		row->shared |= !one;
		if (!i && one) {
			row->warp += share->warp;
			row->thread += share->thread;
		}
	}
	return 0;
}

struct seen_kernel {
	const struct nvs_kernel_count *counted;
	bool added;
};

/* Counts cannot be assigned to the launches: use all that the kernels executed in the run. */
static int count_run(const struct graphs_state *st, struct graphs_row *row)
{
	const struct nvs_exec *e = row->exec;
	struct nvs_rows all = NVS_ROWS(struct seen_kernel, counted);
	int r = 0;

	row->warp = row->thread = 0;
	for (uint32_t i = 0; !r && i < e->nnodes; i++) {
		const struct nvs_kernel *kernel;
		const struct nvs_kernel_count *counted;
		struct seen_kernel *seen;

		if (e->nodes[i].type != KERNEL)
			continue;
		kernel = nvs_handles_get_kernel(st->handles, e->nodes[i].function);
		counted = kernel ? nvs_kernel_counts_find(&st->counts, kernel->name) : NULL;
		seen = counted ? nvs_rows_at(&all, &counted) : NULL;
		r = kernel && (seen || !counted) ? 0 : -ENOMEM;
		if (!seen || seen->added)
			continue;
		seen->added = true;
		row->count_flags |= counted->flags;
		row->wrapped |= counted->wrapped;
		row->warp += counted->warp;
		row->thread += counted->thread;
	}
	nvs_rows_free(&all, NULL);
	return r;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct graphs_state *st = each;
	int r = nvs_count_shares_end(st->shares, add_share, st);

	for (size_t i = 0; !r && i < st->rows.n; i++) {
		struct graphs_row *row = st->rows.row[i];

		if (row->shared)
			r = count_run(st, row);
	}
	return r;
}

static int count_nodes(struct graphs_row *row)
{
	const struct nvs_exec *e = row->exec;

	for (uint32_t i = 0; i < e->nnodes; i++) {
		uint32_t type = e->nodes[i].type;

		row->nodes += !e->nodes[i].parent;
		row->conditional_nodes += !!(e->nodes[i].flags & NVS_NODE_CONDITIONAL);
		if (type <= HOST)
			row->kind[type]++;
		else if (type == CHILD || type == CONDITIONAL)
			row->children++;
		else
			row->other++;
	}
	return nvs_edges_longest_path(&e->edges, e->nodes, e->nnodes, &row->longest);
}

/* ---- columns ---- */

static double divide_or_zero(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

NVS_SOURCE_GETTERS(struct graphs_row, r->source)
NVS_GET_COUNT(struct graphs_row, number, r->number)
NVS_GET_TEXT(struct graphs_row, origin,
	     r->exec->origin == NVS_GRAPH_FROM_CAPTURE ? "capture"
	     : r->exec->origin == NVS_GRAPH_FROM_NODES ? "nodes"
						       : "")
NVS_GET_COUNT(struct graphs_row, nodes, r->nodes)
NVS_GET_KNOWN(struct graphs_row, edges, r->exec->edges.known, r->exec->edges.n)
NVS_GET_KNOWN(struct graphs_row, longest, r->longest, r->longest)
NVS_GET_COUNT(struct graphs_row, kernels, r->kind[KERNEL])
NVS_GET_COUNT(struct graphs_row, copies, r->kind[COPY])
NVS_GET_COUNT(struct graphs_row, memsets, r->kind[MEMSET])
NVS_GET_COUNT(struct graphs_row, hosts, r->kind[HOST])
NVS_GET_COUNT(struct graphs_row, children, r->children)
NVS_GET_COUNT(struct graphs_row, other, r->other)
NVS_GET_COUNT(struct graphs_row, conditional, r->conditional_nodes)
NVS_GET_COUNT(struct graphs_row, updates, r->exec->updates)
NVS_GET_COUNT(struct graphs_row, changes, r->exec->changes)
NVS_GET_COUNT(struct graphs_row, launches, r->launches)
NVS_GET_COUNT(struct graphs_row, failed, r->failed)
NVS_GET_REAL(struct graphs_row, doorbells, r->launches && !r->uncounted,
	     divide_or_zero(r->submissions, r->launches))
NVS_GET_REAL(struct graphs_row, entries, r->launches && !r->uncounted,
	     divide_or_zero(r->entries, r->launches))
NVS_GET_REAL(struct graphs_row, bytes, r->launches && !r->uncounted, nvs_sizes_mean(&r->bytes))
#define GET_BYTES(name, of, expr) \
	NVS_GET_KNOWN(struct graphs_row, name, (of).count && !r->uncounted, expr)
GET_BYTES(first, r->bytes, r->first)
GET_BYTES(least, r->bytes, r->bytes.min)
GET_BYTES(median, r->bytes, nvs_sizes_median(&r->bytes))
GET_BYTES(most, r->bytes, r->bytes.max)
GET_BYTES(after_sync, r->after_sync, nvs_sizes_median(&r->after_sync))
GET_BYTES(back_to_back, r->back_to_back, nvs_sizes_median(&r->back_to_back))
NVS_GET_REAL(struct graphs_row, p50, r->launches,
	     (double)nvs_durations_quantile(&r->times, 0.5) / 1000)
NVS_GET_REAL(struct graphs_row, mean, r->launches, nvs_duration_mean(&r->times.total) / 1000)
NVS_GET_COUNT(struct graphs_row, uploads, r->uploads)
NVS_GET_KNOWN(struct graphs_row, upload_bytes, !r->uncounted, r->upload_bytes)
NVS_GET_KNOWN(struct graphs_row, upload_doorbells, !r->uncounted, r->upload_submissions)
NVS_GET_REAL(struct graphs_row, upload_us, r->uploads, nvs_duration_mean(&r->upload_times) / 1000)
NVS_GET_REAL(struct graphs_row, make_us, r->make_times.count,
	     nvs_duration_mean(&r->make_times) / 1000)
NVS_GET_KNOWN(struct graphs_row, make_bytes, !r->uncounted, r->make_bytes)
static void get_partial(const void *row, struct nvs_value *v)
{
	nvs_value_truth(v, ((const struct graphs_row *)row)->exec->partial, "partial");
}

#define WARPS (r->count_flags & ~r->wrapped & NVS_COUNT_WARP)
#define THREADS (r->count_flags & ~r->wrapped & NVS_COUNT_THREAD)
#define EACH (!r->shared && r->launches)
NVS_GET_KNOWN(struct graphs_row, warp, WARPS, r->warp)
NVS_GET_KNOWN(struct graphs_row, thread, THREADS, r->thread)
NVS_GET_REAL(struct graphs_row, warp_each, WARPS &&EACH, divide_or_zero(r->warp, r->launches))
NVS_GET_REAL(struct graphs_row, thread_each, THREADS &&EACH, divide_or_zero(r->thread, r->launches))
NVS_GET_TEXT(struct graphs_row, counts_of,
	     !r->count_flags ? ""
	     : r->shared     ? "kernels"
			     : "launches")
NVS_GET_HEX(struct graphs_row, exec, true, r->exec->handle)

static const struct nvs_column columns[] = {
	{"graph", "graph", get_number, 0},
	{"exec", "exec", get_exec, NVS_COLUMN_DETAIL},
	{"nodes", "nodes", get_nodes, 0},
	{"longest_path_nodes", "longest path", get_longest, NVS_COLUMN_IF_KNOWN, 4},
	{"edges", "edges", get_edges, NVS_COLUMN_IF_KNOWN, 4},
	{"kernel_nodes", "kernels", get_kernels, 0, 1},
	{"copy_nodes", "copies", get_copies, NVS_COLUMN_IF_ANY, 4},
	{"memset_nodes", "memsets", get_memsets, NVS_COLUMN_IF_ANY, 4},
	{"host_nodes", "host", get_hosts, NVS_COLUMN_IF_ANY, 5},
	{"child_nodes", "child", get_children, NVS_COLUMN_IF_ANY, 5},
	{"other_nodes", "other", get_other, NVS_COLUMN_IF_ANY, 5},
	{"body_nodes", "in bodies", get_conditional, NVS_COLUMN_IF_ANY, 5},
	{"updates", "updates", get_updates, NVS_COLUMN_IF_ANY, 3},
	{"node_changes", "changes", get_changes, NVS_COLUMN_IF_ANY, 5},
	{"graph_launches", "launches", get_launches, 0},
	{"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 5},
	{"submissions_per_launch", "doorbells", get_doorbells, 0, 1},
	{"entries_per_launch", "entries", get_entries, 0, 4},
	{"command_bytes_p50", "bytes p50", get_median, 0, 1},
	{"command_bytes_after_sync_p50", "after sync", get_after_sync, NVS_COLUMN_IF_KNOWN, 1},
	{"command_bytes_back_to_back_p50", "back to back", get_back_to_back, NVS_COLUMN_IF_KNOWN,
	 1},
	{"command_bytes_first", "bytes first", get_first, 0, 4},
	{"command_bytes_min", "bytes min", get_least, 0, 4},
	{"command_bytes_max", "bytes max", get_most, 0, 4},
	{"command_bytes_per_launch", "bytes/launch", get_bytes, 0, 4},
	{"host_us_p50", "host us p50", get_p50, 0, 1},
	{"host_us_mean", "us/launch", get_mean, NVS_COLUMN_BESIDE, 3},
	{"warp_instructions", "warp insts", get_warp, NVS_COLUMN_IF_KNOWN, 2},
	{"thread_instructions", "thread insts", get_thread, NVS_COLUMN_IF_KNOWN, 3},
	{"warp_instructions_per_launch", "warp/launch", get_warp_each, NVS_COLUMN_IF_KNOWN, 2},
	{"thread_instructions_per_launch", "thread/launch", get_thread_each, NVS_COLUMN_IF_KNOWN,
	 3},
	{"instructions_of", "insts of", get_counts_of, NVS_COLUMN_IF_KNOWN, 2},
	{"graph_uploads", "uploads", get_uploads, NVS_COLUMN_DETAIL},
	{"graph_upload_submissions", "upload bells", get_upload_doorbells, NVS_COLUMN_DETAIL},
	{"graph_upload_command_bytes", "upload bytes", get_upload_bytes, NVS_COLUMN_IF_ANY, 4},
	{"graph_upload_us_mean", "upload us", get_upload_us, NVS_COLUMN_DETAIL},
	{"instantiate_us_mean", "make us", get_make_us, NVS_COLUMN_IF_ANY, 3},
	{"instantiate_command_bytes", "make bytes", get_make_bytes, NVS_COLUMN_DETAIL},
	{"origin", "made by", get_origin, 0, 3},
	{"partial", "partial", get_partial, NVS_COLUMN_IF_ANY, 5},
	NVS_SOURCE_COLUMNS,
};

/* ---- from the traces to the table ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	struct graphs_state *st = each;

	st->source = s;
	st->shares = nvs_count_shares_new(&st->handles, &st->counts);
	st->rows = NVS_ROWS(struct graphs_row, exec);
	st->streams = NVS_ROWS(struct launch_stream, handle);
	reader->call = on_call;
	reader->record = on_record;
	reader->handles = &st->handles;
	return st->shares ? 0 : -ENOMEM;
}

/* Returns true if the graph has selected calls, or if there is no selection. */
static bool is_selected(const struct graphs_row *row, const struct nvs_options_report *o)
{
	return !nvs_filter_is_set(&o->query) || row->launches || row->failed || row->uploads ||
	       row->make_times.count;
}

static size_t count_graphs(const struct nvs_run *run)
{
	const struct graphs_state *states = run->each;
	size_t n = 0;

	for (uint32_t i = 0; i < run->n; i++)
		n += states[i].rows.n;
	return n;
}

static int print_graphs(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct graphs_state *states = run->each;
	int r = 0;

	table.rows = calloc(count_graphs(run) + 1, sizeof(*table.rows));
	if (!table.rows)
		return -ENOMEM;
	for (uint32_t k = 0; k < run->n; k++)
		for (uint32_t i = 0; i < nvs_handles_exec_count(states[k].handles) && !r; i++) {
			const struct nvs_exec *exec = nvs_handles_exec_at(states[k].handles, i);
			struct graphs_row *row = nvs_rows_find(&states[k].rows, &exec);

			if (!row || !is_selected(row, run->options))
				continue;
			r = count_nodes(row);
			row->source = run->sources + k;
			row->number = table.nrows;
			table.rows[table.nrows++] = row;
		}
	if (!r)
		r = nvs_table_print(run->out, &table, &run->options->print);
	free(table.rows);
	return r;
}

static void free_row(void *item)
{
	struct graphs_row *row = item;

	nvs_durations_free(&row->times);
	nvs_sizes_free(&row->bytes);
	nvs_sizes_free(&row->after_sync);
	nvs_sizes_free(&row->back_to_back);
}

static void free_graphs(struct nvs_run *run)
{
	struct graphs_state *states = run->each;

	for (uint32_t k = 0; k < run->n; k++) {
		nvs_rows_free(&states[k].rows, free_row);
		nvs_count_shares_free(states[k].shares);
		nvs_kernel_counts_free(&states[k].counts);
		nvs_rows_free(&states[k].streams, NULL);
	}
}

NVS_REPORT(graphs, .name = "graphs", .place = 40,
	   .help = "per executable graph: nodes, and what a launch costs",
	   .man = "Per executable graph: its nodes by kind, the nodes on its longest path "
		  "of dependencies (a child graph counts as many as its own longest path), "
		  "updates, and the doorbells, GPFIFO entries, command bytes and host time "
		  "of a launch; the bytes of uploads, and the time of instantiation.\nThe "
		  "bytes of a launch are also given after a synchronisation (or first on "
		  "its stream), and back to back, after other work on its stream.\nFor a "
		  "trace with\n.BR count= ,\nalso the instructions of its kernels: of its "
		  "launches, if the counters were read so that these can be separated from "
		  "others, else of everything that its kernels executed in the run.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .each = sizeof(struct graphs_state), .begin = begin_trace,
	   .end = end_trace, .print = print_graphs, .free = free_graphs);
