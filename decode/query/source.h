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
	bool per_trace; /* rows of several traces are not added up */
};

struct nvs_submission_groups;
struct nvs_nvtx;
struct nvs_bracket_times;
struct nvs_pending_durations;

/* A trace of the command line. */
struct nvs_source {
	struct nvs_trace *trace;
	const char *path;
	uint32_t index;
	const struct nvs_query *query;
	int64_t from, to; /* range of time: ns since the start, TO exclusive */
	/* The passes for all reports; SECOND is NULL if no report needs it. Cells and rows point to
	 * their calls. */
	struct nvs_pass *first, *second;
	struct nvs_pass *separate; /* the latest of nvs_source_read() */
	struct nvs_submission_groups *cells; /* for NVS_NEED_CELLS */
	struct nvs_pending_durations
		*waiting; /* durations pending a clock point, while it is read */
	struct nvs_nvtx *nvtx; /* for NVS_NEED_NVTX and --nvtx: of the latest pass */
	struct nvs_nvtx *counted; /* of the pass for all reports; a report may read once more */
	struct nvs_bracket_times *timing; /* for NVS_NEED_TIMING: complete before the second pass */
	/* nvs_source_read() */
	int (*read)(struct nvs_source *s, const struct nvs_pass_reader *reader);
	uint32_t later; /* needs of the reports not printed yet */
	bool no_calls; /* the message about missing calls was printed */
};

/* A separate pass, for a report that prints while it reads. Clears the progress line. The handles
 * that READER asked for are valid until nvs_source_read_end(). Returns 0, or -errno after a message
 * on stderr. */
static inline int nvs_source_read(struct nvs_source *s, const struct nvs_pass_reader *reader)
{
	return s->read(s, reader);
}

/* Adds a reader to the pass that nvs_report.begin() prepares: it is called before the report's own.
 * By this, analyses read for themselves. */
static inline int nvs_source_add_reader(struct nvs_source *s, const struct nvs_pass_reader *reader)
{
	return nvs_pass_add(s->second ? s->second : s->first, reader);
}

static inline void nvs_source_read_end(struct nvs_source *s)
{
	nvs_pass_free(s->separate);
	s->separate = NULL;
}

#endif
