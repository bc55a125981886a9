/* SPDX-License-Identifier: MIT */
/* Which of the two formats an Accept header asks for. */
#ifndef NVSNOOP_LIVE_EXPORTER_ACCEPT_H
#define NVSNOOP_LIVE_EXPORTER_ACCEPT_H

#include <stdbool.h>

/* True where ACCEPT (NULL: there was none) likes OpenMetrics 1.0 at least as well as plain text. */
bool nvs_accept_openmetrics(const char *accept);

#endif
