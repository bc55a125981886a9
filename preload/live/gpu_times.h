/* SPDX-License-Identifier: MIT */
/* The GPU's time in the live page: estimates from the submissions that timing=sample draws. */
#ifndef NVSNOOP_PRELOAD_LIVE_GPU_TIMES_H
#define NVSNOOP_PRELOAD_LIVE_GPU_TIMES_H

#include "preload/live/live.h"
#include "trap/copy/gpfifo_timing.h"

/* Returns what takes the times of a channel of GPU (its instance). COPIES: it is a copy engine's.
 * NULL without a page or memory. Under nvs_lock. */
struct nvs_timing_sink *nvs_live_gpu_sink_new(uint32_t gpu, bool copies);

#endif
