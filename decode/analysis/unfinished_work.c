/* SPDX-License-Identifier: MIT */
/* Follows the submissions of one trace and drops those that are done. See unfinished_work.h.
 * Touches no shared state, since several traces are read in parallel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/analysis/unfinished_work.h"
#include "decode/analysis/launch_sequence.h"
#include "decode/calls/args.h"

#define MOST_UNDONE (1u << 24) /* per channel: no GPFIFO has more entries */
#define MOST_CALLS (1u << 16)
#define MOST_OTHERS 64u /* consecutive submissions that do not release in the slot */

/* Per thread: the submissions of its latest call, in the channel used last. */
struct latest_submissions {
	uint64_t call; /* plus 1 */
	uint32_t channel;
	uint64_t from;
};

const struct nvs_unfinished *nvs_unfinished_at(const struct nvs_unfinished_channel *c,
					       uint64_t index)
{
	return index < nvs_queue_count(&c->items) ? nvs_queue_at(&c->items, c->items.first + index)
						  : NULL;
}

struct nvs_unfinished *nvs_unfinished_latest(const struct nvs_unfinished_work *o, uint32_t channel)
{
	const struct nvs_unfinished_channel *c = nvs_rows_find(&o->channels, &channel);

	return c ? nvs_queue_last(&c->items) : NULL;
}

static void detach(const struct nvs_unfinished_work *o, struct nvs_unfinished *u)
{
	if (o->detach && u->attached)
		o->detach(u->attached);
	u->attached = NULL;
}

static struct nvs_unfinished *item_at(const struct nvs_unfinished_channel *c, uint64_t count)
{
	return nvs_queue_at(&c->items, count);
}

/* ---- completion ---- */

/* Channels are retired one after the other: the value of the latest submission wins. */
static void note_release(struct nvs_unfinished_work *o, uint64_t submission,
			 const struct nvs_unfinished_sem *sem)
{
	struct nvs_unfinished_value *v = nvs_rows_at(&o->values, &sem->address);

	o->stale |= !v;
	if (!v || v->submission > submission)
		return;
	v->submission = submission;
	v->known = sem->op == NVS_SEM_SET;
	v->value = sem->payload;
}

static void end_grid(struct nvs_unfinished_work *o, struct nvs_unfinished_channel *c, uint32_t i)
{
	struct nvs_unfinished *u = c->running + i;

	detach(o, u);
	if (u->collective > o->done_collectives)
		o->done_collectives = u->collective;
	note_release(o, u->number, &u->grid);
	c->nrunning--;
	memmove(c->running + i, u + 1, (c->nrunning - i) * sizeof(*u));
}

static void end_acquired(struct nvs_unfinished_work *o, uint64_t address)
{
	for (size_t k = 0; k < o->channels.n; k++) {
		struct nvs_unfinished_channel *c = o->channels.row[k];

		for (uint32_t i = c->nrunning; i--;)
			if (c->running[i].grid.address == address)
				end_grid(o, c, i);
	}
}

/* The grid may still run. */
static void add_grid(struct nvs_unfinished_work *o, struct nvs_unfinished_channel *c,
		     const struct nvs_unfinished *u)
{
	struct nvs_unfinished *r;

	if (c->nrunning == NVS_UNDONE_GRIDS) {
		end_grid(o, c, 0);
		c->ended_grids = true;
	}
	r = c->running + c->nrunning++;
	*r = *u;
	r->entries = r->nacquires = 0;
}

static void retire_first(struct nvs_unfinished_work *o, struct nvs_unfinished_channel *c)
{
	struct nvs_unfinished *u = item_at(c, c->items.first++);

	c->entries -= u->entries;
	c->completed++;
	o->stale |= u->unseen || u->nreleases > NVS_UNDONE_SEMAPHORES;
	for (uint32_t i = 0; i < u->nacquires && i < NVS_UNDONE_SEMAPHORES; i++)
		end_acquired(o, u->acquire[i].address);
	for (uint32_t i = 0; i < u->nreleases && i < NVS_UNDONE_SEMAPHORES; i++)
		if (u->release[i].written || u->release[i].address != u->grid.address)
			note_release(o, u->number, u->release + i);
	if (u->launches)
		c->loose = !u->grid.address;
	if (u->grid.address) {
		add_grid(o, c, u);
		return;
	}
	if (u->collective > o->done_collectives)
		o->done_collectives = u->collective;
	detach(o, u);
}

