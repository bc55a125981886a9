/* SPDX-License-Identifier: MIT */
/*
 * Calls that have not returned when the trace is ended: threads that wait on the GPU while main()
 * returns. Their rings say so; they are told last.
 */
#include "preload/trace/session.h"
#include "preload/trace/merge.h"

/* The owner goes on meanwhile: a call that has changed while it was read is over. */
static bool read_call(const struct nvs_spool_ring *shared, uint32_t i, struct nvs_spool_call *call)
{
	const struct nvs_spool_call *from = &shared->calls[i];

	call->number = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);
	call->begin = __atomic_load_n(&from->begin, __ATOMIC_ACQUIRE);
	call->api = __atomic_load_n(&from->api, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_ACQUIRE) == call->number &&
	       __atomic_load_n(&shared->ncalls, __ATOMIC_ACQUIRE) > i;
}

static void put_ring(struct nvs_merge *merge, const struct nvs_spool_ring *shared)
{
	uint32_t n = __atomic_load_n(&shared->ncalls, __ATOMIC_ACQUIRE);
	struct nvs_spool_call call;

	for (uint32_t i = 0; i < n && i < NVS_SPOOL_CALLS && read_call(shared, i, &call); i++) {
		struct nvs_rec_call_begin rec = {
			.rec = {NVS_REC_CALL_BEGIN, NVS_BEGIN_IN_FLIGHT, sizeof(rec), nvs_now()},
			.thread = shared->thread,
			.api = call.api,
			.number = call.number,
			.begin = call.begin,
			.depth = i + 1,
		};

		nvs_merge_put(merge, &rec.rec);
	}
}

void nvs_inflight_put(struct nvs_merge *merge)
{
	nvs_buffer_sweep();
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		const struct nvs_spool_ring *shared = nvs_buffer_at(i)->shared;

		if (__atomic_load_n(&shared->tid, __ATOMIC_ACQUIRE))
			put_ring(merge, shared);
	}
}
