/* SPDX-License-Identifier: MIT */
/*
 * from=profiler: cuProfilerStart and cuProfilerStop switch recording. Before the call, so that it
 * is within the window; what it returns does not matter, since other tools may have the profiler.
 */
#include "preload/api/api.h"
#include "preload/trace/session.h"

static void say(int64_t submissions)
{
	int saved = errno;

	if (nvs_options()->values.from_profiler)
		nvs_switch_set(submissions, NVS_WINDOW_PROFILER);
	errno = saved;
}

void nvs_api_before_profiler_start(struct nvs_api_frame *frame)
{
	(void)frame;
	say(NVS_RECORD_ALL);
}

void nvs_api_before_profiler_stop(struct nvs_api_frame *frame)
{
	(void)frame;
	say(0);
}
