/* SPDX-License-Identifier: MIT */
/*
 * Where a channel's stream stands in its methods: entries of others may be put only where a header
 * comes next.
 */
#ifndef NVSNOOP_TRAP_COPY_WALK_H
#define NVSNOOP_TRAP_COPY_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_batch;

struct nvs_walk {
	uint64_t base; /* SET_PB_SEGMENT_EXTENDED_BASE of the last control entry */
	uint32_t left; /* data words of a method that are still to come */
	bool lost; /* a segment could not be read */
	bool pieces; /* a host semaphore was not set and executed by one header */
};

/* The stream goes on with ENTRY of the batch's channel. */
void nvs_walk_entry(struct nvs_batch *b, struct nvs_walk *walk, uint64_t entry);

#endif
