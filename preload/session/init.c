/* SPDX-License-Identifier: MIT */
/*
 * Load and unload of the library. A program that never opens a GPU pays for these few lines.
 */
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"

/* Told apart from a vfork() child, which has our memory and a number of its own. In a forked child
 * the page is wiped, and no constructor runs. */
static void remember_process(void)
{
	atomic_store(&nvs_state()->pid, (uint32_t)nvs_sys_getpid());
}

__attribute__((constructor)) static void nvs_init(void)
{
	if (!nvs_preloaded())
		return;
	nvs_next();
	nvs_own_threads_prepare();
	remember_process();
	pthread_atfork(NULL, NULL, remember_process);
	if (!nvs_options()->disabled)
		nvs_sigview_main_begins();
	nvs_session_prepare();
	nvs_nvtx_offer();
	nvs_summary_refused();
}

__attribute__((destructor)) static void nvs_fini(void)
{
	nvs_session_finish();
	nvs_session_bypassed();
}
