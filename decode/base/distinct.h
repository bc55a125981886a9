/* SPDX-License-Identifier: MIT */
/* Counts the different items among many with a set of their 64-bit hashes, 16 bytes an item. The
 * set is bounded because an untrusted trace may contain any number of items. */
#ifndef NVSNOOP_DECODE_BASE_DISTINCT_H
#define NVSNOOP_DECODE_BASE_DISTINCT_H

#include <stdint.h>

struct nvs_distinct {
	uint64_t *slots; /* open addressing; 0 marks a free slot */
	uint32_t count, room;
};

/* HASH comes from nvs_hash64(). Returns 1 if it was new, 0 if it was in the set, -E2BIG if it is
 * new and the set is full. */
int nvs_distinct_add(struct nvs_distinct *d, uint64_t hash);
void nvs_distinct_free(struct nvs_distinct *d);

#endif
