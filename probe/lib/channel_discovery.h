/* SPDX-License-Identifier: MIT */
/* Finds the driver's channels by tracking its resource manager calls, with the recorder's code
 * linked into the probe. Nothing is trapped. */
#ifndef NVSNOOP_PROBE_LIB_CHANNEL_DISCOVERY_H
#define NVSNOOP_PROBE_LIB_CHANNEL_DISCOVERY_H

#include <stdint.h>
#include "submit/ring.h"

struct probe_channel {
	uint32_t number; /* in order of creation */
	uint32_t gpu; /* GPU index of the library */
	struct nvs_ring ring; /* not opened */
	uint64_t gpfifo; /* GPU address */
	/* The error notifier: ns (two words), info32, status << 16 | info16; NULL if not mapped. */
	const volatile uint32_t *notifier;
};

/* Stores up to MAX channels whose ring, USERD and doorbell are mapped in this process. Returns
 * their number. */
uint32_t probe_list_channels(struct probe_channel *channels, uint32_t max);
/* Returns the GPU's clock in ns: TIME_0 of a readable doorbell page, or NULL if there is none. The
 * next word is TIME_1. Clocks of different GPUs differ by fractions of a millisecond. */
const volatile uint32_t *probe_gpu_clock(uint32_t gpu);
/* Returns for example "580.159.04"; "" if unknown. */
const char *probe_driver_version(void);

#endif
