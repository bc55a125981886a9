/* SPDX-License-Identifier: MIT */
/* The columns of nvsnoop-top's list: one table for the interactive view, text output and --sort. */
#ifndef NVSNOOP_LIVE_TOP_COLUMNS_H
#define NVSNOOP_LIVE_TOP_COLUMNS_H

#include "decode/cli/table.h"
#include "live/top/top.h"

struct nvs_top_column {
	struct nvs_column of; /* of struct nvs_top_row; names sort from A to Z */
	int width; /* negative: left-aligned */
	uint8_t more; /* for text: how many columns it may grow beyond its width; 255: unlimited */
	const char *(*show)(char to[NVS_FIGURE], double n); /* NULL: plain text or number */
};

#define NVS_TOP_COLUMNS 16

extern const struct nvs_top_column nvs_top_columns[NVS_TOP_COLUMNS];

/* Finds a column by key or title, ignoring case and a leading "-". Returns NULL if there is none.
 *  */
const struct nvs_top_column *nvs_top_column(const char *name);

#endif
