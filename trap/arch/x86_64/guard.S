/* SPDX-License-Identifier: MIT */
/*
 * Loads and unwinders that survive a fault, and the switch to the trap's own stack.
 *
 * The SIGSEGV handler calls nvs_guard_fixup() with the faulting RIP. Each pair in its table is an
 * instruction that may fault and the address at which to continue. The last two are in walk.S.
 */
	.text

/* size_t nvs_copy_guarded(void *to, const void *from, size_t bytes): bytes not copied. */
	.globl	nvs_copy_guarded
	.hidden	nvs_copy_guarded
	.type	nvs_copy_guarded, @function
nvs_copy_guarded:
	.cfi_startproc
	movq	%rdx, %rcx
	cld
.Lcopy:	rep movsb
.Lcopy_end:
	movq	%rcx, %rax
	ret
	.cfi_endproc
	.size	nvs_copy_guarded, . - nvs_copy_guarded

/* bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value) */
	.globl	nvs_load32_guarded
	.hidden	nvs_load32_guarded
	.type	nvs_load32_guarded, @function
nvs_load32_guarded:
	.cfi_startproc
	xorl	%eax, %eax
.Lload32:
	movl	(%rdi), %ecx
	movl	%ecx, (%rsi)
	incl	%eax
.Lload32_end:
	ret
	.cfi_endproc
	.size	nvs_load32_guarded, . - nvs_load32_guarded

/* bool nvs_load64_guarded(const volatile uint64_t *from, uint64_t *value) */
	.globl	nvs_load64_guarded
	.hidden	nvs_load64_guarded
	.type	nvs_load64_guarded, @function
nvs_load64_guarded:
	.cfi_startproc
	xorl	%eax, %eax
.Lload64:
	movq	(%rdi), %rcx
	movq	%rcx, (%rsi)
	incl	%eax
.Lload64_end:
	ret
	.cfi_endproc
	.size	nvs_load64_guarded, . - nvs_load64_guarded

/* uintptr_t nvs_guard_fixup(uintptr_t rip) */
	.globl	nvs_guard_fixup
	.hidden	nvs_guard_fixup
	.type	nvs_guard_fixup, @function
nvs_guard_fixup:
	.cfi_startproc
	leaq	.Lcopy(%rip), %rax
	cmpq	%rax, %rdi
	leaq	.Lcopy_end(%rip), %rax
	je	1f
	leaq	.Lload32(%rip), %rax
	cmpq	%rax, %rdi
	leaq	.Lload32_end(%rip), %rax
	je	1f
	leaq	.Lload64(%rip), %rax
	cmpq	%rax, %rdi
	leaq	.Lload64_end(%rip), %rax
	je	1f
	leaq	nvs_stackcache_load(%rip), %rax
	cmpq	%rax, %rdi
	je	2f
	leaq	nvs_stackcache_load_base(%rip), %rax
	cmpq	%rax, %rdi
	je	2f
	xorl	%eax, %eax
1:	ret
2:	leaq	nvs_stackcache_miss(%rip), %rax
	ret
	.cfi_endproc
	.size	nvs_guard_fixup, . - nvs_guard_fixup

/*
 * void nvs_on_stack(uint8_t *top, void (*fn)(void *), void *arg) The frame has the standard shape
 * (CFA = RBP + 16), so an unwinder crosses from the trap's stack to the interrupted one as it
 * crosses any frame.
 */
	.globl	nvs_on_stack
	.hidden	nvs_on_stack
	.type	nvs_on_stack, @function
nvs_on_stack:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rsp
	andq	$-16, %rsp
	movq	%rdx, %rdi
	call	*%rsi
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	nvs_on_stack, . - nvs_on_stack

/*
 * int nvs_unwind_guarded(int (*fn)(void **, int), void **pcs, int max, uintptr_t *frame): fn(pcs, max), or -1 after a
 * fault. The frame has what the caller's registers were, for nvs_unwind_faulted.
 */
	.globl	nvs_unwind_guarded
	.hidden	nvs_unwind_guarded
	.type	nvs_unwind_guarded, @function
nvs_unwind_guarded:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rcx
	movq	%rsp, (%rcx)
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movl	%edx, %esi
	call	*%rax
	jmp	1f
	.globl	nvs_unwind_faulted
	.hidden	nvs_unwind_faulted
nvs_unwind_faulted:
	leaq	48(%rsp), %rbp
	movl	$-1, %eax
1:	popq	%rcx
	movq	$0, (%rcx)
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	nvs_unwind_guarded, . - nvs_unwind_guarded

	.section .note.GNU-stack, "", @progbits
