/* SPDX-License-Identifier: MIT */
/* The part of trap/arch/context.h that is aarch64's. */
#ifndef NVSNOOP_TRAP_ARCH_AARCH64_CONTEXT_ARCH_H
#define NVSNOOP_TRAP_ARCH_AARCH64_CONTEXT_ARCH_H

static inline uintptr_t nvs_context_pc(const mcontext_t *m)
{
	return m->pc;
}

static inline void nvs_context_set_pc(mcontext_t *m, uintptr_t pc)
{
	m->pc = pc;
}

static inline uintptr_t nvs_context_sp(const mcontext_t *m)
{
	return m->sp;
}

static inline void nvs_context_set_sp(mcontext_t *m, uintptr_t sp)
{
	m->sp = sp;
}

static inline uintptr_t nvs_context_fp(const mcontext_t *m)
{
	return m->regs[29];
}

static inline uintptr_t nvs_context_lr(const mcontext_t *m)
{
	return m->regs[30];
}

/* User space has no single-step flag. */
static inline bool nvs_context_steps(const mcontext_t *m)
{
	return false;
}

/* Removes the signature, on processors that sign. libunwind subtracts 1 from return addresses here:
 * they are multiples of 4. */
static inline uintptr_t nvs_strip_return(uintptr_t address)
{
	register uintptr_t x30 __asm__("x30") = address;

	__asm__("hint #7 /* xpaclri */" : "+r"(x30));
	return (x30 + 3) & ~3ul;
}

static inline uintptr_t nvs_return_address(uintptr_t sp, uintptr_t lr)
{
	return nvs_strip_return(lr);
}

#endif
