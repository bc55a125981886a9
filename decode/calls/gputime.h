/* SPDX-License-Identifier: MIT */
/*
 * How long the GPU took, from what the trace holds of it: every submission tells what stood in a
 * slot of its channel when it was recorded, the payload of the latest release that had been done
 * and the GPU's time of it. Between two such releases of a channel lies a stretch: all that was
 * submitted to it in between was done in that time, or in less.
 *
 * How much less is what matters: for how long the channel stood idle is to be known, and little.
 * Before a submission it did so no longer than from the time at which the one before was last seen
 * not to be done, which later submissions show, until the doorbell, and what the GPU takes to
 * start. The first of a stretch may have been rung when all was done: then the stretch begins
 * between two times of the host, before the doorbell and behind it, and what both clocks say of
 * releases tells where these lie in the GPU's time. None of a stretch waits for another channel.
 *
 * A stretch is told only if all this, and the steps of the GPU's clock, leave it 5 % of play; those
 * that follow each other are taken together.
 *
 * A time is taken only if it surely belongs to its payload: the two are not read at once. It does
 * where nothing was under way that could have changed them, or where both were found unchanged at
 * the channel's next submission. And a payload tells only if each release of it counts up by one:
 * what stands in a slot of another kind may be anybody's.
 */
#ifndef NVSNOOP_DECODE_CALLS_GPUTIME_H
#define NVSNOOP_DECODE_CALLS_GPUTIME_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_GPUTIME_OTHER UINT32_MAX /* group of what is not measured */
#define NVS_GPUTIME_RELEASES 4

/* What a submission does, as far as it matters here. */
struct nvs_gputime_part {
	uint32_t channel, gpu, engine;
	uint64_t sequence;
	uint64_t host; /* time before its doorbell and behind the channel's last one, ns; 0: not
			  known */
	bool continues; /* the submission before it, of the same sequence number */
	/* What stood in a slot of the channel at HOST or soon after; address 0: not known. */
	struct {
		uint64_t address, ns;
		uint32_t payload;
	} seen;
	/* That write a timestamp and a plain payload, its first ones. */
	struct {
		uint64_t address;
		uint32_t payload;
	} releases[NVS_GPUTIME_RELEASES];
	uint32_t nreleases;
	uint64_t bytes; /* moved by it */
	uint64_t load; /* these, and other work in bytes; UINT64_MAX: nobody knows how much */
	bool waits; /* for a semaphore */
	/* Its last grid releases GRID when it has ended, for which the channel's slot does not
	 * wait; and what it acquires of that kind; 0: nothing. */
	uint64_t grid, awaits;
	bool idle; /* releases and nothing else: may stand in anybody's stretch */
	/* Whose it is: told later by nvs_gputime_settle, or at once if not OWNED: then GROUP. */
	bool owned;
	uint32_t thread;
	uint64_t number;
	uint32_t group;
};

/* Submissions which are all of one GROUP: BYTES in NS, give or take 2.5 %. */
typedef void nvs_gputime_found(void *arg, uint32_t group, uint64_t bytes, uint64_t ns);

/* A submission, alone between two releases of its channel of which the time is known: it took NS at
 * most, if none of its work was begun before what the channel had to do first was done. */
typedef void nvs_gputime_bounded(void *arg, uint32_t channel, uint64_t sequence, uint64_t ns);

struct nvs_gputime;
struct nvs_gputime *nvs_gputime_new(nvs_gputime_found *found, void *arg); /* NULL: no memory */
void nvs_gputime_watch(struct nvs_gputime *g, nvs_gputime_bounded *bounded); /* with ARG as well */
void nvs_gputime_free(struct nvs_gputime *g);
/*
 * In order of the channel. 1: it is certain that a release was done at seen.ns, 0: not; or -ENOMEM.
 */
int nvs_gputime_add(struct nvs_gputime *g, const struct nvs_gputime_part *part);
/* All parts of this owner belong to GROUP, and had been rung at the host's time HOST. */
void nvs_gputime_settle(struct nvs_gputime *g, uint32_t thread, uint64_t number, uint32_t group,
			uint64_t host);
/* At the host's time HOST the GPU's was NS or later. */
void nvs_gputime_clock(struct nvs_gputime *g, uint32_t gpu, uint64_t host, uint64_t ns);
/* No more comes. */
void nvs_gputime_end(struct nvs_gputime *g);

#endif
