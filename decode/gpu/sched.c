/* SPDX-License-Identifier: MIT */
/* Keeps working states of descriptors in a bounded hash by address. Uses a work list instead of
 * recursion, so that chains of any length need no stack. */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/sched.h"

#define FIRST_SLOTS 1024u
#define MAX_SLOTS (1u << 18)
#define MAX_CHAIN (1u << 20) /* grids per trigger */
#define AT_FIRST (1u << 18) /* initial allowance of steps */
#define EACH 16u /* steps added per dword read */

struct sched_state {
	uint64_t address; /* 0: free slot */
	uint32_t counter;
	uint32_t stamp; /* number of the trigger in which it last ran */
	bool armed;
};

/* An action to apply to a descriptor. */
struct qmd_work {
	uint64_t address, parent;
	uint32_t depth;
	uint8_t action; /* enum nvs_qmd_action */
};

struct nvs_sched {
	struct nvs_memimage *image;
	struct nvs_qmd_layouts *layouts;
	struct sched_state *states;
	uint32_t slots, used;
	uint32_t stamp;
	uint64_t allowed; /* steps left */
	struct qmd_work *queue;
	uint32_t room, head, tail;
};

struct nvs_sched *nvs_sched_new(struct nvs_memimage *image, struct nvs_qmd_layouts *layouts)
{
	struct nvs_sched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->image = image;
	s->allowed = AT_FIRST;
	s->slots = FIRST_SLOTS;
	s->room = 64;
	s->layouts = layouts;
	s->states = calloc(s->slots, sizeof(*s->states));
	s->queue = calloc(s->room, sizeof(*s->queue));
	if (!s->states || !s->queue) {
		nvs_sched_free(s);
		return NULL;
	}
	return s;
}

void nvs_sched_allow(struct nvs_sched *s, uint64_t dwords)
{
	s->allowed += EACH * dwords;
}

void nvs_sched_free(struct nvs_sched *s)
{
	if (!s)
		return;
	free(s->states);
	free(s->queue);
	free(s);
}

/* Returns the slot of ADDRESS, or the free slot where it belongs. */
static struct sched_state *find_slot(struct sched_state *states, uint32_t slots, uint64_t address)
{
	uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);

	while (states[i].address && states[i].address != address)
		i = (i + 1) & (slots - 1);
	return &states[i];
}

/* Drops unarmed states, and doubles the table if many are armed; at the limit drops all states. */
static void make_room(struct nvs_sched *s)
{
	uint32_t armed = 0, slots = s->slots;
	struct sched_state *states;

	for (uint32_t i = 0; i < s->slots; i++)
		armed += s->states[i].armed;
	if (armed > slots / 4 && slots < MAX_SLOTS)
		slots *= 2;
	states = calloc(slots, sizeof(*states));
	if (!states || armed > slots / 2) {
		free(states);
		memset(s->states, 0, s->slots * sizeof(*s->states));
		s->used = 0;
		return;
	}
	s->used = armed;
	for (uint32_t i = 0; i < s->slots; i++) {
		if (s->states[i].armed)
			*find_slot(states, slots, s->states[i].address) = s->states[i];
	}
	free(s->states);
	s->states = states;
	s->slots = slots;
}

static struct sched_state *get_state(struct nvs_sched *s, uint64_t address)
{
	struct sched_state *st;

	if (s->used > s->slots / 4 * 3)
		make_room(s);
	st = find_slot(s->states, s->slots, address);
	if (!st->address) {
		memset(st, 0, sizeof(*st));
		st->address = address;
		s->used++;
	}
	return st;
}

bool nvs_sched_read(struct nvs_sched *s, uint64_t address, uint32_t cls, struct nvs_qmd *qmd)
{
	uint32_t words[NVS_QMD_MAX_BYTES / 4];
	size_t bytes = sizeof(words);
	const void *here = nvs_memimage_peek(s->image, address, bytes);

	/* Descriptors are aligned to 256 bytes. */
	if (here && address % 4 == 0)
		return nvs_qmd_decode(s->layouts, here, bytes / 4, cls, qmd);
	/* A 256-byte descriptor needs no known bytes after it. */
	if (!nvs_memimage_read(s->image, address, words, bytes)) {
		bytes = 256;
		if (!nvs_memimage_read(s->image, address, words, bytes))
			return false;
	}
	return nvs_qmd_decode(s->layouts, words, bytes / 4, cls, qmd) && qmd->bytes <= bytes;
}

static bool make_queue_room(struct nvs_sched *s)
{
	uint32_t n = s->tail - s->head;
	struct qmd_work *queue;

	if (n > s->room / 2) {
		queue = realloc(s->queue, 2 * s->room * sizeof(*queue));
		if (!queue)
			return false;
		s->queue = queue;
		s->room *= 2;
	}
	memmove(s->queue, s->queue + s->head, n * sizeof(*s->queue));
	s->head = 0;
	s->tail = n;
	return true;
}

static void push_work(struct nvs_sched *s, uint64_t address, uint64_t parent, uint32_t depth,
		      uint8_t action)
{
	if (s->tail == s->room && !make_queue_room(s))
		return;
	s->queue[s->tail++] = (struct qmd_work){address, parent, depth, action};
}

