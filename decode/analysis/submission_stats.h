/* SPDX-License-Identifier: MIT */
/* Sums of submissions by stack, thread, channel and API of the call. Most tables are made from
 * these cells. */
#ifndef NVSNOOP_DECODE_ANALYSIS_SUBMISSION_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_SUBMISSION_STATS_H

#include "decode/calls/tally.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

/* Sums for one stack of one thread on one channel of one trace, in calls of one API. */
struct nvs_submission_group {
	uint64_t tag; /* hash of stack, thread, channel and API */
	uint32_t stack, thread, channel, trace;
	bool used;
	uint64_t submissions, entries, bytes;
	struct nvs_tally tally;
	const struct nvs_call_api *api; /* NULL: unknown */
};

struct nvs_submission_groups {
	struct nvs_source *source;
	struct nvs_submission_group *cells; /* open addressing */
	uint32_t n, mask;
	bool full; /* too many call sites */
	uint64_t tag; /* of the current submission */
	struct nvs_submission_group *last; /* the cell found last */
	struct nvs_submission_group *now; /* cell of the current submission; NULL: not selected */
};

/* Creates the cells of S and sets READER's callbacks. Returns NULL if out of memory. */
struct nvs_submission_groups *nvs_submission_groups_new(struct nvs_source *s,
							struct nvs_pass_reader *reader);
void nvs_submission_groups_free(struct nvs_submission_groups *c);
/* Returns the next selected cell from index *AT on, or NULL, and advances *AT. */
const struct nvs_submission_group *nvs_submission_groups_next(const struct nvs_source *s,
							      uint32_t *at);

#endif
