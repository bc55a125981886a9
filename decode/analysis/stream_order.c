/* SPDX-License-Identifier: MIT */
/* Vector clocks of streams. See stream_order.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/current_context.h"
#include "decode/analysis/stream_order.h"
#include "decode/base/grow.h"
#include "decode/calls/roles.h"

/* Shared by a stream and the events recorded in it, until one of them changes. The entry of the
 * stream itself is not kept up to date: that is its SEQ. */
struct nvs_order_clock {
	uint32_t refs, n;
	uint64_t unknown; /* calls up to this number may be before it as well */
	uint64_t seq[];
};

/* A moment in a stream: all that its clock has, and its own work up to SEQ. */
struct moment {
	const struct nvs_order_clock *clock;
	uint32_t slot;
	uint64_t seq;
};

struct order_context {
	uint64_t context; /* its key */
	struct nvs_ordered_stream *legacy;
	/* blocking streams that have work for which the default stream has not waited */
	struct nvs_ordered_stream *queue;
};

struct order_event {
	uint64_t handle; /* its key */
	struct nvs_order_clock *clock;
	uint32_t slot;
	bool recorded, imported;
	uint64_t seq;
};

struct order_word {
	uint64_t address; /* its key */
	struct nvs_order_clock *clock;
};

/* ---- clocks ---- */

static uint64_t clock_at(const struct nvs_order_clock *c, uint32_t slot)
{
	return c && slot < c->n ? c->seq[slot] : 0;
}

static void release_clock(struct nvs_order_clock *c)
{
	if (c && !--c->refs)
		free(c);
}

static struct nvs_order_clock *share_clock(struct nvs_order_clock *c)
{
	if (c)
		c->refs++;
	return c;
}

/* Makes *AT a clock of its own with at least N slots. */
static int own_clock(struct nvs_order_clock **at, uint32_t n)
{
	struct nvs_order_clock *old = *at, *c;

	if (old && old->refs == 1 && old->n >= n)
		return 0;
	n = old && old->n > n ? old->n : n;
	c = calloc(1, sizeof(*c) + n * sizeof(c->seq[0]));
	if (!c)
		return -ENOMEM;
	if (old) {
		memcpy(c->seq, old->seq, old->n * sizeof(c->seq[0]));
		c->unknown = old->unknown;
	}
	c->n = n;
	c->refs = 1;
	release_clock(old);
	*at = c;
	return 0;
}

static int join_clock(struct nvs_order_clock **into, const struct nvs_order_clock *from)
{
	struct nvs_order_clock *c;

	if (!from)
		return 0;
	if (own_clock(into, from->n))
		return -ENOMEM;
	c = *into;
	c->unknown = c->unknown > from->unknown ? c->unknown : from->unknown;
	for (uint32_t i = 0; i < from->n; i++)
		c->seq[i] = c->seq[i] > from->seq[i] ? c->seq[i] : from->seq[i];
	return 0;
}

/* A clock that has a stream's work up to SEQ has all that this work waited for, so there is nothing
 * to do. */
static int join_moment(struct nvs_order_clock **into, const struct moment *m)
{
	if (clock_at(*into, m->slot) >= m->seq)
		return 0;
	if (join_clock(into, m->clock) || own_clock(into, m->slot + 1))
		return -ENOMEM;
	(*into)->seq[m->slot] = m->seq;
	return 0;
}

static struct moment moment_of(const struct nvs_ordered_stream *s)
{
	return (struct moment){s->clock, s->slot, s->seq};
}

static int join_stream(struct nvs_order_clock **into, const struct nvs_ordered_stream *s)
{
	const struct moment m = moment_of(s);

	return join_moment(into, &m);
}

/* ---- streams ---- */

/* A slot whose stream was destroyed can be taken once the host has waited for all its work: then
 * all later work is after that. */
static bool is_slot_free(const struct nvs_stream_order *o, uint32_t slot)
{
	return slot < o->nslots && !o->slots[slot].owner &&
	       clock_at(o->host, slot) >= o->slots[slot].seq;
}

static struct order_slot *take_slot(struct nvs_stream_order *o)
{
	struct order_slot *slot;
	uint32_t i = 0;

