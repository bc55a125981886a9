/* SPDX-License-Identifier: MIT */
/*
 * Stacks of calls that submitted nothing, so that no trap recorded their stack: calls that took
 * long (for example creating contexts or loading modules), or that allocate, free or synchronize.
 * The stack is taken after the call, because only then it is known to be needed.
 */
#include <errno.h>
#include <signal.h>
#include "preload/api/intercept/api.h"
#include "preload/base/sys.h"
#include "trap/buffer/process.h"
#include "trap/stack/stackcache.h"

static __attribute__((noinline)) uint32_t unwind_call(struct nvs_buffer *buffer, uintptr_t entry,
						      const uint64_t *rbp, uint64_t time)
{
	struct nvs_activity outer = nvs_tls.activity;
	int err = errno;
	uint64_t saved;
	uint32_t stack;

	/* As in the trap, and before signals are blocked: a signal that arrives is deferred. The
	 * cancellation signal is blocked too, so the unwinder is no cancellation point. */
	nvs_tls.activity = buffer->activity;
	nvs_tls.depth++;
	saved = nvs_sys_block_async();
	stack = nvs_callsite_take_call(buffer, entry, (uintptr_t)(rbp + 1), *rbp, time);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	nvs_tls.depth--;
	nvs_tls.activity = outer;
	errno = err;
	return stack;
}

uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time, bool *unwound)
{
	/* The thunk's frame is followed by the saved RBP and the return address. */
	const uint64_t *rbp = (const void *)(frame + 1);
	uintptr_t entry = (uintptr_t)nvs_api_slots[frame->index].original;
	uint32_t stack;

	*unwound = false;
	if (!nvs_takes_stacks())
		return NVS_NONE;
	/* A stack that is in the cache is only compared, as in a patched site, so no signals need
	 * blocking. */
	stack = nvs_stackcache_match(buffer, entry, (uintptr_t)(rbp + 1), *rbp);
	*unwound = stack == NVS_NONE;
	return *unwound ? unwind_call(buffer, entry, rbp, time) : stack;
}
