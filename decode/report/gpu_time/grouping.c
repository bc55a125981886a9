/* SPDX-License-Identifier: MIT */
/* Adds each submission to its row of --gpu-time while the trace is read. If the row depends on
 * the call, the submission waits until the call returns. */
#include "decode/base/grow.h"
#include "decode/report/gpu_time/grouping.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/roles.h"
#include "decode/calls/tally.h"
#include "decode/query/durations.h"

/* A submission with its times. */
struct one {
	struct nvs_submission_time timed;
	uint64_t queue, error_ns; /* ns or NVS_UNKNOWN; give: the clock error */
	uint64_t launches;
	bool has_time, launches_unknown; /* unsaid: its segments are not in the trace */
	bool beside; /* launches nothing: for example code uploaded by a first launch */
};

/* A thread's submissions, in the order of their calls. */
struct waiting_submissions {
	struct {
		uint64_t call; /* its number */
		struct one one;
	} * at;
	uint32_t n, room;
};

/* ---- into a row ---- */

static void count_bracket(struct nvs_gpu_sums *s, const struct nvs_submission_time *t,
			  const struct nvs_empty_bracket *empty)
{
	s->works++;
	s->subtracted += t->subtracted;
	s->too_short += t->too_short;
	s->waited += t->waited;
	s->bracket_ns = nvs_gpu_sum(s->bracket_ns, t->end - t->begin);
	s->empty_ns = nvs_gpu_sum(s->empty_ns, empty->ns);
	s->empty_error = nvs_gpu_greater(s->empty_error, empty->error);
	if (t->shared == NVS_UNKNOWN) {
		s->unseen = true;
		return;
	}
	s->overlapping += t->shared > 0;
	s->overlap_ns = nvs_gpu_sum(s->overlap_ns, t->shared);
}

/* A drawn one that may include a wait is left out, as if it had not been drawn. */
static void count_drawn(struct nvs_gpu_sums *s, const struct nvs_submission_time *t)
{
	bool work = t->kind == NVS_TIMING_WORK;

	if (work && t->waited)
		return;
	if (work)
		nvs_estimate_add(&s->sample, (double)t->ns, t->every);
	nvs_estimate_add(&s->all, work ? (double)t->ns : 0, t->every);
}

bool nvs_gpu_total(const struct nvs_gpu_sums *s, bool sampled, double *ns, double *half)
{
	bool known;

	*half = 0;
	if (!sampled) {
		*ns = s->bracket_ns > s->empty_ns ? (double)(s->bracket_ns - s->empty_ns) : 0;
		return s->works > s->too_short;
	}
	known = s->sample.n && nvs_estimate_error(&s->all, half);
	*ns = nvs_estimate_mean(&s->all) * (double)s->submissions;
	*half = (*half + (double)s->empty_error) * (double)s->submissions;
	return known;
}

static void count_submission(struct nvs_gpu_sums *s, const struct one *one,
			     const struct nvs_empty_bracket *empty)
{
	s->submissions++;
	s->timed += one->has_time;
	s->launches += one->launches;
	s->several += one->launches > 1;
	s->launches_unknown |= one->launches_unknown;
	if (one->has_time)
		count_drawn(s, &one->timed);
	if (one->has_time && one->timed.kind == NVS_TIMING_WORK)
		count_bracket(s, &one->timed, empty);
}

/* Returns false if nothing is subtracted. */
static bool empty_of(const struct nvs_gpu_each *each, const struct one *one,
		     struct nvs_empty_bracket *empty)
{
	*empty = (struct nvs_empty_bracket){0};
	return one->has_time && one->timed.subtracted &&
	       nvs_bracket_times_empty(each->source->timing, one->timed.channel, empty);
}