	if (is_slot_free(o, o->freed))
		return o->slots + o->freed;
	slot = NVS_APPEND(o->slots, o->nslots, o->room, 16, NVS_ORDER_SLOTS);
	if (slot) {
		*slot = (struct order_slot){0};
		return slot;
	}
	while (i < o->nslots && !is_slot_free(o, i))
		i++;
	return i < o->nslots ? o->slots + i : NULL;
}

static void start_stream(struct nvs_stream_order *o, struct nvs_ordered_stream *s)
{
	struct order_slot *slot = take_slot(o);

	if (!slot) {
		o->crowded = true;
		return;
	}
	slot->owner = s;
	slot->context = s->context;
	release_clock(s->clock);
	s->clock = NULL;
	s->slot = (uint32_t)(slot - o->slots);
	s->seq = slot->seq;
	s->launch = s->overlapped = 0;
	s->host_version = o->host_version - 1;
	s->started = true;
}

static struct order_context *get_context(struct nvs_stream_order *o, uint64_t context)
{
	return nvs_rows_at(&o->contexts, &context);
}

/* Returns NULL if memory is short, or if the order is unknown. */
static struct nvs_ordered_stream *get_stream(struct nvs_stream_order *o, uint64_t handle,
					     uint64_t context, uint32_t thread)
{
	struct nvs_ordered_stream_key key = {.handle = handle};
	struct nvs_ordered_stream *s;

	if (handle <= NVS_STREAM_PER_THREAD)
		key.context = context;
	if (handle == NVS_STREAM_PER_THREAD)
		key.thread = thread;
	s = nvs_rows_at(&o->streams, &key);
	if (!s || s->started)
		return s;
	s->context = context;
	s->legacy = handle == NVS_STREAM_LEGACY;
	s->non_blocking = false;
	start_stream(o, s);
	return s->started ? s : NULL;
}

static int join_legacy(struct order_context *c, struct nvs_ordered_stream *s)
{
	struct nvs_ordered_stream *q = c->queue, *next;

	c->queue = NULL;
	for (; q; q = next) {
		next = q->next;
		q->queued = false;
		if (q->started && join_stream(&s->clock, q))
			return -ENOMEM;
	}
	c->legacy = s;
	return 0;
}

/* Brings the clock of S up to date: its next work waits for all of it. */
static int refresh_stream(struct nvs_stream_order *o, struct nvs_ordered_stream *s)
{
	struct order_context *c;

	if (s->host_version != o->host_version) {
		if (join_clock(&s->clock, o->host))
			return -ENOMEM;
		s->host_version = o->host_version;
	}
	if (s->non_blocking)
		return 0;
	c = get_context(o, s->context);
	if (!c)
		return -ENOMEM;
	if (s->legacy)
		return join_legacy(c, s);
	return c->legacy && c->legacy->started ? join_stream(&s->clock, c->legacy) : 0;
}

/* Puts work into S. */
static int add_work(struct nvs_stream_order *o, struct nvs_ordered_stream *s)
{
	struct order_context *c;

	if (refresh_stream(o, s))
		return -ENOMEM;
	s->overlapped = s->launch = 0;
	o->slots[s->slot].seq = ++s->seq;
	if (s->non_blocking || s->legacy || s->queued)
		return 0;
	c = get_context(o, s->context);
	if (!c)
		return -ENOMEM;
	s->next = c->queue;
	c->queue = s;
	s->queued = true;
	return 0;
}

/* ---- the host ---- */

static int wait_on_host(struct nvs_stream_order *o, const struct moment *m)
{
	if (clock_at(o->host, m->slot) >= m->seq)
		return 0;
	o->host_version++;
	return join_moment(&o->host, m);
}

/* The host waits for all streams of CONTEXT, 0: of all contexts. */
static int wait_for_context(struct nvs_stream_order *o, uint64_t context)
{
	int r = 0;

	for (uint32_t i = 0; i < o->nslots && !r; i++) {
		const struct order_slot *slot = o->slots + i;
		struct moment m = {slot->owner ? slot->owner->clock : NULL, i, slot->seq};

		if (!context || slot->context == context)
			r = wait_on_host(o, &m);
	}
	return r;
}

/* ---- events and words ---- */

static struct order_event *get_event(struct nvs_stream_order *o, const struct nvs_call *call)
{
	uint64_t handle;

	return nvs_call_kind(call, NVS_KIND_EVENT, &handle) ? nvs_rows_at(&o->events, &handle)
							    : NULL;
}

