/* SPDX-License-Identifier: MIT */
/* The session's clock: which hardware clock it is, and how it is related to the system's clocks. */
#include <string.h>
#include <time.h>
#include "preload/base/clock.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"

static bool are_clock_source(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[24];

	return nvs_sys_read_file(path, source, sizeof(source)) &&
	       !strcmp(source, NVS_TICKS_SOURCE "\n");
}

bool nvs_clock_ticks_usable(void)
{
	return nvs_ticks_invariant() && are_clock_source();
}

uint64_t nvs_clock_mono_ns(void)
{
	return nvs_read_clock(CLOCK_MONOTONIC);
}

struct nvs_clock_sample nvs_clock_read(void)
{
	struct nvs_clock_sample best = {0};
	uint64_t width = UINT64_MAX;

	/* An interruption between the readings widens them: keep the narrowest of five. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = nvs_clock_now();
		uint64_t mono = nvs_read_clock(CLOCK_MONOTONIC);
		uint64_t real = nvs_read_clock(CLOCK_REALTIME);
		uint64_t after = nvs_clock_now();

		if (after - before >= width)
			continue;
		width = after - before;
		best = (struct nvs_clock_sample){before + width / 2, mono, real};
	}
	return best;
}
