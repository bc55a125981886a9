/* SPDX-License-Identifier: MIT */
/* The keeper's part of recording on demand (preload/writer/on_demand.h): makes the trap record,
 * opens and closes the window, and makes the trap count only again. */
#include "preload/base/clock.h"
#include "preload/base/options.h"
#include "preload/base/sys.h"
#include "preload/live/memory.h"
#include "preload/modules/modules.h"
#include "preload/session/poll_thread.h"
#include "preload/writer/on_demand.h"
#include "preload/writer/session.h"
#include "trap/buffer/process.h"

#define EARLY_MS 20 /* before the window opens; allocations are recorded in this time */

static uint64_t real_ns(void)
{
	return nvs_clock_read().real_ns;
}

/* Nothing is recorded yet: doorbells in flight may be of either kind until all of them have ended.
 */
static void prepare_window(struct nvs_recorder *session)
{
	const struct nvs_option_values *v = &session->demand.values;

	nvs_demand_start_naming(session);
	nvs_switch_begin();
	nvs_options_use(v, session->demand.given);
	nvs_trap_record(0);
	nvs_trap_set_level(v->headers ? NVS_LEVEL_HEADERS : NVS_LEVEL_FULL, !v->api, v->backtrace);
	nvs_wait_for_traps();
	nvs_rm_begin_chains();
}

/* Returns false if it is too early. */
static bool open_window(struct nvs_demand *d)
{
	struct nvs_live_allocs_seen allocs;
	uint64_t now = nvs_clock_mono_ns();

	if (now + EARLY_MS * 1000000ull < d->at)
		return false;
	nvs_live_record_allocs(&allocs);
	now = nvs_clock_mono_ns();
	if (now < d->at)
		nvs_sleep(d->at - now);
	nvs_switch_request(d->submissions, NVS_WINDOW_DEMAND);
	atomic_store(&d->opened, real_ns());
	nvs_live_record_freed(&allocs);
	return true;
}

/* The window may be closed already, by its duration, size or number of submissions. */
static void close_window(struct nvs_recorder *session)
{
	nvs_switch_request(0, NVS_WINDOW_DEMAND);
	atomic_store(&session->demand.closed, real_ns());
	nvs_wait_for_traps();
	nvs_rm_end_chains();
	nvs_sites_record();
	session->unknown_calls = nvs_rm_unknown_calls();
}

static void pass_on(struct nvs_demand *d, enum nvs_demand_step step)
{
	atomic_store(&d->step, step);
	nvs_writer_wake();
}

void nvs_demand_poll(struct nvs_recorder *session)
{
	struct nvs_demand *d = &session->demand;

	switch (atomic_load(&d->step)) {
	case NVS_DEMAND_PREPARE:
		prepare_window(session);
		pass_on(d, NVS_DEMAND_PREPARED);
		break;
	case NVS_DEMAND_OPEN:
		if (!atomic_load(&d->opened) && !atomic_load(&d->stop)) {
			if (open_window(d))
				nvs_writer_wake();
			break;
		}
		nvs_switch_update(0);
		if (atomic_load(&d->stop) || !nvs_is_recording()) {
			close_window(session);
			pass_on(d, NVS_DEMAND_CLOSED);
		}
		break;
	case NVS_DEMAND_END:
		nvs_trap_record(0);
		nvs_trap_set_level(NVS_LEVEL_NONE, true, nvs_options_own()->backtrace);
		nvs_options_use(NULL, NULL);
		pass_on(d, NVS_DEMAND_NONE);
		break;
	}
}

unsigned nvs_demand_wait_ms(const struct nvs_recorder *session, unsigned most_ms)
{
	const struct nvs_demand *d = &session->demand;
	uint64_t now = nvs_clock_mono_ns();

	if (atomic_load(&d->step) != NVS_DEMAND_OPEN || atomic_load(&d->opened) ||
	    d->at >= now + most_ms * 1000000ull)
		return most_ms;
	return d->at > now + (EARLY_MS + 1) * 1000000ull
		       ? (unsigned)((d->at - now) / 1000000) - EARLY_MS
		       : 1;
}