/* The slot at ADDRESS had PAYLOAD. ENDS: this is the last reading of it. */
static void retire_done(struct nvs_unfinished_work *o, struct nvs_unfinished_channel *c,
			uint64_t address, uint32_t payload, bool ends)
{
	uint64_t done = c->items.first;
	uint32_t others = 0;

	/* A submission without a release in the slot is done when the next one with it is. */
	for (uint64_t i = c->items.first; i != c->items.end; i++) {
		const struct nvs_unfinished *u = item_at(c, i);

		if (u->slot == address && (int32_t)(payload - u->payload) < 0)
			break;
		if (u->slot == address)
			done = i + 1;
		else if (++others > MOST_OTHERS)
			break;
	}
	while (c->items.first != done)
		retire_first(o, c);
	c->known = true;
	c->settled |= ends;
}

/* ---- submissions ---- */

static int make_room(struct nvs_unfinished_work *o, struct nvs_unfinished_channel *c)
{
	if (nvs_queue_reserve(&c->items, MOST_UNDONE))
		return 0;
	if (!c->items.room)
		return -ENOMEM;
	retire_first(o, c);
	c->completed--;
	c->dropped = o->stale = true;
	return 0;
}

static void note_call(struct nvs_unfinished_work *o, const struct nvs_submission *s, uint64_t call,
		      uint64_t count)
{
	struct latest_submissions *n = nvs_number_make(&o->notes, s->thread->thread, sizeof(*n));

	if (!n || (n->call == call && n->channel == s->channel->channel))
		return;
	*n = (struct latest_submissions){call, s->channel->channel, count};
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_unfinished_work *o = arg;
	const struct nvs_rec_submission *rec = s->rec;
	uint32_t ring = s->channel->known ? s->channel->rec.entries : 0;
	struct nvs_unfinished_channel *c = nvs_rows_at(&o->channels, &s->channel->channel);
	struct nvs_unfinished *u;
	int r;

	if (!c)
		return -ENOMEM;
	c->items.size = sizeof(*u);
	r = make_room(o, c);
	if (r)
		return r;
	if (rec->progress_address) {
		retire_done(o, c, rec->progress_address, (uint32_t)rec->progress[0], false);
		o->seen = rec->rec.time;
	}
	c->submissions += !(rec->rec.flags & NVS_SUB_CONTINUED);
	u = item_at(c, c->items.end);
	*u = (struct nvs_unfinished){.number = s->number,
				     .time = rec->rec.time,
				     .thread = s->thread->thread,
				     .stack = rec->stack,
				     .unseen = nvs_submission_skipped(s)};
	if (ring && rec->old_put < ring && rec->new_put < ring)
		u->entries = (rec->new_put + ring - rec->old_put) % ring;
	if (call) {
		u->api = call->api;
		u->call = call->number + 1;
		note_call(o, s, u->call, c->items.end);
	}
	c->items.end++;
	c->entries += u->entries;
	/* The GPFIFO has wrapped: older entries must be done. */
	while (ring && c->entries >= ring && nvs_queue_count(&c->items) > 1)
		retire_first(o, c);
	return 0;
}

static struct nvs_unfinished_sem semaphore_of(const struct nvs_op *op)
{
	return (struct nvs_unfinished_sem){.address = op->sem.address,
					   .payload = op->sem.payload,
					   .op = op->sem.op,
					   .wide = op->flags & NVS_OP_WIDE};
}

static void add_semaphore(struct nvs_unfinished *u, const struct nvs_unfinished_sem *s,
			  bool acquire)
{
	uint32_t *n = acquire ? &u->nacquires : &u->nreleases;
	struct nvs_unfinished_sem *sem = acquire ? u->acquire : u->release;

	if (*n < NVS_UNDONE_SEMAPHORES) {
		sem[*n] = *s;
		sem[*n].behind_work = u->launches || u->copies || u->memsets;
	}
	++*n;
}

