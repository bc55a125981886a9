/* SPDX-License-Identifier: MIT */
/* Collects submissions with their work. A submission is added when it is read, and gets its name
 * and stream when its call returns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/executable_graphs.h"
#include "decode/calls/handles.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/calls/tally.h"
#include "decode/analysis/current_context.h"
#include "decode/analysis/copy_operands.h"
#include "decode/analysis/gpu_work.h"
#include "decode/trace/demangled_names.h"
#include "decode/query/selection.h"
#include "decode/calls/args.h"

enum { HTOD, DTOH, DTOD, HTOH, ANY, DIRECTIONS };
static const char *const directions[] = {"copy HtoD", "copy DtoH", "copy DtoD", "copy HtoH",
					 "copy"};

#define NO_WORK UINT32_MAX

/* For each struct nvs_work whose call has not returned. */
struct waiting_work {
	uint64_t call; /* number of the call; ascending within a thread */
	uint32_t before; /* index + 1 of the thread's previous one */
};

struct nvs_work_list {
	struct nvs_source *source;
	struct nvs_handles **handles;
	struct nvs_contexts contexts;
	struct nvs_copy_memory memory;
	struct nvs_bracket_times *timing;
	struct nvs_rows streams;
	struct nvs_work *list;
	struct waiting_work *waiting;
	size_t n, room;
	struct nvs_numbers threads; /* index + 1 of the latest waiting work */
	struct nvs_tally tally; /* of the current submission */
	uint32_t own, own_before; /* range of work of the call delivered last */
	uint32_t stream; /* of this call, like the next, with nvs_work_list_read() */
	uint64_t context;
	uint64_t dropped;
	int status;
};

/* ---- submissions ---- */

static uint8_t kind_of(const struct nvs_tally *t)
{
	if (t->launches || t->triggers)
		return NVS_WORK_COMPUTE;
	for (int i = 0; i < NVS_COPY_MODES; i++)
		if (t->copies[i])
			return NVS_WORK_COPY;
	return t->memsets ? NVS_WORK_COPY : NVS_WORK_OTHER;
}

int nvs_work_list_op(void *works, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_work_list *w = works;

	if (op->kind != NVS_OP_CODE)
		nvs_tally_add(&w->tally, op);
	return w->status ? w->status : nvs_bracket_times_op(w->timing, s, op);
}

/* Returns true if it is a single copy and nothing else that takes time, and sets *BYTES. */
static bool is_single_copy(const struct nvs_tally *t, uint64_t *bytes)
{
	uint64_t copies = 0;

	*bytes = 0;
	for (int i = 0; i < NVS_COPY_MODES; i++) {
		copies += t->copies[i];
		*bytes += t->copied[i];
	}
	return copies == 1 && !t->launches && !t->triggers && !t->memsets && !t->uploads &&
	       !t->unseen;
}

static bool make_room(struct nvs_work_list *w)
{
	size_t room = w->room ? w->room + w->room / 2 : 256, each = sizeof(*w->list);
	struct waiting_work *waiting;
	struct nvs_work *list;

	if (w->n < w->room)
		return true;
	/* Half of the budget is left for the report itself. */
	if (room >= NO_WORK || !nvs_budget_allows(2 * room * (each + sizeof(*waiting))))
		return false;
	list = realloc(w->list, room * each);
	w->list = list ? list : w->list;
	waiting = list ? realloc(w->waiting, room * sizeof(*waiting)) : NULL;
	w->waiting = waiting ? waiting : w->waiting;
	w->room = waiting ? room : w->room;
	return waiting;
}

static int wait_for_call(struct nvs_work_list *w, const struct nvs_call *call)
{
	uint32_t *latest = nvs_number_make(&w->threads, call->thread, sizeof(*latest));

	if (!latest)
		return -ENOMEM;
	w->waiting[w->n - 1] = (struct waiting_work){call->number, *latest};
	*latest = (uint32_t)w->n;
	return 0;
}

