/* SPDX-License-Identifier: MIT */
/*
 * The exported dlsym, dlvsym and dlopen. The real function identifies its caller by the return
 * address, so it is reached by a jump, with the stack unchanged.
 */
#include "preload/api/arch/x86_64/lookup.h"

	.text

	lookup	dlsym, nvs_real_dlsym, nvs_api_dlsym, %rdx
	lookup	dlvsym, nvs_real_dlvsym, nvs_api_dlvsym, %rcx

	.globl	dlopen
	.type	dlopen, @function
dlopen:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	nvs_api_opening
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testb	%al, %al
	jnz	nvs_api_open
	jmp	*nvs_real_dlopen(%rip)
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
