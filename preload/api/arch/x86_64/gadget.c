/* SPDX-License-Identifier: MIT */
/* Where nvs_api_call_as() can have a function return to: any RET instruction. */
#include <string.h>
#include "preload/api/intercept/api.h"
#include "trap/low/sys.h"

#define RET 0xc3
#define ARCH_SHSTK_STATUS_ 0x5005

const void *nvs_api_find_return(const void *at, size_t size)
{
	return memchr(at, RET, size);
}

/* With shadow stacks, returning to any address but the caller's faults. */
bool nvs_api_may_return(void)
{
	uint64_t features = 0;

	return nvs_syscall(SYS_arch_prctl, ARCH_SHSTK_STATUS_, (long)&features, 0, 0, 0, 0) != 0 ||
	       !(features & 1);
}
