/* SPDX-License-Identifier: MIT */
/* The tables of exports: columns, and callbacks that fill their rows. */
#include "decode/export/tables.h"
#include <errno.h>
#include "decode/base/hash.h"
#include "decode/calls/args.h"
#include "decode/calls/edges.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/handles.h"
#include "decode/calls/tally.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/query/nvtx_names.h"
#include "decode/report/core/report.h"
#include "decode/report/core/trace_columns.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/trace/demangled_names.h"

#define NUMBER(name)        \
	{                   \
		name, false \
	}
#define TEXT(name)         \
	{                  \
		name, true \
	}
#define COLUMNS(of) of, sizeof(of) / sizeof(*(of))

static const struct nvs_cell_column process_columns[] = {
	NUMBER("process"),
	NUMBER("pid"),
	TEXT("trace"),
	TEXT("host"),
	NUMBER("rank"),
	NUMBER("world_size"),
	TEXT("program"),
	TEXT("driver"),
	NUMBER("started_ns"),
	NUMBER("offset_ns"),
	NUMBER("clock"),
	NUMBER("clock_scatter_ns"),
	NUMBER("clock_drift_ns"),
	NUMBER("clock_steps"),
	NUMBER("clock_stepped_ns"),
	NUMBER("day_error_ns"),
};
static const struct nvs_cell_column gpu_columns[] = {
	NUMBER("process"),
	NUMBER("gpu"),
	TEXT("name"),
	TEXT("uuid"),
};
static const struct nvs_cell_column thread_columns[] = {
	NUMBER("process"),
	NUMBER("thread"),
	NUMBER("tid"),
	TEXT("name"),
};
static const struct nvs_cell_column channel_columns[] = {
	NUMBER("process"),	  NUMBER("channel"), NUMBER("gpu"),
	NUMBER("class"),	  NUMBER("engine"),  NUMBER("token"),
	NUMBER("gpfifo_entries"),
};
static const struct nvs_cell_column call_columns[] = {
	NUMBER("process"),     NUMBER("call"),	  NUMBER("thread"),	   TEXT("api"),
	TEXT("api_group"),     NUMBER("depth"),	  NUMBER("begin_ns"),	   NUMBER("end_ns"),
	NUMBER("result"),      TEXT("error"),	  NUMBER("captured"),	   TEXT("kernel"),
	NUMBER("submissions"), NUMBER("entries"), NUMBER("command_bytes"), NUMBER("stack"),
	TEXT("detail"),
};
static const struct nvs_cell_column launch_columns[] = {
	NUMBER("process"),
	NUMBER("call"),
	TEXT("kernel"),
	TEXT("base_name"),
	TEXT("mangled"),
	NUMBER("grid_x"),
	NUMBER("grid_y"),
	NUMBER("grid_z"),
	NUMBER("block_x"),
	NUMBER("block_y"),
	NUMBER("block_z"),
	NUMBER("registers"),
	NUMBER("static_shared_bytes"),
	NUMBER("dynamic_shared_bytes"),
	NUMBER("local_bytes"),
};
static const struct nvs_cell_column submission_columns[] = {
	NUMBER("process"),
	NUMBER("submission"),
	NUMBER("channel"),
	NUMBER("sequence"),
	NUMBER("thread"),
	NUMBER("call"),
	NUMBER("time_ns"),
	NUMBER("entries"),
	NUMBER("pending"),
	NUMBER("command_bytes"),
	NUMBER("launches"),
	NUMBER("engine_copies"),
	NUMBER("engine_copy_bytes"),
	NUMBER("inline_copies"),
	NUMBER("inline_copy_bytes"),
	NUMBER("macro_copies"),
	NUMBER("macro_copy_bytes"),
	NUMBER("memsets"),
	NUMBER("memset_bytes"),
	NUMBER("code_uploads"),
	NUMBER("code_upload_bytes"),
	NUMBER("releases"),
	NUMBER("acquires"),
	NUMBER("stack"),
	TEXT("api"),
	TEXT("site"),
};
static const struct nvs_cell_column release_columns[] = {
	NUMBER("process"), NUMBER("channel"), NUMBER("submission"),
	NUMBER("payload"), NUMBER("seen_ns"), NUMBER("gpu_ns"),
};
static const struct nvs_cell_column work_columns[] = {
	NUMBER("process"), NUMBER("submission"), NUMBER("channel"),
	NUMBER("call"),	   TEXT("work"),	 NUMBER("begin_ns"),
	NUMBER("end_ns"),  NUMBER("bytes"),	 NUMBER("clock_error_ns"),
	TEXT("note"),	   NUMBER("stream"),	 NUMBER("context"),
};
static const struct nvs_cell_column range_columns[] = {
	NUMBER("process"), NUMBER("thread"),   NUMBER("domain_id"), TEXT("domain"),
	TEXT("kind"),	   TEXT("range"),      NUMBER("depth"),	    NUMBER("color"),
	NUMBER("id"),	   NUMBER("begin_ns"), NUMBER("end_ns"),
};
static const struct nvs_cell_column graph_columns[] = {
	NUMBER("process"), NUMBER("graph"),   NUMBER("handle"), TEXT("origin"),
	NUMBER("updates"), NUMBER("changes"), NUMBER("edges"),	NUMBER("longest_path_nodes"),
};
static const struct nvs_cell_column node_columns[] = {
	NUMBER("process"), NUMBER("graph"),   NUMBER("node"),	NUMBER("handle"),
	NUMBER("parent"),  NUMBER("type"),    TEXT("kernel"),	NUMBER("bytes"),
	NUMBER("grid_x"),  NUMBER("grid_y"),  NUMBER("grid_z"), NUMBER("block_x"),
	NUMBER("block_y"), NUMBER("block_z"),
};
static const struct nvs_cell_column edge_columns[] = {
	NUMBER("process"), NUMBER("graph"), NUMBER("from_node"), NUMBER("to_node"), NUMBER("type"),
};
static const struct nvs_cell_column frame_columns[] = {
	NUMBER("process"), NUMBER("stack"), NUMBER("depth"),  NUMBER("pc"),
	TEXT("symbol"),	   TEXT("module"),  NUMBER("offset"),
};
static const struct nvs_cell_column memory_columns[] = {
	NUMBER("process"),
	NUMBER("time_ns"),
	NUMBER("live_bytes"),
};

