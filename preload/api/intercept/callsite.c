/* SPDX-License-Identifier: MIT */
/*
 * Where a call came from that submitted nothing, so that no trap took its stack: one that took
 * long (making contexts, loading modules), or that allocates, frees or synchronizes. It is taken
 * when the call is over, since only then it is known to be wanted.
 */
#include <errno.h>
#include <signal.h>
#include "preload/api/intercept/api.h"
#include "preload/base/sys.h"
#include "trap/buffer/process.h"
#include "trap/stack/stackcache.h"

static __attribute__((noinline)) uint32_t take(struct nvs_buffer *buffer, uintptr_t entry,
					       const uint64_t *rbp, uint64_t time)
{
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
	stack = nvs_callsite_of_call(buffer, entry, (uintptr_t)(rbp + 1), *rbp, time);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	nvs_tls.depth--;
	nvs_tls.activity = outer;
	errno = err;
	return stack;
}

uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time, bool *unwound)
{
	/* The thunk's frame, and above it what it found: RBP, and where it returns to. */
	const uint64_t *rbp = (const void *)(frame + 1);
	uintptr_t entry = (uintptr_t)nvs_api_slots[frame->index].original;
	uint32_t stack;

	*unwound = false;
	if (!nvs_process->options.backtrace)
		return NVS_NONE;
	/* One that is known is only read, as in a patched site: nothing need be blocked for it. */
	stack = nvs_stackcache_match(buffer, entry, (uintptr_t)(rbp + 1), *rbp);
	*unwound = stack == NVS_NONE;
	return *unwound ? take(buffer, entry, rbp, time) : stack;
}
