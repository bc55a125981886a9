/* SPDX-License-Identifier: MIT */
/* Restoring and checking records, and access to their variable part. */
#ifndef NVSNOOP_DECODE_TRACE_RECORDS_H
#define NVSNOOP_DECODE_TRACE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"

/* ---- delta.c: delta-encoded records (nvsnoop/trace.h) ---- */
/* Restores the delta-encoded records of an unpacked frame. Returns false at a record without a
 * base; those before it are restored. */
bool nvs_delta_restore(uint8_t *frame, size_t size);

/* ---- check.c ---- */
/* Checks all sizes and counts within REC, whose header fits into ROOM bytes. Returns NULL if the
 * record is valid, else a description of the error. */
const char *nvs_record_check(const struct nvs_rec *rec, size_t room);
/* Returns the size of a type's fixed part in this version, or 0 if the type is unknown. */
uint32_t nvs_record_fixed(uint16_t type);
/* Does the same for a SUBMISSION, and returns the size of its data. */
const char *nvs_submission_check(const struct nvs_rec_submission *rec, size_t *ndata);

/* Returns the variable part of BYTES bytes. It is at the end of the record, so that fields may be
 * added before it. */
static inline const void *nvs_record_tail(const struct nvs_rec *rec, uint64_t bytes)
{
	return (const uint8_t *)rec + rec->size - ((bytes + 7) & ~7ull);
}

/* Returns the call site in a CALL_BEGIN with NVS_BEGIN_SITED. */
static inline const struct nvs_call_begin_site *nvs_begin_site(const struct nvs_rec *rec)
{
	return (const void *)((const struct nvs_rec_call_begin *)(const void *)rec + 1);
}

#endif
