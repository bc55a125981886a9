/* SPDX-License-Identifier: MIT */
/* The columns of nvsnoop-top's list: one table for the interactive view, text output and --sort. */
#ifndef NVSNOOP_LIVE_TOP_COLUMNS_H
#define NVSNOOP_LIVE_TOP_COLUMNS_H

#include "live/top/top.h"

struct nvs_top_column {
	const char *key; /* for --sort, and in JSON */
	const char *title;
	int width; /* negative: text, left-aligned */
	uint8_t rank; /* a narrow terminal drops the highest ranks first */
	uint8_t more; /* for text: how many columns it may grow beyond its width; 255: unlimited */
	/* Sort key; NULL: the text. */
	double (*figure)(const struct nvs_top_row *row);
	/* Formats the cell; returns NULL if the value is unknown. */
	const char *(*text)(const struct nvs_top_row *row, char to[NVS_FIGURE]);
	bool if_known; /* shown only if some process has a value */
};

#define NVS_TOP_COLUMNS 15

extern const struct nvs_top_column nvs_top_columns[NVS_TOP_COLUMNS];

/*
 * Finds a column by key or title, ignoring case and a leading "-". Returns NULL if there is none.
 */
const struct nvs_top_column *nvs_top_column(const char *name);

#endif
