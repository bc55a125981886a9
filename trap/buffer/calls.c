/* SPDX-License-Identifier: MIT */
/* Records the calls in which a submission happens. */
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/low/poison.h"

static bool record_call_begin(struct nvs_buffer *buffer, const struct nvs_open_call *call,
			      uint32_t depth, uint64_t time)
{
	struct nvs_rec_call_begin *rec = nvs_buffer_reserve(buffer, sizeof(*rec), true);

	if (!rec)
		return false;
	*rec = (struct nvs_rec_call_begin){
		.rec = {.type = NVS_REC_CALL_BEGIN, .size = sizeof(*rec), .time = time},
		.thread = nvs_tls.thread - 1,
		.api = call->api,
		.number = call->number,
		.begin = call->begin,
		.depth = depth,
	};
	nvs_buffer_commit(buffer, sizeof(*rec));
	return true;
}

uint32_t nvs_open_calls_record(struct nvs_buffer *buffer, uint64_t time)
{
	struct nvs_open_calls *c = &nvs_calls;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < c->depth && i < NVS_MAX_CALLS && !c->quiet; i++) {
		struct nvs_open_call *call = &c->open[i];

		/* This call was left by a jump: the thread's stack pointer is above its frame. */
		if (c->sp && call->sp < c->sp)
			break;
		if (!call->told && !record_call_begin(buffer, call, i + 1, time))
			break;
		call->told = 1;
		depth = i + 1;
	}
	c->sp = 0;
	return depth;
}
