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
#include "trap/arch/cpu.h"
#include "trap/buffer/process.h"
#include "trap/stack/stackcache.h"

/* The registers with which a call began. */
struct call_start {
	uintptr_t entry, sp, fp, lr;
};

static __attribute__((noinline)) uint32_t unwind_call(struct nvs_buffer *buffer,
						      const struct call_start *at, uint64_t time)
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
	stack = nvs_callsite_take_call(buffer, at->entry, at->sp, at->fp, at->lr, time);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	nvs_tls.depth--;
	nvs_tls.activity = outer;
	errno = err;
	return stack;
}

uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time, bool *unwound)
{
	/* The thunk's frame is followed by the saved frame pointer and the return address. */
	const uint64_t *saved = (const void *)(frame + 1);
	const struct call_start at = {
		.entry = (uintptr_t)nvs_api_slots[frame->index].original,
		.sp = (uintptr_t)(saved + (NVS_RA_IN_REGISTER ? 2 : 1)),
		.fp = saved[0],
		.lr = NVS_RA_IN_REGISTER ? saved[1] : 0,
	};
	uint32_t stack;

	*unwound = false;
	if (!nvs_takes_stacks())
		return NVS_NONE;
	/* A stack that is in the cache is only compared, as in a patched site, so no signals need
	 * blocking. */
	stack = nvs_stackcache_match(buffer, at.entry, at.sp, at.fp, at.lr);
	*unwound = stack == NVS_NONE;
	return *unwound ? unwind_call(buffer, &at, time) : stack;
}
