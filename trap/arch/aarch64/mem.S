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

	nvs_function nvs_memcpy
.Lforward:
	mov	x3, x0
	b	2f
1:	ldp	x4, x5, [x1], #16
	ldp	x6, x7, [x1], #16
	stp	x4, x5, [x3], #16
	stp	x6, x7, [x3], #16
	sub	x2, x2, #32
2:	cmp	x2, #32
	b.hs	1b
3:	cmp	x2, #8
	b.lo	4f
	ldr	x4, [x1], #8
	str	x4, [x3], #8
	sub	x2, x2, #8
	b	3b
4:	cbz	x2, 5f
	ldrb	w4, [x1], #1
	strb	w4, [x3], #1
	sub	x2, x2, #1
	b	4b
5:	ret
	nvs_end	nvs_memcpy

/* Backwards, byte by byte, if the end of the source would be overwritten before it is read. */
	nvs_function nvs_memmove
	sub	x3, x0, x1
	cmp	x3, x2
	b.hs	.Lforward
1:	cbz	x2, 2f
	sub	x2, x2, #1
	ldrb	w4, [x1, x2]
	strb	w4, [x0, x2]
	b	1b
2:	ret
	nvs_end	nvs_memmove

	nvs_function nvs_memset
	mov	x3, x0
	and	x1, x1, #0xff
	orr	x1, x1, x1, lsl #8
	orr	x1, x1, x1, lsl #16
	orr	x1, x1, x1, lsl #32
	b	2f
1:	stp	x1, x1, [x3], #16
	sub	x2, x2, #16
2:	cmp	x2, #16
	b.hs	1b
3:	cbz	x2, 4f
	strb	w1, [x3], #1
	sub	x2, x2, #1
	b	3b
4:	ret
	nvs_end	nvs_memset

	.globl	nvs_bcmp
	.hidden	nvs_bcmp
	.set	nvs_bcmp, nvs_memcmp
	nvs_function nvs_memcmp
	mov	x3, x0
	mov	x4, #0
1:	cmp	x4, x2
	b.hs	2f
	ldrb	w0, [x3, x4]
	ldrb	w5, [x1, x4]
	add	x4, x4, #1
	subs	w0, w0, w5
	b.eq	1b
	ret
2:	mov	w0, #0
	ret
	nvs_end	nvs_memcmp

	.section .note.GNU-stack, "", @progbits
