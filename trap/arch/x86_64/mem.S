/* SPDX-License-Identifier: MIT */
/*
 * memcpy, memmove, memset, memcmp and bcmp in general registers. Compilers insert calls of them for
 * structs, and those of libc use vector registers, which the trap does not save; module.mk makes the
 * trap's objects call these instead.
 */
	.text

	.macro	nvs_function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro	nvs_end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/*
 * Copies words; from 128 bytes on, the string instruction, which costs more than 16 words to start.
 */
	nvs_function nvs_memcpy
	movq	%rdi, %rax
	cld
.Lforward:
	movq	%rdx, %rcx
	cmpq	$128, %rdx
	jae	.Lcopy_string
	shrq	$3, %rcx
	jz	.Lcopy_tail
.Lcopy_word:
	movq	(%rsi), %r8
	movq	%r8, (%rdi)
	addq	$8, %rsi
	addq	$8, %rdi
	decq	%rcx
	jnz	.Lcopy_word
.Lcopy_tail:
	movl	%edx, %ecx
	andl	$7, %ecx
	jz	.Lcopy_done
.Lcopy_byte:
	movb	(%rsi), %r8b
	movb	%r8b, (%rdi)
	incq	%rsi
	incq	%rdi
	decl	%ecx
	jnz	.Lcopy_byte
.Lcopy_done:
	ret
.Lcopy_string:
	rep movsb
	ret
	nvs_end	nvs_memcpy

/* Backwards, byte by byte, if the end of the source would be overwritten before it is read. */
	nvs_function nvs_memmove
	movq	%rdi, %rax
	cld
	movq	%rdi, %rcx
	subq	%rsi, %rcx
	cmpq	%rdx, %rcx
	jae	.Lforward
	testq	%rdx, %rdx
	jz	.Lmove_done
.Lmove_byte:
	movb	-1(%rsi,%rdx), %r8b
	movb	%r8b, -1(%rdi,%rdx)
	decq	%rdx
	jnz	.Lmove_byte
.Lmove_done:
	ret
	nvs_end	nvs_memmove

	nvs_function nvs_memset
	movq	%rdi, %r9
	cld
	movzbl	%sil, %eax
	movabsq	$0x0101010101010101, %r8
	imulq	%r8, %rax
	movq	%rdx, %rcx
	cmpq	$128, %rdx
	jae	.Lset_string
	shrq	$3, %rcx
	jz	.Lset_tail
.Lset_word:
	movq	%rax, (%rdi)
	addq	$8, %rdi
	decq	%rcx
	jnz	.Lset_word
.Lset_tail:
	movl	%edx, %ecx
	andl	$7, %ecx
	jz	.Lset_done
.Lset_byte:
	movb	%al, (%rdi)
	incq	%rdi
	decl	%ecx
	jnz	.Lset_byte
.Lset_done:
	movq	%r9, %rax
	ret
.Lset_string:
	rep stosb
	movq	%r9, %rax
	ret
	nvs_end	nvs_memset

	.globl	nvs_bcmp
	.hidden	nvs_bcmp
	.set	nvs_bcmp, nvs_memcmp
	nvs_function nvs_memcmp
	xorl	%ecx, %ecx
.Lcompare_byte:
	cmpq	%rdx, %rcx
	jae	.Lcompare_equal
	movzbl	(%rdi,%rcx), %eax
	movzbl	(%rsi,%rcx), %r8d
	incq	%rcx
	subl	%r8d, %eax
	jz	.Lcompare_byte
	ret
.Lcompare_equal:
	xorl	%eax, %eax
	ret
	nvs_end	nvs_memcmp

	.section .note.GNU-stack, "", @progbits