int nvs_work_list_submitted(void *works, const struct nvs_submission *s,
			    const struct nvs_call *call)
{
	struct nvs_work_list *w = works;
	struct nvs_work *work;

	if (!make_room(w)) {
		w->dropped++;
		memset(&w->tally, 0, sizeof(w->tally));
		return w->status;
	}
	work = &w->list[w->n++];
	*work = (struct nvs_work){
		.number = s->number,
		.sequence = s->rec->sequence,
		.rung = (int64_t)s->rec->rec.time,
		.channel = s->channel->channel,
		.gpu = s->channel->known ? s->channel->rec.gpu : NVS_NONE,
		.stream = NVS_NONE,
		.name = NVS_NONE,
		.kind = kind_of(&w->tally),
		.flags = nvs_filter_selects(w->source, s, call) ? NVS_WORK_SELECTED : 0};
	if (is_single_copy(&w->tally, &work->bytes))
		work->flags |= NVS_WORK_SINGLE_COPY;
	memset(&w->tally, 0, sizeof(w->tally));
	if (call && call->thread != NVS_NONE)
		return wait_for_call(w, call);
	return w->status;
}

/* ---- calls ---- */

/* With level=headers the work of a submission is known only from its call. */
static uint8_t kind_by_call(const struct nvs_call *call)
{
	switch (call->api->group) {
	case NVS_CALL_GROUP_LAUNCH:
	case NVS_CALL_GROUP_GRAPH_LAUNCH:
		return NVS_WORK_COMPUTE;
	case NVS_CALL_GROUP_COPY:
	case NVS_CALL_GROUP_MEMSET:
		return NVS_WORK_COPY;
	default:
		return NVS_WORK_OTHER;
	}
}

static uint32_t direction_of(struct nvs_work_list *w, const struct nvs_call *call)
{
	struct nvs_copy_endpoints e;

	nvs_copy_endpoints_read(&w->memory, call, &e);
	if (e.batch || !e.directed)
		return ANY;
	return e.from_host ? (e.to_host ? HTOH : HTOD) : e.to_host ? DTOH : DTOD;
}

static int set_name_of_call(struct nvs_work_list *w, const struct nvs_call *call,
			    struct nvs_work *work)
{
	uint64_t handle;

	switch (call->api->group) {
	case NVS_CALL_GROUP_LAUNCH:
		if (nvs_call_kind(call, NVS_KIND_FUNCTION, &handle) ||
		    nvs_call_kind(call, NVS_KIND_KERNEL, &handle)) {
			const struct nvs_kernel *k = nvs_handles_get_kernel(*w->handles, handle);

			if (!k)
				return -ENOMEM;
			work->what = NVS_WORK_OF_KERNEL;
			work->name = k->index;
		}
		return 0;
	case NVS_CALL_GROUP_GRAPH_LAUNCH:
		if (nvs_call_kind(call, NVS_KIND_EXEC, &handle)) {
			const struct nvs_exec *e = nvs_handles_get_exec(*w->handles, handle);

			if (!e)
				return -ENOMEM;
			work->what = NVS_WORK_OF_GRAPH;
			work->name = e->index;
		}
		return 0;
	case NVS_CALL_GROUP_COPY:
		work->what = NVS_WORK_OF_COPY;
		work->name = direction_of(w, call);
		return 0;
	case NVS_CALL_GROUP_MEMSET:
		work->what = NVS_WORK_OF_MEMSET;
		return 0;
	default:
		return 0;
	}
}

static uint32_t stream_of(struct nvs_work_list *w, const struct nvs_call *call, uint64_t context)
{
	struct {
		uint64_t stream, context;
	} key = {0, context};
	struct nvs_work_stream *row;

	if (!nvs_call_stream(call, &key.stream) && call->api->group != NVS_CALL_GROUP_LAUNCH)
		return NVS_NONE;
	row = nvs_rows_at(&w->streams, &key);
	if (!row) {
		w->status = -ENOMEM;
		return NVS_NONE;
	}
	/* Either an existing row, or the last one if just created. */
	if (w->streams.row[w->streams.n - 1] == row)
		row->index = (uint32_t)w->streams.n - 1;
	if (nvs_call_ends_stream(call, key.stream))
		nvs_rows_remove(&w->streams, row);
	return row->index;
}

