/* SPDX-License-Identifier: MIT */
/*
 * Which of a process' names have series of their own, and which share the one named `other'.
 * Prometheus takes a counter that goes back for a program that began anew, so what moves out of
 * `other' must take nothing out of it: a name that is shown later than it began counts from where
 * it was then, and what it had counted stays in `other' for ever. A name that is shown stays so.
 * The sum over all series is always the process' own.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_SERIES_H
#define NVSNOOP_LIVE_EXPORTER_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_one {
	char *labels; /* as they stand between braces */
	uint64_t hash;
	bool shown;
	/* now, as they were at the scrape before, and those that `other' keeps; of as many columns
	 * as the set has */
	uint64_t values[];
};

struct nvs_series {
	uint32_t columns; /* values a name; at most NVS_SERIES_COLUMNS */
	struct nvs_one **all;
	uint32_t n, room, nshown;
	uint32_t *places; /* hash table of indexes + 1 */
	uint32_t nplaces;
	uint64_t *other; /* what has no place at all */
};

enum { NVS_SERIES_COLUMNS = 40, NVS_SERIES_NAMES = 16384 };

/* For a scrape: all values are 0, to be added to. */
void nvs_series_begin(struct nvs_series *s, uint32_t columns);
/* VALUES are added to those of the name whose labels are LABELS. False: no memory, and they are in
 * `other'. */
bool nvs_series_add(struct nvs_series *s, const char *labels, const uint64_t *values);
/*
 * Shows those of the greatest values of COLUMN that are among the TOP, and that those shown be at
 * most twice as many. Then nvs_series_value() is what belongs to one that is shown.
 */
void nvs_series_choose(struct nvs_series *s, uint32_t top, uint32_t column);
uint64_t nvs_series_value(const struct nvs_series *s, const struct nvs_one *one, uint32_t column);
/* False: nothing was ever in it. */
bool nvs_series_other(const struct nvs_series *s, uint64_t *values);
/* After the samples: what is shown now is what was shown before. */
void nvs_series_end(struct nvs_series *s);
void nvs_series_free(struct nvs_series *s);

#endif
