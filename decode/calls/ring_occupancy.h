/* SPDX-License-Identifier: MIT */
/*
 * What each channel had been given and not done, at each of its submissions. Every submission tells
 * what stood in its channel's slot, the payload of the latest release that had been done: so it is
 * known which of those before it are under way still, how much of the ring they take, and which
 * bytes of the pushbuffer.
 *
 * Whether there was no room for one more is told by the state at the one before, which is when the
 * driver began to look for it. It wants more room than a submission takes: on an H200 it waits with
 * 2 of 1024 entries left, and with 96 KiB of the pushbuffer.
 */
#ifndef NVSNOOP_DECODE_CALLS_RING_OCCUPANCY_H
#define NVSNOOP_DECODE_CALLS_RING_OCCUPANCY_H

#include <stdbool.h>
#include "nvsnoop/decode.h"

/* At a submission; all but these two counts is of those before it as well. */
struct nvs_fill {
	bool known; /* what is done is */
	uint32_t ring; /* entries not done, with its own */
	uint64_t pushbuffer; /* bytes of commands not done, with its own */
	/* Bytes that the channel's commands go through again and again; 0: they have not yet */
	uint64_t chunk;
	/* There was no room when the submission before it had been made, of which these counts are.
	 */
	bool ring_full, pushbuffer_full;
	uint32_t ring_before;
	uint64_t pushbuffer_before;
};

struct nvs_pending;
struct nvs_pending *nvs_pending_new(void); /* NULL: no memory */
void nvs_pending_free(struct nvs_pending *p);
/* In order of the channel; then its releases. 0 or -ENOMEM. */
int nvs_pending_submission(struct nvs_pending *p, const struct nvs_submission *s,
			   struct nvs_fill *fill);
void nvs_pending_release(struct nvs_pending *p, const struct nvs_submission *s,
			 const struct nvs_op *op);

#endif