/* Names a work like its call, unless it is a preparation such as a code upload before a launch. */
static void set_name(struct nvs_work *work, const struct nvs_work *as)
{
	bool itself = as->what == NVS_WORK_OF_KERNEL ? work->kind == NVS_WORK_COMPUTE
						     : work->kind != NVS_WORK_OTHER;

	work->what = itself ? as->what : NVS_WORK_OF_CALL;
	work->name = itself ? as->name : work->api->number;
}

/* Names the submissions of CALL, which are the thread's latest waiting ones. */
static int assign_call(struct nvs_work_list *w, const struct nvs_call *call, uint32_t stream)
{
	uint32_t *latest = nvs_number_get(&w->threads, call->thread);
	struct nvs_work as = {.name = call->api->number};
	int r;

	if (!latest || !*latest || w->waiting[*latest - 1].call != call->number)
		return 0;
	r = set_name_of_call(w, call, &as);
	w->own = *latest - 1;
	while (*latest && w->waiting[*latest - 1].call == call->number) {
		struct nvs_work *work = &w->list[*latest - 1];

		work->stream = stream;
		work->api = call->api;
		if (call->tally.unseen && work->kind == NVS_WORK_OTHER)
			work->kind = kind_by_call(call);
		set_name(work, &as);
		*latest = w->waiting[*latest - 1].before;
	}
	w->own_before = *latest;
	return r;
}

void nvs_work_list_tag_call(struct nvs_work_list *w, uint32_t tag)
{
	for (uint32_t i = w->own; i != NO_WORK && i + 1 != w->own_before;
	     i = w->waiting[i].before - 1)
		w->list[i].tag = tag;
}

int nvs_work_list_call(struct nvs_work_list *w, const struct nvs_call *call, uint32_t *stream,
		       uint64_t *context)
{
	int r = nvs_contexts_call(&w->contexts, call, context);

	if (!r)
		r = nvs_hostmem_call(w->memory.kinds, call);
	if (r)
		return r;
	*stream = stream_of(w, call, *context);
	w->own = NO_WORK;
	r = assign_call(w, call, *stream);
	return r ? r : w->status;
}

int nvs_work_list_record(void *works, const struct nvs_rec *rec)
{
	return nvs_bracket_times_record(((struct nvs_work_list *)works)->timing, rec);
}

static int on_call(void *works, const struct nvs_call *call)
{
	struct nvs_work_list *w = works;

	return nvs_work_list_call(w, call, &w->stream, &w->context);
}

int nvs_work_list_read(struct nvs_work_list *w)
{
	const struct nvs_pass_reader reader = {.submitted = nvs_work_list_submitted,
					       .op = nvs_work_list_op,
					       .call = on_call,
					       .record = nvs_work_list_record,
					       .calls = true,
					       .tallies = true,
					       .handles = w->handles,
					       .arg = w};

	return nvs_source_add_reader(w->source, &reader);
}

uint32_t nvs_work_list_call_stream(const struct nvs_work_list *w, uint64_t *context)
{
	*context = w->context;
	return w->stream;
}

/* ---- the list ---- */

struct nvs_work_list *nvs_work_list_new(struct nvs_source *s, struct nvs_handles **handles)
{
	struct nvs_work_list *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->source = s;
	w->handles = handles;
	w->own = NO_WORK;
	w->streams = NVS_ROWS(struct nvs_work_stream, key);
	w->timing = nvs_bracket_times_new();
	if (!nvs_copy_memory_begin(&w->memory, s->trace) && w->timing)
		return w;
	nvs_work_list_free(w);
	return NULL;
}

