/* SPDX-License-Identifier: MIT */
/*
 * Walks the tree of known stacks (stack/stackcache.h). In assembly for its two loads, which are
 * guarded (guard.S): a fault in one of them is a miss.
 */
	.text

/* uint32_t nvs_stackcache_walk(const struct nvs_stackcache_node *first, uintptr_t rip, uintptr_t rsp, uintptr_t rbp) */
	.globl	nvs_stackcache_walk
	.hidden	nvs_stackcache_walk
	.type	nvs_stackcache_walk, @function
	.p2align 5
nvs_stackcache_walk:
	.cfi_startproc
	movq	%rsi, %rax
.Lcompare:
	cmpq	%rax, (%rdi)
	jne	.Lother
.Lholds:
	addq	$16, %rdi
	movslq	8(%rdi), %r8
	testb	$7, %r8b
	jnz	.Lspecial
	.globl	nvs_stackcache_load
	.hidden	nvs_stackcache_load
nvs_stackcache_load:
	movq	(%rdx,%r8), %rax
	cmpq	%rax, (%rdi)
	je	.Lholds
.Lother:
	movl	12(%rdi), %r9d
	testl	%r9d, %r9d
	jz	nvs_stackcache_miss
	addq	%r9, %rdi
	cmpq	%rax, (%rdi)
	je	.Lholds
	jmp	.Lother

.Lspecial:
	movl	%r8d, %r9d
	andl	$7, %r9d
	cmpl	$2, %r9d
	jae	.Lregister
	/* NVS_CHECK_WORD_LESS_RSP */
	.globl	nvs_stackcache_load_base
	.hidden	nvs_stackcache_load_base
nvs_stackcache_load_base:
	movq	-1(%rdx,%r8), %rax
	subq	%rdx, %rax
	jmp	.Lcompare
.Lregister:
	movq	%rcx, %rax
	cmpl	$3, %r9d
	je	.Lcompare
	ja	.Lend
	subq	%rdx, %rax
	jmp	.Lcompare
.Lend:
	movl	(%rdi), %eax
	ret
	.globl	nvs_stackcache_miss
	.hidden	nvs_stackcache_miss
nvs_stackcache_miss:
	movl	$-1, %eax
	ret
	.cfi_endproc
	.size	nvs_stackcache_walk, . - nvs_stackcache_walk

	.section .note.GNU-stack, "", @progbits
