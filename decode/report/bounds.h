/* SPDX-License-Identifier: MIT */
/* How long submissions took at most, of a trace without timing=: from release to release. */
#ifndef NVSNOOP_DECODE_REPORT_BOUNDS_H
#define NVSNOOP_DECODE_REPORT_BOUNDS_H

#include "decode/report/report.h"

/* A reading of its own, behind the first one, into what that has settled. 0 or -errno. */
int nvs_bounds_read(struct nvs_source *s);

#endif
