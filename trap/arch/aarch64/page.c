/* SPDX-License-Identifier: MIT */
/* The kernel's page size. */
#include <sys/auxv.h>
#include "trap/arch/cpu.h"
#include "trap/low/poison.h"

size_t nvs_page_size;

/* First called at the start, by nvs_trap_init(). */
size_t nvs_page_ask(void)
{
	return nvs_page_size = getauxval(AT_PAGESZ);
}
