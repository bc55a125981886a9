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
	endbr64
	.irp	reg, rdi, rsi, rdx, rcx, r8, r9, rax
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.endr
	call	\enter
	movq	%rax, %r11
	.irp	reg, rax, r9, r8, rcx, rdx, rsi, rdi
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.endr
	jmp	*%r11
	.cfi_endproc
	.size	\name, . - \name
	.endm

	context	setcontext, nvs_before_setcontext
	context	swapcontext, nvs_before_swapcontext
	context	makecontext, nvs_before_makecontext

	.section .note.GNU-stack, "", @progbits