const struct nvs_table_layout nvs_tables[NVS_TABLES] = {
	[NVS_TABLE_PROCESS] = {"process", COLUMNS(process_columns)},
	[NVS_TABLE_GPU] = {"gpu", COLUMNS(gpu_columns)},
	[NVS_TABLE_THREAD] = {"thread", COLUMNS(thread_columns)},
	[NVS_TABLE_CHANNEL] = {"channel", COLUMNS(channel_columns)},
	[NVS_TABLE_CALL] = {"call", COLUMNS(call_columns)},
	[NVS_TABLE_LAUNCH] = {"launch", COLUMNS(launch_columns)},
	[NVS_TABLE_SUBMISSION] = {"submission", COLUMNS(submission_columns)},
	[NVS_TABLE_RELEASE] = {"release", COLUMNS(release_columns)},
	[NVS_TABLE_GPU_WORK] = {"gpu_work", COLUMNS(work_columns)},
	[NVS_TABLE_RANGE] = {"range", COLUMNS(range_columns)},
	[NVS_TABLE_GRAPH] = {"graph", COLUMNS(graph_columns)},
	[NVS_TABLE_GRAPH_NODE] = {"graph_node", COLUMNS(node_columns)},
	[NVS_TABLE_GRAPH_EDGE] = {"graph_edge", COLUMNS(edge_columns)},
	[NVS_TABLE_FRAME] = {"frame", COLUMNS(frame_columns)},
	[NVS_TABLE_MEMORY] = {"memory", COLUMNS(memory_columns)},
};

/* A range that has not ended: its row is added at the end. */
struct held {
	uint64_t id;
	struct nvs_nvtx_node *node;
	uint32_t thread;
	int64_t begin;
	UT_hash_handle hh;
};

/* A submission with copies: its row is delayed, as the copies may turn out to be code. */
struct copying {
	uint64_t number;
	struct nvs_tally tally;
	struct nvs_table_cell cells[NVS_CELLS_MOST];
};

