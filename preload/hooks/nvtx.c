/* SPDX-License-Identifier: MIT */
/* The entry point that NVTX looks up in a tool's library. */
#include "preload/api/nvtx/nvtx.h"
#include "preload/hooks/export.h"

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));

EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
	return nvs_nvtx_attach(get_table);
}
