/* SPDX-License-Identifier: MIT */
/*
 * Finds what channels and calls wait for. A channel executes in order, so it waits for the first
 * unsatisfied acquire of its first unfinished submission. The semaphore's value is read from the
 * running process; otherwise it is the last completed release, or the channel's progress when the
 * library last polled it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/calls/roles.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/report/hang/hang.h"

#define LEFT_RING 16u /* minimum free entries at which a driver waits; of small rings a part */
#define LEFT_PART 16u
#define MAX_STEPS (1u << 26)

/* ---- semaphore values ---- */

/* Reads a semaphore from the process, which has it mapped at the GPU's address. An end of
 * RUNNING proves that the pid is the recorded process: it has its spool mapped. */
static bool read_live(const struct nvs_trace *t, uint64_t address, bool wide, uint64_t *value)
{
	const struct nvs_session *s = nvs_trace_session(t);
	uint32_t size = wide ? 8 : 4;
	char path[64];
	ssize_t n;
	int fd;

	if (s->end != NVS_END_RUNNING || !nvs_trace_cpu_map(t, address) || address > INT64_MAX)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/mem", s->header.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	*value = 0;
	n = pread(fd, value, size, (off_t)address);
	close(fd);
	return n == (ssize_t)size;
}

static bool read_slot(const struct nvs_unfinished_work *o, uint64_t address, uint64_t *value)
{
	for (size_t i = 0; i < o->channels.n; i++) {
		const struct nvs_unfinished_channel *c = o->channels.row[i];
		const struct nvs_trace_channel *tc = nvs_trace_channel_at(o->source->trace,
									  c->number);

		if (!tc || tc->done.address != address || !address)
			continue;
		*value = tc->done.value[0] & 0xffffffff;
		return true;
	}
	return false;
}

static bool find_release(struct nvs_unfinished_work *o, uint64_t address, uint64_t *value)
{
	for (size_t i = 0; i < o->values.n && !o->stale; i++) {
		const struct nvs_unfinished_value *v = o->values.row[i];

		if (v->address != address)
			continue;
		*value = v->value;
		return v->known;
	}
	return false;
}

static void find_value(struct nvs_hang_channel *c, struct nvs_unfinished_work *o,
		       const struct nvs_unfinished_sem *sem)
{
	c->value = 0;
	c->live = read_live(o->source->trace, sem->address, sem->wide, &c->value);
	c->has_value = c->live || read_slot(o, sem->address, &c->value) ||
		       find_release(o, sem->address, &c->value);
	if (!sem->wide)
		c->value &= 0xffffffff;
}

/* ---- releases ---- */

static bool spend_step(struct nvs_hang *h)
{
	if (++h->steps < MAX_STEPS)
		return false;
	nvs_budget_set_exceeded();
	return true;
}

static const struct nvs_unfinished *find_releaser_in(struct nvs_hang *h,
						     const struct nvs_unfinished_channel *c,
						     const struct nvs_unfinished_sem *sem)
{
	const struct nvs_unfinished *u;

	for (uint64_t i = 0; (u = nvs_unfinished_at(c, i)) && !spend_step(h); i++)
		for (uint32_t k = 0; k < u->nreleases && k < NVS_UNDONE_SEMAPHORES; k++) {
			const struct nvs_unfinished_sem *r = u->release + k;

			/* The result of a reduction cannot be predicted. */
			if (r->address == sem->address &&
			    (r->op != NVS_SEM_SET ||
			     nvs_semaphore_satisfied(sem->op, r->payload, sem->payload, sem->wide)))
				return u;
		}
	return NULL;
}

static void find_releaser(struct nvs_hang *h, struct nvs_hang_channel *c)
{
	for (uint32_t i = 0; i < h->nchannels && !c->releaser && !spend_step(h); i++) {
		c->releasing_submission = find_releaser_in(h, h->channels[i].channel, c->sem);
		if (c->releasing_submission)
			c->releaser = h->channels + i;
	}
}

/* ---- channels ---- */

static void judge_channel(struct nvs_hang *h, struct nvs_hang_channel *c)
{
	const struct nvs_unfinished *u = c->first;
	bool works = u->launches || u->copies || u->memsets || u->unseen;

	c->state = NVS_HANG_NOT_DONE;
	for (uint32_t i = 0; i < u->nacquires && i < NVS_UNDONE_SEMAPHORES; i++) {
		const struct nvs_unfinished_sem *sem = u->acquire + i;

		find_value(c, h->of, sem);
		if (c->has_value &&
		    nvs_semaphore_satisfied(sem->op, c->value, sem->payload, sem->wide))
			continue;
		c->sem = sem;
		c->state = !works || (c->has_value && !sem->behind_work) ? NVS_HANG_WAITS
									 : NVS_HANG_EITHER;
		break;
	}
	if (!c->sem) {
		c->has_value = c->live = false;
		return;
	}
	find_releaser(h, c);
	/* As far as known, nothing has satisfied it, and a release is still outstanding. */
	if (c->releaser && c->state == NVS_HANG_EITHER && !c->sem->behind_work)
		c->state = NVS_HANG_WAITS;
}

