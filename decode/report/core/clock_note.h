/* SPDX-License-Identifier: MIT */
/* Prints how well the clocks of several traces are aligned. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_CLOCK_NOTE_H
#define NVSNOOP_DECODE_REPORT_CORE_CLOCK_NOTE_H

#include "decode/analysis/clock_alignment.h"
#include "decode/report/core/report.h"

/* Prints how well the traces are aligned; nothing if there is one trace. Returns 0 or -errno. */
int nvs_clock_note_print(struct nvs_out *out, const struct nvs_trace_clock *of,
			 const struct nvs_source *sources, uint32_t n);

#endif
