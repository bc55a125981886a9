/* SPDX-License-Identifier: MIT */
/*
 * The tables of exports, and what stands in their rows. One file, since half of it is the columns,
 * which are read beside what fills them.
 */
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

const struct nvs_tables_one nvs_tables[NVS_TABLES] = {
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

/* A range that has begun. */
struct held {
	uint64_t id;
	struct nvs_nvtx_node *node;
	uint32_t thread;
	int64_t begin;
	UT_hash_handle hh;
};

/* A submission that copies, whose row waits: its copies may turn out to be code. */
struct copying {
	uint64_t number;
	struct nvs_tally tally;
	struct nvs_cell cells[NVS_CELLS_MOST];
};

#define MOST_COPYING 64u /* more copies than these are not looked back at, anyway */

struct state {
	nvs_tables_row *row;
	void *arg;
	struct held *held; /* in the order in which they began */
	uint64_t ids;
	struct copying copying[MOST_COPYING]; /* in a circle, from FIRST on */
	uint32_t first, ncopying;
	/* The row that is being made. */
	struct nvs_cell cells[NVS_CELLS_MOST];
	uint32_t n;
};

/* ---- a row: cells from the left to the right, then tell() ---- */

static void number(struct state *st, bool known, uint64_t value)
{
	st->cells[st->n++] = (struct nvs_cell){known, (int64_t)value, NULL};
}

static void text(struct state *st, const char *value)
{
	st->cells[st->n++] = (struct nvs_cell){value && *value, 0, value};
}

static void time_cell(struct state *st, const struct nvs_walk *w, bool known, int64_t ns)
{
	number(st, known && w->timed, (uint64_t)ns);
}

static struct state *begin_row(const struct nvs_walk *w)
{
	struct state *st = w->to;

	st->n = 0;
	number(st, true, w->process);
	return st;
}

static int tell(const struct nvs_walk *w, enum nvs_tables_of table)
{
	struct state *st = w->to;

	return st->n == nvs_tables[table].ncolumns ? st->row(st->arg, w, table, st->cells)
						   : -EINVAL;
}

/* ---- what the trace is of ---- */

static int tell_gpus(struct nvs_walk *w)
{
	const struct nvs_trace *trace = w->source->trace;
	char uuid[64] = "";
	int r = 0;

	for (uint32_t i = 0; i < nvs_trace_gpu_count(trace) && !r; i++) {
		const struct nvs_rec_gpu *gpu = nvs_trace_gpu_at(trace, i);
		struct state *st = begin_row(w);
		char name[sizeof(gpu->name) + 1];
		size_t n = 0;

		for (uint32_t k = 0; k < sizeof(gpu->uuid); k++)
			n += (size_t)snprintf(uuid + n, sizeof(uuid) - n, "%02x", gpu->uuid[k]);
		snprintf(name, sizeof(name), "%.*s", (int)sizeof(gpu->name), gpu->name);
		number(st, true, gpu->gpu);
		text(st, name);
		text(st, uuid);
		r = tell(w, NVS_TABLE_GPU);
	}
	return r;
}

static int tell_threads(struct nvs_walk *w)
{
	uint32_t n = nvs_trace_thread_count(w->source->trace);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, i);
		struct state *st;

		if (!t)
			continue;
		st = begin_row(w);
		number(st, true, i);
		number(st, t->tid, t->tid);
		text(st, t->name);
		r = tell(w, NVS_TABLE_THREAD);
	}
	return r;
}

static int tell_channels(struct nvs_walk *w)
{
	uint32_t n = nvs_trace_channel_count(w->source->trace);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct nvs_trace_channel *c = nvs_trace_channel_at(w->source->trace, i);
		struct state *st;

		if (!c)
			continue;
		st = begin_row(w);
		number(st, true, i);
		number(st, c->known && c->rec.gpu != NVS_NONE, c->rec.gpu);
		number(st, c->known, c->rec.object_class);
		number(st, c->known, c->rec.engine);
		number(st, c->known && c->rec.token != NVS_NONE, c->rec.token);
		number(st, c->known, c->rec.entries);
		r = tell(w, NVS_TABLE_CHANNEL);
	}
	return r;
}

