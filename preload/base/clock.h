/* SPDX-License-Identifier: MIT */
/* The session's clock: which hardware clock it is, and how it is related to the system's clocks. */
#ifndef NVSNOOP_PRELOAD_BASE_CLOCK_H
#define NVSNOOP_PRELOAD_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_clock_sample {
	uint64_t ticks, mono_ns, real_ns;
};

/* Returns true if nvs_ticks() runs at one rate on all cores: the processor says so and the kernel
 * uses the counter as its clock source. */
bool nvs_clock_ticks_usable(void);
/* Reads the three clocks as close together as possible. Requires nvs_trap_init(). */
struct nvs_clock_sample nvs_clock_read(void);
uint64_t nvs_clock_mono_ns(void);

#endif
