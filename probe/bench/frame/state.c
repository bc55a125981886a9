/* SPDX-License-Identifier: MIT */
/* The GPU's state that may explain a figure: power limit, ECC, and what limits the clock. */
#include <string.h>
#include "probe/bench/frame/internal.h"

void bench_gpu_take_state(struct bench_gpu *gpu, const struct probe_nvml *nvml)
{
	unsigned long long mask = 0;

	gpu->power_limit_mw = probe_nvml_power_limit(nvml);
	gpu->ecc = probe_nvml_ecc(nvml, &gpu->ecc_errors);
	if (!nvml->reasons || nvml->reasons(nvml->device, &mask))
		return;
	gpu->limit_readings++;
	for (int i = 0; i < PROBE_CLOCK_LIMITS; i++)
		gpu->limits |= mask & probe_clock_limits[i].bit;
}

const char *bench_clock_limits(const struct bench_gpu *g)
{
	const char *list = g->limit_readings ? "none" : "";
	bool first = true;

	for (int i = 0; i < PROBE_CLOCK_LIMITS; i++)
		if (g->limits & probe_clock_limits[i].bit) {
			list = bench_format("%s%s%s", first ? "" : list, first ? "" : "; ",
					    probe_clock_limits[i].name);
			first = false;
		}
	return list;
}