static int record_event(struct nvs_stream_order *o, const struct nvs_call *call,
			struct nvs_ordered_stream *s)
{
	struct order_event *e = get_event(o, call);

	if (!e)
		return 0;
	if (add_work(o, s))
		return -ENOMEM;
	release_clock(e->clock);
	e->clock = share_clock(s->clock);
	e->slot = s->slot;
	e->seq = s->seq;
	e->recorded = true;
	return 0;
}

/* What S does from now on may be after everything so far. */
static int wait_for_unknown(struct nvs_stream_order *o, struct nvs_ordered_stream *s)
{
	if (add_work(o, s) || own_clock(&s->clock, 0))
		return -ENOMEM;
	s->clock->unknown = o->now;
	return 0;
}

static int wait_for_event(struct nvs_stream_order *o, const struct nvs_call *call,
			  struct nvs_ordered_stream *s)
{
	const struct order_event *e = get_event(o, call);
	struct moment m;

	if (!e)
		return 0;
	if (e->imported || (!e->recorded && o->events_in_graphs))
		return wait_for_unknown(o, s);
	m = (struct moment){e->clock, e->slot, e->seq};
	return refresh_stream(o, s) || (e->recorded && join_moment(&s->clock, &m)) || add_work(o, s)
		       ? -ENOMEM
		       : 0;
}

static int wait_for_events_on_host(struct nvs_stream_order *o, const struct nvs_call *call)
{
	int r = 0;

	for (uint32_t i = 0; i < call->nargs && !r; i++) {
		const struct order_event *e = call->api->kinds[i] == NVS_KIND_EVENT &&
							      !(call->absent >> i & 1)
						      ? nvs_rows_find(&o->events, call->args + i)
						      : NULL;
		struct moment m;

		if (!e || !e->recorded)
			continue;
		m = (struct moment){e->clock, e->slot, e->seq};
		r = wait_on_host(o, &m);
	}
	return r;
}

/* A context's events cover all its streams. */
static int record_context_event(struct nvs_stream_order *o, const struct nvs_call *call,
				uint64_t context)
{
	struct order_event *e = get_event(o, call);
	struct nvs_ordered_stream *s = get_stream(o, NVS_STREAM_LEGACY, context, 0);

	if (!e || !s)
		return 0;
	for (uint32_t i = 0; i < o->nslots; i++)
		if (o->slots[i].owner && o->slots[i].context == context && i != s->slot &&
		    join_stream(&s->clock, o->slots[i].owner))
			return -ENOMEM;
	return record_event(o, call, s);
}

static int wait_in_context(struct nvs_stream_order *o, const struct nvs_call *call,
			   uint64_t context)
{
	int r = 0;

	for (uint32_t i = 0; i < o->nslots && !r; i++)
		if (o->slots[i].owner && o->slots[i].context == context)
			r = wait_for_event(o, call, o->slots[i].owner);
	return r;
}

static int write_word(struct nvs_stream_order *o, const struct nvs_call *call,
		      struct nvs_ordered_stream *s)
{
	struct order_word *word;
	uint64_t address;

	if (add_work(o, s))
		return -ENOMEM;
	if (!nvs_call_value(call, NVS_ARG_addr, &address))
		return 0;
	word = nvs_rows_at(&o->words, &address);
	return word ? join_stream(&word->clock, s) : -ENOMEM;
}

/* A word that no stream has written is written by the host or another process. */
static int wait_for_word(struct nvs_stream_order *o, const struct nvs_call *call,
			 struct nvs_ordered_stream *s)
{
	const struct order_word *word = NULL;
	uint64_t address;

	if (nvs_call_value(call, NVS_ARG_addr, &address))
		word = nvs_rows_find(&o->words, &address);
	if (!word)
		return wait_for_unknown(o, s);
	return refresh_stream(o, s) || join_clock(&s->clock, word->clock) || add_work(o, s)
		       ? -ENOMEM
		       : 0;
}

/* ---- calls ---- */

static void create_stream(struct nvs_stream_order *o, const struct nvs_call *call, uint64_t context)
{
	struct nvs_ordered_stream_key key = {0};
	struct nvs_ordered_stream *s;
	struct nvs_arg flags = {.value = 0};

	if (!nvs_call_value(call, NVS_ARG_stream, &key.handle) ||
	    key.handle <= NVS_STREAM_PER_THREAD)
		return;
	s = nvs_rows_at(&o->streams, &key);
	if (!s)
		return;
	if (s->started)
		o->slots[s->slot].owner = NULL;
	if (!nvs_call_arg(call, "Flags", &flags))
		nvs_call_arg(call, "flags", &flags);
	s->context = context;
	s->non_blocking = flags.value & 1;
	s->legacy = false;
	start_stream(o, s);
}

