/* SPDX-License-Identifier: MIT */
/* What the summary's findings are about, besides counts of calls: calls that waited in the driver,
 * time outside of calls, copies, memory, the GPU's time, and what a hang waits for. The summary's
 * own pass collects all of it but hangs and two causes of waits, which few traces have. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_CAUSES_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_CAUSES_H

#include "decode/analysis/allocations.h"
#include "decode/analysis/copy_operands.h"
#include "decode/analysis/covered_time.h"
#include "decode/analysis/gpu_work.h"
#include "decode/analysis/races.h"
#include "decode/analysis/ring_stalls.h"
#include "decode/report/core/report.h"

#define NVS_CAUSE_PART \
	50u /* of the run: less than 2 % are not looked into, or reported, as waits */

/* Copies of one kind; TIME counts their calls. */
struct nvs_copied {
	struct nvs_duration_sum time;
	uint64_t bytes;
};

/* Time of the GPU that was busy longest, ns. */
struct nvs_gpu_use {
	uint64_t busy, span; /* span: from its first work to its last; 0: unknown */
	uint32_t gpu, gpus; /* its number; GPUs with work */
	const struct nvs_work *longest; /* launch; NULL: none was timed */
	int64_t from, to; /* its longest idle time, since the start of the session */
	uint64_t outside; /* of that time, no thread was in a call */
	char api[64]; /* entry point that most of that time was spent in; "": none */
	uint64_t api_ns;
};

struct nvs_causes {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_ring_occupancy *pending; /* while the trace is read again */
	struct nvs_stalls stalls;
	struct nvs_covered calls; /* outermost calls of all threads, ticks */
	struct nvs_copy_memory memory;
	struct nvs_copied pageable; /* between host and GPU, large */
	struct nvs_copied small; /* to the GPU */
	struct nvs_allocs allocs;
	struct nvs_work_list *works; /* NULL: the trace has no GPU times */
	struct nvs_timed_call {
		uint64_t begin, end; /* ticks */
		const struct nvs_call_api *api;
	} * timed; /* outermost calls, if the trace has GPU times */
	size_t ntimed, timed_room;
	struct nvs_gpu_use gpu;
	struct nvs_races races;
	char *hang; /* sentences; NULL: nothing hangs */
	bool explained; /* the page of --html prints a summary twice */
	bool faulted; /* a call returned an error that ends its context */
	char *fault, *fault_what; /* sentences, and a few words; NULL: no fault */
};

/* The call in flight that began first, if it is worth a finding; *NS: its time, -1: unknown; *N:
 * number of calls in flight. */
const struct nvs_inflight *nvs_open_call(const struct nvs_trace *trace, uint32_t *n, int64_t *ns);

/* Adds its readers: see nvs_source_add_reader(). Returns 0 or -errno. */
int nvs_causes_begin(struct nvs_causes *c, struct nvs_source *s);
int nvs_causes_end(struct nvs_causes *c); /* after the pass */
/* Once clock and names are known: reads the trace again if a call has not returned, after a fault,
 * or if calls waited for long and a full ring or other threads may be the reason. NEEDS: of the
 * report, whose counts and problems are collected again. */
int nvs_causes_explain(struct nvs_causes *c, uint32_t needs);
void nvs_causes_free(struct nvs_causes *c);

#endif
