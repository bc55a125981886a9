/* SPDX-License-Identifier: MIT */
/* Columns for counts of operations (struct nvs_tally). */
#ifndef NVSNOOP_DECODE_REPORT_CORE_OPERATION_COLUMNS_H
#define NVSNOOP_DECODE_REPORT_CORE_OPERATION_COLUMNS_H

#include "decode/calls/tally.h"

/* Columns of a row `r` with a member `tally`, for a list of columns. */
#define NVS_TALLY_COLUMNS(COL)                                                                    \
	COL(known, launches, "launches", IF_ANY, 2, !r->tally.unseen, r->tally.launches)          \
	COL(known, triggers, "triggers", DETAIL, 0, !r->tally.unseen, r->tally.triggers)          \
	COL(known, unknown_launches, "unknown", DETAIL, 0, !r->tally.unseen,                      \
	    r->tally.unknown_launches)                                                            \
	COL(known, engine_copies, "engine", IF_ANY, 4, !r->tally.unseen,                          \
	    r->tally.copies[NVS_COPY_ENGINE])                                                     \
	COL(known, engine_copy_bytes, "eng bytes", IF_ANY, 4, !r->tally.unseen,                   \
	    r->tally.copied[NVS_COPY_ENGINE])                                                     \
	COL(known, inline_copies, "inline", IF_ANY, 4, !r->tally.unseen,                          \
	    r->tally.copies[NVS_COPY_INLINE])                                                     \
	COL(known, inline_copy_bytes, "inl bytes", IF_ANY, 4, !r->tally.unseen,                   \
	    r->tally.copied[NVS_COPY_INLINE])                                                     \
	COL(known, macro_copies, "macro", IF_ANY, 5, !r->tally.unseen,                            \
	    r->tally.copies[NVS_COPY_MACRO])                                                      \
	COL(known, macro_copy_bytes, "mac bytes", IF_ANY, 5, !r->tally.unseen,                    \
	    r->tally.copied[NVS_COPY_MACRO])                                                      \
	COL(known, memsets, "memset", IF_ANY, 5, !r->tally.unseen, r->tally.memsets)              \
	COL(known, memset_bytes, "set bytes", IF_ANY, 5, !r->tally.unseen, r->tally.memset_bytes) \
	COL(known, uploads, "uploads", DETAIL, 0, !r->tally.unseen, r->tally.uploads)             \
	COL(known, upload_bytes, "up bytes", DETAIL, 0, !r->tally.unseen, r->tally.upload_bytes)  \
	COL(known, code_uploads, "code", DETAIL, 0, !r->tally.unseen, r->tally.codes)             \
	COL(known, code_upload_bytes, "code bytes", DETAIL, 0, !r->tally.unseen,                  \
	    r->tally.code_bytes)                                                                  \
	COL(known, releases, "rel", IF_ANY, 7, !r->tally.unseen, r->tally.releases)               \
	COL(known, acquires, "acq", IF_ANY, 7, !r->tally.unseen, r->tally.acquires)

#endif
