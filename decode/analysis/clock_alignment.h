/* SPDX-License-Identifier: MIT */
/*
 * Aligns the clocks of several traces. A trace has times of its machine's monotonic clock, which
 * starts at an arbitrary time, and samples of the time of day. Traces of one boot of one machine
 * share the monotonic clock. Others are aligned by the time of day, as far as their machines agree
 * on it.
 * If the time of day was set during a trace, the last setting is taken as correct, and earlier
 * samples are converted to it: the trace's own times have no jump.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_CLOCK_ALIGNMENT_H
#define NVSNOOP_DECODE_ANALYSIS_CLOCK_ALIGNMENT_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

/* ns: the two are read one after the other, the tightest of several times */
#define NVS_CLOCK_READ_NS 1000u

struct nvs_trace_clock {
	bool known; /* false: starts at time 0 */
	uint32_t clock; /* index: traces with the same index share a clock */
	uint64_t began; /* ns since 1970 */
	int64_t shift; /* ns from time 0, the start of the first trace, to its own start */
	/* ns: spread of (time of day - monotonic clock) over all samples, without steps; and its
	 * change from the first sample to the last */
	uint64_t error;
	int64_t drift;
	uint32_t steps; /* how often the time of day was set */
	int64_t stepped; /* sum of the steps, ns, forward */
	int64_t step_at; /* time of the last step, ns since the trace began */
	/* Error of the time of day at the start, as reported by the system, ns. */
	uint64_t day_error;
	enum { NVS_DAY_UNKNOWN, NVS_DAY_KEPT, NVS_DAY_UNKEPT } day;
};

/* Fills OF[N] from SOURCES[N], which must have been read. Returns 0 or -ENOMEM. */
int nvs_clocks_align(struct nvs_trace_clock *of, const struct nvs_source *sources, uint32_t n);

#endif
