/* SPDX-License-Identifier: MIT */
/*
 * The trampoline of a patched store site: a template that patch.c copies into executable memory,
 * near the site if possible, with the marked constants replaced.
 *
 * It passes the registers as the store found them to the C code, preserves flags and the red zone,
 * and returns after the store. If the C code declines, the store's own bytes run in .Loriginal: on
 * the protected page they trap, and the trap continues as if the site itself had faulted.
 */
#define FLAGS 120 /* in struct nvs_fast_regs */
#define DF 0x400

	.section .rodata.nvs_tramp, "a", @progbits

/*
 * POPF takes as long as a locked instruction. The code between has changed the arithmetic flags:
 * SAHF sets all of them but OF, which the addition sets if AL is 1. Nothing after that changes them.
 * CLD has changed DF: if the program's was set, POPF restores it.
 */
	.macro	nvs_restore
	movq	%rbp, %rsp
	movl	FLAGS(%rsp), %ecx
	movl	%ecx, %eax
	shrl	$11, %eax
	andl	$1, %eax
	movb	%cl, %ah
	testl	$DF, %ecx
	jz	1f
	pushq	FLAGS(%rsp)
	popfq
	jmp	2f
1:	addb	$127, %al
	sahf
2:	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rbp
	popq	%rbx
	popq	%rdx
	popq	%rcx
	popq	%rax
	leaq	8 + 128(%rsp), %rsp
	.endm

	.globl	nvs_tramp_begin
	.hidden	nvs_tramp_begin
nvs_tramp_begin:
	leaq	-128(%rsp), %rsp
	pushfq
	/* struct nvs_fast_regs, from its end */
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rbx
	pushq	%rbp
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, %rbp
	movq	%rsp, %rsi
	andq	$-16, %rsp
	cld
	.byte	0x48, 0xbf /* movabs $site, %rdi */
	.globl	nvs_tramp_site
	.hidden	nvs_tramp_site
nvs_tramp_site:
	.quad	0
	.byte	0x48, 0xb8 /* movabs $function, %rax */
	.globl	nvs_tramp_function
	.hidden	nvs_tramp_function
nvs_tramp_function:
	.quad	0
	call	*%rax
	testb	%al, %al
	jz	.Ldeclined
	nvs_restore
	.byte	0xff, 0x25, 0, 0, 0, 0 /* jmp *back1, which reaches any address */
	.globl	nvs_tramp_back1
	.hidden	nvs_tramp_back1
nvs_tramp_back1:
	.quad	0
.Ldeclined:
	nvs_restore
	.globl	nvs_tramp_original
	.hidden	nvs_tramp_original
nvs_tramp_original:
	.fill	16, 1, 0x90
	.byte	0xff, 0x25, 0, 0, 0, 0
	.globl	nvs_tramp_back2
	.hidden	nvs_tramp_back2
nvs_tramp_back2:
	.quad	0
	.globl	nvs_tramp_end
	.hidden	nvs_tramp_end
nvs_tramp_end:

	.section .note.GNU-stack, "", @progbits
