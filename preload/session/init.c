/* SPDX-License-Identifier: MIT */
/*
 * Load and unload of the library. A program that never opens a GPU pays for these few lines.
 */
#include "preload/api/api.h"
#include "preload/api/nvtx.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/signals/signals.h"
#include "preload/trace/session.h"

__attribute__((constructor)) static void nvs_init(void)
{
	if (!nvs_preloaded())
		return;
	nvs_next();
	/* Told apart from a vfork() child, which has our memory and a number of its own. */
	atomic_store(&nvs_state()->pid, (uint32_t)nvs_sys_getpid());
	if (!nvs_options()->disabled)
		nvs_sigview_main_begins();
	nvs_api_start();
	nvs_nvtx_offer();
	nvs_summary_refused();
}

__attribute__((destructor)) static void nvs_fini(void)
{
	nvs_session_finish();
}
