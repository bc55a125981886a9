/* SPDX-License-Identifier: MIT */
/* Writes code, and makes all cores see it. */
#include <linux/membarrier.h>
#include "trap/low/code_write.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

static int registered; /* 1: registered, -1: refused */

bool nvs_code_sync(void)
{
	return !nvs_sys4(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0);
}

bool nvs_code_sync_register(void)
{
	if (!registered)
		registered = nvs_sys4(SYS_membarrier,
				      MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0)
				     ? -1
				     : 1;
	return registered > 0;
}

/* A word is written at once: it may be a whole instruction. */
static void store_bytes(uintptr_t to, const uint8_t *bytes, size_t n)
{
	uint32_t word;

	if (n == sizeof(word) && !(to & (sizeof(word) - 1))) {
		__builtin_memcpy(&word, bytes, sizeof(word));
		*(volatile uint32_t *)to = word;
		return;
	}
	for (size_t i = 0; i < n; i++)
		((volatile uint8_t *)to)[i] = bytes[i];
}

bool nvs_code_write(long mem, uintptr_t to, const uint8_t *bytes, size_t n)
{
	uintptr_t page = nvs_page_of(to);
	size_t span = nvs_page_up(to + n - page);

	if (mem < 0 || nvs_sys4(SYS_pwrite64, mem, bytes, n, to) != (long)n) {
		if (nvs_sys4(SYS_mprotect, page, span, PROT_READ | PROT_WRITE | PROT_EXEC, 0))
			return false;
		store_bytes(to, bytes, n);
		nvs_sys4(SYS_mprotect, page, span, PROT_READ | PROT_EXEC, 0);
	}
	__builtin___clear_cache((char *)to, (char *)to + n);
	return true;
}
