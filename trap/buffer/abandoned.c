/* SPDX-License-Identifier: MIT */
/*
 * Abandoned work: a signal handler of the program interrupted a trap and jumped out of it
 * (siglongjmp), so the trap will never end. It is noticed when its thread next enters the trap, by
 * the thread's stack pointer.
 */
#include "trap/buffer/abandoned.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define ONE_STACK (8u << 20) /* frames further apart are not considered to be on the same stack */

static bool is_on_stack(const stack_t *stack, uintptr_t sp)
{
	return !((unsigned)stack->ss_flags & SS_DISABLE) &&
	       sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

static bool on_alternate(const stack_t *known, uintptr_t sp)
{
	stack_t now;

	if (known)
		return is_on_stack(known, sp);
	return !nvs_sys4(SYS_sigaltstack, 0, &now, 0, 0) && is_on_stack(&now, sp);
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
