/* SPDX-License-Identifier: MIT */
/*
 * The exported setcontext, swapcontext and makecontext. The real functions save the caller's registers
 * and stack pointer, so they are reached by a jump, with both unchanged.
 */
	.text

	.macro	context name, enter
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-80]!
	.cfi_def_cfa_offset 80
	.cfi_offset x29, -80
	.cfi_offset x30, -72
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	bl	\enter
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x29, x30, [sp], #80
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm

	context	setcontext, nvs_before_setcontext
	context	swapcontext, nvs_before_swapcontext
	context	makecontext, nvs_before_makecontext

	.section .note.GNU-stack, "", @progbits
