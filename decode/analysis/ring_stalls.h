/* SPDX-License-Identifier: MIT */
/* Calls that waited inside the driver, and the causes that the trace shows. Used by --ring
 * and the summary. */
#ifndef NVSNOOP_DECODE_ANALYSIS_RING_STALLS_H
#define NVSNOOP_DECODE_ANALYSIS_RING_STALLS_H

#include "decode/base/numbers.h"
#include "decode/calls/ring_occupancy.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

#define NVS_STALL_RING (1u << 0)
#define NVS_STALL_PUSHBUFFER (1u << 1)
#define NVS_STALL_MODULE (1u << 2) /* code was loaded during the call */
#define NVS_STALL_MEMORY (1u << 3) /* memory was allocated or mapped during the call */
#define NVS_STALL_COPY (1u << 4) /* a synchronous copy */
#define NVS_STALL_OTHERS (1u << 5) /* other threads were in calls for at least half of its time */

#define NVS_STALL_SIBLINGS 4 /* pairs of thread and API that are followed */

struct nvs_stall {
	const struct nvs_call_api *api;
	uint64_t begin, end; /* ticks */
	uint64_t ns, usual; /* usual: median of its API's calls; 0: too few calls */
	uint32_t thread, stack, causes;
	uint32_t channel; /* channel whose ring or pushbuffer was full; NVS_NONE: none */
	struct nvs_sibling {
		uint64_t ticks;
		uint32_t api, thread, calls; /* calls 0: unused */
	} siblings[NVS_STALL_SIBLINGS];
};

struct nvs_stalls {
	struct nvs_source *source;
	struct nvs_stall *wait; /* sorted by begin after nvs_stalls_finish() */
	size_t n, room;
	uint64_t dropped; /* for lack of memory */
	struct nvs_numbers apis; /* entry points, with the times of their calls */
	uint64_t least; /* ticks: shorter calls are ignored */
	struct nvs_nested { /* nested calls that load modules or allocate memory, and submissions
			     * that found no room in CHANNEL */
		uint64_t begin, end;
		uint32_t thread, causes, channel; /* channel: NVS_NONE for calls */
	} * nested;
	size_t nnested, nested_room;
	uint64_t *memory; /* ticks at which objects were allocated or mapped */
	size_t nmemory, memory_room;
	uint64_t *latest; /* prefix maximum of the waits' ends */
	uint64_t steps; /* pairs compared to find overlaps */
};

/* Adds a reader of calls and records: see nvs_source_add_reader(). Returns 0 or -ENOMEM. */
int nvs_stalls_begin(struct nvs_stalls *w, struct nvs_source *s);
/* While reading: each submission, with its channel's state. */
void nvs_stalls_submission(struct nvs_stalls *w, const struct nvs_submission *s,
			   const struct nvs_occupancy *fill);
/* After reading: keeps only the calls that waited, with the causes that are known so far. */
void nvs_stalls_finish(struct nvs_stalls *w);
/* After submissions were passed on in a later pass: adds the causes that they show. */
void nvs_stalls_settle(struct nvs_stalls *w);
/* Finds calls of other threads: reads the trace once more if other threads made calls. Returns 0
 * or -errno. */
int nvs_stalls_find_others(struct nvs_stalls *w);
void nvs_stalls_free(struct nvs_stalls *w);

/* Returns true if a launch loaded the kernel's code. A launch needs one submission: copies in
 * further ones loaded the code. */
bool nvs_stalls_loaded_code(const struct nvs_call *call);

/* As text; "": unknown. */
void nvs_stall_cause(const struct nvs_stall *wait, char *dst, size_t room);
void nvs_stall_others(const struct nvs_stalls *w, const struct nvs_stall *wait, char *dst,
		      size_t room);

#endif
