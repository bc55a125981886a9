/* SPDX-License-Identifier: MIT */
/*
 * The doorbell store. The real driver's code for aarch64 has not been seen; this function has no
 * stack frame, so its return address is only in x30.
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
	dsb	st
	cbz	x0, 1f		/* no doorbell */
	str	w1, [x0]
1:	ret
	.cfi_endproc
	.size	sg_ring_doorbell, . - sg_ring_doorbell
	.section .note.GNU-stack, "", @progbits
