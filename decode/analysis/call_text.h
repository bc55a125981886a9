/* SPDX-License-Identifier: MIT */
/* Calls and submissions as one line of text. */
#ifndef NVSNOOP_DECODE_ANALYSIS_CALL_TEXT_H
#define NVSNOOP_DECODE_ANALYSIS_CALL_TEXT_H

#include "decode/calls/handles.h"
#include "decode/calls/tally.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

#define NVS_CALL_TEXT_BYTES 1024

/* "(a=1, b=2) = CUDA_ERROR_..": arguments and result; functions are named by HANDLES. */
void nvs_call_text(char text[NVS_CALL_TEXT_BYTES], const struct nvs_source *s,
		   struct nvs_handles *handles, const struct nvs_call *call);
/* How a call ended without a result, for example "left by a jump"; NULL: it returned. */
const char *nvs_call_exit_text(const struct nvs_call *call);
/* "2 kernels, engine copy of 64 bytes"; "" for nothing. */
void nvs_tally_text(char *text, size_t size, const struct nvs_tally *t);

#endif