static void add_write(struct nvs_unfinished *u, const struct nvs_op *op)
{
	struct nvs_unfinished_sem sem = {.address = op->copy.dst,
					 .op = NVS_SEM_SET,
					 .wide = op->copy.bytes == 8,
					 .written = true};

	if (nvs_op_writes_semaphore(op, &sem.payload))
		add_semaphore(u, &sem, false);
}

/* The last grids of a graph each add to one semaphore: the result of the last one is known. */
static void note_grid(struct nvs_unfinished *u, const struct nvs_op *op,
		      struct nvs_unfinished_sem sem)
{
	if (op->sem.op == NVS_SEM_REDUCE && op->flags & NVS_OP_VALUE) {
		sem.op = NVS_SEM_SET;
		sem.payload = op->sem.value;
	}
	if (sem.op == NVS_SEM_SET)
		u->grid = sem;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_unfinished_work *o = arg;
	struct nvs_unfinished_channel *c = nvs_rows_at(&o->channels, &s->channel->channel);
	struct nvs_unfinished *u = c ? nvs_queue_last(&c->items) : NULL;
	struct nvs_unfinished_sem sem = semaphore_of(op);

	if (!u)
		return 0;
	switch (op->kind) {
	case NVS_OP_LAUNCH:
		u->launches++;
		break;
	case NVS_OP_COPY:
		u->copies++;
		u->copied += op->copy.bytes;
		add_write(u, op);
		break;
	case NVS_OP_UPLOAD:
		add_write(u, op);
		break;
	case NVS_OP_MEMSET:
		u->memsets++;
		break;
	case NVS_OP_ACQUIRE:
		add_semaphore(u, &sem, true);
		break;
	case NVS_OP_RELEASE:
		add_semaphore(u, &sem, false);
		if (op->sem.by == NVS_BY_GRID)
			note_grid(u, op, sem);
		if (op->sem.op != NVS_SEM_SET || op->sem.by == NVS_BY_GRID)
			break;
		/* While the slot is unknown, assume the last release. */
		if (s->channel->progress_address && op->sem.address != s->channel->progress_address)
			break;
		u->slot = op->sem.address;
		u->payload = (uint32_t)op->sem.payload;
	}
	return 0;
}

/* ---- calls ---- */

