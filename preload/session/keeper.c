/* SPDX-License-Identifier: MIT */
/*
 * The keeper: a thread of ours that looks ten times a second after what nobody is to wait for,
 * since it may take the loader's lock or needs the program's file descriptors. Woken, it looks at
 * once.
 */
#include "preload/api/api.h"
#include "preload/base/ownthread.h"
#include "preload/modules/modules.h"
#include "preload/session/keeper.h"
#include "preload/trace/session.h"

#define ROUND_MS 100

static void ask_loader(void)
{
	nvs_modules_lock();
	nvs_modules_refresh();
	nvs_api_rebind();
	nvs_sites_work();
	nvs_modules_unlock();
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
		nvs_trigger_look(session);
		ask_loader();
		nvs_shadow_refresh();
		nvs_end_with_last_thread(session);
	}
}

void nvs_keeper_start(struct nvs_session *session)
{
	if (nvs_modules_start())
		return;
	nvs_writer_signal.seen = &nvs_state()->keeper;
	nvs_callsite_warm();
	nvs_own_thread("nvsnoop-mod", run_keeper, session);
}
