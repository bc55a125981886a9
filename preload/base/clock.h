/* SPDX-License-Identifier: MIT */
/*
 * The session's clock: which one it is, and what its ticks mean.
 */
#ifndef NVSNOOP_PRELOAD_BASE_CLOCK_H
#define NVSNOOP_PRELOAD_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_clock_point {
	uint64_t ticks, mono_ns, real_ns;
};

/*
 * True where the time stamp counter runs evenly on all cores: the CPU says it is invariant, and the
 * kernel trusts it as its own clock source.
 */
bool nvs_clock_tsc_usable(void);
/* The three clocks at one moment, as close together as they can be read. Needs nvs_trap_init(). */
struct nvs_clock_point nvs_clock_read(void);
uint64_t nvs_clock_mono_ns(void);

#endif
