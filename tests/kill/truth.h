/* SPDX-License-Identifier: MIT */
/* What a kill left, compared with the log of driver and GPU. */
#ifndef TESTS_KILL_TRUTH_H
#define TESTS_KILL_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

struct truth {
	uint64_t rung; /* doorbells that the log shows as rung, or as consumed */
	uint64_t recovered; /* submissions in trace and spool */
	uint64_t missing; /* rung and not recovered */
	uint64_t different; /* recovered with other entries or bytes */
	uint64_t extra; /* recovered, and nobody put them */
	uint64_t unrung; /* recovered, and the driver had not come back from ringing */
	uint64_t marked; /* of those, with a mark that says so */
	uint64_t unmarked; /* of the killer's, which were not rung, without one */
	uint64_t crowded; /* threads with more than one of them */
	uint64_t problems; /* that the reader tells of */
	uint64_t timeless; /* 1: its ticks cannot be converted */
	bool crash; /* the reader says that the trace ended in a crash */
	bool killer_has; /* the killer's last submission was recovered */
	char text[256]; /* the first thing that is wrong, "" */
};

/*
 * fetches_count: what the GPU fetched was rung, so the trace has to have it (not so where it may
 * take entries ahead of the doorbell). KILLER: the thread that ended the process before its store,
 * whose last submission was not rung; 0: not known. False: LOG or TRACE cannot be read; text says
 * why.
 */
bool truth_compare(struct truth *t, const char *log, const char *trace, bool fetches_count,
		   uint32_t killer);

#endif
