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

/* Returns NULL if EXEC is NULL or memory is short. */
static struct graphs_row *graph_row(struct graphs_state *st, const struct nvs_exec *exec)
{
	return exec ? nvs_rows_at(&st->rows, &exec) : NULL;
}

/* Sets *ROW to that of the call's graph, NULL if it has none. Returns 0 or -ENOMEM. */
static int find_row(struct graphs_state *st, const struct nvs_call *call, struct graphs_row **row)
{
	uint64_t handle;

	*row = NULL;
	if (!nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	*row = graph_row(st, nvs_handles_get_exec(st->handles, handle));
	return *row ? 0 : -ENOMEM;
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
	struct graphs_row *row;
	int r = find_row(st, call, &row);

	if (!row)
		return r;
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
	struct graphs_row *row;
	int r = find_row(st, call, &row);

	if (!row || call->result || !call->end)
		return r;
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
	int r;

	if ((call->api->group != NVS_CALL_GROUP_GRAPH_LAUNCH &&
	     call->api->role != NVS_CALL_ROLE_GRAPH_UPLOAD) ||
	    !nvs_call_ran(call))
		return 0;
	r = find_row(st, call, &row);
	if (row)
		row->uploaded = true;
	return r;
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
	return rec->type == NVS_REC_GRAPH ? follow_record(arg, (const void *)rec) : 0;
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

#define WARPS (r->count_flags & ~r->wrapped & NVS_COUNT_WARP)
#define THREADS (r->count_flags & ~r->wrapped & NVS_COUNT_THREAD)
#define EACH (!r->shared && r->launches)

#define COLUMNS(COL)                                                                             \
	COL(count, graph, "graph", 0, 0, r->number)                                              \
	COL(hex, exec, "exec", DETAIL, 0, true, r->exec->handle)                                 \
	COL(count, nodes, "nodes", 0, 0, r->nodes)                                               \
	COL(nonzero, longest_path_nodes, "longest path", IF_KNOWN, 4, r->longest)                \
	COL(known, edges, "edges", IF_KNOWN, 4, r->exec->edges.known, r->exec->edges.n)          \
	COL(count, kernel_nodes, "kernels", 0, 1, r->kind[KERNEL])                               \
	COL(count, copy_nodes, "copies", IF_ANY, 4, r->kind[COPY])                               \
	COL(count, memset_nodes, "memsets", IF_ANY, 4, r->kind[MEMSET])                          \
	COL(count, host_nodes, "host", IF_ANY, 5, r->kind[HOST])                                 \
	COL(count, child_nodes, "child", IF_ANY, 5, r->children)                                 \
	COL(count, other_nodes, "other", IF_ANY, 5, r->other)                                    \
	COL(count, body_nodes, "in bodies", IF_ANY, 5, r->conditional_nodes)                     \
	COL(count, updates, "updates", IF_ANY, 3, r->exec->updates)                              \
	COL(count, node_changes, "changes", IF_ANY, 5, r->exec->changes)                         \
	COL(count, graph_launches, "launches", 0, 0, r->launches)                                \
	COL(count, failed, "failed", IF_ANY, 5, r->failed)                                       \
	COL(real, submissions_per_launch, "doorbells", 0, 1, r->launches && !r->uncounted,       \
	    divide_or_zero(r->submissions, r->launches))                                         \
	COL(real, entries_per_launch, "entries", 0, 4, r->launches && !r->uncounted,             \
	    divide_or_zero(r->entries, r->launches))                                             \
	COL(known, command_bytes_p50, "bytes p50", 0, 1, (r->bytes).count && !r->uncounted,      \
	    nvs_sizes_median(&r->bytes))                                                         \
	COL(known, command_bytes_min, "bytes min", BESIDE, 4, (r->bytes).count && !r->uncounted, \
	    r->bytes.min)                                                                        \
	COL(known, command_bytes_max, "bytes max", BESIDE, 4, (r->bytes).count && !r->uncounted, \
	    r->bytes.max)                                                                        \
	COL(known, command_bytes_after_sync_p50, "after sync", IF_KNOWN, 1,                      \
	    (r->after_sync).count && !r->uncounted, nvs_sizes_median(&r->after_sync))            \
	COL(known, command_bytes_back_to_back_p50, "back to back", IF_KNOWN, 1,                  \
	    (r->back_to_back).count && !r->uncounted, nvs_sizes_median(&r->back_to_back))        \
	COL(known, command_bytes_first, "bytes first", 0, 4, (r->bytes).count && !r->uncounted,  \
	    r->first)                                                                            \
	COL(real, command_bytes_per_launch, "bytes/launch", 0, 4, r->launches && !r->uncounted,  \
	    nvs_sizes_mean(&r->bytes))                                                           \
	COL(us, host_us_p50, "host us p50", 0, 1, r->launches,                                   \
	    nvs_durations_quantile(&r->times, 0.5))                                              \
	COL(us, host_us_mean, "us/launch", BESIDE, 3, r->launches,                               \
	    nvs_duration_mean(&r->times.total))                                                  \
	COL(known, warp_instructions, "warp insts", IF_KNOWN, 2, WARPS, r->warp)                 \
	COL(known, thread_instructions, "thread insts", IF_KNOWN, 3, THREADS, r->thread)         \
	COL(real, warp_instructions_per_launch, "warp/launch", IF_KNOWN, 2, WARPS &&EACH,        \
	    divide_or_zero(r->warp, r->launches))                                                \
	COL(real, thread_instructions_per_launch, "thread/launch", IF_KNOWN, 3, THREADS &&EACH,  \
	    divide_or_zero(r->thread, r->launches))                                              \
	COL(text, instructions_of, "insts of", IF_KNOWN, 2,                                      \
	    !r->count_flags ? ""                                                                 \
	    : r->shared	    ? "kernels"                                                          \
			    : "launches")                                                            \
	COL(count, graph_uploads, "uploads", DETAIL, 0, r->uploads)                              \
	COL(known, graph_upload_submissions, "upload bells", DETAIL, 0, !r->uncounted,           \
	    r->upload_submissions)                                                               \
	COL(known, graph_upload_command_bytes, "upload bytes", IF_ANY, 4, !r->uncounted,         \
	    r->upload_bytes)                                                                     \
	COL(us, graph_upload_us_mean, "upload us", DETAIL, 0, r->uploads,                        \
	    nvs_duration_mean(&r->upload_times))                                                 \
	COL(us, instantiate_us_mean, "make us", IF_ANY, 3, r->make_times.count,                  \
	    nvs_duration_mean(&r->make_times))                                                   \
	COL(known, instantiate_command_bytes, "make bytes", DETAIL, 0, !r->uncounted,            \
	    r->make_bytes)                                                                       \
	COL(text, origin, "made by", 0, 3,                                                       \
	    r->exec->origin == NVS_GRAPH_FROM_CAPTURE ? "capture"                                \
	    : r->exec->origin == NVS_GRAPH_FROM_NODES ? "nodes"                                  \
						      : "")                                      \
	COL(truth, partial, "partial", IF_ANY, 5, r->exec->partial, "partial")                   \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct graphs_row, COLUMNS)

/* ---- from the traces to the table ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	struct graphs_state *st = each;

	st->source = s;
	st->shares = nvs_count_shares_new(s, &st->handles, &st->counts);
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

NVS_REPORT(graphs, .name = "graphs", .group = NVS_GPU_WORK, .place = 40,
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
