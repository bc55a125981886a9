/* SPDX-License-Identifier: MIT */
/* The part of trap/arch/context.h that is x86-64's. */
#ifndef NVSNOOP_TRAP_ARCH_X86_64_CONTEXT_ARCH_H
#define NVSNOOP_TRAP_ARCH_X86_64_CONTEXT_ARCH_H

#define NVS_TRAP_FLAG 0x100 /* in RFLAGS */

static inline uintptr_t nvs_context_pc(const mcontext_t *m)
{
	return (uintptr_t)m->gregs[REG_RIP];
}

static inline void nvs_context_set_pc(mcontext_t *m, uintptr_t pc)
{
	m->gregs[REG_RIP] = (greg_t)pc;
}

static inline uintptr_t nvs_context_sp(const mcontext_t *m)
{
	return (uintptr_t)m->gregs[REG_RSP];
}

static inline void nvs_context_set_sp(mcontext_t *m, uintptr_t sp)
{
	m->gregs[REG_RSP] = (greg_t)sp;
}

static inline uintptr_t nvs_context_fp(const mcontext_t *m)
{
	return (uintptr_t)m->gregs[REG_RBP];
}

static inline uintptr_t nvs_context_lr(const mcontext_t *m)
{
	return 0;
}

static inline bool nvs_context_steps(const mcontext_t *m)
{
	return m->gregs[REG_EFL] & NVS_TRAP_FLAG;
}

static inline uintptr_t nvs_strip_return(uintptr_t address)
{
	return address;
}

static inline uintptr_t nvs_return_address(uintptr_t sp, uintptr_t lr)
{
	return *(const uintptr_t *)sp;
}

#endif