#define MOST_COPYING 64u /* the decoder looks back no further than this */

struct tables_state {
	nvs_table_row_fn *row;
	void *arg;
	struct held *held; /* in order of begin */
	uint64_t ids;
	struct copying copying[MOST_COPYING]; /* ring buffer from FIRST on */
	uint32_t first, ncopying;
	/* The current row. */
	struct nvs_table_cell cells[NVS_CELLS_MOST];
	uint32_t n;
};

/* ---- a row: begin_row(), cells from left to right, finish_row() ---- */

static void add_number(struct tables_state *st, bool known, uint64_t value)
{
	st->cells[st->n++] = (struct nvs_table_cell){known, (int64_t)value, NULL};
}

static void add_text(struct tables_state *st, const char *value)
{
	st->cells[st->n++] = (struct nvs_table_cell){value && *value, 0, value};
}

static void add_time(struct tables_state *st, const struct nvs_event_stream *w, bool known,
		     int64_t ns)
{
	add_number(st, known && w->timed, (uint64_t)ns);
}

static struct tables_state *begin_row(const struct nvs_event_stream *w)
{
	struct tables_state *st = w->to;

	st->n = 0;
	add_number(st, true, w->process);
	return st;
}

static int finish_row(const struct nvs_event_stream *w, enum nvs_table_id table)
{
	struct tables_state *st = w->to;

	return st->n == nvs_tables[table].ncolumns ? st->row(st->arg, w, table, st->cells)
						   : -EINVAL;
}

/* ---- process, GPUs, threads, channels ---- */

static int add_gpus(struct nvs_event_stream *w)
{
	const struct nvs_trace *trace = w->source->trace;
	char uuid[64] = "";
	int r = 0;

	for (uint32_t i = 0; i < nvs_trace_gpu_count(trace) && !r; i++) {
		const struct nvs_rec_gpu *gpu = nvs_trace_gpu_at(trace, i);
		struct tables_state *st = begin_row(w);
		char name[sizeof(gpu->name) + 1];
		size_t n = 0;

		for (uint32_t k = 0; k < sizeof(gpu->uuid); k++)
			n += (size_t)snprintf(uuid + n, sizeof(uuid) - n, "%02x", gpu->uuid[k]);
		snprintf(name, sizeof(name), "%.*s", (int)sizeof(gpu->name), gpu->name);
		add_number(st, true, gpu->gpu);
		add_text(st, name);
		add_text(st, uuid);
		r = finish_row(w, NVS_TABLE_GPU);
	}
	return r;
}

static int add_threads(struct nvs_event_stream *w)
{
	uint32_t n = nvs_trace_thread_count(w->source->trace);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, i);
		struct tables_state *st;

		if (!t)
			continue;
		st = begin_row(w);
		add_number(st, true, i);
		add_number(st, t->tid, t->tid);
		add_text(st, t->name);
		r = finish_row(w, NVS_TABLE_THREAD);
	}
	return r;
}

static int add_channels(struct nvs_event_stream *w)
{
	uint32_t n = nvs_trace_channel_count(w->source->trace);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct nvs_trace_channel *c = nvs_trace_channel_at(w->source->trace, i);
		struct tables_state *st;

		if (!c)
			continue;
		st = begin_row(w);
		add_number(st, true, i);
		add_number(st, c->known && c->rec.gpu != NVS_NONE, c->rec.gpu);
		add_number(st, c->known, c->rec.object_class);
		add_number(st, c->known, c->rec.engine);
		add_number(st, c->known && c->rec.token != NVS_NONE, c->rec.token);
		add_number(st, c->known, c->rec.entries);
		r = finish_row(w, NVS_TABLE_CHANNEL);
	}
	return r;
}

static void add_value(struct tables_state *st, const struct nvs_value *v)
{
	add_number(st, v->kind != NVS_VALUE_NONE, v->count);
}

