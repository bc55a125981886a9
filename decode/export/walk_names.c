/* SPDX-License-Identifier: MIT */
/* What exports call threads and channels, and what they say of calls and of the GPU's work. */
#include "decode/export/walk.h"
#include "decode/report/report.h"
#include "decode/report/words.h"

const char *nvs_walk_error(const struct nvs_call *call, char *room, size_t size)
{
	const char *name = nvs_words_left(call);

	if (name || !call->result)
		return name;
	name = nvs_call_error(call->result);
	snprintf(room, size, "%u", call->result);
	return name ? name : room;
}

const char *nvs_walk_note(const struct nvs_walk_gpu *g)
{
	if (g->brief)
		return "shorter than can be told";
	if (g->work->flags & NVS_WORK_WAITED)
		return "waited first, nobody knows until when";
	return g->work->flags & NVS_WORK_SHARED ? "may hold work of another channel" : "";
}

#define OWN_TIDS 0x40000000u /* above the system's */

uint32_t nvs_walk_tid(const struct nvs_walk *w, uint32_t thread)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, thread);

	return t && t->tid && t->tid < OWN_TIDS ? t->tid
						: OWN_TIDS + ((thread + 1) & (OWN_TIDS - 1));
}

const char *nvs_walk_thread(const struct nvs_walk *w, uint32_t thread, char *room, size_t size)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, thread);

	if (thread == NVS_NONE)
		return "calls before the trace";
	if (t && *t->name)
		return t->name;
	snprintf(room, size, "thread %u", thread);
	return room;
}

const char *nvs_walk_channel(const struct nvs_walk *w, uint32_t channel, char *room, size_t size)
{
	const struct nvs_trace_channel *c = nvs_trace_channel_at(w->source->trace, channel);
	int n = snprintf(room, size, "channel %u", channel);

	if (!c || !c->known || n < 0 || (size_t)n >= size)
		return room;
	snprintf(room + n, size - (size_t)n, ": class %04x, engine %u%s", c->rec.object_class,
		 c->rec.engine, c->rec.gpu == NVS_NONE ? "" : ", GPU ");
	if (c->rec.gpu != NVS_NONE) {
		n = (int)strlen(room);
		snprintf(room + n, size - (size_t)n, "%u", c->rec.gpu);
	}
	return room;
}
