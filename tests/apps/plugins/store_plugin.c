/* SPDX-License-Identifier: MIT */
/* A doorbell store in a library that is unloaded and loaded again: its code is patched, unloaded
 * with the patch, and loaded again. */
#include "insns.h"

const volatile uint8_t *plugin_store_bytes(void);

INSN_STORE(plugin_store);

const volatile uint8_t *plugin_store_bytes(void)
{
	return plugin_store_at;
}
