/* SPDX-License-Identifier: MIT */
/* --range, and moments. */
#ifndef NVSNOOP_DECODE_QUERY_TIME_RANGE_H
#define NVSNOOP_DECODE_QUERY_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/decode.h"

struct nvs_query;
struct nvs_source;

enum nvs_range_by { NVS_RANGE_ALL, NVS_RANGE_NUMBERS, NVS_RANGE_TIME, NVS_RANGE_PERCENT };

/* Numbers of submissions, both included; or ns since the session's start, or 10^-9 of a percent of
 * it, TO excluded. UINT64_MAX: to the end. */
struct nvs_range {
	enum nvs_range_by by, to_by; /* unlike each other: time and percent */
	uint64_t from, to;
	const char *text; /* as given */
};

/* "A", "A-B", "A-", "-B", in submissions or with units of time or percent; false: it is none. */
bool nvs_range_parse(struct nvs_range *range, const char *text);
/* The same of one moment, and in ns since the start, for which the trace has been read once. */
bool nvs_moment_parse(struct nvs_range *moment, const char *text);
int64_t nvs_moment_at(const struct nvs_source *s, const struct nvs_range *moment);
/* Is it one of time? */
bool nvs_range_timed(const struct nvs_query *q);
/* Then each trace is read once for its clock and length, and can be: 0, or -EINVAL, said on stderr.
 */
int nvs_range_check(const struct nvs_source *s);
/* It has been. */
void nvs_range_resolve(struct nvs_source *s);
/* Lies it within the range, where that is one of numbers? Where it is one of time? */
bool nvs_range_has(const struct nvs_source *s, const struct nvs_submission *sub);
bool nvs_range_at(const struct nvs_source *s, uint64_t ticks);
/* On stderr, as nvs_filter_explain(). */
void nvs_range_explain(const struct nvs_source *sources, uint32_t n);

#endif
