/* SPDX-License-Identifier: MIT */
/* How well traces stand beside each other, in words. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_CLOCK_NOTE_H
#define NVSNOOP_DECODE_REPORT_CORE_CLOCK_NOTE_H

#include "decode/analysis/clock_alignment.h"
#include "decode/report/core/report.h"

/* Nothing of a single one. */
int nvs_clocks_say(struct nvs_out *out, const struct nvs_clock_of *of,
		   const struct nvs_source *sources, uint32_t n);

#endif