static void put_value(struct state *st, const struct nvs_value *v)
{
	number(st, v->kind != NVS_VALUE_NONE, v->count);
}

static int on_begin(struct nvs_walk *w)
{
	const struct nvs_session *s = nvs_trace_session(w->source->trace);
	struct state *st = begin_row(w);
	struct nvs_value v = {0};
	const struct nvs_clock_of *clock = w->clock;
	int r;

	nvs_source_pid(w->source, &v);
	put_value(st, &v);
	text(st, w->source->path);
	text(st, s->attr[NVS_ATTR_HOST]);
	nvs_source_number(w->source, NVS_ATTR_RANK, &v);
	put_value(st, &v);
	nvs_source_number(w->source, NVS_ATTR_WORLD_SIZE, &v);
	put_value(st, &v);
	text(st, s->attr[NVS_ATTR_EXE]);
	text(st, s->attr[NVS_ATTR_DRIVER]);
	number(st, clock->known, clock->began);
	number(st, clock->known, (uint64_t)clock->shift);
	number(st, clock->known, clock->clock);
	number(st, clock->known, clock->error);
	number(st, clock->known, (uint64_t)clock->drift);
	number(st, clock->known, clock->steps);
	number(st, clock->known, (uint64_t)clock->stepped);
	number(st, clock->day == NVS_DAY_KEPT, clock->day_error);
	r = tell(w, NVS_TABLE_PROCESS);
	if (!r)
		r = tell_gpus(w);
	if (!r)
		r = tell_threads(w);
	return r ? r : tell_channels(w);
}

/* ---- what happened ---- */

/* One that has frames. */
static void put_stack(struct state *st, const struct nvs_walk *w, uint32_t stack)
{
	number(st, nvs_trace_stack_at(w->source->trace, stack), stack);
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

static int tell_launch(struct nvs_walk *w, const struct nvs_walk_call *c)
{
	const struct nvs_kernel *k = c->launched;
	struct state *st = begin_row(w);
	uint32_t shape[6] = {0};
	bool shaped = nvs_call_shape(c->call, shape, shape + 3), asked;
	uint64_t shared = 0;
	char room[256];

	asked = nvs_call_value(c->call, NVS_ARG_sharedMemBytes, &shared);
	number(st, true, c->flow);
	text(st, c->kernel);
	text(st, base_name(c->kernel, room, sizeof(room)));
	text(st, k->name);
	for (int i = 0; i < 6; i++)
		number(st, shaped, shape[i]);
	number(st, k->has_attributes, k->registers);
	number(st, k->has_attributes, k->shared);
	number(st, asked, shared);
	number(st, k->has_attributes, k->local);
	return tell(w, NVS_TABLE_LAUNCH);
}

static int on_call(struct nvs_walk *w, const struct nvs_walk_call *c)
{
	const struct nvs_call *call = c->call;
	bool returned = c->ended && !(call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED));
	struct state *st = begin_row(w);
	char room[32], words[NVS_WORDS_BYTES];
	int r;

	number(st, true, c->flow);
	number(st, call->thread != NVS_NONE, call->thread);
	text(st, c->name);
	text(st, nvs_call_group_name(nvs_call_group(call)));
	number(st, true, call->depth);
	time_cell(st, w, true, c->begin);
	time_cell(st, w, returned, c->end);
	number(st, returned, call->result);
	text(st, nvs_walk_error(call, room, sizeof(room)));
	number(st, true, !!(call->flags & NVS_CALL_CAPTURED));
	text(st, c->kernel);
	number(st, !call->uncounted, call->asked_submissions);
	number(st, !call->uncounted, call->asked_entries);
	number(st, !call->uncounted, call->asked_bytes);
	put_stack(st, w, call->stack);
	nvs_words_call(words, w->source, w->handles, call);
	text(st, words);
	r = tell(w, NVS_TABLE_CALL);
	return r || !c->launched ? r : tell_launch(w, c);
}

