/* SPDX-License-Identifier: MIT */
/* Instructions that the victims need as such. */
#ifndef APPS_INSNS_H
#define APPS_INSNS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* Rings a doorbell: what is stored before is visible first. */
static inline void insn_ring(volatile void *address, uint32_t token)
{
	__asm__ volatile("dsb st\n\tstr %w1, [%0]" : : "r"(address), "r"(token) : "memory");
}

/* The same without a fence; ODD: in a form that the trap does not emulate. */
static inline void insn_store(volatile void *address, uint32_t token)
{
	__asm__ volatile("str %w1, [%0]" : : "r"(address), "r"(token) : "memory");
}

static inline void insn_store_odd(volatile void *address, uint32_t token)
{
	__asm__ volatile("fmov s3, %w1\n\tst1 {v3.s}[0], [%0]"
			 :
			 : "r"(address), "r"(token)
			 : "memory", "v3");
}

/* The operands of a patched store to 0x90 bytes behind a base (struct nvs_site_form), and registers
 * with a base and a value for it (struct nvs_fast_regs). */
#define INSN_FAST_FORM                               \
	{                                            \
		.base = 0, .source = 1, .disp = 0x90 \
	}
#define INSN_FAST_REGS(at, value)     \
	{                             \
		.x = {(at), (value) } \
	}

static inline void insn_break(void)
{
	__asm__ volatile("brk #0");
}

/* In the handler of a breakpoint's SIGTRAP: continues after it. */
static inline void insn_after_break(ucontext_t *uc)
{
	uc->uc_mcontext.pc += 4;
}

/* Reads address 0. */
static inline void insn_fault(void)
{
	__asm__ volatile("mov x9, #0\n\tldr w9, [x9]" : : : "x9", "memory");
}

/* In the handler of that fault: continues after it. */
static inline void insn_after_fault(ucontext_t *uc)
{
	uc->uc_mcontext.pc += 4;
}

/* In the handler of a system call's SIGSYS: an argument, and the result of the call. */
static inline long insn_argument(const ucontext_t *uc, int number)
{
	return (long)uc->uc_mcontext.regs[number];
}

static inline void insn_set_result(ucontext_t *uc, long result)
{
	uc->uc_mcontext.regs[0] = (unsigned long long)result;
}

#define INSN_CAN_STEP false /* a program can single-step itself */

static inline void insn_steps(void)
{
}

static inline void insn_end_steps(ucontext_t *uc)
{
}

static inline void insn_ring_stepwise(volatile void *address, uint32_t token)
{
	insn_ring(address, token);
}

/* A function NAME(address, token) in assembly that rings the doorbell at NAME_at. */
#define INSN_STORE(name) INSN_STORE_AS(name, "str w1, [x0]")
#define INSN_STORE_AS(name, store)                                                   \
	void name(volatile void *address, uint32_t token);                           \
	extern const uint8_t name##_at[];                                            \
	__asm__("	.text\n	.globl " #name "\n	.type " #name                \
		", @function\n	.globl " #name "_at\n	.hidden " #name              \
		"_at\n	.p2align 4\n" #name ":\n"                                    \
		"	.cfi_startproc\n	dsb st\n" #name "_at:\n	" store "\n" \
		"	ret\n	.cfi_endproc\n	.size " #name ", . - " #name "\n")

/* Stores that are not patched: their forms are left to the trap. */
#define INSN_REFUSED(use)                           \
	INSN_STORE_AS(release, "stlr w1, [x0]");    \
	INSN_STORE_AS(indexed, "str w1, [x0], #4"); \
	use(release, indexed)

/* True if the store there has become a branch. */
static inline int insn_is_jump(const volatile uint8_t *at)
{
	return (at[3] & 0xfc) == 0x14;
}

/* True if AT is the only doorbell store of the stand-in driver: after `dsb st; cbz x0`, before a
 * return. */
static inline bool insn_is_driver_store(const uint8_t *at)
{
	static const uint8_t before[] = {0x9f, 0x3e, 0x03, 0xd5, 0x40, 0x00, 0x00, 0xb4};
	static const uint8_t store[] = {0x01, 0x00, 0x00, 0xb9, 0xc0, 0x03, 0x5f, 0xd6};

	return !((uintptr_t)at & 3) && !memcmp(at, store, sizeof(store)) &&
	       !memcmp(at - sizeof(before), before, sizeof(before));
}

#define INSN_REACH (128ul << 20) /* of a branch, in both directions */

#endif
