/* SPDX-License-Identifier: MIT */
/* The name of a trace that was recorded on demand. */
#ifndef NVSNOOP_LIVE_RECORD_TRACE_NAME_H
#define NVSNOOP_LIVE_RECORD_TRACE_NAME_H

#include <limits.h>
#include "live/read/page_set.h"
#include "live/read/record_request.h"

/* Moves the trace of PAGE's process, PID as this program sees it, to the name that PATTERN expands
 * to (NULL: the default), or to the first free alternative. Writes the name to FILE (PATH_MAX
 * bytes), "" if that failed. Returns 0 or -errno. */
int nvs_record_take_trace(struct nvs_record_request *request, const struct nvs_page *page,
			  uint32_t pid, const char *pattern, char *file);

#endif