/* From "launches" to "code_upload_bytes". */
static void put_tally(struct state *st, const struct nvs_tally *t, bool seen)
{
	number(st, seen, t->launches);
	for (int i = 0; i < NVS_COPY_MODES; i++) {
		number(st, seen, t->copies[i]);
		number(st, seen, t->copied[i]);
	}
	number(st, seen, t->memsets);
	number(st, seen, t->memset_bytes);
	number(st, seen, t->codes);
	number(st, seen, t->code_bytes);
}

/* The first of those that wait. */
static int tell_copying(const struct nvs_walk *w)
{
	struct state *st = w->to;
	const struct copying *c = st->copying + st->first;

	st->first = (st->first + 1) % MOST_COPYING;
	st->ncopying--;
	memcpy(st->cells, c->cells, sizeof(st->cells));
	for (st->n = 0; strcmp(submission_columns[st->n].name, "launches"); st->n++)
		;
	put_tally(st, &c->tally, true);
	st->n = nvs_tables[NVS_TABLE_SUBMISSION].ncolumns;
	return tell(w, NVS_TABLE_SUBMISSION);
}

static int add_copying(struct nvs_walk *w, uint64_t submission, const struct nvs_tally *t)
{
	struct state *st = w->to;
	struct copying new = {.number = submission, .tally = *t};
	int r;

	memcpy(new.cells, st->cells, sizeof(new.cells));
	r = st->ncopying == MOST_COPYING ? tell_copying(w) : 0;
	st->copying[(st->first + st->ncopying++) % MOST_COPYING] = new;
	return r;
}

static int on_code(struct nvs_walk *w, const struct nvs_op *op)
{
	struct state *st = w->to;

	for (uint32_t i = 0; i < st->ncopying; i++) {
		struct copying *c = st->copying + (st->first + i) % MOST_COPYING;

		if (c->number == op->code.tag)
			nvs_tally_code(&c->tally, op);
	}
	return 0;
}

static int on_read(struct nvs_walk *w)
{
	struct state *st = w->to;
	int r = 0;

	while (st->ncopying && !r)
		r = tell_copying(w);
	return r;
}

static bool copies_any(const struct nvs_tally *t)
{
	for (int i = 0; i < NVS_COPY_MODES; i++)
		if (t->copies[i])
			return true;
	return false;
}

static int on_submission(struct nvs_walk *w, const struct nvs_walk_submission *one)
{
	const struct nvs_submission *s = one->s;
	const struct nvs_tally *t = one->tally;
	/* Of what was not recorded nothing is known. */
	bool seen = !nvs_submission_skipped(s);
	struct state *st = begin_row(w);

	number(st, true, s->number);
	number(st, true, s->channel->channel);
	number(st, true, s->rec->sequence);
	number(st, s->thread->thread != NVS_NONE, s->thread->thread);
	number(st, one->flow, one->flow);
	time_cell(st, w, true, one->at);
	number(st, true, s->nentries);
	number(st, one->counted, one->pending);
	number(st, true, nvs_submission_bytes(s));
	put_tally(st, t, seen);
	number(st, seen, t->releases);
	number(st, seen, t->acquires);
	put_stack(st, w, s->rec->stack);
	text(st, one->api);
	text(st, one->site);
	return seen && copies_any(t) ? add_copying(w, s->number, t) : tell(w, NVS_TABLE_SUBMISSION);
}

