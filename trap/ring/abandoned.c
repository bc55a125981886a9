/* SPDX-License-Identifier: MIT */
/*
 * Traps that were left: a signal handler of the program interrupted one and jumped out of it
 * (siglongjmp), so it will never end. It is recognised when the thread comes by again, by the place
 * of its stack.
 *
 * A handler that interrupts a trap runs below it, on the same stack or on the alternate one. Who
 * comes from above on the same stack has left it; so has who comes from below when the trap's frame
 * holds something else by now. Where the two stacks cannot be compared the trap counts as in
 * flight: that only costs a second ring.
 */
#include "trap/ring/abandoned.h"
#include "trap/ring/root.h"
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
	uint32_t n = nvs_ring_count();

	for (uint32_t i = 0; i < n; i++)
		if ((uintptr_t)nvs_ring_at(i)->stack_top - sp < NVS_TRAP_STACK)
			return true;
	return false;
}

bool nvs_flight_left(const struct nvs_flight *f, uintptr_t sp, const stack_t *alternate)
{
	uint64_t token;

	if (!f->sp)
		return false;
	if (sp < f->sp)
		return f->mark && (!nvs_load64_guarded(f->mark, &token) || token != f->token);
	return sp - f->sp < ONE_STACK && !on_trap_stack(sp) && !on_alternate(alternate, sp);
}
