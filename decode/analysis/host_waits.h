/* SPDX-License-Identifier: MIT */
/* Calls in which the host waits for the GPU, and the work that ended each wait: the latest to end
 * of all work submitted to its stream or context. In a stream that is the last submission; over
 * several streams GPU times are needed, unless the host had waited for all but one before. Used by
 * --critical. */
#ifndef NVSNOOP_DECODE_ANALYSIS_HOST_WAITS_H
#define NVSNOOP_DECODE_ANALYSIS_HOST_WAITS_H

#include "decode/analysis/gpu_work.h"

struct nvs_wait {
	const char *api;
	uint32_t stack;
	int64_t begin, end; /* ns since the start of the session */
	int64_t until; /* work submitted by this time is waited for; same clock */
	uint64_t context;
	uint32_t stream; /* NVS_NONE: the whole context */
	bool perhaps; /* it counts as a wait only if GPU times show it */
	bool own; /* it waits for its own work, unless GPU times show otherwise */
	bool nothing; /* what it waits for is unknown */
	bool certain; /* at its end, everything it waits for is done */
	uint32_t last; /* if it waits for a context: work that ended last; NVS_NONE: unknown */
};

struct nvs_wait_end {
	const struct nvs_work *work; /* that ended the wait; NULL: unknown */
	bool done; /* all work was done before the call: no wait */
	uint64_t busy; /* ns of the wait during which that GPU was busy; NVS_UNKNOWN */
	uint64_t late; /* ns from the end of the work to the return; NVS_UNKNOWN */
};

struct nvs_waits;
struct nvs_waits *nvs_waits_new(struct nvs_source *s, const struct nvs_work_list *works);
void nvs_waits_free(struct nvs_waits *w); /* NULL is allowed */
/* Callback of a reader after nvs_work_list_read(); WAITS are its arg. */
int nvs_waits_call(void *waits, const struct nvs_call *call);
struct nvs_waits_found {
	const struct nvs_wait *list;
	size_t n;
	uint64_t dropped; /* for lack of memory */
	uint64_t untimed; /* submissions with work but without a GPU time */
	uint64_t error_ns; /* maximum error between GPU clock and host clock */
	bool placed; /* this error is known */
};
/* After reading, and after nvs_work_list_finish(). */
int nvs_waits_end(struct nvs_waits *w, struct nvs_waits_found *found);
/* Returns false if the call did not wait. */
bool nvs_wait_end_find(const struct nvs_waits *w, const struct nvs_wait *wait,
		       struct nvs_wait_end *end);

#endif
