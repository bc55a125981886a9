/* SPDX-License-Identifier: MIT */
/* Another tool's library for NVTX: says that it was asked, and wants nothing. */
#include <stdint.h>
#include <stdio.h>

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
	puts("the other tool was asked");
	return 0;
}
