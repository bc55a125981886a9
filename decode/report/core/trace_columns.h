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

/* The handle of a stream, or the name of a default one; unknown if it is 0. */
void nvs_stream_value(uint64_t stream, struct nvs_value *v);

/* All four as members of a JSON object. */
void nvs_source_json(struct nvs_out *out, const struct nvs_source *source);

/* For a row type: the getters, and the columns for the end of its table. OF is an expression for
 * the row's source; the row is `r`. */
#define NVS_SOURCE_GETTER(type, of, name, call)                             \
	static void get_source_##name(const void *row, struct nvs_value *v) \
	{                                                                   \
		const type *r = row;                                        \
		call;                                                       \
	}
#define NVS_SOURCE_GETTERS(type, of)                               \
	NVS_SOURCE_GETTER(type, of, trace, nvs_source_path(of, v)) \
	NVS_SOURCE_GETTER(type, of, host, nvs_source_host(of, v))  \
	NVS_SOURCE_GETTER(type, of, pid, nvs_source_pid(of, v))    \
	NVS_SOURCE_GETTER(type, of, rank, nvs_source_number(of, NVS_ATTR_RANK, v))
#define NVS_SOURCE_COLUMNS                                                                 \
	{"trace", "trace", get_source_trace, NVS_COLUMN_NAME | NVS_COLUMN_SEVERAL},        \
		{"host", "host", get_source_host, NVS_COLUMN_DETAIL},                      \
		{"pid", "pid", get_source_pid, NVS_COLUMN_DETAIL},                         \
	{                                                                                  \
		"rank", "rank", get_source_rank, NVS_COLUMN_SEVERAL | NVS_COLUMN_IF_KNOWN, \
	}

#endif
