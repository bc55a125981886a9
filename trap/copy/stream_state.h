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
	bool unknown; /* it triggers something that is not uploaded here, or more than one grid */
	const uint32_t *grid; /* the descriptor of its only grid; NULL: there is none */
};

struct nvs_stream_state {
	uint64_t base; /* SET_PB_SEGMENT_EXTENDED_BASE of the last control entry */
	uint32_t left; /* data words of a method that have not come yet */
	bool lost; /* a segment could not be read */
	bool pieces; /* a host semaphore was not set and executed by a single header */
	bool follows_launches; /* false: launch is not updated */
	struct nvs_stream_launch launch; /* of the submission in progress */
};

/* Advances the stream by ENTRY of the batch's channel. */
void nvs_stream_advance(struct nvs_batch *b, struct nvs_stream_state *walk, uint64_t entry);

#endif
