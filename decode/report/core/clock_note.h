/* SPDX-License-Identifier: MIT */
/* Prints how well the clocks of several traces are aligned. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_CLOCK_NOTE_H
#define NVSNOOP_DECODE_REPORT_CORE_CLOCK_NOTE_H

#include "decode/analysis/clock_alignment.h"
#include "decode/report/core/report.h"

/* Prints how well the traces are aligned; nothing if there is one trace. Returns 0 or -errno. */
int nvs_clocks_say(struct nvs_out *out, const struct nvs_clock_of *of,
		   const struct nvs_source *sources, uint32_t n);

#endif
