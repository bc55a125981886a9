/* SPDX-License-Identifier: MIT */
/*
 * The doorbell store, with the same bytes as the real driver's: 89 08 (mov %ecx,(%rax)), then e9
 * rel32, to which other paths jump as well, then ten bytes of alignment that never run.
 *
 * void sg_ring_doorbell(volatile void *address, uint32_t token)
 */
	.text
	.globl	sg_ring_doorbell
	.hidden	sg_ring_doorbell
	.type	sg_ring_doorbell, @function
	.p2align 4
sg_ring_doorbell:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	mov	%rdi, %rax
	mov	%esi, %ecx
	sfence
	test	%rax, %rax
	je	1f		/* no doorbell: go to the jump */
	.byte	0x89, 0x08
1:	.byte	0xe9
	.long	2f - . - 4
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00
2:	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	sg_ring_doorbell, . - sg_ring_doorbell
	.section .note.GNU-stack, "", @progbits
