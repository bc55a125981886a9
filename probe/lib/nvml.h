/* SPDX-License-Identifier: MIT */
/* NVML, loaded at run time where it is installed: clock, power, temperature, ECC, and what limits
 * the clock. Only reads; needs no root. */
#ifndef NVSNOOP_PROBE_LIB_NVML_H
#define NVSNOOP_PROBE_LIB_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_nvml {
	void *device; /* NULL: not open */
	int (*clock)(void *device, int which, unsigned *mhz);
	int (*power)(void *device, unsigned *milliwatts);
	int (*temperature)(void *device, int which, unsigned *celsius);
	/* Optional. */
	int (*reasons)(void *device, unsigned long long *mask);
	int (*power_limit)(void *device, unsigned *milliwatts);
	int (*ecc_mode)(void *device, int *current, int *pending);
	int (*ecc_errors)(void *device, int type, int counter, unsigned long long *count);
};

/* Opens the GPU with the PCI address BUS, or that of the current context if BUS is NULL. Returns
 * false if NVML is not installed or does not work. */
bool probe_nvml_open(struct probe_nvml *nvml, const char *bus);
/* These return 0 if unknown. */
unsigned probe_nvml_sm_mhz(const struct probe_nvml *nvml);
unsigned probe_nvml_power_limit(const struct probe_nvml *nvml); /* mW */
/* 1: off, 2: on; with ERRORS, the uncorrected errors since the driver was loaded. */
unsigned probe_nvml_ecc(const struct probe_nvml *nvml, uint64_t *errors);

/* What limits the clock, as bits of nvmlDeviceGetCurrentClocksThrottleReasons(). */
struct probe_clock_limit {
	const char *name; /* "power" */
	uint64_t bit;
};
enum { PROBE_CLOCK_LIMITS = 5 };
extern const struct probe_clock_limit probe_clock_limits[PROBE_CLOCK_LIMITS];

#endif
