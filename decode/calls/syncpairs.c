/* SPDX-License-Identifier: MIT */
/*
 * Addresses in a hash, each with a short ring of its latest releases; acquires that wait for one
 * that has not been submitted yet stand in a list. Bounded: of the addresses, those used longest
 * ago are forgotten.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/syncpairs.h"

#define SLOTS (1u << 16) /* addresses */
#define PROBES 8u
#define RING 16u /* releases of one address */
#define PENDING 1024u
#define CHANNELS 4096u

struct release {
	struct nvs_sync_side who;
	uint64_t value;
	uint32_t depth; /* of the waits before it in its channel */
	bool known; /* value is */
};

struct semaphore {
	uint64_t address;
	uint64_t used; /* clock */
	uint32_t count; /* releases so far */
	struct release ring[RING];
};

struct pending {
	struct nvs_sync_pair pair;
	uint8_t condition;
	bool wide;
};

struct nvs_sync {
	void (*found)(void *arg, const struct nvs_sync_pair *pair);
	void *arg;
	uint64_t clock;
	struct semaphore **slots;
	struct pending *pending;
	uint32_t npending;
	uint32_t depth[CHANNELS]; /* waits that what a channel does now stands behind */
};

struct nvs_sync *nvs_sync_new(void (*found)(void *arg, const struct nvs_sync_pair *pair), void *arg)
{
	struct nvs_sync *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->found = found;
	s->arg = arg;
	s->slots = calloc(SLOTS, sizeof(struct semaphore *));
	s->pending = calloc(PENDING, sizeof(*s->pending));
	if (!s->slots || !s->pending) {
		nvs_sync_free(s);
		return NULL;
	}
	return s;
}

void nvs_sync_free(struct nvs_sync *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->slots && i < SLOTS; i++)
		free(s->slots[i]);
	free(s->slots);
	free(s->pending);
	free(s);
}

bool nvs_sync_satisfied(uint32_t condition, uint64_t value, uint64_t payload, bool wide)
{
	uint64_t mask = wide ? ~0ull : 0xffffffffull;

	value &= mask;
	payload &= mask;
	switch (condition) {
	case NVS_SEM_EQ:
		return value == payload;
	case NVS_SEM_GE:
		return value >= payload;
	case NVS_SEM_CIRC_GE:
		return wide ? (int64_t)(value - payload) >= 0 : (int32_t)(value - payload) >= 0;
	case NVS_SEM_AND:
		return value & payload;
	case NVS_SEM_NOR:
		return ~(value | payload) & mask;
	}
	return false;
}

static struct semaphore *semaphore_at(struct nvs_sync *s, uint64_t address, bool make)
{
	uint32_t first = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 48) % SLOTS;
	struct semaphore **take = NULL; /* a free slot, else the one used longest ago */
	struct semaphore **oldest = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct semaphore **p = &s->slots[(first + i) % SLOTS];

		if (*p && (*p)->address == address) {
			(*p)->used = ++s->clock;
			return *p;
		}
		if (!take || (*take && (!*p || (*p)->used < (*take)->used)))
			take = p;
		if (*p && (!oldest || (*p)->used < (*oldest)->used))
			oldest = p;
	}
	if (!make)
		return NULL;
	if (!*take && nvs_budget_spare(sizeof(**take)))
		*take = malloc(sizeof(**take));
	if (!*take)
		take = oldest;
	if (!take)
		return NULL;
	memset(*take, 0, sizeof(**take));
	(*take)->address = address;
	(*take)->used = ++s->clock;
	return *take;
}

static uint32_t *depth_of(struct nvs_sync *s, uint32_t channel)
{
	return &s->depth[channel % CHANNELS];
}

static void pair_up(struct nvs_sync *s, struct nvs_sync_pair *pair, const struct release *r)
{
	uint32_t *depth = depth_of(s, pair->acquire.channel);

	pair->found = true;
	pair->release = r->who;
	pair->value = r->value;
	pair->depth = r->depth + 1;
	if (*depth < pair->depth)
		*depth = pair->depth;
	s->found(s->arg, pair);
}

static int release(struct nvs_sync *s, const struct nvs_sync_side *who, const struct nvs_op *op)
{
	struct semaphore *sem = semaphore_at(s, op->sem.address, true);
	struct release *r;
	uint32_t kept = 0;

	if (!sem)
		return -ENOMEM;
	r = &sem->ring[sem->count++ % RING];
	*r = (struct release){*who, op->sem.value, *depth_of(s, who->channel),
			      op->flags & NVS_OP_VALUE};
	for (uint32_t i = 0; i < s->npending; i++) {
		struct pending *p = &s->pending[i];

		if (p->pair.address == op->sem.address && r->known &&
		    nvs_sync_satisfied(p->condition, r->value, p->pair.payload, p->wide)) {
			p->pair.later = true;
			pair_up(s, &p->pair, r);
		} else {
			s->pending[kept++] = *p;
		}
	}
	s->npending = kept;
	return 0;
}

static void acquire(struct nvs_sync *s, const struct nvs_sync_side *who, const struct nvs_op *op)
{
	struct semaphore *sem = semaphore_at(s, op->sem.address, false);
	struct nvs_sync_pair pair = {
		.acquire = *who, .address = op->sem.address, .payload = op->sem.payload};
	bool wide = op->flags & NVS_OP_WIDE;
	uint32_t n = sem ? (sem->count < RING ? sem->count : RING) : 0;

	/* The first release, of those remembered, after which the condition has held ever since. */
	const struct release *best = NULL;

	for (uint32_t i = 1; i <= n; i++) {
		const struct release *r = &sem->ring[(sem->count - i) % RING];

		if (!r->known || !nvs_sync_satisfied(op->sem.op, r->value, op->sem.payload, wide))
			break;
		best = r;
	}
	if (best) {
		pair_up(s, &pair, best);
		return;
	}
	if (s->npending == PENDING) {
		s->found(s->arg, &s->pending[0].pair);
		memmove(s->pending, s->pending + 1, (PENDING - 1) * sizeof(*s->pending));
		s->npending--;
	}
	s->pending[s->npending++] = (struct pending){pair, op->sem.op, wide};
}

int nvs_sync_op(struct nvs_sync *s, const struct nvs_sync_side *who, const struct nvs_op *op)
{
	if (op->kind == NVS_OP_RELEASE)
		return release(s, who, op);
	if (op->kind == NVS_OP_ACQUIRE)
		acquire(s, who, op);
	return 0;
}

void nvs_sync_end(struct nvs_sync *s)
{
	for (uint32_t i = 0; i < s->npending; i++)
		s->found(s->arg, &s->pending[i].pair);
	s->npending = 0;
}