/* Returns true if the ring is so full that the driver waits for space. */
static bool is_ring_full(const struct nvs_hang_channel *c)
{
	const struct nvs_trace_channel *tc = nvs_trace_channel_at(c->in->source->trace,
								  c->channel->number);
	uint32_t ring = tc && tc->known ? tc->rec.entries : 0;
	uint32_t left = ring / LEFT_PART < LEFT_RING ? ring / LEFT_PART : LEFT_RING;

	return ring && c->channel->entries + left + 1 >= ring;
}

/* ---- calls ---- */

/* Returns the channel with the last unfinished submission of STREAM, or NULL. */
static struct nvs_hang_channel *find_for_stream(struct nvs_hang *h, uint64_t stream)
{
	struct nvs_hang_channel *found = NULL;
	uint64_t latest = 0;

	for (uint32_t i = 0; i < h->nchannels; i++) {
		const struct nvs_unfinished *u;

		for (uint64_t k = 0;
		     (u = nvs_unfinished_at(h->channels[i].channel, k)) && !spend_step(h); k++)
			if (u->has_stream && u->stream == stream && u->number >= latest) {
				latest = u->number;
				found = h->channels + i;
			}
	}
	return found;
}

/* Returns the channel with an unfinished submission of this call, or NULL. */
static struct nvs_hang_channel *find_for_call(struct nvs_hang *h,
					      const struct nvs_unfinished_call *c)
{
	for (uint32_t i = 0; i < h->nchannels; i++) {
		const struct nvs_unfinished *u;

		for (uint64_t k = 0;
		     (u = nvs_unfinished_at(h->channels[i].channel, k)) && !spend_step(h); k++)
			if (u->thread == c->thread && u->call == c->number + 1)
				return h->channels + i;
	}
	return NULL;
}

static struct nvs_hang_channel *find_for_event(struct nvs_hang *h, uint64_t event, bool *known)
{
	for (size_t k = 0; k < h->of->events.n; k++) {
		const struct nvs_unfinished_event *e = h->of->events.row[k];

		if (e->event != event)
			continue;
		*known = true;
		for (uint32_t i = 0; i < h->nchannels; i++)
			if (h->channels[i].channel->number == e->channel)
				return e->submission >= h->channels[i].channel->items.first
					       ? h->channels + i
					       : NULL;
	}
	return NULL;
}

static void judge_sync(struct nvs_hang *h, struct nvs_hang_call *c)
{
	const struct nvs_unfinished_call *call = c->call;
	bool known = false;

	if (call->has_event) {
		c->channel = find_for_event(h, call->event, &known);
		c->wait = c->channel ? NVS_HANG_FOR_CHANNEL
			  : known    ? NVS_HANG_FOR_NOTHING
				     : NVS_HANG_FOR_UNKNOWN;
		return;
	}
	/* A default stream also waits for others. */
	if (call->has_stream && call->stream > 2) {
		c->channel = find_for_stream(h, call->stream);
		c->wait = c->channel ? NVS_HANG_FOR_CHANNEL : NVS_HANG_FOR_NOTHING;
		return;
	}
	c->wait = h->nchannels ? NVS_HANG_FOR_ALL : NVS_HANG_FOR_NOTHING;
	if (h->nchannels == 1) {
		c->channel = h->channels;
		c->wait = NVS_HANG_FOR_CHANNEL;
	}
	/* The event's stream is unknown, and may use another channel. */
	if (call->api->role == NVS_CALL_ROLE_SYNCHRONIZE_EVENT)
		c->wait = h->nchannels ? NVS_HANG_FOR_UNKNOWN : NVS_HANG_FOR_NOTHING;
}

