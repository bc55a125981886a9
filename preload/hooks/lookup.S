/* SPDX-License-Identifier: MIT */
/*
 * dlsym and dlvsym as the program finds them.
 *
 * The real function looks at its return address to know who asks: so it is jumped to with the stack as it was.
 * Names of the driver API ("cu" and a capital) go to C, which gets the caller as its last argument.
 */
	.text

	.macro	lookup name, real, c_function, caller
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	endbr64
	testq	%rsi, %rsi
	jz	1f
	cmpb	$'c', (%rsi)
	jne	1f
	cmpb	$'u', 1(%rsi)
	jne	1f
	movzbl	2(%rsi), %eax
	subl	$'A', %eax
	cmpl	$25, %eax
	ja	1f
	movq	(%rsp), \caller
	jmp	\c_function
1:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	nvs_api_lookup
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*\real(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	lookup	dlsym, nvs_real_dlsym, nvs_api_dlsym, %rdx
	lookup	dlvsym, nvs_real_dlvsym, nvs_api_dlvsym, %rcx

	.section .note.GNU-stack, "", @progbits