static const char *kernel_of(struct nvs_unfinished_work *o, const struct nvs_call *call)
{
	const struct nvs_kernel *k;
	uint64_t function;

	if (call->api->group != NVS_CALL_GROUP_LAUNCH ||
	    !nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return NULL;
	k = nvs_handles_get_kernel(o->handles, function);
	return k && *k->name ? k->name : NULL;
}

static const struct nvs_exec *graph_of(struct nvs_unfinished_work *o, const struct nvs_call *call)
{
	uint64_t exec;

	return call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH &&
			       nvs_call_kind(call, NVS_KIND_EXEC, &exec)
		       ? nvs_handles_get_exec(o->handles, exec)
		       : NULL;
}

/* Adds to a call's submissions what only the call has: stream, event and kernel. */
static void note_call_details(struct nvs_unfinished_work *o, const struct nvs_call *call)
{
	const struct latest_submissions *n = nvs_number_get(&o->notes, call->thread);
	struct nvs_unfinished_channel *c = n && n->call == call->number + 1
						   ? nvs_rows_at(&o->channels, &n->channel)
						   : NULL;
	const char *kernel = kernel_of(o, call);
	const struct nvs_exec *exec = graph_of(o, call);
	uint64_t collective = 0, stream = 0;
	bool has_stream = nvs_call_kind(call, NVS_KIND_STREAM, &stream);
	struct nvs_unfinished_event *e;
	uint64_t event;

	if (kernel && nvs_is_collective_kernel(kernel) && nvs_call_ran(call)) {
		collective = ++o->collectives;
		o->collective = kernel;
	}
	if (!c)
		return;
	if (call->api->group == NVS_CALL_GROUP_EVENT &&
	    nvs_call_kind(call, NVS_KIND_EVENT, &event) && (e = nvs_rows_at(&o->events, &event))) {
		e->channel = n->channel;
		e->submission = c->items.end - 1;
	}
	for (uint64_t i = n->from > c->items.first ? n->from : c->items.first; i < c->items.end;
	     i++) {
		struct nvs_unfinished *u = item_at(c, i);

		if (u->call != n->call || u->thread != call->thread)
			continue;
		u->stream = stream;
		u->has_stream = has_stream;
		if (i + 1 == c->items.end || u->launches) {
			u->kernel = kernel;
			u->collective = collective;
			u->exec = exec;
		}
	}
}

/* A call waited for a stream, or for the whole context: its grids have ended. */
static void end_waited(struct nvs_unfinished_work *o, const struct nvs_call *call)
{
	uint64_t stream;
	bool one = nvs_call_kind(call, NVS_KIND_STREAM, &stream);

	for (size_t k = 0; k < o->channels.n; k++) {
		struct nvs_unfinished_channel *c = o->channels.row[k];

		if (!one)
			c->loose = false;
		for (uint32_t i = c->nrunning; i--;) {
			const struct nvs_unfinished *u = c->running + i;

			if (u->time <= call->begin &&
			    (!one || (u->has_stream && u->stream == stream)))
				end_grid(o, c, i);
		}
	}
}

static int add_call(struct nvs_unfinished_work *o, const struct nvs_call *call)
{
	struct nvs_unfinished_call *c = NVS_APPEND(o->calls, o->ncalls, o->call_room, 8,
						   MOST_CALLS);

	if (!c)
		return o->ncalls == MOST_CALLS ? 0 : -ENOMEM;
	*c = (struct nvs_unfinished_call){.api = call->api,
					  .number = call->number,
					  .begin = call->begin,
					  .end = call->begin,
					  .thread = call->thread,
					  .stack = call->stack};
	c->has_stream = nvs_call_kind(call, NVS_KIND_STREAM, &c->stream);
	c->has_event = nvs_call_kind(call, NVS_KIND_EVENT, &c->event);
	return 0;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_unfinished_work *o = arg;

	if (call->submissions || call->api->group == NVS_CALL_GROUP_LAUNCH)
		note_call_details(o, call);
	if (call->end && call->api->role == NVS_CALL_ROLE_SYNCHRONIZE && nvs_call_ran(call))
		end_waited(o, call);
	return call->end || call->depth > 1 ? 0 : add_call(o, call);
}

/* The channel is dead: what its progress slot has now is final. */
static int note_fault(struct nvs_unfinished_work *o, const struct nvs_rec_fault *rec)
{
	struct nvs_unfinished_channel *c = nvs_rows_at(&o->channels, &rec->channel);

	if (!c)
		return -ENOMEM;
	if (!o->faults++) {
		o->fault_number = rec->number;
		o->fault_time = rec->rec.time;
	}
	c->items.size = sizeof(struct nvs_unfinished);
	c->faulted = true;
	if (rec->progress)
		retire_done(o, c, rec->progress, (uint32_t)rec->value[0], true);
	return 0;
}

/* The channel was freed: nothing in it is unfinished, unless it had died before. */
static int note_freed(struct nvs_unfinished_work *o, uint32_t channel)
{
	struct nvs_unfinished_channel *c = nvs_rows_at(&o->channels, &channel);

	if (!c)
		return -ENOMEM;
	if (o->keeps_freed && (o->failed || c->faulted))
		return 0;
	for (uint64_t i = c->items.first; i != c->items.end; i++)
		detach(o, item_at(c, i));
	for (uint32_t i = 0; i < c->nrunning; i++)
		detach(o, c->running + i);
	c->items.first = c->items.end;
	c->entries = c->nrunning = 0;
	c->freed = true;
	return 0;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_unfinished_work *o = arg;

	o->has_calls |= rec->type == NVS_REC_API;
	if (rec->type == NVS_REC_FAULT)
		return note_fault(o, (const void *)rec);
	if (rec->type == NVS_REC_CHANNEL_GONE && !(rec->flags & NVS_CHAN_GONE_AT_EXIT))
		return note_freed(o, ((const struct nvs_rec_channel_gone *)rec)->channel);
	return 0;
}

/* ---- life ---- */

void nvs_unfinished_work_begin(struct nvs_unfinished_work *o, struct nvs_source *s,
			       struct nvs_pass_reader *reader)
{
	o->source = s;
	o->channels = NVS_ROWS(struct nvs_unfinished_channel, number);
	o->values = NVS_ROWS(struct nvs_unfinished_value, address);
	o->events = NVS_ROWS(struct nvs_unfinished_event, event);
	*reader = (struct nvs_pass_reader){.submission = on_submission,
					   .op = on_op,
					   .call = on_call,
					   .record = on_record,
					   .calls = true,
					   .handles = &o->handles,
					   .arg = o};
}

/* Returns true if the trace lists C as in flight at its end; a call whose end was lost is not. */
static bool in_flight(const struct nvs_unfinished_work *o, struct nvs_unfinished_call *c)
{
	const struct nvs_inflight *f;

	for (uint32_t i = 0; (f = nvs_trace_inflight(o->source->trace, i)); i++)
		if (f->thread == c->thread && f->begin == c->begin && f->depth == 1) {
			c->end = f->end;
			return true;
		}
	return false;
}

int nvs_unfinished_work_end(struct nvs_unfinished_work *o)
{
	const struct nvs_trace *t = o->source->trace;
	uint32_t kept = 0;

	for (size_t i = 0; i < o->channels.n; i++) {
		struct nvs_unfinished_channel *c = o->channels.row[i];
		const struct nvs_trace_channel *tc = nvs_trace_channel_at(t, c->number);

		if (!tc || !tc->done.address)
			continue;
		retire_done(o, c, tc->done.address, (uint32_t)tc->done.value[0], true);
		/* Submissions after the last reading may be done by now. */
		if (nvs_queue_count(&c->items) && item_at(c, c->items.first)->time > tc->done_time)
			c->settled = false;
		o->seen = tc->done_time > o->seen ? tc->done_time : o->seen;
	}
	for (uint32_t i = 0; i < o->ncalls; i++)
		if (in_flight(o, o->calls + i))
			o->calls[kept++] = o->calls[i];
	o->ncalls = kept;
	nvs_numbers_free(&o->notes, free);
	return 0;
}

int nvs_unfinished_work_decide(struct nvs_unfinished_work *o, nvs_unfinished_runs_fn *runs,
			       void *arg)
{
	for (size_t k = 0; k < o->channels.n; k++) {
		struct nvs_unfinished_channel *c = o->channels.row[k];

		while (c->nrunning) {
			struct nvs_unfinished *u = c->running + c->nrunning - 1;

			if (!runs(arg, c, u)) {
				end_grid(o, c, c->nrunning - 1);
				continue;
			}
			u->grid.address = 0; /* decided */
			if (make_room(o, c))
				return -ENOMEM;
			*item_at(c, --c->items.first) = *u;
			c->completed--;
			c->nrunning--;
		}
	}
	return 0;
}

static void free_channel(void *row)
{
	free(((struct nvs_unfinished_channel *)row)->items.item);
}

static void detach_all(struct nvs_unfinished_work *o)
{
	for (size_t k = 0; k < o->channels.n && o->detach; k++) {
		struct nvs_unfinished_channel *c = o->channels.row[k];

		for (uint64_t i = c->items.first; i != c->items.end; i++)
			detach(o, item_at(c, i));
		for (uint32_t i = 0; i < c->nrunning; i++)
			detach(o, c->running + i);
	}
}

void nvs_unfinished_work_free(struct nvs_unfinished_work *o)
{
	detach_all(o);
	nvs_numbers_free(&o->notes, free);
	nvs_rows_free(&o->channels, free_channel);
	nvs_rows_free(&o->values, NULL);
	nvs_rows_free(&o->events, NULL);
	free(o->calls);
	o->calls = NULL;
}
