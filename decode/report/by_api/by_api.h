/* SPDX-License-Identifier: MIT */
/* Parts of --by-api that other reports print as well. */
#ifndef NVSNOOP_DECODE_REPORT_BY_API_BY_API_H
#define NVSNOOP_DECODE_REPORT_BY_API_BY_API_H

#include "decode/report/core/report.h"

/* Prints the first ROWS rows as text, from the cells only. */
int nvs_print_api_table(struct nvs_run *run, uint64_t rows);

/* Prints, below the table, the APIs that the program looked up and that are not recorded: it is
 * unknown how often they were called. */
int nvs_print_unobserved_apis(struct nvs_run *run);

#endif