static int on_release(struct nvs_walk *w, const struct nvs_walk_release *r)
{
	struct state *st = begin_row(w);

	number(st, true, r->channel->channel);
	number(st, true, r->submission);
	number(st, true, r->payload);
	time_cell(st, w, true, r->at);
	number(st, r->gpu, r->gpu);
	return tell(w, NVS_TABLE_RELEASE);
}

static int on_memory(struct nvs_walk *w, int64_t at, uint64_t bytes)
{
	struct state *st = begin_row(w);

	time_cell(st, w, true, at);
	number(st, true, bytes);
	return tell(w, NVS_TABLE_MEMORY);
}

static int on_gpu(struct nvs_walk *w, const struct nvs_walk_gpu *g)
{
	const struct nvs_work_stream *stream = g->stream;
	struct state *st = begin_row(w);

	number(st, true, g->work->number);
	number(st, true, g->work->channel);
	number(st, g->flow, g->flow);
	text(st, g->name);
	time_cell(st, w, true, g->begin);
	time_cell(st, w, !g->brief, g->end);
	number(st, g->work->flags & NVS_WORK_ALONE, g->work->bytes);
	number(st, true, g->give);
	text(st, nvs_walk_note(g));
	number(st, stream, stream ? stream->key.stream : 0);
	number(st, stream && stream->key.context, stream ? stream->key.context : 0);
	return tell(w, NVS_TABLE_GPU_WORK);
}

/* ---- ranges: told when they have ended ---- */

static int tell_range(struct nvs_walk *w, const struct held *h, bool ended, int64_t end)
{
	static const char *const kinds[] = {"push", "start", "mark"};
	const struct nvs_nvtx_node *node = h->node;
	struct nvs_nvtx_names *names = nvs_nvtx_names(w->source->nvtx);
	struct state *st = begin_row(w);

	number(st, h->thread != NVS_NONE, h->thread);
	number(st, true, node->key.domain);
	text(st, node->key.domain ? nvs_nvtx_domain(names, node->key.domain) : "default");
	text(st, kinds[node->key.kind]);
	text(st, node->name);
	number(st, node->key.kind != NVS_NVTX_START, node->depth);
	number(st, node->colored, node->color);
	number(st, true, h->id);
	time_cell(st, w, true, h->begin);
	time_cell(st, w, ended, end);
	return tell(w, NVS_TABLE_RANGE);
}

static int end_range(struct nvs_walk *w, const struct nvs_walk_range *range)
{
	struct state *st = w->to;
	struct held *h = NULL;
	int r;

	if (range->event->tag)
		HASH_FIND(hh, st->held, range->event->tag, sizeof(h->id), h);
	if (!h)
		return 0;
	HASH_DEL(st->held, h);
	r = tell_range(w, h, true, range->end);
	free(h);
	return r;
}

static int hold(struct state *st, const struct held *h)
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

static int on_range(struct nvs_walk *w, const struct nvs_walk_range *range)
{
	const struct nvs_nvtx_event *e = range->event;
	struct state *st = w->to;
	struct held h = {0, e->node, e->thread, range->begin};

	if (e->what == NVS_NVTX_ENDED)
		return end_range(w, range);
	h.id = ++st->ids;
	if (e->what == NVS_NVTX_MARKED || !e->tag)
		return tell_range(w, &h, false, 0);
	*e->tag = h.id;
	return hold(st, &h);
}

/* Those that never ended. */
static int drop_held(struct nvs_walk *w, bool told)
{
	struct state *st = w->to;
	struct held *h, *next;
	int r = 0;

	HASH_ITER(hh, st->held, h, next) {
		HASH_DEL(st->held, h);
		if (told && !r)
			r = tell_range(w, h, false, 0);
		free(h);
	}
	return r;
}

/* ---- graphs, as they were last ---- */