static void destroy_stream(struct nvs_stream_order *o, const struct nvs_call *call)
{
	struct nvs_ordered_stream_key key = {0};
	struct nvs_ordered_stream *s, *legacy;

	nvs_call_kind(call, NVS_KIND_STREAM, &key.handle);
	s = nvs_rows_find(&o->streams, &key);
	if (!s || !s->started || !nvs_call_ends_stream(call, key.handle))
		return;
	/* The default stream still waits for its work. */
	legacy = s->queued ? get_stream(o, NVS_STREAM_LEGACY, s->context, 0) : NULL;
	if (legacy)
		refresh_stream(o, legacy);
	o->slots[s->slot].owner = NULL;
	o->freed = s->slot;
	s->started = false;
}

static int wait_for_calls_work(struct nvs_stream_order *o, const struct nvs_call *call,
			       uint64_t context, struct nvs_ordered_stream *s)
{
	struct moment m;

	if (call->api->role == NVS_CALL_ROLE_SYNCHRONIZE && !s)
		return wait_for_context(o, context);
	if (!s)
		return wait_for_events_on_host(o, call);
	if (refresh_stream(o, s))
		return -ENOMEM;
	/* The work of others that it waits for is done as well. */
	if (add_work(o, s))
		return -ENOMEM;
	m = moment_of(s);
	return wait_on_host(o, &m);
}

/* Calls that wait for the host's or other streams' work. *DONE: CALL is one of these. */
static int follow_wait(struct nvs_stream_order *o, const struct nvs_call *call, uint64_t context,
		       struct nvs_ordered_stream *s, bool *done)
{
	*done = true;
	switch (call->api->role) {
	case NVS_CALL_ROLE_SYNCHRONIZE:
	case NVS_CALL_ROLE_SYNCHRONIZE_EVENT:
	case NVS_CALL_ROLE_QUERY:
	case NVS_CALL_ROLE_EVENT_ELAPSED:
		return wait_for_calls_work(o, call, context, s);
	case NVS_CALL_ROLE_CONTEXT_EVENT_RECORD:
		return record_context_event(o, call, context);
	case NVS_CALL_ROLE_CONTEXT_EVENT_WAIT:
		return wait_in_context(o, call, context);
	/* These wait for all work, or require that the program has. */
	case NVS_CALL_ROLE_FREE:
	case NVS_CALL_ROLE_UNMAP:
		return s ? (*done = false, 0) : wait_for_context(o, 0);
	case NVS_CALL_ROLE_CONTEXT_DESTROY:
	case NVS_CALL_ROLE_PRIMARY_RELEASE:
	case NVS_CALL_ROLE_PRIMARY_RESET:
		return wait_for_context(o, 0);
	default:
		*done = false;
		return 0;
	}
}

/* Calls with a stream. */
static int follow_work(struct nvs_stream_order *o, const struct nvs_call *call,
		       struct nvs_ordered_stream *s, struct nvs_ordered_stream **work)
{
	uint64_t before = s->launch, programmatic = 0;
	int r;

	switch (call->api->role) {
	case NVS_CALL_ROLE_EVENT_RECORD:
		return record_event(o, call, s);
	case NVS_CALL_ROLE_EVENT_WAIT:
		return wait_for_event(o, call, s);
	case NVS_CALL_ROLE_VALUE_WRITE:
		return write_word(o, call, s);
	case NVS_CALL_ROLE_VALUE_WAIT:
		return wait_for_word(o, call, s);
	case NVS_CALL_ROLE_FOREIGN_WAIT:
		return wait_for_unknown(o, s);
	default:
		break;
	}
	r = add_work(o, s);
	*work = s;
	if (!r && call->api->role == NVS_CALL_ROLE_HOST_FUNCTION)
		r = join_stream(&o->hinted, s);
	if (call->api->group == NVS_CALL_GROUP_LAUNCH) {
		s->launch = s->seq;
		nvs_call_value(call, NVS_ARG_programmaticStreamSerialization, &programmatic);
		s->overlapped = programmatic ? before : 0;
	}
	return r;
}

