/* SPDX-License-Identifier: MIT */
/* The part of tests/unit/stack_shapes.h that is aarch64's. */
#ifndef NVSNOOP_TEST_SHAPES_ARCH_H
#define NVSNOOP_TEST_SHAPES_ARCH_H

#include <dlfcn.h>

struct chain;

/* How the library's unwinder takes a signal handler's stack. */
static inline int backtrace_signal(void **pcs, int room)
{
	static int (*glibcs)(void **, int); /* libunwind has a function of this name, too */

	if (!glibcs)
		*(void **)&glibcs = dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace");
	return glibcs(pcs, room);
}

#define STORE() asm volatile("udf #0" ::: "memory")
#define STORE_BYTES 4
/* clang-format off */
#define DWARF_NAMES { \
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", \
	"x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", \
	"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", \
	"x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"}
/* Calls its second argument, without a frame pointer and with one. */
#define CALL_BARE { \
	0xfe, 0x0f, 0x1f, 0xf8, /* str x30, [sp, #-16]! */ \
	0x20, 0x00, 0x3f, 0xd6, /* blr x1 */ \
	0xfe, 0x07, 0x41, 0xf8, /* ldr x30, [sp], #16 */ \
	0xc0, 0x03, 0x5f, 0xd6} /* ret */
#define CALL_FRAMED { \
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */ \
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */ \
	0x20, 0x00, 0x3f, 0xd6, /* blr x1 */ \
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */ \
	0xc0, 0x03, 0x5f, 0xd6} /* ret */
/* clang-format on */

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
