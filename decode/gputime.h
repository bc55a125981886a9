/* SPDX-License-Identifier: MIT */
/*
 * How long the GPU took, from what the trace holds of it: every submission tells what stood in its
 * channel's progress slot when it was recorded, the payload of the latest release that had been
 * done and the GPU's time of it. Between two such releases of a channel lies a stretch: all that was
 * submitted to it in between was done in that time, or in less.
 *
 * Each submission of a stretch but the first was made while one before it was not done yet, so that
 * the channel had work all along, and none of them waits for another channel. Where the channel had
 * nothing to do before the first, the stretch begins no earlier than that was submitted: the host's
 * clock says when, and what both clocks say of releases bounds the GPU's time then. That is taken
 * only where it is known to a tenth of the stretch.
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
	bool waits; /* for a semaphore */
	bool idle; /* releases and nothing else: may stand in anybody's stretch */
	uint32_t gpu;
	uint64_t host; /* time before which it was not there, ns; 0: not known */
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
/* Before the part of the same submission: PAYLOAD and NS stood at ADDRESS. 1: it is certain
 * that a release was done at NS, 0: not; or -ENOMEM. */
int nvs_gputime_observe(struct nvs_gputime *g, uint32_t channel, uint64_t address, uint32_t payload,
			uint64_t ns);
/* 0 or -ENOMEM. */
int nvs_gputime_add(struct nvs_gputime *g, const struct nvs_gputime_part *part);
/* All parts of this owner belong to GROUP. */
void nvs_gputime_settle(struct nvs_gputime *g, uint32_t thread, uint64_t number, uint32_t group);

/* At the host's time HOST the GPU's was NS or later. */
void nvs_gputime_clock(struct nvs_gputime *g, uint32_t gpu, uint64_t host, uint64_t ns);

#endif
