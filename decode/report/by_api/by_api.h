/* SPDX-License-Identifier: MIT */
/* The table of --by-api for another report. */
#ifndef NVSNOOP_DECODE_REPORT_BY_API_BY_API_H
#define NVSNOOP_DECODE_REPORT_BY_API_BY_API_H

#include "decode/report/core/report.h"

/* As text, its first ROWS rows; of the cells alone. */
int nvs_print_top_apis(struct nvs_run *run, uint64_t rows);

/* Below it, for a person: of these it is known that the program asked for them, not how often they
 * were called. */
int nvs_print_passed(struct nvs_run *run);

#endif
