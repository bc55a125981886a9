/* SPDX-License-Identifier: MIT */
/* What reports call an entry point, and C++ names as they were written. */
#ifndef NVSNOOP_DECODE_QUERY_API_NAMES_H
#define NVSNOOP_DECODE_QUERY_API_NAMES_H

#include "decode/calls/calls.h"
#include "decode/query/source.h"

/* ---- api_names.c ---- */

/* API of a submission: from its stack, else the call it happened in (NULL: unknown). */
const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api);
const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub,
			   const struct nvs_call *call);
/* Returns "[unknown]" if the trace has no name. */
const char *nvs_call_name(const struct nvs_call_api *api);
/* Returns the demangled name, or a copy of NAME if it cannot be demangled; the caller frees it.
 * NULL if memory is short. */
char *nvs_demangle(const char *name);

#endif
