/* SPDX-License-Identifier: MIT */
/*
 * Where a long call came from that submitted nothing, so that no trap took its stack: making
 * contexts, loading modules, waiting. It is taken when the call is over, since only then it is
 * known to be worth it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include "preload/api/api.h"
#include "preload/base/sys.h"
#include "trap/buffer/process.h"

uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time)
{
	/* The thunk's frame, and above it what it found: RBP, and where it returns to. */
	const uint64_t *rbp = (const void *)(frame + 1);
	uint64_t saved = nvs_sys_block_async();
	int state, err = errno;
	uint32_t stack;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	stack = nvs_callsite_of_call(buffer, (uintptr_t)nvs_api_slots[frame->index].original,
				     (uintptr_t)(rbp + 1), *rbp, time);
	pthread_setcancelstate(state, NULL);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	errno = err;
	return stack;
}