static int on_begin(struct nvs_event_stream *w)
{
	const struct nvs_session *s = nvs_trace_session(w->source->trace);
	struct tables_state *st = begin_row(w);
	struct nvs_value v = {0};
	const struct nvs_trace_clock *clock = w->clock;
	int r;

	nvs_source_pid(w->source, &v);
	add_value(st, &v);
	add_text(st, w->source->path);
	add_text(st, s->attr[NVS_ATTR_HOST]);
	nvs_source_number(w->source, NVS_ATTR_RANK, &v);
	add_value(st, &v);
	nvs_source_number(w->source, NVS_ATTR_WORLD_SIZE, &v);
	add_value(st, &v);
	add_text(st, s->attr[NVS_ATTR_EXE]);
	add_text(st, s->attr[NVS_ATTR_DRIVER]);
	add_number(st, clock->known, clock->began);
	add_number(st, clock->known, (uint64_t)clock->shift);
	add_number(st, clock->known, clock->clock);
	add_number(st, clock->known, clock->error);
	add_number(st, clock->known, (uint64_t)clock->drift);
	add_number(st, clock->known, clock->steps);
	add_number(st, clock->known, (uint64_t)clock->stepped);
	add_number(st, clock->day == NVS_DAY_KEPT, clock->day_error);
	r = finish_row(w, NVS_TABLE_PROCESS);
	if (!r)
		r = add_gpus(w);
	if (!r)
		r = add_threads(w);
	return r ? r : add_channels(w);
}

/* ---- events ---- */

/* Null for a stack without frames. */
static void add_stack(struct tables_state *st, const struct nvs_event_stream *w, uint32_t stack)
{
	add_number(st, nvs_trace_stack_at(w->source->trace, stack), stack);
}

/* "step" of "void ns::step<4>(float*)". */
static const char *base_name(const char *name, char *room, size_t size)
{
	static const char nameless[] = "(anonymous namespace)";
	const char *begin = name, *end = NULL, *p = name;

	for (int depth = 0; *p; p++) {
		if (!strncmp(p, nameless, sizeof(nameless) - 1)) {
			p += sizeof(nameless) - 2;
		} else if (*p == '(' && !depth) {
			break;
		} else if (!depth && (*p == ' ' || *p == ':')) {
			begin = p + 1;
			end = NULL;
		} else if (*p == '<' && !depth++ && !end) {
			end = p;
		} else if (*p == '>' && depth) {
			depth--;
		}
	}
	end = end ? end : p;
	snprintf(room, size, "%.*s", end - begin < 255 ? (int)(end - begin) : 255, begin);
	return room;
}

static int add_launch(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_kernel *k = c->launched;
	struct tables_state *st = begin_row(w);
	uint32_t shape[6] = {0};
	bool shaped = nvs_call_shape(c->call, shape, shape + 3), asked;
	uint64_t shared = 0;
	char room[256];

	asked = nvs_call_value(c->call, NVS_ARG_sharedMemBytes, &shared);
	add_number(st, true, c->flow);
	add_text(st, c->kernel);
	add_text(st, base_name(c->kernel, room, sizeof(room)));
	add_text(st, k->name);
	for (int i = 0; i < 6; i++)
		add_number(st, shaped, shape[i]);
	add_number(st, k->has_attributes, k->registers);
	add_number(st, k->has_attributes, k->shared);
	add_number(st, asked, shared);
	add_number(st, k->has_attributes, k->local);
	return finish_row(w, NVS_TABLE_LAUNCH);
}

static int on_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_call *call = c->call;
	bool returned = c->ended && !(call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED));
	struct tables_state *st = begin_row(w);
	char room[32], words[NVS_CALL_TEXT_BYTES];
	int r;

	add_number(st, true, c->flow);
	add_number(st, call->thread != NVS_NONE, call->thread);
	add_text(st, c->name);
	add_text(st, nvs_call_group_name(nvs_call_group(call)));
	add_number(st, true, call->depth);
	add_time(st, w, true, c->begin);
	add_time(st, w, returned, c->end);
	add_number(st, returned, call->result);
	add_text(st, nvs_event_call_error(call, room, sizeof(room)));
	add_number(st, true, !!(call->flags & NVS_CALL_CAPTURED));
	add_text(st, c->kernel);
	add_number(st, !call->uncounted, call->asked_submissions);
	add_number(st, !call->uncounted, call->asked_entries);
	add_number(st, !call->uncounted, call->asked_bytes);
	add_stack(st, w, call->stack);
	nvs_call_text(words, w->source, w->handles, call);
	add_text(st, words);
	r = finish_row(w, NVS_TABLE_CALL);
	return r || !c->launched ? r : add_launch(w, c);
}

