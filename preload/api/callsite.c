/* SPDX-License-Identifier: MIT */
/*
 * Where a long call came from that submitted nothing, so that no trap took its stack: making
 * contexts, loading modules, waiting. It is taken when the call is over, since only then it is
 * known to be worth it.
 */
#include <errno.h>
#include <signal.h>
#include "preload/api/api.h"
#include "preload/base/sys.h"
#include "trap/buffer/process.h"

uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time)
{
	/* The thunk's frame, and above it what it found: RBP, and where it returns to. */
	const uint64_t *rbp = (const void *)(frame + 1);
	struct nvs_activity outer = nvs_tls.activity;
	int err = errno;
	uint64_t saved;
	uint32_t stack;

	/* As in the trap, and before anything is blocked: what is sent to it is kept for later. The
	 * signal of a cancellation is blocked as well, and the unwinder is no cancellation point.
	 */
	nvs_tls.activity = buffer->activity;
	nvs_tls.depth++;
	saved = nvs_sys_block_async();
	stack = nvs_callsite_of_call(buffer, (uintptr_t)nvs_api_slots[frame->index].original,
				     (uintptr_t)(rbp + 1), *rbp, time);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	nvs_tls.depth--;
	nvs_tls.activity = outer;
	errno = err;
	return stack;
}
