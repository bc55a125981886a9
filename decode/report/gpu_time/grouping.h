/* SPDX-License-Identifier: MIT */
/* Rows of --gpu-time: GPU time of submissions, summed by API, kernel, graph, stream, channel or
 * NVTX range. */
#ifndef NVSNOOP_DECODE_REPORT_GPU_TIME_GROUPING_H
#define NVSNOOP_DECODE_REPORT_GPU_TIME_GROUPING_H

#include "decode/calls/handles.h"
#include "decode/calls/bracket_times.h"
#include "decode/analysis/current_context.h"
#include "decode/query/estimate.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/report/core/report.h"

enum nvs_gpu_by {
	NVS_GPU_BY_API,
	NVS_GPU_BY_KERNEL, /* a graph launch has its row there, too */
	NVS_GPU_BY_GRAPH,
	NVS_GPU_BY_STREAM,
	NVS_GPU_BY_CHANNEL,
	NVS_GPU_BY_RANGE, /* includes nested ranges */
};

/* Sums over submissions. Times are ns. */
struct nvs_gpu_sums {
	uint64_t submissions, timed;
	uint64_t works; /* timed ones with a bracket */
	uint64_t subtracted; /* works from which an empty bracket was subtracted */
	uint64_t too_short; /* works too short to measure */
	uint64_t overlapping; /* brackets that overlap those of other channels of the engine */
	uint64_t overlap_ns;
	bool unseen; /* for some bracket the overlap is unknown */
	uint64_t waited; /* waited for work whose end is unknown */
	uint64_t bracket_ns, empty_ns; /* of all brackets, and what was subtracted */
	uint64_t launches; /* by kernel: in all submissions; unsaid: unknown for some */
	uint64_t several; /* submissions with more than one launch */
	bool launches_unknown;
	/* timing=sample: ns of those drawn whose begin and end are known; and the same with 0 for
	 * those without an end, which have no part in the total either */
	struct nvs_estimate sample, all;
	uint64_t empty_error; /* the largest of the empty brackets that were subtracted */
};

struct nvs_gpu_each;

struct nvs_gpu_row {
	struct nvs_gpu_key {
		const struct nvs_gpu_each *each;
		const void *what; /* API name, kernel, or NVTX node */
		uint64_t number; /* graph index, channel or stream handle; NVS_UNKNOWN: none */
		uint64_t context; /* of the stream */
	} key;
	struct nvs_gpu_sums sums;
	struct nvs_durations times, queue, idle;
	uint64_t error_ns; /* the largest error of a queue time */
	struct nvs_empty_bracket empty; /* the one subtracted */
	uint64_t spread; /* the largest of these */
	uint32_t channel; /* of EMPTY */
	bool mixed; /* several channels */
	/* Set at the end of the trace: the name shown, or NULL. */
	char *name;
	char *range; /* the innermost name of the path */
	char *mangled;
	uint64_t exec;
};

/* State of one trace. */
struct nvs_gpu_each {
	struct nvs_source *source;
	struct nvs_gpu_state *state;
	struct nvs_handles *handles; /* only those that the grouping needs */
	struct nvs_contexts contexts;
	struct nvs_numbers threads; /* submissions waiting for the end of their call */
	struct nvs_tally tally; /* of the current submission */
	uint64_t untimed[NVS_UNTIMED_REASONS];
	bool submitted; /* anything, selected or not */
	bool measured; /* the trace was recorded with timing */
	bool unclocked; /* the relation of the GPU's clock to the session's is unknown */
	char *why; /* for the report */
};

/* The empty brackets subtracted: minimum and maximum of each value. */
struct nvs_gpu_empties {
	struct nvs_empty_bracket min, most;
	const struct nvs_gpu_each *each; /* of the latest one */
	uint32_t channel;
	bool several; /* several channels */
};

/* Below a table with totals of a sampled trace. */
#define NVS_GPU_SAMPLED                                                                          \
	"sampled: totals are estimates, +/- is half of the 95 % interval; all other times are\n" \
	"those of the submissions drawn\n"

/* State of the run. */
struct nvs_gpu_state {
	enum nvs_gpu_by by;
	struct nvs_rows rows;
	struct nvs_gpu_sums sums; /* counts a submission in several ranges once */
	struct nvs_gpu_empties empties;
	bool dispatch; /* some times are dispatch times only */
	bool single; /* by kernel: several kernels in a submission are counted with the graphs */
	bool sampled; /* some trace was recorded with timing=sample: totals are estimates */
};

/* EACH is the reader's arg. */
void nvs_gpu_rows_begin(struct nvs_gpu_each *each, struct nvs_pass_reader *reader);
/* Call at the end of a trace: sets the rows' names and frees the rest. Returns 0 or -ENOMEM. */
int nvs_gpu_rows_end(struct nvs_gpu_each *each);
void nvs_gpu_each_free(struct nvs_gpu_each *each); /* frees what a trace holds, at any time */
void nvs_gpu_rows_free(struct nvs_gpu_state *state);
int nvs_gpu_row_name(struct nvs_gpu_row *row, enum nvs_gpu_by by);
/* Sorts by trace and name, and merges rows of one API. Returns 0 or -ENOMEM. */
int nvs_gpu_rows_sort(struct nvs_gpu_state *state);

static inline uint64_t nvs_gpu_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline uint64_t nvs_gpu_greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns false if the total is unknown, else its ns and half the width of its 95 % interval: 0
 * where all are timed, and the total is that of the brackets without what is subtracted. */
bool nvs_gpu_total(const struct nvs_gpu_sums *s, bool sampled, double *ns, double *half);
/* 0 or -ENOMEM. */
int nvs_gpu_row_merge(struct nvs_gpu_row *into, const struct nvs_gpu_row *from);

#endif
