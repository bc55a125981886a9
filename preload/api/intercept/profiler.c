/* SPDX-License-Identifier: MIT */
/*
 * from=profiler: cuProfilerStart and cuProfilerStop switch recording. Before the call, so that it
 * is within the window; what it returns does not matter, since other tools may have the profiler.
 * Counters are read at both, so that what is counted is of the window.
 */
#include <errno.h>
#include "preload/api/intercept/api.h"
#include "preload/writer/session.h"

_Atomic bool nvs_api_profiled;

static void say(const struct nvs_api_frame *frame, bool begins)
{
	const struct nvs_api_counting *counting = nvs_api_who_counts();
	int saved = errno;

	if (!nvs_options()->values.from_profiler)
		return;
	/* Calls do not nest: one more start begins nothing. */
	if (atomic_exchange(&nvs_api_profiled, begins) != begins && counting)
		counting->window(frame, begins);
	nvs_switch_set(begins ? NVS_RECORD_ALL : 0, NVS_WINDOW_PROFILER);
	errno = saved;
}

void nvs_api_before_profiler_start(struct nvs_api_frame *frame)
{
	say(frame, true);
}

void nvs_api_before_profiler_stop(struct nvs_api_frame *frame)
{
	say(frame, false);
}