/* Runs the descriptor to its end. */
static void run_descriptor(struct nvs_sched *s, const struct qmd_work *w, const struct nvs_qmd *qmd,
			   const struct nvs_sched_sink *sink)
{
	struct nvs_sched_run r = {w->address, w->parent, qmd, w->depth};
	struct sched_state *st;

	if (!qmd) {
		sink->run(sink->arg, &r);
		return;
	}
	/* Plain launches without dependences or repetition need no state. */
	if (w->parent || qmd->self_copy || qmd->dependence || qmd->require_scheduling) {
		st = get_state(s, w->address);
		if (st->stamp == s->stamp) {
			sink->loop(sink->arg, w->address);
			return;
		}
		st->stamp = s->stamp;
		st->armed = qmd->self_copy;
		st->counter = qmd->dependence;
	}
	sink->run(sink->arg, &r);
	for (int i = 0; i < NVS_QMD_DEPENDENTS; i++) {
		const struct nvs_qmd_dependent *d = &qmd->dependents[i];

		if (d->enable && w->depth < MAX_CHAIN)
			push_work(s, d->address, w->address, w->depth + 1, d->action);
	}
}

static void copy_and_schedule(struct nvs_sched *s, const struct qmd_work *w,
			      const struct nvs_qmd *qmd, bool force,
			      const struct nvs_sched_sink *sink)
{
	if (qmd && (qmd->dependence || qmd->require_scheduling || force)) {
		struct sched_state *st = get_state(s, w->address);

		st->armed = true;
		st->counter = qmd->dependence;
		return;
	}
	run_descriptor(s, w, qmd, sink);
}

static void schedule_descriptor(struct nvs_sched *s, const struct qmd_work *w,
				const struct nvs_qmd *qmd, const struct nvs_sched_sink *sink)
{
	struct sched_state *st = find_slot(s->states, s->slots, w->address);

	if (!st->address || !st->armed || !st->counter)
		run_descriptor(s, w, qmd, sink);
}

static void change_dependence(struct nvs_sched *s, const struct qmd_work *w, uint32_t cls, int by,
			      const struct nvs_sched_sink *sink)
{
	struct sched_state *st = get_state(s, w->address);
	struct nvs_qmd qmd;
	bool known = false, read = !st->armed;

	if (read) {
		known = nvs_sched_read(s, w->address, cls, &qmd);
		st->armed = true;
		st->counter = known ? qmd.dependence : 0;
	}
	if (by > 0) {
		st->counter++;
	} else if (st->counter && --st->counter == 0) {
		if (!read)
			known = nvs_sched_read(s, w->address, cls, &qmd);
		run_descriptor(s, w, known ? &qmd : NULL, sink);
	}
}

static void apply_action(struct nvs_sched *s, const struct qmd_work *w, uint32_t cls, bool force,
			 const struct nvs_sched_sink *sink)
{
	struct nvs_qmd buffer, *qmd;

	if (w->action == NVS_QMD_DECREMENT_DEPENDENCE) {
		change_dependence(s, w, cls, -1, sink);
		return;
	}
	if (w->action != NVS_QMD_SCHEDULE && w->action != NVS_QMD_INVALIDATE_COPY_SCHEDULE)
		return;
	qmd = nvs_sched_read(s, w->address, cls, &buffer) ? &buffer : NULL;
	if (w->action == NVS_QMD_SCHEDULE)
		schedule_descriptor(s, w, qmd, sink);
	else
		copy_and_schedule(s, w, qmd, force, sink);
}

void nvs_sched_trigger(struct nvs_sched *s, uint64_t address, enum nvs_pcas action, uint32_t cls,
		       const struct nvs_sched_sink *sink)
{
	struct qmd_work w = {.address = address};

	s->stamp++;
	s->head = s->tail = 0;
	switch (action) {
	case NVS_PCAS_SCHEDULE:
	case NVS_PCAS_PREFETCH_SCHEDULE:
		w.action = NVS_QMD_SCHEDULE;
		break;
	case NVS_PCAS_INVALIDATE_COPY_SCHEDULE:
	case NVS_PCAS_INVALIDATE_PREFETCH_COPY_SCHEDULE:
	case NVS_PCAS_COPY_FORCE_REQUIRE_SCHEDULING:
		w.action = NVS_QMD_INVALIDATE_COPY_SCHEDULE;
		break;
	case NVS_PCAS_DECREMENT_DEPENDENCE:
		w.action = NVS_QMD_DECREMENT_DEPENDENCE;
		break;
	case NVS_PCAS_INCREMENT_DEPENDENCE:
		change_dependence(s, &w, cls, 1, sink);
		return;
	default:
		return;
	}
	apply_action(s, &w, cls, action == NVS_PCAS_COPY_FORCE_REQUIRE_SCHEDULING, sink);
	while (s->head < s->tail) {
		if (!s->allowed) {
			nvs_budget_set_exceeded();
			return;
		}
		s->allowed--;
		w = s->queue[s->head++];
		apply_action(s, &w, cls, false, sink);
	}
}