/* Columns "launches" to "code_upload_bytes". */
static void add_tally(struct tables_state *st, const struct nvs_tally *t, bool seen)
{
	add_number(st, seen, t->launches);
	for (int i = 0; i < NVS_COPY_MODES; i++) {
		add_number(st, seen, t->copies[i]);
		add_number(st, seen, t->copied[i]);
	}
	add_number(st, seen, t->memsets);
	add_number(st, seen, t->memset_bytes);
	add_number(st, seen, t->codes);
	add_number(st, seen, t->code_bytes);
}

/* Adds the row of the oldest held submission. */
static int add_held_submission(const struct nvs_event_stream *w)
{
	struct tables_state *st = w->to;
	const struct copying *c = st->copying + st->first;

	st->first = (st->first + 1) % MOST_COPYING;
	st->ncopying--;
	memcpy(st->cells, c->cells, sizeof(st->cells));
	for (st->n = 0; strcmp(submission_columns[st->n].name, "launches"); st->n++)
		;
	add_tally(st, &c->tally, true);
	st->n = nvs_tables[NVS_TABLE_SUBMISSION].ncolumns;
	return finish_row(w, NVS_TABLE_SUBMISSION);
}

static int hold_submission(struct nvs_event_stream *w, uint64_t submission,
			   const struct nvs_tally *t)
{
	struct tables_state *st = w->to;
	struct copying new = {.number = submission, .tally = *t};
	int r;

	memcpy(new.cells, st->cells, sizeof(new.cells));
	r = st->ncopying == MOST_COPYING ? add_held_submission(w) : 0;
	st->copying[(st->first + st->ncopying++) % MOST_COPYING] = new;
	return r;
}

static int on_code(struct nvs_event_stream *w, const struct nvs_op *op)
{
	struct tables_state *st = w->to;

	for (uint32_t i = 0; i < st->ncopying; i++) {
		struct copying *c = st->copying + (st->first + i) % MOST_COPYING;

		if (c->number == op->code.tag)
			nvs_tally_add_code(&c->tally, op);
	}
	return 0;
}

static int on_read(struct nvs_event_stream *w)
{
	struct tables_state *st = w->to;
	int r = 0;

	while (st->ncopying && !r)
		r = add_held_submission(w);
	return r;
}

static bool copies_any(const struct nvs_tally *t)
{
	for (int i = 0; i < NVS_COPY_MODES; i++)
		if (t->copies[i])
			return true;
	return false;
}

static int on_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	const struct nvs_submission *s = one->s;
	const struct nvs_tally *t = one->tally;
	/* Operations are unknown if commands were not recorded. */
	bool seen = !nvs_submission_skipped(s);
	struct tables_state *st = begin_row(w);

	add_number(st, true, s->number);
	add_number(st, true, s->channel->channel);
	add_number(st, true, s->rec->sequence);
	add_number(st, s->thread->thread != NVS_NONE, s->thread->thread);
	add_number(st, one->flow, one->flow);
	add_time(st, w, true, one->at);
	add_number(st, true, s->nentries);
	add_number(st, one->counted, one->pending);
	add_number(st, true, nvs_submission_bytes(s));
	add_tally(st, t, seen);
	add_number(st, seen, t->releases);
	add_number(st, seen, t->acquires);
	add_stack(st, w, s->rec->stack);
	add_text(st, one->api);
	add_text(st, one->site);
	return seen && copies_any(t) ? hold_submission(w, s->number, t)
				     : finish_row(w, NVS_TABLE_SUBMISSION);
}

static int on_release(struct nvs_event_stream *w, const struct nvs_event_release *r)
{
	struct tables_state *st = begin_row(w);

	add_number(st, true, r->channel->channel);
	add_number(st, true, r->submission);
	add_number(st, true, r->payload);
	add_time(st, w, true, r->at);
	add_number(st, r->gpu, r->gpu);
	return finish_row(w, NVS_TABLE_RELEASE);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	struct tables_state *st = begin_row(w);

	add_time(st, w, true, at);
	add_number(st, true, bytes);
	return finish_row(w, NVS_TABLE_MEMORY);
}

