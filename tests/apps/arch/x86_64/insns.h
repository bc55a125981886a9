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
	__asm__ volatile("sfence\n\tmovl %1, (%0)" : : "r"(address), "r"(token) : "memory");
}

/* The same without a fence; ODD: in a form that the trap does not emulate. */
static inline void insn_store(volatile void *address, uint32_t token)
{
	__asm__ volatile("movl %1, (%0)" : : "a"(address), "c"(token) : "memory");
}

static inline void insn_store_odd(volatile void *address, uint32_t token)
{
	__asm__ volatile("movd %1, %%xmm3; movd %%xmm3, (%0)"
			 :
			 : "r"(address), "r"(token)
			 : "memory", "xmm3");
}

/* The operands of a patched store to 0x90 bytes behind a base (struct nvs_site_form), and registers
 * with a base and a value for it (struct nvs_fast_regs). */
#define INSN_FAST_FORM                                           \
	{                                                        \
		.base = NVS_RAX, .source = NVS_RCX, .disp = 0x90 \
	}
#define INSN_FAST_REGS(at, value)           \
	{                                   \
		.rax = (at), .rcx = (value) \
	}

static inline void insn_break(void)
{
	__asm__ volatile("int3");
}

/* In the handler of a breakpoint's SIGTRAP: continues after it. The processor has done that. */
static inline void insn_after_break(ucontext_t *uc)
{
}

/* Reads address 0. */
static inline void insn_fault(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\tmov (%%rax), %%eax" : : : "rax", "memory");
}

/* In the handler of that fault: continues after it. */
static inline void insn_after_fault(ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

/* In the handler of a system call's SIGSYS: an argument, and the result of the call. */
static inline long insn_argument(const ucontext_t *uc, int number)
{
	static const int regs[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};

	return uc->uc_mcontext.gregs[regs[number]];
}

static inline void insn_set_result(ucontext_t *uc, long result)
{
	uc->uc_mcontext.gregs[REG_RAX] = result;
}

#define INSN_CAN_STEP true /* a program can single-step itself */

/* Single-steps itself over some instructions. */
static inline void insn_steps(void)
{
	__asm__ volatile("pushf; orl $0x100, (%%rsp); popf\n\t"
			 "nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop" ::
				 : "memory", "cc");
}

/* In the handler of a step: ends it. */
static inline void insn_end_steps(ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* Rings a doorbell, and single-steps itself through it. */
__attribute__((noinline, unused)) static void insn_ring_stepwise(volatile void *address,
								 uint32_t token)
{
	__asm__ volatile("pushf\n\torl $0x100, (%%rsp)\n\tpopf\n\t"
			 "nop\n\t"
			 "movl %1, (%0)\n\t"
			 "nop\n\tnop\n\t"
			 "pushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\t"
			 :
			 : "r"(address), "r"(token)
			 : "memory", "cc");
}

/* A function NAME(address, token) in assembly that rings the doorbell at NAME_at. As the driver's,
 * the store is followed by a jump, and padding behind it that never runs. */
#define INSN_STORE(name) INSN_STORE_IN(name, "", INSN_PADDED)
#define INSN_STORE_IN(name, before, between)                                    \
	void name(volatile void *address, uint32_t token);                      \
	extern const uint8_t name##_at[];                                       \
	__asm__("	.text\n	.globl " #name "\n	.type " #name           \
		", @function\n	.globl " #name "_at\n	.hidden " #name         \
		"_at\n	.p2align 4\n" #name ":\n"                               \
		"	.cfi_startproc\n	sfence\n" before #name "_at:\n" \
		"	.byte 0x89, 0x37\n" /* mov %esi, (%rdi) */              \
		between "	ret\n	.cfi_endproc\n	.size " #name ", . - " #name "\n")
#define INSN_PADDED                                                               \
	"	jmp 1f\n	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n	.p2align " \
	"4\n1:\n"

/* Stores that must not be patched: one whose second byte may be jumped to (never taken, but who
 * knows), and one with nothing but code as far as a short jump reaches. */
#define INSN_REFUSED(use)                                                                  \
	INSN_STORE_IN(entered,                                                             \
		      "	test %rdi, %rdi\n	jne 2f\n	jmp entered_at + 1\n2:\n", \
		      INSN_PADDED);                                                        \
	INSN_STORE_IN(crowded, "	.rept 60\n	add $1, %eax\n	.endr\n",          \
		      "	.rept 60\n	add $1, %eax\n	.endr\n");                         \
	use(entered, crowded)

/* True if the store there has become a jump. */
static inline int insn_is_jump(const volatile uint8_t *at)
{
	return *at == 0xeb;
}

/* True if AT is the only doorbell store of the driver, which is followed by a jump and padding. */
static inline bool insn_is_driver_store(const uint8_t *at)
{
	static const uint8_t store[] = {0x89, 0x08, 0xe9};
	static const uint8_t behind[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00};

	return !memcmp(at, store, sizeof(store)) && !memcmp(at + 7, behind, sizeof(behind));
}

#define INSN_REACH (2ul << 30) /* of a jump, in both directions */

#endif
