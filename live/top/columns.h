/* SPDX-License-Identifier: MIT */
/* The columns of nvsnoop-top's list: one registry for the screen, for text and for --sort. */
#ifndef NVSNOOP_LIVE_TOP_COLUMNS_H
#define NVSNOOP_LIVE_TOP_COLUMNS_H

#include "live/top/top.h"

struct nvs_top_column {
	const char *key; /* for --sort, and in JSON */
	const char *title;
	int width; /* negative: text, which stands on the left */
	uint8_t rank; /* a narrow terminal goes without the highest */
	uint8_t more; /* of text: columns that it may take beyond its width */
	/* What it is sorted by; NULL: by its text. */
	double (*figure)(const struct nvs_top_row *row);
	/* As it is shown; NULL: it is not known. */
	const char *(*text)(const struct nvs_top_row *row, char to[NVS_FIGURE]);
	bool if_known; /* shown only where it is known of some process */
};

#define NVS_TOP_COLUMNS 15

extern const struct nvs_top_column nvs_top_columns[NVS_TOP_COLUMNS];

/* By its key or title, a "-" before it aside, in any case. NULL: none. */
const struct nvs_top_column *nvs_top_column(const char *name);

#endif
