/* SPDX-License-Identifier: MIT */
/* The tables of exports: columns, and callbacks that fill their rows. */
#include "decode/export/row_queue.h"
#include <errno.h>
#include "decode/base/hash.h"
#include "decode/calls/args.h"
#include "decode/calls/edges.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/handles.h"
#include "decode/calls/launch_parameters.h"
#include "decode/calls/tally.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/query/nvtx_names.h"
#include "decode/query/api_names.h"
#include "decode/report/core/report.h"
#include "decode/report/core/trace_columns.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/analysis/memory_ranges.h"
#include "decode/trace/demangled_names.h"

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

#define MOST_BYTES 2048u /* of parameters: half of NVS_EXPORT_TEXT */
#define MOST_COPYING 64u /* the decoder looks back no further than this */

struct tables_state {
	struct nvs_row_queue *queue;
	int (*begin)(void *arg, const struct nvs_event_stream *w); /* may be NULL */
	void *arg; /* of BEGIN */
	struct held *held; /* in order of begin */
	uint64_t ids;
	struct copying copying[MOST_COPYING]; /* ring buffer from FIRST on */
	uint32_t first, ncopying;
	/* The current row. */
	struct nvs_table_cell cells[NVS_CELLS_MOST];
	uint32_t n;
};

/* ---- a table: the list of its cells, from left to right ---- */

/* NAME_CELLS(NUMBER, TEXT) is that list: NUMBER(column, known, value) and TEXT(column, value). Its
 * columns come from TABLE(), and a row from begin_row(), ADD_CELLS(NAME_CELLS) and finish_row(). */
#define NUMBER_COLUMN(name, known, value) {name, false},
#define TEXT_COLUMN(name, value) {name, true},
#define COLUMNS_OF(CELLS)                                             \
	{                                                             \
		{"process", false}, CELLS(NUMBER_COLUMN, TEXT_COLUMN) \
	}
#define ADD_NUMBER(name, known, value) add_number(st, known, value);
#define ADD_TEXT(name, value) add_text(st, value);
#define ADD_CELLS(CELLS) CELLS(ADD_NUMBER, ADD_TEXT)

static void add_number(struct tables_state *st, bool known, uint64_t value)
{
	st->cells[st->n++] = (struct nvs_table_cell){.known = known, .number = (int64_t)value};
}

static void add_text(struct tables_state *st, const char *value)
{
	st->cells[st->n++] = (struct nvs_table_cell){.known = value && *value, .text = value};
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

	return st->n == nvs_tables[table].ncolumns ? nvs_row_queue_add(st->queue, table, st->cells)
						   : -EINVAL;
}

/* ---- process, GPUs, threads, channels ---- */

#define GPU_CELLS(NUMBER, TEXT)       \
	NUMBER("gpu", true, gpu->gpu) \
	TEXT("name", name)            \
	TEXT("uuid", uuid)

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
		ADD_CELLS(GPU_CELLS)
		r = finish_row(w, NVS_TABLE_GPU);
	}
	return r;
}

#define THREAD_CELLS(NUMBER, TEXT)    \
	NUMBER("thread", true, i)     \
	NUMBER("tid", t->tid, t->tid) \
	TEXT("name", t->name)

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
		ADD_CELLS(THREAD_CELLS)
		r = finish_row(w, NVS_TABLE_THREAD);
	}
	return r;
}

#define CHANNEL_CELLS(NUMBER, TEXT)                                         \
	NUMBER("channel", true, i)                                          \
	NUMBER("gpu", c->known && c->rec.gpu != NVS_NONE, c->rec.gpu)       \
	NUMBER("class", c->known, c->rec.object_class)                      \
	NUMBER("engine", c->known, c->rec.engine)                           \
	NUMBER("token", c->known && c->rec.token != NVS_NONE, c->rec.token) \
	NUMBER("gpfifo_entries", c->known, c->rec.entries)

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
		ADD_CELLS(CHANNEL_CELLS)
		r = finish_row(w, NVS_TABLE_CHANNEL);
	}
	return r;
}