static void judge_call(struct nvs_hang *h, struct nvs_hang_call *c)
{
	const struct nvs_unfinished_call *call = c->call;
	struct nvs_hang_channel *own;

	if (call->api->group == NVS_CALL_GROUP_SYNC) {
		judge_sync(h, c);
		return;
	}
	own = call->has_stream ? find_for_stream(h, call->stream) : NULL;
	if (own && is_ring_full(own)) {
		c->channel = own;
		c->wait = NVS_HANG_FOR_SPACE;
		return;
	}
	c->channel = find_for_call(h, call);
	c->wait = c->channel	 ? NVS_HANG_FOR_CHANNEL
		  : h->nchannels ? NVS_HANG_FOR_UNKNOWN
				 : NVS_HANG_FOR_NOTHING;
	/* Only one ring is full: it must be that one. */
	for (uint32_t i = 0; i < h->nchannels && !c->channel && !call->has_stream; i++)
		if (is_ring_full(h->channels + i)) {
			c->channel = h->channels + i;
			c->wait = NVS_HANG_FOR_SPACE;
		}
}

/* ---- grids that their channel has passed ---- */

static bool first_waits_for(const struct nvs_unfinished_channel *c, uint64_t address)
{
	const struct nvs_unfinished *u = c->settled ? nvs_unfinished_at(c, 0) : NULL;

	for (uint32_t i = 0; u && i < u->nacquires && i < NVS_UNDONE_SEMAPHORES; i++)
		if (u->acquire[i].address == address && !u->acquire[i].behind_work)
			return true;
	return false;
}

/* Returns true if something else is outstanding, on this stream or (ANY) at all. */
static bool has_other(struct nvs_hang *h, bool any, uint64_t stream)
{
	for (size_t k = 0; k < h->of->channels.n; k++) {
		const struct nvs_unfinished *u;

		for (uint64_t i = 0;
		     (u = nvs_unfinished_at(h->of->channels.row[k], i)) && !spend_step(h); i++)
			if (any || (u->has_stream && u->stream == stream))
				return true;
	}
	return false;
}

/* Returns true if the grid is running. If its semaphore cannot be read, it is if the next
 * submission waits for it, or a call waits for its stream and everything else there is done. */
static bool grid_runs(void *arg, const struct nvs_unfinished_channel *c,
		      const struct nvs_unfinished *u)
{
	struct nvs_hang *h = arg;
	struct nvs_unfinished_work *o = h->of;
	uint64_t value;

	if (read_live(o->source->trace, u->grid.address, u->grid.wide, &value))
		return !nvs_semaphore_satisfied(NVS_SEM_CIRC_GE, value, u->grid.payload,
						u->grid.wide);
	for (size_t k = 0; k < o->channels.n; k++)
		if (first_waits_for(o->channels.row[k], u->grid.address))
			return true;
	for (uint32_t i = 0; i < o->ncalls; i++) {
		const struct nvs_unfinished_call *call = o->calls + i;

		if (call->api->role == NVS_CALL_ROLE_SYNCHRONIZE &&
		    (!call->has_stream || (u->has_stream && u->stream == call->stream)) &&
		    !has_other(h, !call->has_stream, u->stream))
			return true;
	}
	return false;
}

/* ---- one trace ---- */

static void find_collective(struct nvs_hang *h)
{
	for (uint32_t i = 0; i < h->nchannels; i++) {
		const struct nvs_unfinished *u;

		for (uint64_t k = 0;
		     (u = nvs_unfinished_at(h->channels[i].channel, k)) && !spend_step(h); k++)
			if (u->collective &&
			    (!h->collective || u->collective < h->collective->collective))
				h->collective = u;
	}
}

int nvs_hang_analyze(struct nvs_hang *h, struct nvs_unfinished_work *o)
{
	*h = (struct nvs_hang){.of = o};
	h->channels = calloc(o->channels.n + 1, sizeof(*h->channels));
	h->calls = calloc(o->ncalls + 1ul, sizeof(*h->calls));
	if (!h->channels || !h->calls || nvs_unfinished_work_decide(o, grid_runs, h))
		return -ENOMEM;
	for (size_t i = 0; i < o->channels.n; i++) {
		const struct nvs_unfinished_channel *c = o->channels.row[i];

		if (!nvs_unfinished_count(c))
			continue;
		/* The library never polled this channel: unknown whether it is done. */
		if (!c->settled) {
			h->nunknown++;
			continue;
		}
		h->channels[h->nchannels++] = (struct nvs_hang_channel){
			.in = o, .channel = c, .first = nvs_unfinished_at(c, 0)};
	}
	for (uint32_t i = 0; i < h->nchannels; i++)
		judge_channel(h, h->channels + i);
	for (uint32_t i = 0; i < o->ncalls; i++) {
		h->calls[h->ncalls].call = o->calls + i;
		judge_call(h, h->calls + h->ncalls++);
	}
	find_collective(h);
	return 0;
}

void nvs_hang_free(struct nvs_hang *h)
{
	free(h->channels);
	free(h->calls);
	free(h->text);
}