static int on_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	const struct nvs_work_stream *stream = g->stream;
	struct tables_state *st = begin_row(w);

	add_number(st, true, g->work->number);
	add_number(st, true, g->work->channel);
	add_number(st, g->flow, g->flow);
	add_text(st, g->name);
	add_time(st, w, true, g->begin);
	add_time(st, w, !g->too_short, g->end);
	add_number(st, g->work->flags & NVS_WORK_SINGLE_COPY, g->work->bytes);
	add_number(st, true, g->error_ns);
	add_text(st, nvs_event_gpu_note(g));
	add_number(st, stream, stream ? stream->key.stream : 0);
	add_number(st, stream && stream->key.context, stream ? stream->key.context : 0);
	return finish_row(w, NVS_TABLE_GPU_WORK);
}

/* ---- ranges: added when they have ended ---- */

static int add_range(struct nvs_event_stream *w, const struct held *h, bool ended, int64_t end)
{
	static const char *const kinds[] = {"push", "start", "mark"};
	const struct nvs_nvtx_node *node = h->node;
	struct nvs_nvtx_names *names = nvs_nvtx_names(w->source->nvtx);
	struct tables_state *st = begin_row(w);

	add_number(st, h->thread != NVS_NONE, h->thread);
	add_number(st, true, node->key.domain);
	add_text(st, node->key.domain ? nvs_nvtx_domain(names, node->key.domain) : "default");
	add_text(st, kinds[node->key.kind]);
	add_text(st, node->name);
	add_number(st, node->key.kind != NVS_NVTX_START, node->depth);
	add_number(st, node->colored, node->color);
	add_number(st, true, h->id);
	add_time(st, w, true, h->begin);
	add_time(st, w, ended, end);
	return finish_row(w, NVS_TABLE_RANGE);
}

static int end_range(struct nvs_event_stream *w, const struct nvs_event_range *range)
{
	struct tables_state *st = w->to;
	struct held *h = NULL;
	int r;

	if (range->event->tag)
		HASH_FIND(hh, st->held, range->event->tag, sizeof(h->id), h);
	if (!h)
		return 0;
	HASH_DEL(st->held, h);
	r = add_range(w, h, true, range->end);
	free(h);
	return r;
}

static int hold_range(struct tables_state *st, const struct held *h)
{
	struct held *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *h;
	HASH_ADD(hh, st->held, id, sizeof(copy->id), copy);
	if (copy->hh.tbl)
		return 0;
	free(copy);
	return -ENOMEM;
}

static int on_range(struct nvs_event_stream *w, const struct nvs_event_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	struct tables_state *st = w->to;
	struct held h = {0, e->node, e->thread, range->begin};

	if (e->what == NVS_NVTX_ENDED)
		return end_range(w, range);
	h.id = ++st->ids;
	if (e->what == NVS_NVTX_MARKED || !e->tag)
		return add_range(w, &h, false, 0);
	*e->tag = h.id;
	return hold_range(st, &h);
}

/* Ranges that never ended. */
static int drop_held(struct nvs_event_stream *w, bool told)
{
	struct tables_state *st = w->to;
	struct held *h, *next;
	int r = 0;

	HASH_ITER(hh, st->held, h, next) {
		HASH_DEL(st->held, h);
		if (told && !r)
			r = add_range(w, h, false, 0);
		free(h);
	}
	return r;
}

/* ---- graphs in their last state ---- */

