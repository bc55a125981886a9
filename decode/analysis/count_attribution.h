/* SPDX-License-Identifier: MIT */
/*
 * Which launches the counts of a trace are of. A reading of the counters has what all kernels did
 * since the one before it; so counts go to as few calls as can be: to those that launched the
 * kernel and may have been at work between two moments at which all of it was done and read.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_COUNT_ATTRIBUTION_H
#define NVSNOOP_DECODE_ANALYSIS_COUNT_ATTRIBUTION_H

#include "decode/calls/handles.h"
#include "decode/analysis/instruction_counts.h"

/* What one kernel counted, and the calls that launched it then. */
struct nvs_count_share {
	const struct nvs_counted *counted;
	uint64_t warp, thread;
	/* By these calls: launches of it, those of graphs among them, and their blocks */
	uint64_t launches, in_graphs, blocks;
	bool shapeless; /* BLOCKS is too small */
	bool whole; /* all that they executed is in it */
	uint32_t kernel; /* the first one's function, by number, in the order of first sight */
	uint64_t reading; /* the latest that it is from; UINT64_MAX: none */
	uint32_t ncalls; /* 0: none that is known */
	const uint64_t *calls; /* the tags of these */
};

struct nvs_count_shares;
/* NULL: no memory. HANDLES and COUNTS stay the caller's, who keeps them up to date before he tells
 * the same here. */
struct nvs_count_shares *nvs_count_shares_new(struct nvs_handles *handles,
					      const struct nvs_counted_kernels *counts);
void nvs_count_shares_free(struct nvs_count_shares *s);
/* 0 or -ENOMEM. TAG: of the caller's, for this call. */
int nvs_count_shares_call(struct nvs_count_shares *s, const struct nvs_call *call, uint64_t tag);
int nvs_count_shares_record(struct nvs_count_shares *s, const struct nvs_rec *rec);
/* All has been read: tells each share. 0, -ENOMEM, or what TELL returns. */
int nvs_count_shares_end(struct nvs_count_shares *s,
			 int (*tell)(void *arg, const struct nvs_count_share *share), void *arg);

#endif
