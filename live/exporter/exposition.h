/* SPDX-License-Identifier: MIT */
/*
 * Writes the answer to a scrape in Prometheus' text format 0.0.4 or in OpenMetrics 1.0. Begin each
 * metric family once, then add its samples. families.c names all families, so that docs and tests
 * can check them.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_EXPOSITION_H
#define NVSNOOP_LIVE_EXPORTER_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvs_family_type { NVS_COUNTER, NVS_GAUGE, NVS_HISTOGRAM };

struct nvs_family {
	const char *name; /* for a counter, without _total */
	enum nvs_family_type type;
	const char *unit; /* the suffix of the name, or NULL */
	const char *help;
};

struct nvs_exposition {
	char *text; /* the answer; the caller frees it */
	size_t size, room;
	bool openmetrics;
	bool failed; /* out of memory: the answer is incomplete */
	const struct nvs_family *family;
};

void nvs_exposition_begin_family(struct nvs_exposition *e, const struct nvs_family *family);

/*
 * Adds a sample to the current family; VALUE is ns if its unit is seconds. COMMON is a list of
 * labels without braces, or "". After the value come further labels: pairs of name and value,
 * terminated by NULL. A label whose value is NULL is omitted.
 */
void nvs_exposition_add(struct nvs_exposition *e, const char *common, uint64_t value, ...)
	__attribute__((sentinel));

/* Adds a histogram. Bucket I counts values above BOUNDS[I - 1] and up to BOUNDS[I], in ns if the
 * family's unit is seconds; COUNTS has one more element for larger values. COMMON is as above. */
void nvs_exposition_add_histogram(struct nvs_exposition *e, const char *common,
				  const uint64_t *bounds, const uint64_t *counts, size_t nbounds,
				  uint64_t sum);

/* Appends the end marker, where the format has one. */
void nvs_exposition_end(struct nvs_exposition *e);

/*
 * Escapes VALUE for use as a label's value. Control characters and bytes that are not UTF-8 become
 * \xNN. The result is truncated to fit in ROOM, so long values may become equal. Returns its
 * length.
 */
size_t nvs_escape_label(char *dst, size_t room, const char *value);

#endif
