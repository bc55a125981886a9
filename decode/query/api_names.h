/* SPDX-License-Identifier: MIT */
/* What reports call an entry point, and C++ names as they were written. */
#ifndef NVSNOOP_DECODE_QUERY_API_NAMES_H
#define NVSNOOP_DECODE_QUERY_API_NAMES_H

#include "decode/calls/calls.h"
#include "decode/query/source.h"

/* ---- names.c ---- */

/* The API that submissions came from: what their stack says, else the call (NULL: not known) they
 * happened in. */
const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api);
const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub,
			   const struct nvs_call *call);
/* "[unknown]" for one that the trace does not name. */
const char *nvs_call_name(const struct nvs_call_api *api);
/* A mangled name as its source writes it where that can be told, else NAME itself; to be freed.
 * NULL: no memory. */
char *nvs_demangle(const char *name);

#endif
