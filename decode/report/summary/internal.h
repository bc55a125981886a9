/* SPDX-License-Identifier: MIT */
/* Shared by sentences.c and findings.c: the output of a sentence, and the list of findings. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H

#include <stdio.h>
#include "decode/report/summary/sentences.h"

/* A sentence is written to F; MORE takes the arguments, after the trace's name, of a command that
 * shows more. */
struct nvs_sentence {
	const struct nvs_summary_input *story;
	FILE *f, *more;
	bool names_api; /* MORE has an --api of its own */
	uint64_t ns; /* of a finding: time of the run that it is about */
};

const struct nvs_session *nvs_summary_session(const struct nvs_summary_input *story);
/* Run time of the program; returns false if unknown. */
bool nvs_summary_run_time(const struct nvs_summary_input *story, int64_t *ns);

/* " (12 % of the run)", or nothing if the time of the run is unknown. */
void nvs_summary_print_share(const struct nvs_sentence *t, uint64_t ns);

/* findings.c: all findings; the last entry has no name. */
struct nvs_summary_checks {
	const char *name;
	void (*find)(struct nvs_sentence *t);
	enum {
		NVS_FINDING_FIRST,
		NVS_FINDING_BY_TIME, /* then these, the longest first */
		NVS_FINDING_LAST,
	} place;
};
extern const struct nvs_summary_checks nvs_summary_check_list[];

/* time_findings.c */
void nvs_find_full_ring(struct nvs_sentence *t);
void nvs_find_driver_memory(struct nvs_sentence *t);
void nvs_find_driver_lock(struct nvs_sentence *t);
void nvs_find_outside(struct nvs_sentence *t);
void nvs_find_gpu_idle(struct nvs_sentence *t);
void nvs_find_pageable(struct nvs_sentence *t);
void nvs_find_small_copies(struct nvs_sentence *t);
void nvs_find_memory_held(struct nvs_sentence *t);
/* The sentence on the GPU's time. */
void nvs_write_gpu_time(struct nvs_sentence *t);
/* The wait of the call that began at BEGIN (ticks); NULL: it is not known to have waited. */
const struct nvs_stall *nvs_summary_stall(const struct nvs_summary_input *story, uint64_t begin);
/* Returns true if one of the findings above is about this wait. */
bool nvs_summary_stall_is_found(const struct nvs_summary_input *story,
				const struct nvs_stall *stall);

#endif
