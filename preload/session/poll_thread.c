/* SPDX-License-Identifier: MIT */
/*
 * The keeper: a thread of ours that looks ten times a second after what nobody is to wait for,
 * since it may take the loader's lock or needs the program's file descriptors. Woken, it looks at
 * once.
 */
#include "preload/api/intercept/api.h"
#include "preload/base/ownthread.h"
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "preload/modules/modules.h"
#include "preload/session/poll_thread.h"
#include "preload/writer/session.h"

#define ROUND_MS 100
#define LOOKS 2 /* rounds for which the last look is waited for */

static void ask_loader(void)
{
	bool due;

	nvs_modules_lock();
	nvs_modules_refresh();
	nvs_api_rebind();
	nvs_live_sites_name();
	due = nvs_sites_due();
	nvs_modules_unlock();
	/* Where the writer is late, nobody waits for the modules or the loader meanwhile. */
	if (!due || !nvs_sites_may_patch())
		return;
	nvs_modules_lock();
	nvs_sites_work();
	nvs_modules_unlock();
}

/* While the list of modules stays as it is. Reading a stack is no call that a sandbox need allow:
 * it is asked for at that moment, before anything is locked. */
static void see_calls(void)
{
	if (nvs_session_confined() || !nvs_api_calls_stay() || !nvs_sites_may_patch())
		return;
	nvs_modules_lock();
	nvs_api_see_calls();
	nvs_modules_unlock();
}

/* Somebody waits for it. */
static void answer_look(struct nvs_session *session)
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
	struct nvs_session *session = arg;
	_Atomic uint32_t *wake = &nvs_state()->keeper;

	for (;;) {
		nvs_sys_futex_wait(wake, 0, nvs_switch_look(ROUND_MS));
		atomic_store(wake, 0);
		if (atomic_load(&nvs_writer_signal.ended))
			break;
		if (atomic_load(&session->keeper_look))
			answer_look(session);
		nvs_trigger_look(session);
		ask_loader();
		nvs_shadow_refresh();
		see_calls();
		/* Whose task it is may be inside the driver, behind a thread that waits for the
		 * GPU. */
		if (nvs_options()->values.timing)
			nvs_rm_timing_round(false);
		nvs_live_channels();
		nvs_live_beat();
		nvs_end_with_last_thread(session);
	}
}

void nvs_keeper_look(struct nvs_session *session)
{
	atomic_store(&session->keeper_look, 1);
	nvs_keeper_wake();
	for (int i = 0; i < LOOKS && atomic_load(&session->keeper_look); i++)
		nvs_sys_futex_wait(&session->keeper_look, 1, ROUND_MS);
}

void nvs_keeper_start(struct nvs_session *session)
{
	if (nvs_modules_start())
		return;
	nvs_writer_signal.seen = &nvs_state()->keeper;
	/* Threads have their numbers in the order of their first records: not ours the first. */
	nvs_buffer_mine();
	if (nvs_own_thread("nvsnoop-mod", NVS_OWN_STACK, run_keeper, session))
		return;
	nvs_keeper_look(session);
	nvs_callsite_warm();
}
