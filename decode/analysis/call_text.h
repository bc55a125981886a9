/* SPDX-License-Identifier: MIT */
/* Calls and submissions in a line of words. */
#ifndef NVSNOOP_DECODE_ANALYSIS_CALL_TEXT_H
#define NVSNOOP_DECODE_ANALYSIS_CALL_TEXT_H

#include "decode/calls/handles.h"
#include "decode/calls/tally.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

#define NVS_WORDS_BYTES 1024

/* "(a=1, b=2) = CUDA_ERROR_..": arguments, functions by their names as HANDLES know them, and how
 * it ended. */
void nvs_words_call(char text[NVS_WORDS_BYTES], const struct nvs_source *s,
		    struct nvs_handles *handles, const struct nvs_call *call);
/* "left by a jump": how it ended other than by its result; NULL: it returned. */
const char *nvs_words_left(const struct nvs_call *call);
/* "2 kernels, engine copy of 64 bytes"; "": nothing. */
void nvs_words_tally(char *text, size_t size, const struct nvs_tally *t);

#endif