static uint64_t get_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void note_empty(const struct nvs_gpu_each *each, uint32_t channel,
		       const struct nvs_empty_bracket *empty)
{
	struct nvs_gpu_empties *e = &each->state->empties;

	if (!e->each)
		e->min = e->most = *empty;
	e->several |= e->each && (e->each != each || e->channel != channel);
	e->each = each;
	e->channel = channel;
	e->min.ns = get_lesser(e->min.ns, empty->ns);
	e->min.count = get_lesser(e->min.count, empty->count);
	e->most.ns = nvs_gpu_greater(e->most.ns, empty->ns);
	e->most.count = nvs_gpu_greater(e->most.count, empty->count);
	e->most.spread = nvs_gpu_greater(e->most.spread, empty->spread);
}

static void note_row_empty(struct nvs_gpu_row *row, uint32_t channel,
			   const struct nvs_empty_bracket *empty)
{
	row->mixed |= row->empty.count && row->channel != channel;
	row->empty = *empty;
	row->spread = nvs_gpu_greater(row->spread, empty->spread);
	row->channel = channel;
}

static int add_submission(struct nvs_gpu_each *each, const struct nvs_gpu_key *key,
			  const struct one *one)
{
	struct nvs_gpu_row *row = nvs_rows_at(&each->state->rows, key);
	struct nvs_empty_bracket empty;
	int r = 0;

	if (!row)
		return -ENOMEM;
	if (empty_of(each, one, &empty))
		note_row_empty(row, one->timed.channel, &empty);
	count_submission(&row->sums, one, &empty);
	if (!one->has_time)
		return 0;
	if (one->queue != NVS_UNKNOWN) {
		r = nvs_durations_add(&row->queue, one->queue);
		row->error_ns = nvs_gpu_greater(row->error_ns, one->error_ns);
	}
	if (!r && one->timed.kind == NVS_TIMING_WORK)
		r = nvs_durations_add_times(&row->times, one->timed.ns, (uint32_t)one->timed.every);
	if (!r && one->timed.kind == NVS_TIMING_WORK && one->timed.idle != NVS_UNKNOWN)
		r = nvs_durations_add(&row->idle, one->timed.idle);
	return r;
}

/* ---- rows that depend on the call ---- */

static struct nvs_gpu_key make_empty_key(const struct nvs_gpu_each *each)
{
	return (struct nvs_gpu_key){.each = each, .number = NVS_UNKNOWN};
}

static int key_of_call(const struct nvs_gpu_each *each, const struct nvs_call *call,
		       uint64_t context, struct nvs_gpu_key *key)
{
	uint64_t handle;

	*key = make_empty_key(each);
	if (each->state->by == NVS_GPU_BY_STREAM) {
		if (nvs_call_stream(call, &handle)) {
			key->number = handle;
			key->context = context;
		}
	} else if (call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH &&
		   nvs_call_kind(call, NVS_KIND_EXEC, &handle)) {
		const struct nvs_exec *exec = nvs_handles_get_exec(each->handles, handle);

		if (!exec)
			return -ENOMEM;
		key->number = exec->index;
	} else if (each->state->by == NVS_GPU_BY_KERNEL &&
		   call->api->group == NVS_CALL_GROUP_LAUNCH &&
		   (nvs_call_kind(call, NVS_KIND_FUNCTION, &handle) ||
		    nvs_call_kind(call, NVS_KIND_KERNEL, &handle))) {
		key->what = nvs_handles_get_kernel(each->handles, handle);
		return key->what ? 0 : -ENOMEM;
	}
	return 0;
}

static bool by_call(const struct nvs_gpu_each *each)
{
	return each->state->by >= NVS_GPU_BY_KERNEL && each->state->by <= NVS_GPU_BY_STREAM;
}

/* Returns false if out of memory. */
static bool wait_for(struct nvs_gpu_each *each, const struct nvs_call *call, const struct one *one)
{
	struct waiting_submissions *w = nvs_number_make(&each->threads, call->thread, sizeof(*w));

	if (!w)
		return false;
	if (!NVS_APPEND_OPTIONAL(w->at, w->n, w->room, 8, UINT32_MAX))
		return false;
	w->at[w->n - 1].call = call->number;
	w->at[w->n - 1].one = *one;
	return true;
}