#define PROCESS_CELLS(NUMBER, TEXT)                                        \
	NUMBER("pid", pid.kind != NVS_VALUE_NONE, pid.count)               \
	TEXT("trace", w->source->path)                                     \
	TEXT("host", s->attr[NVS_ATTR_HOST])                               \
	NUMBER("rank", rank.kind != NVS_VALUE_NONE, rank.count)            \
	NUMBER("world_size", ranks.kind != NVS_VALUE_NONE, ranks.count)    \
	TEXT("program", s->attr[NVS_ATTR_EXE])                             \
	TEXT("driver", s->attr[NVS_ATTR_DRIVER])                           \
	NUMBER("started_ns", clock->known, clock->began)                   \
	NUMBER("offset_ns", clock->known, (uint64_t)clock->shift)          \
	NUMBER("clock", clock->known, clock->clock)                        \
	NUMBER("clock_scatter_ns", clock->known, clock->error)             \
	NUMBER("clock_drift_ns", clock->known, (uint64_t)clock->drift)     \
	NUMBER("clock_steps", clock->known, clock->steps)                  \
	NUMBER("clock_stepped_ns", clock->known, (uint64_t)clock->stepped) \
	NUMBER("day_error_ns", clock->day == NVS_DAY_KEPT, clock->day_error)

static int on_begin(struct nvs_event_stream *w)
{
	const struct nvs_session *s = nvs_trace_session(w->source->trace);
	struct tables_state *st = begin_row(w);
	struct nvs_value pid = {0}, rank = {0}, ranks = {0};
	const struct nvs_trace_clock *clock = w->clock;
	int r = nvs_row_queue_drain(st->queue);

	if (!r && st->begin)
		r = st->begin(st->arg, w);
	if (r)
		return r;
	nvs_source_pid(w->source, &pid);
	nvs_source_number(w->source, NVS_ATTR_RANK, &rank);
	nvs_source_number(w->source, NVS_ATTR_WORLD_SIZE, &ranks);
	ADD_CELLS(PROCESS_CELLS)
	r = finish_row(w, NVS_TABLE_PROCESS);
	if (!r)
		r = add_gpus(w);
	if (!r)
		r = add_threads(w);
	return r ? r : add_channels(w);
}

/* ---- events ---- */

/* Returns false for a stack without frames. */
static bool has_stack(const struct nvs_event_stream *w, uint32_t stack)
{
	return nvs_trace_stack_at(w->source->trace, stack);
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

#define LAUNCH_CELLS(NUMBER, TEXT)                                  \
	NUMBER("call", true, c->flow)                               \
	TEXT("kernel", c->kernel)                                   \
	TEXT("base_name", base_name(c->kernel, room, sizeof(room))) \
	TEXT("mangled", k->name)                                    \
	NUMBER("grid_x", shaped, shape[0])                          \
	NUMBER("grid_y", shaped, shape[1])                          \
	NUMBER("grid_z", shaped, shape[2])                          \
	NUMBER("block_x", shaped, shape[3])                         \
	NUMBER("block_y", shaped, shape[4])                         \
	NUMBER("block_z", shaped, shape[5])                         \
	NUMBER("registers", k->has_attributes, k->registers)        \
	NUMBER("static_shared_bytes", k->has_attributes, k->shared) \
	NUMBER("dynamic_shared_bytes", asked, shared)               \
	NUMBER("local_bytes", k->has_attributes, k->local)          \
	NUMBER("parameter_bytes", c->arguments, arguments->of.size) \
	TEXT("parameters", parameters)

#define POINTER_CELLS(NUMBER, TEXT)                                        \
	NUMBER("call", true, c->flow)                                      \
	NUMBER("parameter_number", one.number != NVS_NONE, one.number)     \
	NUMBER("parameter_offset", true, one.at)                           \
	NUMBER("address", true, one.value)                                 \
	NUMBER("allocation", known, one.range->address)                    \
	NUMBER("allocation_bytes", known, one.range->bytes)                \
	NUMBER("allocation_offset", known, one.value - one.range->address) \
	TEXT("allocated_by", one.range->made.api ? nvs_call_name(one.range->made.api) : "")

/* The addresses in the parameters of a launch. */
static int add_pointers(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	static const struct nvs_memory_range none;
	struct nvs_launch_arguments of = *c->arguments;
	struct nvs_launch_argument one;
	int r = 0;

	while (!r && nvs_arguments_next(&of, &one)) {
		struct tables_state *st;
		bool known = one.range;

		if (!known && !one.nowhere)
			continue;
		st = begin_row(w);
		one.range = known ? one.range : &none;
		ADD_CELLS(POINTER_CELLS)
		r = finish_row(w, NVS_TABLE_LAUNCH_POINTER);
	}
	return r;
}

/* TEXT: 2 * MOST_BYTES + 1 */
static void print_bytes(char *text, const struct nvs_launch_parameters *of)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < of->size && i < MOST_BYTES; i++) {
		*text++ = digits[of->bytes[i] >> 4];
		*text++ = digits[of->bytes[i] & 15];
	}
	*text = '\0';
}

