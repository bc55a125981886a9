/* SPDX-License-Identifier: MIT */
/* Chooses the output format by the request's Accept header. */
#ifndef NVSNOOP_LIVE_EXPORTER_ACCEPT_H
#define NVSNOOP_LIVE_EXPORTER_ACCEPT_H

#include <stdbool.h>

/* Returns true if ACCEPT (NULL if there was no header) ranks OpenMetrics 1.0 at least as high as
 * plain text. */
bool nvs_prefers_openmetrics(const char *accept);

#endif