/* Adds the call's submissions to its row. Those of nested calls that never returned go to the
 * row without a name. */
static int assign_to_call(struct nvs_gpu_each *each, const struct nvs_call *call, uint64_t context)
{
	struct waiting_submissions *w = nvs_number_get(&each->threads, call->thread);
	struct nvs_gpu_key key, none = make_empty_key(each), several = none;
	bool own;
	int r = 0;

	if (!w || !w->n || w->at[w->n - 1].call < call->number)
		return 0;
	r = key_of_call(each, call, context, &key);
	while (!r && w->n && w->at[w->n - 1].call >= call->number) {
		w->n--;
		own = w->at[w->n].call == call->number &&
		      !(each->state->by == NVS_GPU_BY_KERNEL && key.what && w->at[w->n].one.beside);
		if (own && each->state->single && w->at[w->n].one.launches > 1) {
			several.number = 0;
			r = add_submission(each, &several, &w->at[w->n].one);
			continue;
		}
		r = add_submission(each, own ? &key : &none, &w->at[w->n].one);
	}
	return r;
}

/* The handle may be reused for another stream. */
static int remove_stream(struct nvs_gpu_each *each, const struct nvs_call *call, uint64_t context)
{
	struct nvs_gpu_key key = make_empty_key(each);
	struct nvs_gpu_row *row;

	if (!nvs_call_stream(call, &key.number) || !nvs_call_ends_stream(call, key.number))
		return 0;
	key.context = context;
	row = nvs_rows_at(&each->state->rows, &key);
	if (row)
		nvs_rows_remove(&each->state->rows, row);
	return row ? 0 : -ENOMEM;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_gpu_each *each = arg;
	uint64_t context = 0;
	int r = 0;

	if (each->state->by == NVS_GPU_BY_STREAM)
		r = nvs_contexts_call(&each->contexts, call, &context);
	if (!r && call->thread != NVS_NONE)
		r = assign_to_call(each, call, context);
	if (!r && each->state->by == NVS_GPU_BY_STREAM)
		r = remove_stream(each, call, context);
	return r;
}

/* ---- submissions ---- */

/* Measures the time from the doorbell until the GPU reached the submission. */
static void measure_queue(struct nvs_gpu_each *each, const struct nvs_submission *s,
			  struct one *one)
{
	const struct nvs_trace *trace = each->source->trace;
	int64_t rung, reached, last;

	one->queue = NVS_UNKNOWN;
	if (!nvs_bracket_times_to_session(each->source->timing, one->timed.channel,
					  one->timed.reached, &reached, &one->error_ns) ||
	    !nvs_clock_since_start(trace, s->rec->rec.time, &rung) ||
	    !nvs_clock_since_start(trace, nvs_trace_session(trace)->last_time, &last)) {
		each->unclocked = true;
		return;
	}
	/* Reaching it before the doorbell or after the end of the trace, by more than the clock
	 * error, is wrong. */
	if (reached > last && (uint64_t)(reached - last) > one->error_ns)
		return;
	if (reached >= rung)
		one->queue = (uint64_t)(reached - rung);
	else if ((uint64_t)(rung - reached) <= one->error_ns)
		one->queue = 0;
}

/* Adds to the row of each range around the submission. */
static int add_to_ranges(struct nvs_gpu_each *each, const struct nvs_submission *s,
			 const struct one *one)
{
	struct nvs_nvtx_node *in[NVS_NVTX_NESTS], *node;
	uint32_t n = nvs_nvtx_innermost(each->source->nvtx, s->rec->thread, s->rec->rec.time, in);
	struct nvs_gpu_key key = make_empty_key(each);
	int r = n ? 0 : add_submission(each, &key, one);

	for (uint32_t i = 0; i < n; i++)
		for (node = in[i]; node && !r; node = node->up) {
			key.what = node;
			r = add_submission(each, &key, one);
		}
	return r;
}