static int tell_node(struct nvs_walk *w, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_graph_node *node = exec->nodes + i;
	bool kernel = !node->type, shaped = kernel && !(node->flags & NVS_NODE_NO_PARAMS);
	const struct nvs_kernel *k = kernel ? nvs_handles_kernel_of(w->handles, node->function)
					    : NULL;
	struct state *st = begin_row(w);

	number(st, true, exec->index);
	number(st, true, i);
	number(st, true, node->node);
	number(st, node->parent, node->parent);
	number(st, true, node->type);
	text(st, k && *k->name ? nvs_written_name(w->source->trace, k->name) : "");
	number(st, !kernel && !(node->flags & NVS_NODE_NO_PARAMS) && node->bytes, node->bytes);
	for (int d = 0; d < 3; d++)
		number(st, shaped, node->grid[d]);
	for (int d = 0; d < 3; d++)
		number(st, shaped, node->block[d]);
	return tell(w, NVS_TABLE_GRAPH_NODE);
}

static int tell_edge(struct nvs_walk *w, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_graph_link *link = exec->edges.links + i;
	struct state *st = begin_row(w);

	number(st, true, exec->index);
	number(st, true, link->from);
	number(st, true, link->to);
	number(st, true, link->type);
	return tell(w, NVS_TABLE_GRAPH_EDGE);
}

static int tell_graph(struct nvs_walk *w, const struct nvs_exec *exec)
{
	static const char *const origins[] = {"", "capture", "nodes"};
	struct state *st = begin_row(w);
	uint32_t longest;
	int r = nvs_edges_longest(&exec->edges, exec->nodes, exec->nnodes, &longest);

	if (r)
		return r;
	number(st, true, exec->index);
	number(st, true, exec->handle);
	text(st, origins[exec->origin]);
	number(st, true, exec->updates);
	number(st, true, exec->changes);
	number(st, exec->edges.known, exec->edges.n);
	number(st, longest, longest);
	r = tell(w, NVS_TABLE_GRAPH);
	for (uint32_t i = 0; i < exec->nnodes && !r; i++)
		r = tell_node(w, exec, i);
	for (uint32_t i = 0; i < exec->edges.n && !r; i++)
		r = tell_edge(w, exec, i);
	return r;
}

static int tell_graphs(struct nvs_walk *w)
{
	int r = 0;

	for (uint32_t i = 0; i < nvs_handles_exec_count(w->handles) && !r; i++)
		r = tell_graph(w, nvs_handles_exec_at(w->handles, i));
	return r;
}

/* ---- stacks, whatever is selected ---- */

static int tell_frame(struct nvs_walk *w, const struct nvs_trace_stack *stack, uint32_t depth)
{
	/* A return address may be the first byte of what comes next. */
	uint64_t pc = stack->pc[depth] - (depth ? 1 : 0);
	struct state *st = begin_row(w);
	struct nvs_symbol symbol;

	nvs_symbol_find(w->source->trace, pc, stack->time, &symbol);
	number(st, true, stack->stack);
	number(st, true, depth);
	number(st, true, stack->pc[depth]);
	text(st, symbol.name);
	text(st, symbol.file);
	number(st, symbol.module || symbol.name, symbol.offset + (depth ? 1 : 0));
	return tell(w, NVS_TABLE_FRAME);
}

static int tell_stacks(struct nvs_walk *w)
{
	uint32_t n = nvs_trace_stack_count(w->source->trace);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const struct nvs_trace_stack *stack = nvs_trace_stack_at(w->source->trace, i);

		for (uint32_t k = 0; stack && k < stack->nframes && !r; k++)
			r = tell_frame(w, stack, k);
	}
	return r;
}

static int on_end(struct nvs_walk *w, bool whole)
{
	int r = drop_held(w, whole);

	if (!r && whole)
		r = tell_graphs(w);
	return r || !whole ? r : tell_stacks(w);
}

int nvs_tables_walk(struct nvs_run *run, nvs_tables_row *row, void *arg)
{
	static const struct nvs_walker walker = {
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
	struct state st = {.row = row, .arg = arg};

	return nvs_walk(run, &walker, &st);
}
