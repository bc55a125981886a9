/* SPDX-License-Identifier: MIT */
/*
 * Keeps a hash of addresses, each with a short ring of its latest releases, and a list of acquires
 * whose release has not been submitted yet. Bounded: the least recently used addresses are dropped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/semaphore_pairs.h"

#define SLOTS (1u << 16) /* addresses */
#define PROBES 8u
#define RING 16u /* releases per address */
#define PENDING 1024u
#define CHANNELS 4096u
/* Limits on the search for semaphores overwritten by transfers: a total, plus an allowance for each
 * transfer. */
#define MOST_STEPS (1u << 25)
#define MORE_STEPS 512u
#define QUICK 16u /* addresses compared per step, in a contiguous array */

struct semaphore_release {
	struct nvs_sync_side who;
	uint64_t value;
	uint32_t depth; /* number of waits before it in its channel */
	bool known; /* value is known */
};

struct semaphore {
	uint64_t address;
	uint64_t used; /* clock of the last use */
	uint32_t count; /* total number of releases */
	uint32_t number; /* index in `made` */
	struct semaphore_release ring[RING];
};

struct pending_pair {
	struct nvs_sync_pair pair;
	uint8_t condition;
	bool wide;
};

struct nvs_semaphore_pairs {
	void (*found)(void *arg, const struct nvs_sync_pair *pair);
	void *arg;
	uint64_t clock;
	struct semaphore **slots;
	struct semaphore **made; /* all semaphores, unordered */
	uint64_t *addresses; /* their addresses, in the same order */
	uint32_t nmade;
	uint64_t steps, most_steps;
	struct pending_pair *pending;
	uint32_t npending;
	uint64_t low, high; /* range of all addresses */
	uint32_t depth[CHANNELS]; /* for each channel, the number of waits before its current
				   * work */
};

struct nvs_semaphore_pairs *
nvs_semaphore_pairs_new(void (*found)(void *arg, const struct nvs_sync_pair *pair), void *arg)
{
	struct nvs_semaphore_pairs *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->found = found;
	s->arg = arg;
	s->low = UINT64_MAX;
	s->most_steps = MOST_STEPS;
	s->slots = calloc(SLOTS, sizeof(struct semaphore *));
	s->made = calloc(SLOTS, sizeof(struct semaphore *));
	s->addresses = calloc(SLOTS, sizeof(*s->addresses));
	s->pending = calloc(PENDING, sizeof(*s->pending));
	if (!s->slots || !s->made || !s->addresses || !s->pending) {
		nvs_semaphore_pairs_free(s);
		return NULL;
	}
	return s;
}

void nvs_semaphore_pairs_free(struct nvs_semaphore_pairs *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nmade; i++)
		free(s->made[i]);
	free(s->made);
	free(s->addresses);
	free(s->slots);
	free(s->pending);
	free(s);
}

bool nvs_semaphore_satisfied(uint32_t condition, uint64_t value, uint64_t payload, bool wide)
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

static struct semaphore *get_semaphore(struct nvs_semaphore_pairs *s, uint64_t address, bool make)
{
	uint32_t first = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 48) % SLOTS;
	struct semaphore **take = NULL; /* a free slot, else the least recently used */
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
	if (!*take && nvs_budget_allows(sizeof(**take))) {
		*take = malloc(sizeof(**take));
		if (*take) {
			(*take)->number = s->nmade;
			s->made[s->nmade++] = *take;
		}
	}
	if (!*take)
		take = oldest;
	if (!take)
		return NULL;
	**take = (struct semaphore){
		.address = address, .used = ++s->clock, .number = (*take)->number};
	s->addresses[(*take)->number] = address;
	s->low = address < s->low ? address : s->low;
	s->high = address > s->high ? address : s->high;
	return *take;
}

static uint32_t *get_depth(struct nvs_semaphore_pairs *s, uint32_t channel)
{
	return &s->depth[channel % CHANNELS];
}

static void report_pair(struct nvs_semaphore_pairs *s, struct nvs_sync_pair *pair,
			const struct semaphore_release *r)
{
	uint32_t *depth = get_depth(s, pair->acquire.channel);

	pair->found = true;
	pair->release = r->who;
	pair->value = r->value;
	pair->depth = r->depth + 1;
	if (*depth < pair->depth)
		*depth = pair->depth;
	s->found(s->arg, pair);
}

/* Stores the value, and reports pending acquires that it satisfies. */
static void store_value(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
			struct semaphore *sem, uint64_t value, bool known)
{
	struct semaphore_release *r = &sem->ring[sem->count++ % RING];
	uint32_t kept = 0;

	*r = (struct semaphore_release){*who, value, *get_depth(s, who->channel), known};
	if (!known)
		return;
	for (uint32_t i = 0; i < s->npending; i++) {
		struct pending_pair *p = &s->pending[i];

		if (p->pair.address == sem->address &&
		    nvs_semaphore_satisfied(p->condition, r->value, p->pair.payload, p->wide)) {
			p->pair.later = true;
			report_pair(s, &p->pair, r);
		} else {
			s->pending[kept++] = *p;
		}
	}
	s->npending = kept;
}

static int add_release(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
		       uint64_t address, uint64_t value, bool known)
{
	struct semaphore *sem = get_semaphore(s, address, true);

	if (!sem)
		return -ENOMEM;
	store_value(s, who, sem, value, known);
	return 0;
}

/* ---- transfers ---- */