static int add_one(struct nvs_gpu_each *each, const struct nvs_submission *s,
		   const struct nvs_call *call, const struct one *one)
{
	struct nvs_gpu_key key = make_empty_key(each);
	struct nvs_empty_bracket empty;

	if (empty_of(each, one, &empty))
		note_empty(each, one->timed.channel, &empty);
	count_submission(&each->state->sums, one, &empty);
	if (each->state->by == NVS_GPU_BY_RANGE)
		return add_to_ranges(each, s, one);
	if (by_call(each) && call && call->thread != NVS_NONE && wait_for(each, call, one))
		return 0;
	if (each->state->by == NVS_GPU_BY_API)
		key.what = nvs_source_api(each->source, s, call);
	if (each->state->by == NVS_GPU_BY_CHANNEL)
		key.number = s->channel->channel;
	return add_submission(each, &key, one);
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	if (op->kind != NVS_OP_CODE)
		nvs_tally_add(&((struct nvs_gpu_each *)arg)->tally, op);
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_gpu_each *each = arg;
	struct one one = {.queue = NVS_UNKNOWN,
			  .launches = each->tally.launches,
			  .launches_unknown = nvs_submission_skipped(s)};

	one.beside = !one.launches_unknown && !each->tally.launches && !each->tally.triggers;
	each->submitted = true;
	memset(&each->tally, 0, sizeof(each->tally));
	if (s->rec->rec.flags & NVS_SUB_CONTINUED || !nvs_filter_selects(each->source, s, call))
		return 0;
	one.has_time = nvs_bracket_times_get(each->source->timing, s->channel->channel,
					     s->rec->sequence, &one.timed);
	if (one.has_time)
		measure_queue(each, s, &one);
	each->state->dispatch |= one.has_time && one.timed.kind == NVS_TIMING_DISPATCH;
	return add_one(each, s, call, &one);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_untimed *u = (const void *)rec;
	struct nvs_gpu_each *each = arg;

	if (rec->type == NVS_REC_UNTIMED)
		each->untimed[u->reason < NVS_UNTIMED_REASONS ? u->reason : 0] += u->submissions;
	return 0;
}

void nvs_gpu_rows_begin(struct nvs_gpu_each *each, struct nvs_pass_reader *reader)
{
	each->measured = nvs_bracket_times_exist(each->source->timing);
	each->state->sampled |= nvs_bracket_times_are_sampled(each->source->timing);
	if (!each->state->rows.size)
		each->state->rows = NVS_ROWS(struct nvs_gpu_row, key);
	reader->submitted = on_submitted;
	reader->record = on_record;
	reader->calls = true;
	if (each->state->by == NVS_GPU_BY_KERNEL)
		reader->op = on_op;
	if (!by_call(each))
		return;
	reader->handles = &each->handles;
	reader->call = on_call;
}

/* ---- end ---- */

static void free_waiting(void *item)
{
	free(((struct waiting_submissions *)item)->at);
	free(item);
}

static int assign_rest(struct nvs_gpu_each *each)
{
	struct nvs_gpu_key none = make_empty_key(each);
	int r = 0;

	for (uint32_t i = 0; i < each->threads.count; i++) {
		struct waiting_submissions *w = nvs_number_get(&each->threads, i);

		while (w && w->n && !r)
			r = add_submission(each, &none, &w->at[--w->n].one);
	}
	return r;
}

int nvs_gpu_rows_end(struct nvs_gpu_each *each)
{
	struct nvs_rows *rows = &each->state->rows;
	int r = assign_rest(each);

	for (size_t i = 0; i < rows->n && !r; i++) {
		struct nvs_gpu_row *row = rows->row[i];

		if (row->key.each == each)
			r = nvs_gpu_row_name(row, each->state->by);
	}
	nvs_gpu_each_free(each);
	return r;
}

void nvs_gpu_each_free(struct nvs_gpu_each *each)
{
	nvs_numbers_free(&each->threads, free_waiting);
	nvs_contexts_free(&each->contexts);
}
