/* SPDX-License-Identifier: MIT */
/*
 * The exported dlsym, dlvsym and dlopen. The real function identifies its caller by the return
 * address, so it is reached by a jump, with the return address unchanged.
 */
#include "preload/api/arch/aarch64/lookup.h"

	.text

	lookup	dlsym, nvs_real_dlsym, nvs_api_dlsym, x2
	lookup	dlvsym, nvs_real_dlvsym, nvs_api_dlvsym, x3

	.globl	dlopen
	.type	dlopen, @function
dlopen:
	.cfi_startproc
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	bl	nvs_api_opening
	mov	w9, w0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	tst	w9, #0xff
	b.eq	1f
	b	nvs_api_open
1:	adrp	x16, nvs_real_dlopen
	ldr	x16, [x16, :lo12:nvs_real_dlopen]
	br	x16
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
