/* SPDX-License-Identifier: MIT */
/*
 * Counts how many different things there are among many: a set of their 64-bit hashes, so that a
 * thing costs 16 bytes whatever it is. Bounded, as a stranger's trace may bring any number of them.
 */
#ifndef NVSNOOP_DECODE_BASE_DISTINCT_H
#define NVSNOOP_DECODE_BASE_DISTINCT_H

#include <stdint.h>

struct nvs_distinct {
	uint64_t *slots; /* open addressing, 0: free */
	uint32_t count, room;
};

/* HASH by nvs_hash64(). 1: it was not there before, 0: it was; -E2BIG: it was not, and there is no
 * room for it. */
int nvs_distinct_add(struct nvs_distinct *d, uint64_t hash);
void nvs_distinct_free(struct nvs_distinct *d);

#endif
