/* SPDX-License-Identifier: MIT */
/*
 * What a scrape is answered with: Prometheus' text format 0.0.4, or OpenMetrics 1.0. Families of
 * samples are begun one after another, each once; what all families are called stands in
 * families.c, so that docs and tests can hold to it.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_EXPOSITION_H
#define NVSNOOP_LIVE_EXPORTER_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvs_family_type { NVS_COUNTER, NVS_GAUGE, NVS_HISTOGRAM };

struct nvs_family {
	const char *name; /* a counter's without _total */
	enum nvs_family_type type;
	const char *unit; /* the name's end, or NULL */
	const char *help;
};

struct nvs_expose {
	char *text; /* the answer; free() it */
	size_t size, room;
	bool openmetrics;
	bool failed; /* no memory: the answer is not whole */
	const struct nvs_family *family;
};

void nvs_expose_family(struct nvs_expose *e, const struct nvs_family *family);

/*
 * A sample of the family begun last. COMMON are labels as nvs_expose_labels() made them, or "".
 * Behind the value stand further labels, name and value in turn, ended by NULL; one whose value is
 * NULL is left out.
 */
void nvs_expose_count(struct nvs_expose *e, const char *common, uint64_t value, ...)
	__attribute__((sentinel));
void nvs_expose_seconds(struct nvs_expose *e, const char *common, uint64_t ns, ...)
	__attribute__((sentinel));

/*
 * A histogram whose bucket I counts what took or had at most BOUNDS[I] (and more than the one
 * before), ns where the family's unit is seconds; one more counts the rest. COMMON as above.
 */
void nvs_expose_histogram(struct nvs_expose *e, const char *common, const uint64_t *bounds,
			  const uint64_t *counts, size_t nbounds, uint64_t sum);

/* What both formats want last. */
void nvs_expose_end(struct nvs_expose *e);

/*
 * VALUE as a label's value: no control characters, no bytes that are no UTF-8 (both as \xNN), at
 * most so long that ROOM holds it, and with what the formats want escaped. Two values may come out
 * as one where they are too long.
 */
size_t nvs_expose_escape(char *dst, size_t room, const char *value);

#endif
