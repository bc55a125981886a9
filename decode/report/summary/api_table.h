/* SPDX-License-Identifier: MIT */
/* For the summary: entry points by the host's time in them, over all traces. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_API_TABLE_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_API_TABLE_H

#include "decode/analysis/session_stats.h"
#include "decode/report/core/report.h"

/* As text, of the N facts, which are used up: ROWS rows of a table, and what sets things up apart
 * from it. 0 or -errno. */
int nvs_api_times_print(struct nvs_run *run, struct nvs_facts *facts, uint32_t n, uint64_t rows);

#endif
