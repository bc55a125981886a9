/* SPDX-License-Identifier: MIT */
/* Another tool's NVTX library: prints that it was called, and registers nothing. */
#include <stdint.h>
#include <stdio.h>

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
	puts("the other tool was asked");
	return 0;
}
