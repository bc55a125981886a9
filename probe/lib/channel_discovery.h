/* SPDX-License-Identifier: MIT */
/*
 * What the driver told the kernel about its channels, learnt by the library's own way of following
 * the resource manager, which is linked into the probe. Nothing is trapped here.
 */
#ifndef NVSNOOP_PROBE_LIB_CHANNEL_DISCOVERY_H
#define NVSNOOP_PROBE_LIB_CHANNEL_DISCOVERY_H

#include <stdint.h>
#include "submit/ring.h"

struct probe_channel {
	uint32_t number; /* in the order of making */
	uint32_t gpu; /* as the library counts them */
	struct nvs_ring ring; /* not opened */
	uint64_t gpfifo; /* GPU address */
	/* The notifier of errors: ns (two words), info32, status << 16 | info16; NULL: not mapped.
	 */
	const volatile uint32_t *notifier;
};

/* Channels whose ring, USERD and doorbell the process can reach, MAX at most; how many. */
uint32_t probe_channels(struct probe_channel *channels, uint32_t max);
/*
 * The clock of that GPU, ns: TIME_0 of a doorbell page of its own that can be read; NULL: none. The
 * word above it is TIME_1. GPUs' clocks differ by fractions of a millisecond.
 */
const volatile uint32_t *probe_gpu_clock(uint32_t gpu);
/* "580.159.04", "" where it is not known. */
const char *probe_driver_version(void);

#endif
