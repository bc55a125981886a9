/* SPDX-License-Identifier: MIT */
/*
 * The keeper: a thread of the library that runs periodic work ten times a second, or when woken. It
 * does what no thread of the program should wait for, because it may take the loader's lock or
 * needs the program's file descriptors.
 */
#include "preload/api/intercept/api.h"
#include "preload/base/ownthread.h"
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "preload/modules/modules.h"
#include "preload/session/poll_thread.h"
#include "preload/writer/session.h"

#define ROUND_MS 100
#define LOOKS 2 /* rounds that nvs_keeper_scan_now() waits */

static void ask_loader(void)
{
	bool due;

	nvs_modules_lock();
	nvs_modules_refresh();
	nvs_api_rebind();
	nvs_live_name_sites();
	due = nvs_sites_is_due();
	nvs_modules_unlock();
	/* If the writer is late, do not wait for modules or the loader. */
	if (!due || !nvs_sites_may_patch())
		return;
	nvs_modules_lock();
	nvs_sites_patch();
	nvs_modules_unlock();
}

/* The module list must not change meanwhile. A sandbox may forbid the system call that reads a
 * stack, so that is checked right before, with no lock held. */
static void record_open_calls(void)
{
	if (nvs_session_is_confined() || !nvs_api_find_stuck() || !nvs_sites_may_patch())
		return;
	nvs_modules_lock();
	nvs_api_record_stuck();
	nvs_modules_unlock();
}

/* nvs_keeper_scan_now() is waiting for this. */
static void answer_scan(struct nvs_recorder *session)
{
	nvs_modules_lock();
	nvs_modules_refresh();
	nvs_api_rebind();
	nvs_modules_unlock();
	atomic_store(&session->keeper_look, 0);
	nvs_sys_futex_wake(&session->keeper_look);
}

static void run_keeper(void *arg)
{
	struct nvs_recorder *session = arg;
	_Atomic uint32_t *wake = &nvs_state()->keeper;

	for (;;) {
		nvs_sys_futex_wait(wake, 0,
				   nvs_switch_update(nvs_demand_wait_ms(session, ROUND_MS)));
		atomic_store(wake, 0);
		if (atomic_load(&nvs_writer_signal.ended))
			break;
		if (atomic_load(&session->keeper_look))
			answer_scan(session);
		nvs_trigger_poll(session);
		nvs_demand_poll(session);
		ask_loader();
		nvs_shadow_refresh();
		nvs_summary_report_fault(session);
		record_open_calls();
		/* The timing thread may be inside the driver, blocked by a thread that waits for
		 * the GPU. */
		if (nvs_options()->values.timing)
			nvs_rm_timing_poll(false);
		nvs_live_update_channels();
		nvs_live_heartbeat();
		nvs_end_with_last_thread(session);
	}
}

void nvs_keeper_scan_now(struct nvs_recorder *session)
{
	atomic_store(&session->keeper_look, 1);
	nvs_poll_thread_wake();
	for (int i = 0; i < LOOKS && atomic_load(&session->keeper_look); i++)
		nvs_sys_futex_wait(&session->keeper_look, 1, ROUND_MS);
}

void nvs_keeper_start(struct nvs_recorder *session)
{
	if (nvs_modules_start())
		return;
	nvs_writer_signal.seen = &nvs_state()->keeper;
	/* Gives this thread a buffer first, since threads are numbered by their first records. */
	nvs_buffer_own();
	if (nvs_own_thread_start("nvsnoop-mod", NVS_OWN_STACK, run_keeper, session))
		return;
	nvs_keeper_scan_now(session);
	nvs_callsite_warm();
}