static int add_launch(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_kernel *k = c->launched;
	struct tables_state *st = begin_row(w);
	uint32_t shape[6] = {0};
	bool shaped = nvs_call_shape(c->call, shape, shape + 3), asked;
	static const struct nvs_launch_arguments unknown;
	uint64_t shared = 0;
	char room[256], parameters[2 * MOST_BYTES + 1];
	const struct nvs_launch_arguments *arguments = c->arguments ?: &unknown;
	int r;

	print_bytes(parameters, &arguments->of);
	asked = nvs_call_value(c->call, NVS_ARG_sharedMemBytes, &shared);
	ADD_CELLS(LAUNCH_CELLS)
	r = finish_row(w, NVS_TABLE_LAUNCH);
	return r || !c->arguments ? r : add_pointers(w, c);
}

#define CALL_CELLS(NUMBER, TEXT)                                         \
	NUMBER("call", true, c->flow)                                    \
	NUMBER("thread", call->thread != NVS_NONE, call->thread)         \
	TEXT("api", c->name)                                             \
	TEXT("api_group", nvs_call_group_name(nvs_call_group(call)))     \
	NUMBER("depth", true, call->depth)                               \
	NUMBER("begin_ns", w->timed, (uint64_t)c->begin)                 \
	NUMBER("end_ns", returned && w->timed, (uint64_t)c->end)         \
	NUMBER("result", returned, call->result)                         \
	TEXT("error", nvs_event_call_error(call, room, sizeof(room)))    \
	NUMBER("captured", true, !!(call->flags & NVS_CALL_CAPTURED))    \
	TEXT("kernel", c->kernel)                                        \
	NUMBER("submissions", !call->uncounted, call->asked_submissions) \
	NUMBER("entries", !call->uncounted, call->asked_entries)         \
	NUMBER("command_bytes", !call->uncounted, call->asked_bytes)     \
	NUMBER("stack", has_stack(w, call->stack), call->stack)          \
	TEXT("detail", words)

static int on_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	const struct nvs_call *call = c->call;
	bool returned = nvs_call_returned(call);
	struct tables_state *st = begin_row(w);
	char room[32], words[NVS_CALL_TEXT_BYTES];
	int r;

	nvs_call_text(words, w->source, w->handles, call);
	ADD_CELLS(CALL_CELLS)
	r = finish_row(w, NVS_TABLE_CALL);
	return r || !c->launched ? r : add_launch(w, c);
}

#define TALLY_CELLS(NUMBER, TEXT)                       \
	NUMBER("launches", seen, t->launches)           \
	NUMBER("engine_copies", seen, t->copies[0])     \
	NUMBER("engine_copy_bytes", seen, t->copied[0]) \
	NUMBER("inline_copies", seen, t->copies[1])     \
	NUMBER("inline_copy_bytes", seen, t->copied[1]) \
	NUMBER("macro_copies", seen, t->copies[2])      \
	NUMBER("macro_copy_bytes", seen, t->copied[2])  \
	NUMBER("memsets", seen, t->memsets)             \
	NUMBER("memset_bytes", seen, t->memset_bytes)   \
	NUMBER("code_uploads", seen, t->codes)          \
	NUMBER("code_upload_bytes", seen, t->code_bytes)