/* Range of bytes that OP may write. Returns false if it writes none, or could write anywhere. */
static bool get_span(const struct nvs_op *op, uint64_t *from, uint64_t *to)
{
	uint64_t bytes = op->copy.bytes;

	if (op->copy.lines > 1 &&
	    (__builtin_mul_overflow((uint64_t)op->copy.dst_pitch, op->copy.lines - 1ull, &bytes) ||
	     __builtin_add_overflow(bytes, op->copy.width, &bytes)))
		return false;
	*from = op->copy.dst;
	return bytes && !(op->flags & NVS_OP_PHYSICAL_DST) &&
	       !__builtin_add_overflow(*from, bytes, to);
}

/* Returns what OP writes to the 4 bytes at ADDRESS, or 8 if it writes as many. */
static bool get_value(const struct nvs_op *op, uint64_t address, uint64_t to, uint64_t *value)
{
	uint64_t at = address - op->copy.dst, n = to - address < 8 ? to - address : 8;
	uint8_t bytes[8] = {0};

	*value = 0;
	if (!op->copy.element || op->copy.lines > 1 || op->copy.left ||
	    op->flags & (NVS_OP_BLOCKLINEAR_DST | NVS_OP_INCOMPLETE) || n < 4)
		return false;
	for (uint64_t i = 0; i < (n < 8 ? 4 : 8); i++)
		bytes[i] = op->copy.value[(at + i) % op->copy.element];
	memcpy(value, bytes, sizeof(bytes));
	return true;
}

bool nvs_op_writes_semaphore(const struct nvs_op *op, uint64_t *value)
{
	uint64_t from, to;

	return (op->kind == NVS_OP_COPY ||
		(op->kind == NVS_OP_UPLOAD && op->copy.use == NVS_USE_SEMAPHORE)) &&
	       (op->copy.bytes == 4 || op->copy.bytes == 8) && get_span(op, &from, &to) &&
	       get_value(op, from, to, value);
}

static void overwrite_semaphore(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
				const struct nvs_op *op, struct semaphore *sem, uint64_t from,
				uint64_t to)
{
	uint64_t value;
	bool known;

	if (!sem || sem->address + 4 <= from || sem->address >= to)
		return;
	known = sem->address >= from && get_value(op, sem->address, to, &value);
	s->steps += 1 + (known ? s->npending / 4 : 0);
	store_value(s, who, sem, known ? value : 0, known);
}

/* Handles a transfer to known semaphores, or to a single new one. */
static int add_transfer(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
			const struct nvs_op *op)
{
	uint64_t from, to, value, at, dwords;

	s->most_steps += MORE_STEPS;
	if (nvs_op_writes_semaphore(op, &value))
		return add_release(s, who, op->copy.dst, value, true);
	if (!get_span(op, &from, &to) || from > s->high || to <= s->low)
		return 0;
	if (s->steps > s->most_steps) {
		nvs_budget_set_exceeded();
		return 0;
	}
	at = from & ~3ull;
	dwords = (to - at) / 4 + 1;
	if (dwords < s->nmade / QUICK) {
		s->steps += dwords;
		for (; dwords; dwords--, at += 4)
			overwrite_semaphore(s, who, op, get_semaphore(s, at, false), from, to);
		return 0;
	}
	s->steps += s->nmade / QUICK;
	for (uint32_t i = 0; i < s->nmade; i++)
		if (s->addresses[i] < to && s->addresses[i] + 4 > from)
			overwrite_semaphore(s, who, op, s->made[i], from, to);
	return 0;
}

static void add_acquire(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
			const struct nvs_op *op)
{
	struct semaphore *sem = get_semaphore(s, op->sem.address, false);
	struct nvs_sync_pair pair = {
		.acquire = *who, .address = op->sem.address, .payload = op->sem.payload};
	bool wide = op->flags & NVS_OP_WIDE;
	uint32_t n = sem ? (sem->count < RING ? sem->count : RING) : 0;

	/* The first of the kept releases since which the condition has held continuously. */
	const struct semaphore_release *best = NULL;

	for (uint32_t i = 1; i <= n; i++) {
		const struct semaphore_release *r = &sem->ring[(sem->count - i) % RING];

		if (!r->known ||
		    !nvs_semaphore_satisfied(op->sem.op, r->value, op->sem.payload, wide))
			break;
		best = r;
	}
	if (best) {
		report_pair(s, &pair, best);
		return;
	}
	if (s->npending == PENDING) {
		s->found(s->arg, &s->pending[0].pair);
		memmove(s->pending, s->pending + 1, (PENDING - 1) * sizeof(*s->pending));
		s->npending--;
	}
	s->pending[s->npending++] = (struct pending_pair){pair, op->sem.op, wide};
}

int nvs_semaphore_pairs_op(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
			   const struct nvs_op *op)
{
	switch (op->kind) {
	case NVS_OP_RELEASE:
		return add_release(s, who, op->sem.address, op->sem.value,
				   op->flags & NVS_OP_VALUE);
	case NVS_OP_ACQUIRE:
		add_acquire(s, who, op);
		return 0;
	case NVS_OP_COPY:
	case NVS_OP_MEMSET:
	case NVS_OP_UPLOAD:
		return add_transfer(s, who, op);
	}
	return 0;
}

void nvs_semaphore_pairs_end(struct nvs_semaphore_pairs *s)
{
	for (uint32_t i = 0; i < s->npending; i++)
		s->found(s->arg, &s->pending[i].pair);
	s->npending = 0;
}
