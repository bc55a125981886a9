/* SPDX-License-Identifier: MIT */
/* Rows of --gpu-time: the GPU's time of submissions, summed up by what they are part of. */
#ifndef NVSNOOP_DECODE_REPORT_GPU_TIME_GROUPING_H
#define NVSNOOP_DECODE_REPORT_GPU_TIME_GROUPING_H

#include "decode/calls/handles.h"
#include "decode/calls/bracket_times.h"
#include "decode/analysis/current_context.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/report/core/report.h"

enum nvs_gpu_by {
	NVS_GPU_BY_API,
	NVS_GPU_BY_KERNEL, /* and graph: a launch of one has its row there as well */
	NVS_GPU_BY_GRAPH,
	NVS_GPU_BY_STREAM,
	NVS_GPU_BY_CHANNEL,
	NVS_GPU_BY_RANGE, /* those inside it among it */
	NVS_GPU_BYS,
};

/* Of submissions; ns. */
struct nvs_gpu_sums {
	uint64_t submissions, timed;
	uint64_t works; /* of those timed, with a bracket */
	uint64_t subtracted; /* of these, less an empty one */
	uint64_t brief; /* of these, too short to tell */
	uint64_t overlapping; /* of the brackets, with those of other channels of the engine */
	uint64_t overlap_ns;
	bool unseen; /* of some bracket nobody knows whether it overlaps */
	uint64_t waited; /* for work whose end is not known */
	uint64_t bracket_ns, empty_ns; /* of all brackets; what is subtracted from them */
	uint64_t launches; /* by kernel: in all of them; UNSAID: of some nobody knows */
	uint64_t several; /* submissions that launch more than one kernel */
	bool unsaid;
};

struct nvs_gpu_each;

struct nvs_gpu_row {
	struct nvs_gpu_key {
		const struct nvs_gpu_each *each;
		const void *what; /* name of the API, kernel, node of the tree of ranges */
		uint64_t number; /* of graph or channel, handle of the stream; NVS_UNKNOWN: none */
		uint64_t context; /* of the stream */
	} key;
	struct nvs_gpu_sums sums;
	struct nvs_times times, queue, idle;
	uint64_t give; /* the worst by which a queue time may be wrong */
	struct nvs_empty empty; /* that was subtracted */
	uint64_t spread; /* the worst of these */
	uint32_t channel; /* of that */
	bool mixed; /* there are several */
	/* Once the trace has been read: as a person calls it, NULL: none; and of a graph */
	char *name;
	char *range; /* the innermost of its path */
	char *mangled;
	uint64_t exec;
};

/* Of a trace. */
struct nvs_gpu_each {
	struct nvs_source *source;
	struct nvs_gpu_state *state;
	struct nvs_handles *handles; /* those that what it is by needs */
	struct nvs_contexts contexts;
	struct nvs_numbers threads; /* submissions that wait until their call is over */
	struct nvs_tally tally; /* of the submission in progress */
	uint64_t untimed[NVS_UNTIMED_REASONS];
	bool submitted; /* anything, be it selected or not */
	bool measured; /* some record of it says so */
	bool unclocked; /* how its GPU's clock goes beside the session's is not known */
	char *why; /* for the report */
};

/* Those that were subtracted: each number by itself. */
struct nvs_gpu_empties {
	struct nvs_empty least, most;
	const struct nvs_gpu_each *each; /* the latest one's */
	uint32_t channel;
	bool several; /* channels */
};

/* Of all. */
struct nvs_gpu_state {
	enum nvs_gpu_by by;
	struct nvs_rows rows;
	struct nvs_gpu_sums sums; /* a submission in several ranges is one here */
	struct nvs_gpu_empties empties;
	bool dispatch; /* some time is a moment alone */
};

int nvs_gpu_rows_begin(struct nvs_gpu_each *each, struct nvs_reader *reader);
/* It has been read: names are known, the rest is forgotten. 0 or -ENOMEM. */
int nvs_gpu_rows_end(struct nvs_gpu_each *each);
void nvs_gpu_each_free(struct nvs_gpu_each *each); /* what it has taken, also in the middle */
void nvs_gpu_rows_free(struct nvs_gpu_state *state);
int nvs_gpu_row_name(struct nvs_gpu_row *row, enum nvs_gpu_by by);
/* By trace, and by name; of one API several become one. 0 or -ENOMEM. */
int nvs_gpu_rows_sort(struct nvs_gpu_state *state);

static inline uint64_t nvs_gpu_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline uint64_t nvs_gpu_greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Total of the brackets, less what is subtracted. */
static inline uint64_t nvs_gpu_total(const struct nvs_gpu_sums *s)
{
	return s->bracket_ns > s->empty_ns ? s->bracket_ns - s->empty_ns : 0;
}

#endif
