/* SPDX-License-Identifier: MIT */
/* The part of tests/unit/stack_shapes.h that is x86-64's. */
#ifndef NVSNOOP_TEST_SHAPES_ARCH_H
#define NVSNOOP_TEST_SHAPES_ARCH_H

#define UNW_LOCAL_ONLY
#include <libunwind.h>

struct chain;

/* How the library's unwinder takes a signal handler's stack. */
#define backtrace_signal unw_backtrace

#define STORE() asm volatile("ud2" ::: "memory")
#define STORE_BYTES 2
#define DWARF_NAMES                                                                               \
	{                                                                                         \
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", \
			"r12", "r13", "r14", "r15"                                                \
	}
/* Calls its second argument, without a frame pointer and with one. */
#define CALL_BARE                                                                \
	{                                                                        \
		0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x08, 0xc3 \
	}
#define CALL_FRAMED                                            \
	{                                                      \
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 \
	}

/* RBP is something else at the store, the caller's lies in a slot. */
void store_no_fp(struct chain *c);
asm(".text\n"
    ".type store_no_fp, @function\n"
    "store_no_fp:\n"
    ".cfi_startproc\n"
    "	pushq %rbp\n"
    ".cfi_adjust_cfa_offset 8\n"
    ".cfi_rel_offset %rbp, 0\n"
    "	movl $0x1234, %ebp\n"
    "	pushq $77\n"
    ".cfi_adjust_cfa_offset 8\n"
    "	ud2\n"
    "	addq $8, %rsp\n"
    ".cfi_adjust_cfa_offset -8\n"
    "	popq %rbp\n"
    ".cfi_adjust_cfa_offset -8\n"
    ".cfi_restore %rbp\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size store_no_fp, . - store_no_fp\n");

#endif