#define SUBMISSION_CELLS(NUMBER, TEXT)                                     \
	NUMBER("submission", true, s->number)                              \
	NUMBER("channel", true, s->channel->channel)                       \
	NUMBER("sequence", true, s->rec->sequence)                         \
	NUMBER("thread", s->thread->thread != NVS_NONE, s->thread->thread) \
	NUMBER("call", one->flow, one->flow)                               \
	NUMBER("time_ns", w->timed, (uint64_t)one->at)                     \
	NUMBER("entries", true, s->nentries)                               \
	NUMBER("pending", one->counted, one->pending)                      \
	NUMBER("command_bytes", true, nvs_submission_bytes(s))             \
	TALLY_CELLS(NUMBER, TEXT)                                          \
	NUMBER("releases", seen, t->releases)                              \
	NUMBER("acquires", seen, t->acquires)                              \
	NUMBER("stack", has_stack(w, s->rec->stack), s->rec->stack)        \
	TEXT("api", one->api)                                              \
	TEXT("site", one->site)

/* Adds the row of the oldest held submission. */
static int add_held_submission(const struct nvs_event_stream *w)
{
	struct tables_state *st = w->to;
	const struct copying *c = st->copying + st->first;
	const struct nvs_tally *t = &c->tally;
	const bool seen = true;

	st->first = (st->first + 1) % MOST_COPYING;
	st->ncopying--;
	memcpy(st->cells, c->cells, sizeof(st->cells));
	for (st->n = 0; strcmp(nvs_tables[NVS_TABLE_SUBMISSION].columns[st->n].name, "launches");
	     st->n++)
		;
	ADD_CELLS(TALLY_CELLS)
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

	ADD_CELLS(SUBMISSION_CELLS)
	return seen && copies_any(t) ? hold_submission(w, s->number, t)
				     : finish_row(w, NVS_TABLE_SUBMISSION);
}

#define RELEASE_CELLS(NUMBER, TEXT)                  \
	NUMBER("channel", true, r->channel->channel) \
	NUMBER("submission", true, r->submission)    \
	NUMBER("payload", true, r->payload)          \
	NUMBER("seen_ns", w->timed, (uint64_t)r->at) \
	NUMBER("gpu_ns", r->gpu, r->gpu)

static int on_release(struct nvs_event_stream *w, const struct nvs_event_release *r)
{
	struct tables_state *st = begin_row(w);

	ADD_CELLS(RELEASE_CELLS)
	return finish_row(w, NVS_TABLE_RELEASE);
}

#define MEMORY_CELLS(NUMBER, TEXT)                \
	NUMBER("time_ns", w->timed, (uint64_t)at) \
	NUMBER("live_bytes", true, bytes)

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	struct tables_state *st = begin_row(w);

	ADD_CELLS(MEMORY_CELLS)
	return finish_row(w, NVS_TABLE_MEMORY);
}

#define WORK_CELLS(NUMBER, TEXT)                                              \
	NUMBER("submission", true, g->work->number)                           \
	NUMBER("channel", true, g->work->channel)                             \
	NUMBER("call", g->flow, g->flow)                                      \
	TEXT("work", g->name)                                                 \
	NUMBER("begin_ns", w->timed, (uint64_t)g->begin)                      \
	NUMBER("end_ns", w->timed && !g->too_short, (uint64_t)g->end)         \
	NUMBER("bytes", g->work->flags &NVS_WORK_SINGLE_COPY, g->work->bytes) \
	NUMBER("clock_error_ns", true, g->error_ns)                           \
	TEXT("note", nvs_event_gpu_note(g))                                   \
	NUMBER("stream", stream, stream ? stream->key.stream : 0)             \
	NUMBER("context", stream && stream->key.context, stream ? stream->key.context : 0)

