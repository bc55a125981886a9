/* SPDX-License-Identifier: MIT */
/*
 * Thunks of the API layer, one per slot, and their common routine.
 *
 * A thunk saves every argument register, calls nvs_api_enter(), passes the arguments on (stack
 * arguments are copied), calls the original, and then nvs_api_leave(). Its frame has the standard
 * layout, so that unwinders, exceptions and the end of a thread can pass through; the personality
 * routine reports the latter two.
 */
#define SLOTS 1024
#define FRAME 240 /* struct nvs_api_frame */
#define F_INDEX 48
#define F_STACK 56
#define F_RESULT 88
#define F_VECTOR 112

	.text

	.globl	nvs_api_thunks
	.hidden	nvs_api_thunks
	.type	nvs_api_thunks, @function
	.p2align 4
nvs_api_thunks:
	.cfi_startproc
	.set	index, 0
	.rept	SLOTS
	.p2align 4
	endbr64
	movl	$index, %r11d
	jmp	call
	.set	index, index + 1
	.endr
	.p2align 4
	.cfi_endproc
	.size	nvs_api_thunks, . - nvs_api_thunks

	.type	call, @function
call:
	.cfi_startproc
	.cfi_personality 0x1b, nvs_api_personality
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$FRAME, %rsp
	movq	%rdi, (%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%r11, F_INDEX(%rsp)
	leaq	16(%rbp), %rax
	movq	%rax, F_STACK(%rsp)
	movaps	%xmm0, F_VECTOR(%rsp)
	movaps	%xmm1, F_VECTOR+16(%rsp)
	movaps	%xmm2, F_VECTOR+32(%rsp)
	movaps	%xmm3, F_VECTOR+48(%rsp)
	movaps	%xmm4, F_VECTOR+64(%rsp)
	movaps	%xmm5, F_VECTOR+80(%rsp)
	movaps	%xmm6, F_VECTOR+96(%rsp)
	movaps	%xmm7, F_VECTOR+112(%rsp)
	movq	%rsp, %rdi
	call	nvs_api_enter
	/* rax: the original; rdx: number of stack argument words */
	movq	%rdx, %r10
	movaps	F_VECTOR(%rsp), %xmm0
	movaps	F_VECTOR+16(%rsp), %xmm1
	movaps	F_VECTOR+32(%rsp), %xmm2
	movaps	F_VECTOR+48(%rsp), %xmm3
	movaps	F_VECTOR+64(%rsp), %xmm4
	movaps	F_VECTOR+80(%rsp), %xmm5
	movaps	F_VECTOR+96(%rsp), %xmm6
	movaps	F_VECTOR+112(%rsp), %xmm7
	movq	(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	testq	%r10, %r10
	jz	2f
	leaq	1(%r10), %r11
	andq	$-2, %r11
	shlq	$3, %r11
	subq	%r11, %rsp
1:	movq	8(%rbp,%r10,8), %r11
	movq	%r11, -8(%rsp,%r10,8)
	decq	%r10
	jnz	1b
2:	call	*%rax
	leaq	-FRAME(%rbp), %rsp
	movq	%rax, F_RESULT(%rsp)
	movq	%rdx, F_RESULT+8(%rsp)
	movq	%rsp, %rdi
	call	nvs_api_leave
	movq	F_RESULT(%rsp), %rax
	movq	F_RESULT+8(%rsp), %rdx
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	call, . - call

/*
 * void *nvs_api_call_as(handle, name, version, fn, gadget): FN gets GADGET as its return address,
 * and the RET there returns here.
 */
	.globl	nvs_api_call_as
	.hidden	nvs_api_call_as
	.type	nvs_api_call_as, @function
nvs_api_call_as:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$8, %rsp
	leaq	1f(%rip), %rax
	pushq	%rax
	pushq	%r8
	jmp	*%rcx
1:	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	nvs_api_call_as, . - nvs_api_call_as

	.section .note.GNU-stack, "", @progbits
