/* SPDX-License-Identifier: MIT */
/*
 * Brings the clocks of several traces together. Each trace tells time by its machine's monotonic
 * clock, which begins anywhere, and now and then what the time of day was by it. Of two traces of
 * one boot of one machine the monotonic clock is the same, and so is taken; others stand beside
 * each other by the time of day, as far as their machines agree about that.
 *
 * Somebody may set the time of day meanwhile. What a clock was set to last is taken for right, so
 * a trace is told as if it had been set before: its own times have no jump.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_CLOCK_ALIGNMENT_H
#define NVSNOOP_DECODE_ANALYSIS_CLOCK_ALIGNMENT_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

/* ns: the two are read one after the other, the tightest of several times */
#define NVS_CLOCK_READ_NS 1000u

struct nvs_clock_of {
	bool known; /* else it stands at time 0 */
	uint32_t clock; /* 0 and so on: which are of one clock */
	uint64_t began; /* ns since 1970 */
	int64_t shift; /* ns from time 0, when the first of all traces began, to its own beginning
			*/
	/* ns by which readings of its time of day beside its monotonic clock differ, the clock's
	 * being set left out; and how far the one went from the other from the first to the last */
	uint64_t error;
	int64_t drift;
	uint32_t steps; /* how often it was set */
	int64_t stepped; /* by how much in all, ns, forward */
	int64_t step_at; /* the last time: ns since the trace began */
	/* What its system said of the time of day at the start: by how much it may be off, ns */
	uint64_t day_error;
	enum { NVS_DAY_UNKNOWN, NVS_DAY_KEPT, NVS_DAY_UNKEPT } day;
};

/* OF[N], of SOURCES[N]; they have been read. */
int nvs_clocks_align(struct nvs_clock_of *of, const struct nvs_source *sources, uint32_t n);

#endif
