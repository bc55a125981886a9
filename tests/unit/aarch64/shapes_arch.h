/* SPDX-License-Identifier: MIT */
/* The part of tests/unit/stack_shapes.h that is aarch64's. */
#ifndef NVSNOOP_TEST_SHAPES_ARCH_H
#define NVSNOOP_TEST_SHAPES_ARCH_H

struct chain;

#define STORE() asm volatile("udf #0" ::: "memory")
#define STORE_BYTES 4

/* X29 is something else at the store, the caller's lies in a slot; the return address is in X30. */
void store_no_fp(struct chain *c);
asm(".text\n"
    ".type store_no_fp, @function\n"
    "store_no_fp:\n"
    ".cfi_startproc\n"
    "	str x29, [sp, #-32]!\n"
    ".cfi_def_cfa_offset 32\n"
    ".cfi_offset x29, -32\n"
    "	mov x29, #0x1234\n"
    "	udf #0\n"
    "	ldr x29, [sp], #32\n"
    ".cfi_def_cfa_offset 0\n"
    ".cfi_restore x29\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size store_no_fp, . - store_no_fp\n");

#endif
