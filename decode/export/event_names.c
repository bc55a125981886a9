/* SPDX-License-Identifier: MIT */
/* Names of threads and channels in exports, and notes on calls and GPU work. */
#include <string.h>
#include "decode/export/events.h"
#include "decode/query/nvtx_names.h"
#include "decode/report/core/report.h"
#include "decode/analysis/call_text.h"

const char *nvs_event_call_error(const struct nvs_call *call, char *room, size_t size)
{
	const char *name = nvs_call_exit_text(call);

	if (name || !call->result)
		return name;
	name = nvs_call_error(call->result);
	snprintf(room, size, "%u", call->result);
	return name ? name : room;
}

const char *nvs_event_gpu_note(const struct nvs_event_gpu_work *g)
{
	if (g->too_short)
		return "too short to measure";
	if (g->work->flags & NVS_WORK_WAITED)
		return "waited first, for an unknown time";
	return g->work->flags & NVS_WORK_SHARED ? "may include work of another channel" : "";
}

const char *nvs_walk_range_detail(const struct nvs_event_stream *w,
				  const struct nvs_event_range *range, char *room, size_t size)
{
	nvs_nvtx_describe(nvs_nvtx_names(w->source->nvtx), range->rec, room, size);
	return *room ? room + strlen(", ") : "";
}

#define OWN_TIDS 0x40000000u /* above all real tids */

uint32_t nvs_event_tid(const struct nvs_event_stream *w, uint32_t thread)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, thread);

	return t && t->tid && t->tid < OWN_TIDS ? t->tid
						: OWN_TIDS + ((thread + 1) & (OWN_TIDS - 1));
}

const char *nvs_event_thread_name(const struct nvs_event_stream *w, uint32_t thread, char *room,
				  size_t size)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, thread);

	if (thread == NVS_NONE)
		return "calls before the trace";
	if (t && *t->name)
		return t->name;
	snprintf(room, size, "thread %u", thread);
	return room;
}

/* NV2080_ENGINE_TYPE: GR0 is 1, COPY0 is 9. */
static void engine_name(uint32_t engine, char *room, size_t size)
{
	if (engine == 1)
		snprintf(room, size, "compute");
	else if (engine >= 9 && engine <= 18)
		snprintf(room, size, "copy %u", engine - 9);
	else
		snprintf(room, size, "engine %u", engine);
}

const char *nvs_event_channel_name(const struct nvs_event_stream *w, uint32_t channel, char *room,
				   size_t size)
{
	const struct nvs_trace_channel *c = nvs_trace_channel_at(w->source->trace, channel);
	char engine[32], gpu[32] = "";

	if (!c || !c->known) {
		snprintf(room, size, "channel %u", channel);
		return room;
	}
	engine_name(c->rec.engine, engine, sizeof(engine));
	if (c->rec.gpu != NVS_NONE)
		snprintf(gpu, sizeof(gpu), ", GPU %u", c->rec.gpu);
	snprintf(room, size, "%s, channel %u%s, class %04x", engine, channel, gpu,
		 c->rec.object_class);
	return room;
}
