/* SPDX-License-Identifier: MIT */
/*
 * How long the GPU took, from what the trace holds of it: every submission tells what stood in its
 * channel's progress slot when it was recorded, the payload of the latest release that had been
 * done and the GPU's time of it. Between two such releases of a channel lies a stretch: all that was
 * submitted to it in between was done in that time, or in less, where it waited for other channels.
 * Only stretches in which the channel had work at all times are told: each submission was made
 * while one before it was not done yet.
 *
 * A time is taken only if it surely belongs to its payload: the two are not read at once. It does
 * where nothing was under way that could have changed them, or where both were found unchanged at
 * the channel's next submission.
 */
#ifndef NVSNOOP_DECODE_GPUTIME_H
#define NVSNOOP_DECODE_GPUTIME_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_GPUTIME_OTHER UINT32_MAX /* group of what is not measured */

/* What a submission does, as far as it matters here. */
struct nvs_gputime_part {
	uint32_t channel;
	uint64_t sequence;
	bool continues; /* the submission before it, of the same sequence number */
	bool released; /* it ends with a release that writes a timestamp: */
	uint64_t address;
	uint32_t payload;
	uint64_t bytes; /* moved by it */
	/* Whose it is: told later by nvs_gputime_settle, or at once if not OWNED: then GROUP. */
	bool owned;
	uint32_t thread;
	uint64_t number;
	uint32_t group;
};

/* A stretch of submissions which are all of one GROUP: BYTES in NS or less. */
typedef void nvs_gputime_found(void *arg, uint32_t group, uint64_t bytes, uint64_t ns);

struct nvs_gputime;
struct nvs_gputime *nvs_gputime_new(nvs_gputime_found *found, void *arg); /* NULL: no memory */
void nvs_gputime_free(struct nvs_gputime *g);
/* Before the part of the same submission: PAYLOAD and NS stood at ADDRESS. 0 or -ENOMEM. */
int nvs_gputime_observe(struct nvs_gputime *g, uint32_t channel, uint64_t address, uint32_t payload,
			uint64_t ns);
int nvs_gputime_add(struct nvs_gputime *g, const struct nvs_gputime_part *part);
/* All parts of this owner belong to GROUP. */
void nvs_gputime_settle(struct nvs_gputime *g, uint32_t thread, uint64_t number, uint32_t group);

#endif
