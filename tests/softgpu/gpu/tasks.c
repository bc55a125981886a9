/* SPDX-License-Identifier: MIT */
/*
 * Task descriptors (QMD version 4): scheduling, dependencies, completion. A launch completes at
 * once.
 *
 * A descriptor scheduled by the host runs if it waits for nothing; one with a dependence counter or
 * with REQUIRE_SCHEDULING_PCAS is installed, and runs when a predecessor or the host schedules it
 * or its counter reaches 0. SELF_COPY_ON_COMPLETION leaves it installed for the next time. While
 * one spins, its channel continues, as on a real GPU, until a wait for idle, an acquire of what it
 * releases, or another one that spins. A host wait for idle blocks all channels of the context
 * meanwhile (seen on H100s); a release by the engine waits for no program.
 */
#include <stdlib.h>
#include <string.h>
#include "gpu.h"

#define QUEUE 256

enum { DEP_SCHEDULE = 1, DEP_INVALIDATE_COPY_SCHEDULE = 3, DEP_DECREMENT = 4 };

struct queue {
	struct sg_task *task[QUEUE];
	uint32_t head, tail;
};

static struct sg_task **slot(struct sg_gpu *g, uint64_t address)
{
	struct sg_task **p = &g->tasks[(address >> 8) % 256];

	while (*p && (*p)->address != address)
		p = &(*p)->next;
	return p;
}

static struct sg_task *load(struct sg_channel *ch, uint64_t address)
{
	struct sg_task **p = slot(ch->gpu, address), *t = *p;

	if (!t) {
		t = calloc(1, sizeof(*t));
		t->address = address;
		*p = t;
	}
	if (!sg_read(ch, address, t->qmd, sizeof(t->qmd)))
		return NULL;
	t->pending = t->qmd[0] & 0xffff;
	t->installed = t->pending || t->qmd[0] >> 30 & 1;
	return t;
}

static void drop(struct sg_gpu *g, struct sg_task *t)
{
	struct sg_task **p = slot(g, t->address);

	*p = t->next;
	free(t);
}

static void push(struct queue *q, struct sg_task *t)
{
	if (q->head - q->tail < QUEUE)
		q->task[q->head++ % QUEUE] = t;
}

static void decrement(struct queue *q, struct sg_task *t)
{
	if (t && t->pending && !--t->pending)
		push(q, t);
}

static void releases(struct sg_channel *ch, const uint32_t *qmd)
{
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t bits = qmd[10 + i / 2] >> i % 2 * 16, size = bits >> 1 & 3;
		const uint32_t *s = qmd + 20 + i * 4;
		uint64_t va = (uint64_t)(s[1] & 0x1ffffff) << 32 | s[0];
		uint64_t payload = s[2] | (uint64_t)s[3] << 32;

		if (!(bits & 1))
			continue;
		if (bits >> 4 & 1)
			sg_reduce(ch, va, s[2], bits >> 5 & 7, bits >> 8 & 1);
		else
			sg_release(ch, va, payload, bits >> 12 & 1, size == 0);
	}
}

static void dependents(struct sg_channel *ch, struct queue *q, const uint32_t *qmd)
{
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t bits = qmd[11] >> (16 + i * 5), action = bits >> 1 & 7;
		uint64_t address = (uint64_t)qmd[14 + i] << 8;
		struct sg_task *t;

		if (!(bits & 1))
			continue;
		t = *slot(ch->gpu, address);
		if (action == DEP_DECREMENT)
			decrement(q, t);
		else if (action == DEP_SCHEDULE || action == DEP_INVALIDATE_COPY_SCHEDULE) {
			if (!t)
				t = load(ch, address);
			if (t && !t->pending)
				push(q, t);
		}
	}
}

static void run(struct sg_channel *ch, struct queue *q)
{
	while (q->tail != q->head && !ch->dead && !ch->due) {
		struct sg_task *t = q->task[q->tail++ % QUEUE];
		uint32_t qmd[96];

		memcpy(qmd, t->qmd, sizeof(qmd));
		if (qmd[11] >> 26 & 1)
			t->pending = qmd[0] & 0xffff;
		else
			drop(ch->gpu, t);
		/* An empty grid starts nothing; its descriptor exists only for its dependences. */
		if ((qmd[0] >> 23 & 7) > 1 && qmd[32] && qmd[33] && qmd[34])
			sg_run_program(ch, qmd);
		if (ch->dead || ch->due) /* it did not come to its end */
			return;
		releases(ch, qmd);
		dependents(ch, q, qmd);
	}
}

static bool spins(struct sg_channel *ch, uint64_t address, uint32_t action)
{
	uint32_t qmd[96];

	return (action == 2 || action == 3 || action == 9 || action == 10) &&
	       sg_read(ch, address, qmd, sizeof(qmd)) && sg_program_spins(ch, qmd);
}

static void trigger(struct sg_channel *ch, uint64_t address, uint32_t action)
{
	struct queue q = {.head = 0};
	struct sg_task *t;

	switch (action) {
	case 2: /* SCHEDULE, with or without a fresh copy and a prefetch */
	case 3:
	case 9:
	case 10:
		t = load(ch, address);
		if (t && !t->installed)
			push(&q, t);
		break;
	case 11: /* copies it and lets it wait */
		t = load(ch, address);
		if (t)
			t->installed = true;
		break;
	case 7:
		decrement(&q, *slot(ch->gpu, address));
		break;
	case 12:
		t = *slot(ch->gpu, address);
		if (t)
			t->pending++;
		break;
	}
	run(ch, &q);
}

bool sg_idle(struct sg_channel *ch)
{
	uint64_t address = ch->grid;

	if (!address)
		return true;
	if (spins(ch, address, ch->grid_action))
		return false;
	ch->grid = 0;
	trigger(ch, address, ch->grid_action);
	return true;
}

bool sg_pcas(struct sg_channel *ch, uint64_t address, uint32_t action)
{
	if (!spins(ch, address, action)) {
		trigger(ch, address, action);
		return true;
	}
	if (!sg_idle(ch))
		return false;
	ch->grid = address;
	ch->grid_action = action;
	return true;
}

static bool same_engine(const struct sg_channel *a, const struct sg_channel *b)
{
	return a->engine == b->engine && a->vaspace == b->vaspace;
}

bool sg_engine_idle(struct sg_channel *ch)
{
	struct sg_gpu *g = ch->gpu;
	bool idle = true;

	for (struct sg_channel *o = g->channels; o; o = o->next)
		if (same_engine(o, ch) && !sg_idle(o))
			idle = false;
	if (!idle && !g->waiting)
		g->waiting = ch;
	if (idle && g->waiting == ch)
		g->waiting = NULL;
	return idle;
}

bool sg_engine_waits(struct sg_channel *ch)
{
	const struct sg_channel *waiting = ch->gpu->waiting;

	return waiting && waiting != ch && same_engine(waiting, ch);
}
