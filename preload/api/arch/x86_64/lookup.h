/* SPDX-License-Identifier: MIT */
/*
 * Assembly macro: lookup NAME, REAL, C_FUNCTION, CALLER defines a dlsym() or dlvsym() in front of
 * the one that the variable REAL points to. It jumps there with the stack unchanged, because the
 * real one identifies its caller by the return address. Names of the driver API ("cu" and a
 * capital) and dlsym and dlvsym themselves go to C_FUNCTION, which gets the return address in
 * CALLER, the register of its last argument.
 */
/* clang-format off */

	.macro	lookup name, real, c_function, caller
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	endbr64
	testq	%rsi, %rsi
	jz	1f
	cmpb	$'c', (%rsi)
	jne	2f
	cmpb	$'u', 1(%rsi)
	jne	1f
	movzbl	2(%rsi), %eax
	subl	$'A', %eax
	cmpl	$25, %eax
	ja	1f
3:	movq	(%rsp), \caller
	jmp	\c_function
2:	cmpb	$'d', (%rsi)
	jne	1f
	cmpb	$'l', 1(%rsi)
	jne	1f
	cmpb	$'s', 2(%rsi)
	je	3b
	cmpb	$'v', 2(%rsi)
	je	3b
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