static int add_node(struct nvs_event_stream *w, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_graph_node *node = exec->nodes + i;
	bool kernel = !node->type, shaped = kernel && !(node->flags & NVS_NODE_NO_PARAMS);
	const struct nvs_kernel *k = kernel ? nvs_handles_get_kernel(w->handles, node->function)
					    : NULL;
	struct tables_state *st = begin_row(w);

	add_number(st, true, exec->index);
	add_number(st, true, i);
	add_number(st, true, node->node);
	add_number(st, node->parent, node->parent);
	add_number(st, true, node->type);
	add_text(st, k && *k->name ? nvs_demangled_name(w->source->trace, k->name) : "");
	add_number(st, !kernel && !(node->flags & NVS_NODE_NO_PARAMS) && node->bytes, node->bytes);
	for (int d = 0; d < 3; d++)
		add_number(st, shaped, node->grid[d]);
	for (int d = 0; d < 3; d++)
		add_number(st, shaped, node->block[d]);
	return finish_row(w, NVS_TABLE_GRAPH_NODE);
}

static int add_edge(struct nvs_event_stream *w, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_graph_link *link = exec->edges.links + i;
	struct tables_state *st = begin_row(w);

	add_number(st, true, exec->index);
	add_number(st, true, link->from);
	add_number(st, true, link->to);
	add_number(st, true, link->type);
	return finish_row(w, NVS_TABLE_GRAPH_EDGE);
}

static int add_graph(struct nvs_event_stream *w, const struct nvs_exec *exec)
{
	static const char *const origins[] = {"", "capture", "nodes"};
	struct tables_state *st = begin_row(w);
	uint32_t longest;
	int r = nvs_edges_longest_path(&exec->edges, exec->nodes, exec->nnodes, &longest);

	if (r)
		return r;
	add_number(st, true, exec->index);
	add_number(st, true, exec->handle);
	add_text(st, origins[exec->origin]);
	add_number(st, true, exec->updates);
	add_number(st, true, exec->changes);
	add_number(st, exec->edges.known, exec->edges.n);
	add_number(st, longest, longest);
	r = finish_row(w, NVS_TABLE_GRAPH);
	for (uint32_t i = 0; i < exec->nnodes && !r; i++)
		r = add_node(w, exec, i);
	for (uint32_t i = 0; i < exec->edges.n && !r; i++)
		r = add_edge(w, exec, i);
	return r;
}

static int add_graphs(struct nvs_event_stream *w)
{
	int r = 0;

	for (uint32_t i = 0; i < nvs_handles_exec_count(w->handles) && !r; i++)
		r = add_graph(w, nvs_handles_exec_at(w->handles, i));
	return r;
}

/* ---- stacks, ignoring filters ---- */

static int add_frame(struct nvs_event_stream *w, const struct nvs_trace_stack *stack,
		     uint32_t depth)
{
	/* A return address may be the first byte of the next function. */
	uint64_t pc = stack->pc[depth] - (depth ? 1 : 0);
	struct tables_state *st = begin_row(w);
	struct nvs_symbol symbol;

	nvs_symbol_find(w->source->trace, pc, stack->time, &symbol);
	add_number(st, true, stack->stack);
	add_number(st, true, depth);
	add_number(st, true, stack->pc[depth]);
	add_text(st, symbol.name);
	add_text(st, symbol.file);
	add_number(st, symbol.module || symbol.name, symbol.offset + (depth ? 1 : 0));
	return finish_row(w, NVS_TABLE_FRAME);
}

static int add_stacks(struct nvs_event_stream *w)
{
	uint32_t n = nvs_trace_stack_count(w->source->trace);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct nvs_trace_stack *stack = nvs_trace_stack_at(w->source->trace, i);

		for (uint32_t k = 0; stack && k < stack->nframes && !r; k++)
			r = add_frame(w, stack, k);
	}
	return r;
}

static int on_end(struct nvs_event_stream *w, bool whole)
{
	int r = drop_held(w, whole);

	if (!r && whole)
		r = add_graphs(w);
	return r || !whole ? r : add_stacks(w);
}

int nvs_tables_deliver(struct nvs_run *run, nvs_table_row_fn *row, void *arg)
{
	static const struct nvs_event_sink walker = {
		.begin = on_begin,
		.call = on_call,
		.submission = on_submission,
		.code = on_code,
		.read = on_read,
		.release = on_release,
		.range = on_range,
		.gpu = on_gpu,
		.memory = on_memory,
		.end = on_end,
	};
	struct tables_state st = {.row = row, .arg = arg};

	return nvs_events_deliver(run, &walker, &st);
}