static struct nvs_ordered_stream *find_stream(struct nvs_stream_order *o,
					      const struct nvs_call *call, uint64_t context)
{
	uint64_t handle;

	return nvs_call_stream(call, &handle) ? get_stream(o, handle, context, call->thread) : NULL;
}

static void begin_rows(struct nvs_stream_order *o)
{
	if (o->streams.size)
		return;
	o->streams = NVS_ROWS(struct nvs_ordered_stream, key);
	o->contexts = NVS_ROWS(struct order_context, context);
	o->events = NVS_ROWS(struct order_event, handle);
	o->words = NVS_ROWS(struct order_word, address);
}

int nvs_stream_order_call(struct nvs_stream_order *o, const struct nvs_call *call, uint64_t context,
			  bool blocking, struct nvs_ordered_stream **work)
{
	struct nvs_ordered_stream *s;
	struct order_event *e;
	bool done;
	int r;

	*work = NULL;
	o->now++;
	begin_rows(o);
	o->context = context ? context : o->context;
	context = o->context;
	if (!nvs_call_ran(call) || o->crowded)
		return 0;
	if (nvs_call_creates_stream(call)) {
		create_stream(o, call, context);
		return 0;
	}
	if (call->api->role == NVS_CALL_ROLE_STREAM_DESTROY) {
		destroy_stream(o, call);
		return 0;
	}
	if (call->api->role == NVS_CALL_ROLE_EVENT_IMPORT ||
	    call->api->role == NVS_CALL_ROLE_EVENT_DESTROY) {
		e = get_event(o, call);
		if (e) {
			e->recorded = false;
			e->imported = call->api->role == NVS_CALL_ROLE_EVENT_IMPORT;
		}
		return 0;
	}
	s = find_stream(o, call, context);
	r = follow_wait(o, call, context, s, &done);
	if (r || done || !s || o->crowded)
		return r;
	r = follow_work(o, call, s, work);
	if (!r && blocking && *work) {
		const struct moment m = moment_of(s);

		r = wait_on_host(o, &m);
	}
	return r;
}

int nvs_stream_order_graph(struct nvs_stream_order *o, struct nvs_ordered_stream *s, bool waits,
			   bool calls, bool records)
{
	o->events_in_graphs |= records;
	if (calls && join_stream(&o->hinted, s))
		return -ENOMEM;
	if (!waits)
		return 0;
	if (own_clock(&s->clock, 0))
		return -ENOMEM;
	s->clock->unknown = o->now;
	return 0;
}

int nvs_stream_order_forget(struct nvs_stream_order *o)
{
	return wait_for_context(o, 0);
}

/* ---- questions ---- */

uint64_t nvs_order_seen(const struct nvs_ordered_stream *s, uint32_t slot)
{
	return clock_at(s->clock, slot);
}

bool nvs_order_is_past(const struct nvs_stream_order *o, const struct nvs_order_point *point)
{
	return clock_at(o->host, point->slot) >= point->seq;
}

enum nvs_work_order nvs_order_of(const struct nvs_stream_order *o,
				 const struct nvs_ordered_stream *s,
				 const struct nvs_order_point *p)
{
	if (p->slot == s->slot)
		return s->overlapped && p->seq == s->overlapped ? NVS_ORDER_OVERLAPS : NVS_ORDERED;
	if (clock_at(s->clock, p->slot) >= p->seq)
		return NVS_ORDERED;
	if (clock_at(o->hinted, p->slot) >= p->seq || (s->clock && p->now < s->clock->unknown))
		return NVS_ORDER_UNKNOWN;
	return NVS_UNORDERED;
}

static void free_event(void *row)
{
	release_clock(((struct order_event *)row)->clock);
}

static void free_word(void *row)
{
	release_clock(((struct order_word *)row)->clock);
}

static void free_stream(void *row)
{
	release_clock(((struct nvs_ordered_stream *)row)->clock);
}

void nvs_stream_order_free(struct nvs_stream_order *o)
{
	nvs_rows_free(&o->streams, free_stream);
	nvs_rows_free(&o->contexts, NULL);
	nvs_rows_free(&o->events, free_event);
	nvs_rows_free(&o->words, free_word);
	release_clock(o->host);
	release_clock(o->hinted);
	free(o->slots);
	*o = (struct nvs_stream_order){0};
}
