/* SPDX-License-Identifier: MIT */
/* Constructor and destructor of the library. All that a program pays if it never opens a GPU. */
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"

/* Stores the pid, to detect a vfork() child, which shares our memory but has its own pid. In a
 * forked child the state page is wiped, and no constructor runs. */
static void remember_process(void)
{
	atomic_store(&nvs_state()->pid, (uint32_t)nvs_sys_getpid());
}

__attribute__((constructor)) static void load_library(void)
{
	if (!nvs_is_preloaded())
		return;
	nvs_next();
	nvs_own_threads_prepare();
	remember_process();
	pthread_atfork(NULL, NULL, remember_process);
	if (!nvs_options()->disabled)
		nvs_sigview_begin_main();
	nvs_session_prepare();
	nvs_nvtx_set_environment();
	nvs_summary_report_refusal();
}

__attribute__((destructor)) static void unload_library(void)
{
	nvs_session_finish();
	nvs_session_report_bypass();
}
