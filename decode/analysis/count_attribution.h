/* SPDX-License-Identifier: MIT */
/*
 * Assigns instruction counts to launches. A reading of the counters covers everything since the
 * previous reading. Each share goes to the fewest possible calls: those that launched the kernel
 * and may have run between two times at which all of it was done and read.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_COUNT_ATTRIBUTION_H
#define NVSNOOP_DECODE_ANALYSIS_COUNT_ATTRIBUTION_H

#include "decode/calls/handles.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/query/source.h"

/* The instructions of one kernel over a span of readings, and the calls that launched it then. */
struct nvs_count_share {
	const struct nvs_kernel_count *counted;
	uint64_t warp, thread;
	/* Launches of the kernel by these calls, those in graphs among them, and their blocks. */
	uint64_t launches, in_graphs, blocks;
	bool shapeless; /* some grid is unknown: BLOCKS is too small */
	bool whole; /* includes everything that they executed */
	uint32_t kernel; /* number of the first call's function, in order of first sight */
	uint64_t reading; /* latest reading included; UINT64_MAX: none */
	uint32_t ncalls; /* 0: none known */
	uint64_t *calls; /* their tags */
};

struct nvs_count_shares;
/* Adds a reader of records, which adds them to COUNTS, too: see nvs_source_add_reader(). Returns
 * NULL if out of memory. HANDLES is nvs_pass_reader.handles of the reader that passes calls. */
struct nvs_count_shares *nvs_count_shares_new(struct nvs_source *s, struct nvs_handles **handles,
					      struct nvs_kernel_counts *counts);
void nvs_count_shares_free(struct nvs_count_shares *s);
/* Returns 0 or -ENOMEM. TAG identifies the call to the caller. */
int nvs_count_shares_call(struct nvs_count_shares *s, const struct nvs_call *call, uint64_t tag);
/* Call at the end: passes each share to TELL. Returns 0, -ENOMEM, or what TELL returned. */
int nvs_count_shares_end(struct nvs_count_shares *s,
			 int (*tell)(void *arg, const struct nvs_count_share *share), void *arg);

#endif