void nvs_work_list_free(struct nvs_work_list *w)
{
	if (!w)
		return;
	nvs_contexts_free(&w->contexts);
	nvs_hostmem_free(w->memory.kinds);
	nvs_bracket_times_free(w->timing);
	nvs_rows_free(&w->streams, NULL);
	nvs_numbers_free(&w->threads, free);
	free(w->list);
	free(w->waiting);
	free(w);
}

static void set_time(struct nvs_work_list *w, struct nvs_work *work)
{
	struct nvs_submission_time timed;

	nvs_clock_since_start(w->source->trace, (uint64_t)work->rung, &work->rung);
	if (!nvs_bracket_times_get(w->timing, work->channel, work->sequence, &timed) ||
	    timed.kind != NVS_TIMING_WORK)
		return;
	work->begin = timed.begin;
	work->end = timed.end;
	work->ns = timed.ns;
	work->flags |= NVS_WORK_TIMED | (timed.waited ? NVS_WORK_WAITED : 0) |
		       (timed.shared ? NVS_WORK_SHARED : 0) |
		       (timed.too_short ? NVS_WORK_TOO_SHORT : 0) |
		       (timed.subtracted ? NVS_WORK_SUBTRACTED : 0);
}

int nvs_work_list_finish(struct nvs_work_list *w)
{
	int r = nvs_bracket_times_finish(w->timing, w->source->trace);

	for (size_t i = 0; i < w->n && !r; i++)
		set_time(w, w->list + i);
	return r ? r : w->status;
}

const struct nvs_bracket_times *nvs_work_list_timing(const struct nvs_work_list *w)
{
	return w->timing;
}

static bool has_option(const struct nvs_source *s, const char *text)
{
	const char *options = nvs_trace_session(s->trace)->attr[NVS_ATTR_OPTIONS];

	return options && strstr(options, text);
}

bool nvs_trace_is_sampled(const struct nvs_source *s)
{
	return has_option(s, "timing=sample");
}

bool nvs_trace_has_timing_work(const struct nvs_source *s)
{
	return has_option(s, "timing=work") || nvs_trace_is_sampled(s);
}

bool nvs_trace_is_timed(const struct nvs_source *s)
{
	return nvs_trace_has_timing_work(s) || has_option(s, "timing=dispatch");
}

const struct nvs_work *nvs_work_list_items(const struct nvs_work_list *w, size_t *n)
{
	*n = w->n;
	return w->list;
}

uint64_t nvs_work_list_dropped(const struct nvs_work_list *w)
{
	return w->dropped;
}

const struct nvs_work *nvs_work_list_last_of_call(const struct nvs_work_list *w)
{
	return w->own == NO_WORK ? NULL : w->list + w->own;
}

bool nvs_work_list_copy_blocks(const struct nvs_work_list *w, const struct nvs_call *call,
			       bool *to_host)
{
	struct nvs_copy_endpoints e;

	nvs_copy_endpoints_read(&w->memory, call, &e);
	*to_host = e.directed && e.to_host;
	return nvs_copy_is_blocking(call, &e);
}

const struct nvs_work_stream *nvs_work_list_stream(const struct nvs_work_list *w, uint32_t index)
{
	return index < w->streams.n ? w->streams.row[index] : NULL;
}

const char *nvs_work_list_name(const struct nvs_work_list *w, const struct nvs_work *work)
{
	static char graph[32];
	const struct nvs_kernel *k;

	switch (work->what) {
	case NVS_WORK_OF_KERNEL:
		k = nvs_handles_kernel_at(*w->handles, work->name);
		if (k && *k->name)
			return nvs_demangled_name(w->source->trace, k->name);
		break;
	case NVS_WORK_OF_GRAPH:
		snprintf(graph, sizeof(graph), "graph %u", work->name);
		return graph;
	case NVS_WORK_OF_COPY:
		return directions[work->name < DIRECTIONS ? work->name : ANY];
	case NVS_WORK_OF_MEMSET:
		return "memset";
	}
	return work->api ? work->api->name : "";
}
