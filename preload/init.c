/* SPDX-License-Identifier: MIT */
/*
 * Load and unload of the library. A program that never opens a GPU pays for these few lines.
 */
#include "preload/api.h"
#include "preload/preload.h"
#include "preload/sigview.h"

__attribute__((constructor)) static void nvs_init(void)
{
	nvs_next();
	if (!nvs_options()->disabled)
		nvs_sigview_main_begins();
	nvs_api_start();
}

__attribute__((destructor)) static void nvs_fini(void)
{
	nvs_session_finish();
}
