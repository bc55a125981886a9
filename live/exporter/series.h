/* SPDX-License-Identifier: MIT */
/*
 * Decides which names of a process get their own series and which share the series `other'.
 * Prometheus treats a counter that decreases as restarted, so `other' must never lose anything: a
 * name that gets its series late starts there from its value at that moment, and its earlier count
 * stays in `other'. A shown name stays shown. The sum over all series is exact.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_SERIES_H
#define NVSNOOP_LIVE_EXPORTER_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_series_name {
	char *labels; /* label list, without braces */
	uint64_t hash;
	bool shown;
	/* three arrays of COLUMNS values: now, at the previous scrape, and the share kept by
	 * `other' */
	uint64_t values[];
};

struct nvs_series {
	uint32_t columns; /* values per name; at most */
	struct nvs_series_name **all;
	uint32_t n, room, nshown;
	uint32_t *places; /* hash table of index + 1 */
	uint32_t nplaces;
	uint64_t *other; /* the sum of names that are not stored */
};

enum { NVS_SERIES_COLUMNS = 40, NVS_SERIES_NAMES = 16384 };

/* Begins a scrape: sets all values to 0. */
void nvs_series_begin(struct nvs_series *s, uint32_t columns);
/* Adds VALUES to the name with LABELS. Returns false if they were added to `other' because there is
 * no memory. */
bool nvs_series_add(struct nvs_series *s, const char *labels, const uint64_t *values);
/* Gives their own series to the TOP names by COLUMN; at most 2 * TOP names are ever shown.
 * nvs_series_get_value() then returns the value of a shown name. */
void nvs_series_choose_top(struct nvs_series *s, uint32_t top, uint32_t column);
uint64_t nvs_series_get_value(const struct nvs_series *s, const struct nvs_series_name *one,
			      uint32_t column);
/* Returns false if `other' never had a value. */
bool nvs_series_get_other(const struct nvs_series *s, uint64_t *values);
/* Ends a scrape: current values become the previous ones. */
void nvs_series_end(struct nvs_series *s);
void nvs_series_free(struct nvs_series *s);

#endif
