/* SPDX-License-Identifier: MIT */
/* Submissions summed up per stack, thread, channel and API of their call: most tables are made from
 * that. */
#ifndef NVSNOOP_DECODE_ANALYSIS_SUBMISSION_STATS_H
#define NVSNOOP_DECODE_ANALYSIS_SUBMISSION_STATS_H

#include "decode/calls/tally.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

/* One stack of one thread on one channel of one trace, in calls of one API. */
struct nvs_cell {
	uint64_t tag; /* a hash of these */
	uint32_t stack, thread, channel, trace;
	bool used;
	uint64_t submissions, entries, bytes;
	struct nvs_tally tally;
	const struct nvs_call_api *api; /* NULL: not told */
};

struct nvs_cells {
	struct nvs_source *source;
	struct nvs_cell *cells; /* open addressing */
	uint32_t n, mask;
	bool full; /* too many call sites */
	uint64_t tag; /* of the submission in progress */
	struct nvs_cell *last; /* the one counted into last */
	struct nvs_cell *now; /* of the submission in progress, NULL: not counted */
};

/* What READER is to call for the cells of S. NULL: no memory. */
struct nvs_cells *nvs_cells_new(struct nvs_source *s, struct nvs_reader *reader);
void nvs_cells_free(struct nvs_cells *c);
/* The first cell from *AT on that the command line selects, or NULL; *AT: where to go on. */
const struct nvs_cell *nvs_cells_next(const struct nvs_source *s, uint32_t *at);

#endif
