/* SPDX-License-Identifier: MIT */
/* A trace that is reported, and what the command line selects of it. */
#ifndef NVSNOOP_DECODE_QUERY_SOURCE_H
#define NVSNOOP_DECODE_QUERY_SOURCE_H

#include "decode/calls/pass.h"
#include "decode/cli/pattern.h"
#include "decode/query/time_range.h"
#include "nvsnoop/decode.h"

/* What the command line selects. */
struct nvs_query {
	struct nvs_range range;
	struct nvs_patterns thread, channel, api, nvtx;
	uint64_t rows; /* submissions that are printed; 0: all */
	bool per_trace; /* rows sum up nothing of several traces */
};

struct nvs_cells;
struct nvs_nvtx;
struct nvs_timing;
struct nvs_waiting;

/* A trace that is reported. */
struct nvs_source {
	struct nvs_trace *trace;
	const char *path;
	uint32_t index;
	const struct nvs_query *query;
	int64_t from, to; /* of a range of time: ns since the start, TO excluded */
	/* The readings for all reports, the second NULL unless one needs it: cells and rows point
	 * to their calls. */
	struct nvs_reading *first, *second;
	struct nvs_cells *cells; /* for NVS_NEED_CELLS */
	struct nvs_waiting *waiting; /* durations, while it is read */
	struct nvs_nvtx *nvtx; /* for NVS_NEED_NVTX and --nvtx: of the latest reading */
	struct nvs_nvtx *counted; /* of the reading for all reports: a report may read once more */
	struct nvs_timing *timing; /* for NVS_NEED_TIMING: settled before the second reading */
	/* nvs_source_read() */
	int (*read)(struct nvs_source *s, const struct nvs_reader *reader,
		    struct nvs_reading **reading);
	uint32_t later; /* what reports that are still to be printed need */
	bool no_calls; /* and that has been said */
};

/* A reading of its own, for a report that prints while it reads. Progress is cleared. 0 or -errno,
 * said on stderr. *READING lives while it goes on. */
static inline int nvs_source_read(struct nvs_source *s, const struct nvs_reader *reader,
				  struct nvs_reading **reading)
{
	return s->read(s, reader, reading);
}

#endif
