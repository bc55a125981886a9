/* SPDX-License-Identifier: MIT */
/* API calls that have not returned when the trace ends, for example threads that wait for the GPU
 * while main() returns. They are read from the thread buffers and recorded last. */
#include "preload/writer/session.h"

/* The owner keeps running: a call that changed while it was read has returned. ncalls is read
 * before number is read again: if another call is in this place by then, its number is too. */
static bool read_call(const struct nvs_spool_buffer *shared, uint32_t i,
		      struct nvs_spool_call *call)
{
	const struct nvs_spool_call *from = &shared->calls[i];

	call->number = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);
	call->begin = __atomic_load_n(&from->begin, __ATOMIC_ACQUIRE);
	call->api = __atomic_load_n(&from->api, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&shared->ncalls, __ATOMIC_ACQUIRE) > i &&
	       __atomic_load_n(&from->number, __ATOMIC_ACQUIRE) == call->number;
}

/* Adds the call site, if it was recorded by then and is not being replaced. */
static void add_site(struct nvs_open_call_record *rec, const struct nvs_spool_site *site,
		     const struct nvs_spool_call *call)
{
	uint32_t nargs;

	if (__atomic_load_n(&site->number, __ATOMIC_ACQUIRE) != call->number + 1 ||
	    site->begin != call->begin)
		return;
	nargs = site->nargs < NVS_SITE_ARGS ? site->nargs : NVS_SITE_ARGS;
	rec->site = (struct nvs_call_begin_site){site->stack, nargs, site->absent, 0};
	for (uint32_t i = 0; i < nargs; i++)
		rec->args[i] = site->args[i];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&site->number, __ATOMIC_RELAXED) != call->number + 1)
		return;
	rec->rec.rec.flags |= NVS_BEGIN_SITED;
	rec->rec.rec.size += (uint32_t)sizeof(rec->site) + nargs * 8;
}

bool nvs_open_call_next(struct nvs_open_call_cursor *at, struct nvs_open_call_record *rec)
{
	struct nvs_spool_call call;

	for (; at->buffer < nvs_buffer_count(); at->buffer++, at->call = 0) {
		const struct nvs_spool_buffer *shared = nvs_buffer_at(at->buffer)->shared;

		if (at->call >= NVS_SPOOL_CALLS ||
		    !__atomic_load_n(&shared->tid, __ATOMIC_ACQUIRE) ||
		    !read_call(shared, at->call, &call))
			continue;
		rec->rec = (struct nvs_rec_call_begin){
			.rec = {NVS_REC_CALL_BEGIN, NVS_BEGIN_IN_FLIGHT, sizeof(rec->rec),
				nvs_clock_now()},
			.thread = shared->thread,
			.api = call.api,
			.number = call.number,
			.begin = call.begin,
			.depth = at->call + 1,
		};
		if (!at->call++)
			add_site(rec, &shared->site, &call);
		return true;
	}
	return false;
}
