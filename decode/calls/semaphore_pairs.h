/* SPDX-License-Identifier: MIT */
/*
 * Pairs each acquire with the release, on any channel, after which its condition holds. A bounded
 * number of releases is kept for each address, so an acquire of a value written long ago is paired
 * with the oldest kept release that satisfies it. A copy or memset to the address counts as a
 * release: drivers reset semaphores that way before reusing them.
 */
#ifndef NVSNOOP_DECODE_CALLS_SEMAPHORE_PAIRS_H
#define NVSNOOP_DECODE_CALLS_SEMAPHORE_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/gpu/ops.h"

/* A submission, by the caller's numbers and names. */
struct nvs_sync_side {
	uint64_t submission;
	uint32_t channel;
	bool late; /* of an acquire: its submission had begun work before it */
	const char *api;
};

struct nvs_sync_pair {
	struct nvs_sync_side acquire, release;
	uint64_t address, payload; /* of the acquire */
	uint64_t value; /* that the release wrote */
	bool found; /* false: no release in the trace satisfies it (so far) */
	bool later; /* the release was submitted after the acquire */
	uint32_t depth; /* waits in the chain that ends here: 1 + those before the release */
};

struct nvs_semaphore_pairs;

/* FOUND is called for each acquire, when its release is known or at the end. */
struct nvs_semaphore_pairs *
nvs_semaphore_pairs_new(void (*found)(void *arg, const struct nvs_sync_pair *pair), void *arg);
void nvs_semaphore_pairs_free(struct nvs_semaphore_pairs *s);
/* Call with all operations of a trace in order; only releases, acquires, copies, memsets and
 * uploads are used. Returns 0 or -ENOMEM. */
int nvs_semaphore_pairs_op(struct nvs_semaphore_pairs *s, const struct nvs_sync_side *who,
			   const struct nvs_op *op);
/* Ends the trace: reports the acquires that no release satisfied. */
void nvs_semaphore_pairs_end(struct nvs_semaphore_pairs *s);

/* Returns true if OP is a transfer that writes a single semaphore value, of 4 or 8 bytes. */
bool nvs_op_writes_semaphore(const struct nvs_op *op, uint64_t *value);

/* Returns true if VALUE satisfies the condition. */
bool nvs_semaphore_satisfied(uint32_t condition, uint64_t value, uint64_t payload, bool wide);

#endif
