/* SPDX-License-Identifier: MIT */
/*
 * Where a channel's stream stands in its methods: entries of others may be put only where a header
 * comes next. And what a submission launches, as far as its own segments show it.
 */
#ifndef NVSNOOP_TRAP_COPY_STREAM_STATE_H
#define NVSNOOP_TRAP_COPY_STREAM_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_batch;

#define NVS_WALK_QMD_VERSION 0x40u /* that is understood, 04_00: major, minor */
#define NVS_WALK_DESCRIPTORS 2u /* of a launch: one that orders it, and its own */

/* A submission. */
struct nvs_walk_launch {
	struct nvs_walk_descriptor {
		uint64_t address; /* that it is uploaded to */
		const uint32_t *words; /* in its segment, as the process sees it */
	} uploads[NVS_WALK_DESCRIPTORS]; /* the latest ones */
	uint64_t to; /* of the upload in progress */
	uint64_t scheduled; /* the descriptor that comes next */
	bool descriptor; /* it is of one */
	bool reports; /* the compute engine releases a semaphore */
	bool unknown; /* it sets off what is not uploaded here, or more than one grid */
	const uint32_t *grid; /* the descriptor of its only grid; NULL: there is none */
};

struct nvs_walk {
	uint64_t base; /* SET_PB_SEGMENT_EXTENDED_BASE of the last control entry */
	uint32_t left; /* data words of a method that are still to come */
	bool lost; /* a segment could not be read */
	bool pieces; /* a host semaphore was not set and executed by one header */
	bool follows_launches; /* else launch stays as it is */
	struct nvs_walk_launch launch; /* of the submission in progress */
};

/* The stream goes on with ENTRY of the batch's channel. */
void nvs_walk_entry(struct nvs_batch *b, struct nvs_walk *walk, uint64_t entry);

#endif
