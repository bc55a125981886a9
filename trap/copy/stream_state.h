/* SPDX-License-Identifier: MIT */
/*
 * Tracks where a channel's stream is within its methods: our own entries may be inserted only where
 * a header comes next. Also tracks what a submission launches, as far as its own segments show it.
 */
#ifndef NVSNOOP_TRAP_COPY_STREAM_STATE_H
#define NVSNOOP_TRAP_COPY_STREAM_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_batch;

#define NVS_WALK_QMD_VERSION 0x40u /* the known version, 04_00: major, minor */
#define NVS_WALK_DESCRIPTORS 2u /* descriptors of a launch: one that orders it, and its own */

#define NVS_WALK_ACQUIRES 2u

/* What a submission launches. */
struct nvs_stream_launch {
	struct nvs_stream_descriptor {
		uint64_t address; /* GPU address of the upload */
		const uint32_t *words; /* in its segment, at the process's address */
	} uploads[NVS_WALK_DESCRIPTORS]; /* the latest ones */
	uint64_t to; /* destination of the upload in progress */
	uint64_t scheduled; /* the descriptor that the next trigger starts */
	bool descriptor; /* the upload is of a descriptor */
	bool reports; /* the compute engine releases a semaphore */
	/* Semaphores that the host acquires, as far as there is room. */
	uint64_t acquired[NVS_WALK_ACQUIRES];
	uint32_t nacquired;
	bool unknown; /* it triggers something that is not uploaded here, or more than one grid */
	const uint32_t *grid; /* the descriptor of its only grid; NULL: there is none */
};

/* The headers of a segment that begins and ends between two methods. Most segments of a channel are
 * like an earlier one but for their data, and comparing takes a fraction of walking. */
#define NVS_STREAM_HEADERS 64u
struct nvs_stream_shape {
	uint32_t dwords, n; /* 0: none */
	uint16_t at[NVS_STREAM_HEADERS];
	uint32_t word[NVS_STREAM_HEADERS];
};
#define NVS_STREAM_SHAPES 8u /* by dwords % NVS_STREAM_SHAPES */

struct nvs_stream_state {
	uint64_t base; /* SET_PB_SEGMENT_EXTENDED_BASE of the last control entry */
	uint32_t left; /* data words of a method that have not come yet */
	bool lost; /* a segment could not be read */
	bool pieces; /* a host semaphore was not set and executed by a single header */
	bool follows_launches; /* false: launch is not updated */
	struct nvs_stream_launch launch; /* of the submission in progress */
};

/* True if a submission waits for something other than its channel's earlier work. The driver orders
 * launches of one channel by semaphores that their descriptors release. */
bool nvs_stream_waits(const struct nvs_stream_launch *launch);
/* Advances the stream by ENTRY of the batch's channel. */
void nvs_stream_advance(struct nvs_batch *b, struct nvs_stream_state *walk, uint64_t entry);
/* The same for an entry whose segment is at COPY. Does not follow launches. */
void nvs_stream_advance_copy(struct nvs_stream_state *walk, struct nvs_stream_shape *shapes,
			     uint64_t entry, const uint32_t *copy);

#endif
