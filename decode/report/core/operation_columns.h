/* SPDX-License-Identifier: MIT */
/* Columns for counts of operations (struct nvs_tally). */
#ifndef NVSNOOP_DECODE_REPORT_CORE_OPERATION_COLUMNS_H
#define NVSNOOP_DECODE_REPORT_CORE_OPERATION_COLUMNS_H

#include "decode/calls/tally.h"

/* For a row type with a member `tally`: the getters, and the columns of its table. */
#define NVS_TALLY_GET(type, name, member)                                  \
	static void get_tally_##name(const void *row, struct nvs_value *v) \
	{                                                                  \
		const struct nvs_tally *t = &((const type *)row)->tally;   \
		v->kind = t->unseen ? NVS_VALUE_NONE : NVS_VALUE_COUNT;    \
		v->count = t->member;                                      \
	}
#define NVS_TALLY_GETTERS(type)                                    \
	NVS_TALLY_GET(type, launches, launches)                    \
	NVS_TALLY_GET(type, triggers, triggers)                    \
	NVS_TALLY_GET(type, unknown, unknown_launches)             \
	NVS_TALLY_GET(type, engine, copies[NVS_COPY_ENGINE])       \
	NVS_TALLY_GET(type, engine_bytes, copied[NVS_COPY_ENGINE]) \
	NVS_TALLY_GET(type, inline, copies[NVS_COPY_INLINE])       \
	NVS_TALLY_GET(type, inline_bytes, copied[NVS_COPY_INLINE]) \
	NVS_TALLY_GET(type, macro, copies[NVS_COPY_MACRO])         \
	NVS_TALLY_GET(type, macro_bytes, copied[NVS_COPY_MACRO])   \
	NVS_TALLY_GET(type, memsets, memsets)                      \
	NVS_TALLY_GET(type, memset_bytes, memset_bytes)            \
	NVS_TALLY_GET(type, uploads, uploads)                      \
	NVS_TALLY_GET(type, upload_bytes, upload_bytes)            \
	NVS_TALLY_GET(type, codes, codes)                          \
	NVS_TALLY_GET(type, code_bytes, code_bytes)                \
	NVS_TALLY_GET(type, releases, releases)                    \
	NVS_TALLY_GET(type, acquires, acquires)
#define NVS_TALLY_COLUMNS                                                                         \
	{"launches", "launches", get_tally_launches, NVS_COLUMN_IF_ANY, 2},                       \
		{"triggers", "triggers", get_tally_triggers, NVS_COLUMN_DETAIL},                  \
		{"unknown_launches", "unknown", get_tally_unknown, NVS_COLUMN_DETAIL},            \
		{"engine_copies", "engine", get_tally_engine, NVS_COLUMN_IF_ANY, 4},              \
		{"engine_copy_bytes", "eng bytes", get_tally_engine_bytes, NVS_COLUMN_IF_ANY, 4}, \
		{"inline_copies", "inline", get_tally_inline, NVS_COLUMN_IF_ANY, 4},              \
		{"inline_copy_bytes", "inl bytes", get_tally_inline_bytes, NVS_COLUMN_IF_ANY, 4}, \
		{"macro_copies", "macro", get_tally_macro, NVS_COLUMN_IF_ANY, 5},                 \
		{"macro_copy_bytes", "mac bytes", get_tally_macro_bytes, NVS_COLUMN_IF_ANY, 5},   \
		{"memsets", "memset", get_tally_memsets, NVS_COLUMN_IF_ANY, 5},                   \
		{"memset_bytes", "set bytes", get_tally_memset_bytes, NVS_COLUMN_IF_ANY, 5},      \
		{"uploads", "uploads", get_tally_uploads, NVS_COLUMN_DETAIL},                     \
		{"upload_bytes", "up bytes", get_tally_upload_bytes, NVS_COLUMN_DETAIL},          \
		{"code_uploads", "code", get_tally_codes, NVS_COLUMN_DETAIL},                     \
		{"code_upload_bytes", "code bytes", get_tally_code_bytes, NVS_COLUMN_DETAIL},     \
		{"releases", "rel", get_tally_releases, NVS_COLUMN_IF_ANY, 7},                    \
	{                                                                                         \
		"acquires", "acq", get_tally_acquires, NVS_COLUMN_IF_ANY, 7                       \
	}

#endif
