/* SPDX-License-Identifier: MIT */
/*
 * from=profiler: cuProfilerStart and cuProfilerStop switch recording. The switch is before the
 * call, so that the call of cuProfilerStart is in the window. The call's result is ignored, since
 * another tool may own the profiler. Counters are read at both calls, so that counts belong to the
 * window.
 */
#include "preload/api/intercept/api.h"
#include "preload/writer/session.h"

_Atomic bool nvs_api_profiled;

static void set_window(const struct nvs_api_frame *frame, bool begins)
{
	const struct nvs_api_counting *counting = nvs_api_get_counting();
	NVS_KEEP_ERRNO();

	if (!nvs_options()->values.from_profiler)
		return;
	/* Starts do not nest: a second start has no effect. */
	if (atomic_exchange(&nvs_api_profiled, begins) != begins && counting)
		counting->window(frame, begins);
	nvs_switch_request(begins ? NVS_RECORD_ALL : 0, NVS_WINDOW_PROFILER);
}

void nvs_api_before_profiler_start(struct nvs_api_frame *frame)
{
	set_window(frame, true);
}

void nvs_api_before_profiler_stop(struct nvs_api_frame *frame)
{
	set_window(frame, false);
}
