/* SPDX-License-Identifier: MIT */
/* Calls that waited inside the driver, and what the trace shows of why. */
#ifndef NVSNOOP_DECODE_ANALYSIS_RING_STALLS_H
#define NVSNOOP_DECODE_ANALYSIS_RING_STALLS_H

#include "decode/base/numbers.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/query/durations.h"

#define NVS_STALL_RING (1u << 0)
#define NVS_STALL_PUSHBUFFER (1u << 1)
#define NVS_STALL_MODULE (1u << 2) /* code was loaded in it */
#define NVS_STALL_MEMORY (1u << 3) /* memory was allocated or mapped in it */
#define NVS_STALL_COPY (1u << 4) /* it is a copy that synchronises */
#define NVS_STALL_OTHERS (1u << 5) /* other threads were in calls for half of its time or more */

#define NVS_STALL_SIBLINGS 4 /* calls by thread and API that are told apart */

struct nvs_stall {
	const struct nvs_call_api *api;
	uint64_t begin, end; /* ticks */
	uint64_t ns, usual; /* of its API's calls the median; 0: of too few */
	uint32_t thread, stack, causes;
	uint32_t channel; /* whose ring or pushbuffer was full; NVS_NONE: none */
	struct nvs_sibling {
		uint64_t ticks;
		uint32_t api, thread, calls; /* calls 0: none */
	} siblings[NVS_STALL_SIBLINGS];
};

struct nvs_stalls {
	struct nvs_source *source;
	struct nvs_stall *wait; /* by their begin, once settled */
	size_t n, room;
	uint64_t dropped; /* for want of memory */
	struct nvs_rows apis; /* times of their calls */
	struct nvs_numbers names; /* entry points by number: each reading has its own */
	struct nvs_nested { /* calls that load modules or allocate memory, inside of others */
		uint64_t begin, end;
		uint32_t thread, causes;
	} * nested;
	size_t nnested, nested_room;
	uint64_t *memory; /* ticks of objects that were made or mapped */
	size_t nmemory, memory_room;
	uint64_t *latest; /* of the waits up to each one, the latest end */
	uint64_t steps; /* taken to find what overlaps */
};

/* While it is read: each call that is over, with what is known of WAIT, causes and channel. 0 or
 * -ENOMEM. */
int nvs_stalls_call(struct nvs_stalls *w, const struct nvs_call *call,
		    const struct nvs_stall *wait);
int nvs_stalls_record(struct nvs_stalls *w, const struct nvs_rec *rec);
/* All has been read, and the clock is known: leaves those that waited, with their causes. Reads the
 * trace once more, where other threads made calls. 0 or -errno. */
int nvs_stalls_settle(struct nvs_stalls *w);
void nvs_stalls_free(struct nvs_stalls *w);

/* In words; "": not known. */
void nvs_stall_cause(const struct nvs_stall *wait, char *dst, size_t room);
void nvs_stall_others(const struct nvs_stalls *w, const struct nvs_stall *wait, char *dst,
		      size_t room);

#endif
