/* SPDX-License-Identifier: MIT */
/*
 * Abandoned work: a signal handler of the program interrupted a trap and jumped out of it
 * (siglongjmp), so the trap will never end. That is noticed when its thread comes by again, by the
 * place of the thread's stack.
 *
 * A handler that interrupts a trap runs below it, on the same stack or on the alternate one. So the
 * trap is abandoned if the thread is above it on the same stack, or below it and the trap's frame
 * holds something else by now. Where the two stacks cannot be compared the trap counts as running:
 * that only costs a second buffer.
 */
#include "trap/buffer/abandoned.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define ONE_STACK (8u << 20) /* further apart, two frames are not taken for neighbours */

static bool within(const stack_t *stack, uintptr_t sp)
{
	return !((unsigned)stack->ss_flags & SS_DISABLE) &&
	       sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

static bool on_alternate(const stack_t *known, uintptr_t sp)
{
	stack_t now;

	if (known)
		return within(known, sp);
	return !nvs_sys4(SYS_sigaltstack, 0, &now, 0, 0) && within(&now, sp);
}

static bool on_trap_stack(uintptr_t sp)
{
	uint32_t n = nvs_buffer_count();

	for (uint32_t i = 0; i < n; i++)
		if ((uintptr_t)nvs_buffer_at(i)->stack_top - sp < NVS_TRAP_STACK)
			return true;
	return false;
}

bool nvs_activity_abandoned(const struct nvs_activity *f, uintptr_t sp, const stack_t *alternate)
{
	uint64_t token;

	if (!f->sp)
		return false;
	if (sp < f->sp)
		return f->mark && (!nvs_load64_guarded(f->mark, &token) || token != f->token);
	return sp - f->sp < ONE_STACK && !on_trap_stack(sp) && !on_alternate(alternate, sp);
}
