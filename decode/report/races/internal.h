/* SPDX-License-Identifier: MIT */
/* Shared by the files of --races: a row, and its sentences. */
#ifndef NVSNOOP_DECODE_REPORT_RACES_INTERNAL_H
#define NVSNOOP_DECODE_REPORT_RACES_INTERNAL_H

#include <stdio.h>
#include "decode/analysis/races.h"

/* A pair of call sites, or a trace. */
struct race_row {
	const struct nvs_source *source;
	const struct nvs_races *trace; /* a trace; NULL: a pair */
	const struct nvs_race *race;
	enum nvs_race_level level;
	uint64_t count; /* at this level */
	const struct nvs_callsite *first, *second;
	char *says;
	bool timed; /* the GPU's times of both are known */
	int64_t gap_ns; /* from the end of the first to the begin of the second; may be below 0
			 */
};

extern const char *const nvs_race_levels[NVS_RACE_CERTAIN + 1];
extern const char *const nvs_access_kinds[NVS_ACCESS_KINDS];

/* "cuMemcpyAsync", "softgpu_add<<<>>>" in a trace's words: what a side of a race is. */
void nvs_race_print_work(FILE *f, const struct nvs_source *s, const struct nvs_race_site *site);
/* "stream 0x55..", "the default stream" */
void nvs_race_print_stream(FILE *f, const struct nvs_access_work *work);
/* Which wait is missing, and what happened in this run. */
void nvs_race_print_edge(FILE *f, const struct race_row *row);
void nvs_race_print_run(FILE *f, const struct race_row *row);
/* What of the trace could not be checked, and what is never seen. */
void nvs_race_print_limits(FILE *f, const struct race_row *row);

#endif
