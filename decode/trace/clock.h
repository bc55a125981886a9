/* SPDX-License-Identifier: MIT */
/* The clock readings of a trace: ticks together with monotonic and real time. */
#ifndef NVSNOOP_DECODE_TRACE_CLOCK_H
#define NVSNOOP_DECODE_TRACE_CLOCK_H

#include "nvsnoop/decode.h"

struct nvs_clock_reading {
	uint64_t ticks, mono_ns, real_ns;
};

/* Returns the readings so far, sorted by ticks and mono_ns; of very many only every second one is
 * kept. Returns NULL if there are none. */
const struct nvs_clock_reading *nvs_clock_points(const struct nvs_trace *trace, uint32_t *n);

#endif
