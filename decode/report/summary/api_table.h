/* SPDX-License-Identifier: MIT */
/* The summary's table of entry points by host time, over all traces. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_API_TABLE_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_API_TABLE_H

#include "decode/analysis/session_stats.h"
#include "decode/report/core/report.h"

/* Columns of the table. */
#define NVS_API_TIMES_COLUMNS 8
extern const struct nvs_column nvs_api_times_columns[NVS_API_TIMES_COLUMNS];

/* Prints ROWS rows of a table as text, and context and module calls in a table of their own.
 * Consumes the N facts. Entry points with calls that have not returned come first. Returns 0 or
 * -errno. */
int nvs_api_times_print(struct nvs_run *run, struct nvs_session_stats *const *facts, uint32_t n,
			uint64_t rows);

#endif
