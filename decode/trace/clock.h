/* SPDX-License-Identifier: MIT */
/* The points at which a trace's clock was read beside the others. */
#ifndef NVSNOOP_DECODE_TRACE_CLOCK_H
#define NVSNOOP_DECODE_TRACE_CLOCK_H

#include "nvsnoop/decode.h"

struct nvs_clock_point {
	uint64_t ticks, mono_ns, real_ns;
};

/* Those read so far, by ticks and by mono_ns; of very many every second one. NULL: none. */
const struct nvs_clock_point *nvs_clock_points(const struct nvs_trace *trace, uint32_t *n);

#endif
