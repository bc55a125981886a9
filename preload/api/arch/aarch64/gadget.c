/* SPDX-License-Identifier: MIT */
/* Where nvs_api_call_as() can have a function return to: the end of a function that takes its own
 * return address from the stack, and does not check a signature of it. */
#include "preload/api/intercept/api.h"
#include "trap/low/sys.h"

#define LDP_FRAME 0xa8c07bfdu /* ldp x29, x30, [sp], #n, with a positive n */
#define LDP_MASK 0xffe07fffu
#define RET 0xd65f03c0u
#define PR_GET_SHADOW_STACK_STATUS_ 74

const void *nvs_api_find_return(const void *at, size_t size)
{
	const uint32_t *code = (const void *)(((uintptr_t)at + 3) & ~3ul);

	for (size_t i = 0; i + 2 < size / 4; i++)
		if ((code[i] & LDP_MASK) == LDP_FRAME && code[i + 1] == RET)
			return &code[i];
	return NULL;
}

/* With shadow stacks (GCS), returning to any address but the caller's faults. */
bool nvs_api_may_return(void)
{
	uint64_t status = 0;

	return nvs_sys4(SYS_prctl, PR_GET_SHADOW_STACK_STATUS_, &status, 0, 0) != 0 ||
	       !(status & 1);
}
