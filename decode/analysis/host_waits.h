/* SPDX-License-Identifier: MIT */
/*
 * Calls in which the host waits for the GPU, and what let each of them go on: of what had been
 * submitted to its stream or context, the latest to end. Of a stream that is the last, by its
 * order; of several streams only times tell, unless the host had waited for all but one before.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_HOST_WAITS_H
#define NVSNOOP_DECODE_ANALYSIS_HOST_WAITS_H

#include "decode/analysis/gpu_work.h"

struct nvs_wait {
	const char *api;
	uint32_t stack;
	int64_t begin, end; /* ns since the session's start */
	int64_t until; /* what was rung by then is waited for, likewise */
	uint64_t context;
	uint32_t stream; /* NVS_NONE: all of the context */
	bool perhaps; /* it waits only where times show it */
	bool own; /* for its own work, unless times show that it did not */
	bool nothing; /* what it waits for is not known */
	bool certain; /* when it is over, all that it waits for is done */
	uint32_t last; /* of all of a context, what ended last; NVS_NONE: not known */
};

struct nvs_wait_end {
	const struct nvs_work *work; /* that let it go on; NULL: not known */
	bool done; /* all was done before it began: it waited for nothing */
	uint64_t busy; /* ns of the wait in which that GPU did anything; NVS_UNKNOWN */
	uint64_t late; /* ns from the work's end to the return; NVS_UNKNOWN */
};

struct nvs_waits;
struct nvs_waits *nvs_waits_new(struct nvs_source *s, const struct nvs_works *works);
void nvs_waits_free(struct nvs_waits *w); /* NULL is fine */
/* Behind nvs_works_call(), with what that has told. 0 or -ENOMEM. */
int nvs_waits_call(struct nvs_waits *w, const struct nvs_call *call, uint32_t stream,
		   uint64_t context);
/* All has been read, and nvs_works_end() called. */
int nvs_waits_end(struct nvs_waits *w);
const struct nvs_wait *nvs_waits_list(const struct nvs_waits *w, size_t *n);
/* False: it was none. */
bool nvs_wait_ended(const struct nvs_waits *w, const struct nvs_wait *wait,
		    struct nvs_wait_end *end);
uint64_t nvs_waits_dropped(const struct nvs_waits *w);
uint64_t nvs_waits_untimed(const struct nvs_waits *w); /* submissions with work and no time */
/* How far the GPU's clock beside the host's can be off, ns, at worst. False: not known. */
bool nvs_waits_give(const struct nvs_waits *w, uint64_t *give);

#endif
