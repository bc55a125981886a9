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

/* Numbers of submissions, inclusive; or ns since the start of the session, or 10^-9 percent of it,
 * TO exclusive. UINT64_MAX: to the end. */
struct nvs_range {
	enum nvs_range_by by, to_by; /* may differ: time and percent */
	uint64_t from, to;
	const char *text; /* as given */
};

/* Parses "A", "A-B", "A-" or "-B": submissions, or time or percent with a unit. Returns false if
 * malformed. */
bool nvs_range_parse(struct nvs_range *range, const char *text);
/* A single moment; converted to ns since the start, after the trace was read once. */
bool nvs_moment_parse(struct nvs_range *moment, const char *text);
int64_t nvs_moment_ns(const struct nvs_source *s, const struct nvs_range *moment);
/* Returns true if --range is a range of time. */
bool nvs_range_is_time(const struct nvs_query *q);
/* A range of time needs a pass of its own for clock and length. Returns 0, or -EINVAL after a
 * message on stderr if S cannot be read twice. */
int nvs_range_check(const struct nvs_source *s);
/* Computes the bounds, after that pass. */
void nvs_range_resolve(struct nvs_source *s);
/* Return true if SUB, or TICKS, is in the range; always for a range of the other kind. */
bool nvs_range_has_submission(const struct nvs_source *s, const struct nvs_submission *sub);
bool nvs_range_has_time(const struct nvs_source *s, uint64_t ticks);
/* Prints on stderr why the range selects nothing. */
void nvs_range_explain(const struct nvs_source *sources, uint32_t n);

#endif
