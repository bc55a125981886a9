/* SPDX-License-Identifier: MIT */
/* One record: whole, checked, and where its variable part lies. */
#ifndef NVSNOOP_DECODE_TRACE_RECORDS_H
#define NVSNOOP_DECODE_TRACE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"

/* ---- delta.c: records that stand as differences (nvsnoop/trace.h) ---- */
/* Makes the records of an unpacked frame whole. False: one differs from none; those before it are
 * whole. */
bool nvs_delta_restore(uint8_t *frame, size_t size);

/* ---- check.c: is a record what it says it is? ---- */
/* Checks all sizes and counts within REC, whose head fits into ROOM bytes. NULL if it is well, else
 * what is wrong. */
const char *nvs_record_check(const struct nvs_rec *rec, size_t room);
/* Size of a type's fixed part as this reader knows it; 0: not a known type. */
uint32_t nvs_record_fixed(uint16_t type);
/* The same for a SUBMISSION alone; finds its parts. */
const char *nvs_submission_check(const struct nvs_rec_submission *rec, size_t *ndata);

/*
 * The variable part of a record of BYTES: at its end, so that fields added before it do not matter.
 */
static inline const void *nvs_tail(const struct nvs_rec *rec, uint64_t bytes)
{
	return (const uint8_t *)rec + rec->size - ((bytes + 7) & ~7ull);
}

/* Of a CALL_BEGIN with NVS_BEGIN_SITED. */
static inline const struct nvs_call_begin_site *nvs_begin_site(const struct nvs_rec *rec)
{
	return (const void *)((const struct nvs_rec_call_begin *)(const void *)rec + 1);
}

#endif