static int on_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	const struct nvs_work_stream *stream = g->stream;
	struct tables_state *st = begin_row(w);

	ADD_CELLS(WORK_CELLS)
	return finish_row(w, NVS_TABLE_GPU_WORK);
}

/* ---- ranges: added when they have ended ---- */

#define RANGE_CELLS(NUMBER, TEXT)                                                               \
	NUMBER("thread", h->thread != NVS_NONE, h->thread)                                      \
	NUMBER("domain_id", true, node->key.domain)                                             \
	TEXT("domain", node->key.domain ? nvs_nvtx_domain(names, node->key.domain) : "default") \
	TEXT("kind", kinds[node->key.kind])                                                     \
	TEXT("range", node->name)                                                               \
	NUMBER("depth", node->key.kind != NVS_NVTX_START, node->depth)                          \
	NUMBER("color", node->colored, node->color)                                             \
	NUMBER("id", true, h->id)                                                               \
	NUMBER("begin_ns", w->timed, (uint64_t)h->begin)                                        \
	NUMBER("end_ns", w->timed &&ended, (uint64_t)end)

static int add_range(struct nvs_event_stream *w, const struct held *h, bool ended, int64_t end)
{
	static const char *const kinds[] = {"push", "start", "mark"};
	const struct nvs_nvtx_node *node = h->node;
	struct nvs_nvtx_names *names = nvs_nvtx_names(w->source->nvtx);
	struct tables_state *st = begin_row(w);

	ADD_CELLS(RANGE_CELLS)
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

#define NODE_CELLS(NUMBER, TEXT)                                                            \
	NUMBER("graph", true, exec->index)                                                  \
	NUMBER("node", true, i)                                                             \
	NUMBER("handle", true, node->node)                                                  \
	NUMBER("parent", node->parent, node->parent)                                        \
	NUMBER("type", true, node->type)                                                    \
	TEXT("kernel", k && * k->name ? nvs_demangled_name(w->source->trace, k->name) : "") \
	NUMBER("bytes", sized, node->bytes)                                                 \
	NUMBER("grid_x", shaped, node->grid[0])                                             \
	NUMBER("grid_y", shaped, node->grid[1])                                             \
	NUMBER("grid_z", shaped, node->grid[2])                                             \
	NUMBER("block_x", shaped, node->block[0])                                           \
	NUMBER("block_y", shaped, node->block[1])                                           \
	NUMBER("block_z", shaped, node->block[2])

static int add_node(struct nvs_event_stream *w, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_graph_node *node = exec->nodes + i;
	bool kernel = !node->type, known = !(node->flags & NVS_NODE_NO_PARAMS);
	bool shaped = kernel && known, sized = !kernel && known && node->bytes;
	const struct nvs_kernel *k = kernel ? nvs_handles_get_kernel(w->handles, node->function)
					    : NULL;
	struct tables_state *st = begin_row(w);

	ADD_CELLS(NODE_CELLS)
	return finish_row(w, NVS_TABLE_GRAPH_NODE);
}

#define EDGE_CELLS(NUMBER, TEXT)              \
	NUMBER("graph", true, exec->index)    \
	NUMBER("from_node", true, link->from) \
	NUMBER("to_node", true, link->to)     \
	NUMBER("type", true, link->type)

static int add_edge(struct nvs_event_stream *w, const struct nvs_exec *exec, uint32_t i)
{
	const struct nvs_graph_link *link = exec->edges.links + i;
	struct tables_state *st = begin_row(w);

	ADD_CELLS(EDGE_CELLS)
	return finish_row(w, NVS_TABLE_GRAPH_EDGE);
}

#define GRAPH_CELLS(NUMBER, TEXT)                         \
	NUMBER("graph", true, exec->index)                \
	NUMBER("handle", true, exec->handle)              \
	TEXT("origin", origins[exec->origin])             \
	NUMBER("updates", true, exec->updates)            \
	NUMBER("changes", true, exec->changes)            \
	NUMBER("edges", exec->edges.known, exec->edges.n) \
	NUMBER("longest_path_nodes", longest, longest)

static int add_graph(struct nvs_event_stream *w, const struct nvs_exec *exec)
{
	static const char *const origins[] = {"", "capture", "nodes"};
	struct tables_state *st = begin_row(w);
	uint32_t longest;
	int r = nvs_edges_longest_path(&exec->edges, exec->nodes, exec->nnodes, &longest);

	if (r)
		return r;
	ADD_CELLS(GRAPH_CELLS)
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

#define FRAME_CELLS(NUMBER, TEXT)            \
	NUMBER("stack", true, stack->stack)  \
	NUMBER("depth", true, depth)         \
	NUMBER("pc", true, stack->pc[depth]) \
	TEXT("symbol", symbol.name)          \
	TEXT("module", symbol.file)          \
	NUMBER("offset", symbol.module || symbol.name, symbol.offset + (depth ? 1 : 0))

static int add_frame(struct nvs_event_stream *w, const struct nvs_trace_stack *stack,
		     uint32_t depth)
{
	/* A return address may be the first byte of the next function. */
	uint64_t pc = stack->pc[depth] - (depth ? 1 : 0);
	struct tables_state *st = begin_row(w);
	struct nvs_symbol symbol;

	nvs_symbol_find(w->source->trace, pc, stack->time, &symbol);
	ADD_CELLS(FRAME_CELLS)
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

int nvs_tables_deliver(struct nvs_run *run,
		       int (*begin)(void *arg, const struct nvs_event_stream *w),
		       nvs_table_row_fn *row, void *arg)
{
	static const struct nvs_event_sink walker = {
		.parameters = true,
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
	struct tables_state st = {.queue = nvs_row_queue_new(row, arg), .begin = begin, .arg = arg};
	int r = st.queue ? nvs_events_deliver(run, &walker, &st) : -ENOMEM;

	if (!r)
		r = nvs_row_queue_drain(st.queue);
	nvs_row_queue_free(st.queue);
	return r;
}

#define TABLE(name, CELLS)                                                    \
	{                                                                     \
		name, (const struct nvs_cell_column[])COLUMNS_OF(CELLS),      \
			sizeof((struct nvs_cell_column[])COLUMNS_OF(CELLS)) / \
				sizeof(struct nvs_cell_column)                \
	}

const struct nvs_table_layout nvs_tables[NVS_TABLES] = {
	[NVS_TABLE_PROCESS] = TABLE("process", PROCESS_CELLS),
	[NVS_TABLE_GPU] = TABLE("gpu", GPU_CELLS),
	[NVS_TABLE_THREAD] = TABLE("thread", THREAD_CELLS),
	[NVS_TABLE_CHANNEL] = TABLE("channel", CHANNEL_CELLS),
	[NVS_TABLE_CALL] = TABLE("call", CALL_CELLS),
	[NVS_TABLE_LAUNCH] = TABLE("launch", LAUNCH_CELLS),
	[NVS_TABLE_LAUNCH_POINTER] = TABLE("launch_pointer", POINTER_CELLS),
	[NVS_TABLE_SUBMISSION] = TABLE("submission", SUBMISSION_CELLS),
	[NVS_TABLE_RELEASE] = TABLE("release", RELEASE_CELLS),
	[NVS_TABLE_GPU_WORK] = TABLE("gpu_work", WORK_CELLS),
	[NVS_TABLE_RANGE] = TABLE("range", RANGE_CELLS),
	[NVS_TABLE_GRAPH] = TABLE("graph", GRAPH_CELLS),
	[NVS_TABLE_GRAPH_NODE] = TABLE("graph_node", NODE_CELLS),
	[NVS_TABLE_GRAPH_EDGE] = TABLE("graph_edge", EDGE_CELLS),
	[NVS_TABLE_FRAME] = TABLE("frame", FRAME_CELLS),
	[NVS_TABLE_MEMORY] = TABLE("memory", MEMORY_CELLS),
};
