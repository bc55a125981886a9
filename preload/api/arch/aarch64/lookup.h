/* SPDX-License-Identifier: MIT */
/*
 * Assembly macro: lookup NAME, REAL, C_FUNCTION, CALLER defines a dlsym() or dlvsym() in front of
 * the one that the variable REAL points to. It jumps there with the return address unchanged,
 * because the real one identifies its caller by it. Names of the driver API ("cu" and a capital)
 * and dlsym and dlvsym themselves go to C_FUNCTION, which gets the return address in CALLER, the
 * register of its last argument.
 */
/* clang-format off */

	.macro	lookup name, real, c_function, caller
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	hint	#34 /* bti c */
	cbz	x1, 1f
	ldrb	w9, [x1]
	cmp	w9, #'c'
	b.ne	2f
	ldrb	w9, [x1, #1]
	cmp	w9, #'u'
	b.ne	1f
	ldrb	w9, [x1, #2]
	sub	w9, w9, #'A'
	cmp	w9, #25
	b.hi	1f
3:	mov	\caller, x30
	b	\c_function
2:	cmp	w9, #'d'
	b.ne	1f
	ldrb	w9, [x1, #1]
	cmp	w9, #'l'
	b.ne	1f
	ldrb	w9, [x1, #2]
	cmp	w9, #'s'
	b.eq	3b
	cmp	w9, #'v'
	b.eq	3b
1:	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	bl	nvs_api_lookup
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	adrp	x16, \real
	ldr	x16, [x16, :lo12:\real]
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm
