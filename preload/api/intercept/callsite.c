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

/* The thunk's frame is followed by SAVED: the frame pointer and the return address with which the
 * call began. Nothing else is kept here: the program's stack may be the smallest that there is. */
static uintptr_t start_sp(const uint64_t *saved)
{
	return (uintptr_t)(saved + (NVS_RA_IN_REGISTER ? 2 : 1));
}

static uintptr_t start_lr(const uint64_t *saved)
{
	return NVS_RA_IN_REGISTER ? saved[1] : 0;
}

static __attribute__((noinline)) uint32_t unwind_call(struct nvs_buffer *buffer, uintptr_t entry,
						      const uint64_t *saved, uint64_t time)
{
	struct nvs_activity outer = nvs_tls.activity;
	int err = errno;
	uint64_t mask;
	uint32_t stack;

	/* As in the trap, and before signals are blocked: a signal that arrives is deferred. The
	 * cancellation signal is blocked too, so the unwinder is no cancellation point. */
	nvs_tls.activity = buffer->activity;
	nvs_tls.depth++;
	mask = nvs_sys_block_async();
	stack = nvs_callsite_take_call(buffer, entry, start_sp(saved), saved[0], start_lr(saved),
				       time);
	nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
	nvs_tls.depth--;
	nvs_tls.activity = outer;
	errno = err;
	return stack;
}

uint32_t nvs_api_callsite(struct nvs_buffer *buffer, const struct nvs_api_frame *frame,
			  uint64_t time, bool *unwound)
{
	const uint64_t *saved = (const void *)(frame + 1);
	uintptr_t entry = (uintptr_t)nvs_api_slots[frame->index].original;
	uint32_t stack;

	*unwound = false;
	if (!nvs_process->options.backtrace)
		return NVS_NONE;
	/* A stack that is in the cache is only compared, as in a patched site, so no signals need
	 * blocking. */
	stack = nvs_stackcache_match(buffer, entry, start_sp(saved), saved[0], start_lr(saved));
	*unwound = stack == NVS_NONE;
	return *unwound ? unwind_call(buffer, entry, saved, time) : stack;
}
