/* SPDX-License-Identifier: MIT */
/* Columns of many tables: trace, host, pid and rank at the end of each; streams. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_TRACE_COLUMNS_H
#define NVSNOOP_DECODE_REPORT_CORE_TRACE_COLUMNS_H

#include "decode/report/core/report.h"

/* SOURCE is NULL for a row of several traces: the value is unknown then. */
void nvs_source_path(const struct nvs_source *source, struct nvs_value *v);
void nvs_source_host(const struct nvs_source *source, struct nvs_value *v);
void nvs_source_pid(const struct nvs_source *source, struct nvs_value *v);
/* A decimal attribute of the session, such as NVS_ATTR_RANK. */
void nvs_source_number(const struct nvs_source *source, uint32_t attr, struct nvs_value *v);
/* Time since the trace's start. */
void nvs_source_time(const struct nvs_source *source, bool known, uint64_t ticks,
		     struct nvs_value *v);

/* The handle of a stream, or the name of a default one; unknown if it is 0. */
void nvs_stream_value(uint64_t stream, struct nvs_value *v);

/* All four as members of a JSON object. */
void nvs_source_json(struct nvs_out *out, const struct nvs_source *source);

/* Columns for the end of every table, for a list of columns. SOURCE is an expression for the source
 * of the row `r`. */
#define NVS_SOURCE_COLUMNS(COL, source)                                   \
	COL(by, trace, "trace", NAME_SEVERAL, 0, nvs_source_path, source) \
	COL(by, host, "host", DETAIL, 0, nvs_source_host, source)         \
	COL(by, pid, "pid", DETAIL, 0, nvs_source_pid, source)            \
	COL(by, rank, "rank", SEVERAL_IF_KNOWN, 0, nvs_source_number, source, NVS_ATTR_RANK)

#endif
