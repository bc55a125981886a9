/* SPDX-License-Identifier: MIT */
/*
 * Tracks which earlier work of a channel is pending at each submission, from the value in the
 * channel's progress slot, the payload of the latest completed release: which submissions, how many
 * ring entries, and which bytes of the pushbuffer. Whether there was no room follows from the state
 * at the preceding submission, when the driver began to look for room. It wants more room than a
 * submission takes: on an H200 it waits with 2 of 1024 entries left, and with 96 KiB of pushbuffer
 * left.
 */
#ifndef NVSNOOP_DECODE_CALLS_RING_OCCUPANCY_H
#define NVSNOOP_DECODE_CALLS_RING_OCCUPANCY_H

#include <stdbool.h>
#include "nvsnoop/decode.h"

/* The state at a submission. */
struct nvs_occupancy {
	bool known; /* the completed work is known */
	uint32_t ring; /* pending entries, this submission's included */
	uint64_t pushbuffer; /* pending bytes of commands, this submission's included */
	/* Size of the pushbuffer area that the channel reuses; 0: not reused yet */
	uint64_t chunk;
	/* There was no room after the submission before; these counts are from that time. */
	bool ring_full, pushbuffer_full;
	uint32_t ring_before;
	uint64_t pushbuffer_before;
};

struct nvs_ring_occupancy;
struct nvs_ring_occupancy *nvs_ring_occupancy_new(void); /* NULL if memory is short */
void nvs_ring_occupancy_free(struct nvs_ring_occupancy *p);
/* Call for each submission of a channel in order, then for its releases. Returns 0 or -ENOMEM. */
int nvs_ring_occupancy_submission(struct nvs_ring_occupancy *p, const struct nvs_submission *s,
				  struct nvs_occupancy *fill);
void nvs_ring_occupancy_release(struct nvs_ring_occupancy *p, const struct nvs_submission *s,
				const struct nvs_op *op);

#endif
