/* SPDX-License-Identifier: MIT */
/*
 * Pairs what waits with what it waits for: for each acquire the release, on whatever channel, after
 * which its condition holds. Releases of one address are remembered up to a bound, so an acquire of
 * a value written long ago is paired with the oldest remembered release that satisfies it. What a
 * copy or a memset writes there is a release like any other: drivers set semaphores so before they
 * use them again.
 */
#ifndef NVSNOOP_DECODE_CALLS_SEMAPHORE_PAIRS_H
#define NVSNOOP_DECODE_CALLS_SEMAPHORE_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/gpu/ops.h"

/* Who: as the caller numbers submissions, and what it calls them. */
struct nvs_sync_side {
	uint64_t submission;
	uint32_t channel;
	const char *api;
};

struct nvs_sync_pair {
	struct nvs_sync_side acquire, release;
	uint64_t address, payload; /* of the acquire */
	uint64_t value; /* that the release left there */
	bool found; /* false: no release in the trace satisfies it (so far) */
	bool later; /* the release was submitted after the acquire */
	uint32_t
		depth; /* waits in the chain that ends here: 1 + that of the release's submission */
};

struct nvs_sync;

/* FOUND is called for each acquire: when its release is known, or at the end. */
struct nvs_sync *nvs_sync_new(void (*found)(void *arg, const struct nvs_sync_pair *pair),
			      void *arg);
void nvs_sync_free(struct nvs_sync *s);
/* Releases, acquires, copies, memsets and uploads of a trace, in order; all else is nothing to it.
 * 0 or -ENOMEM. */
int nvs_sync_op(struct nvs_sync *s, const struct nvs_sync_side *who, const struct nvs_op *op);
/* The trace has ended: acquires that nothing satisfied. */
void nvs_sync_end(struct nvs_sync *s);

/* Is OP a transfer that writes one semaphore's value, of 4 or 8 bytes, and which? */
bool nvs_sync_writes_one(const struct nvs_op *op, uint64_t *value);

/* Does VALUE satisfy the condition? */
bool nvs_sync_satisfied(uint32_t condition, uint64_t value, uint64_t payload, bool wide);

#endif
