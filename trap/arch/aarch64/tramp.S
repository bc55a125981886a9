/* SPDX-License-Identifier: MIT */
/*
 * The trampoline of a patched store site: a template that patch.c copies into executable memory
 * within reach of a jump from the site, with the marked places filled in.
 *
 * It passes the registers as the store found them to the C code, preserves them and the flags, and
 * returns after the store. There is no red zone. If the C code declines, the store itself runs: on
 * the protected page it traps, and the trap continues as if the site itself had faulted.
 */
	.section .rodata.nvs_tramp, "a", @progbits

	.macro	nvs_restore
	ldr	x0, [sp, #248]
	msr	nzcv, x0
	ldp	x0, x1, [sp]
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	ldp	x8, x9, [sp, #64]
	ldp	x10, x11, [sp, #80]
	ldp	x12, x13, [sp, #96]
	ldp	x14, x15, [sp, #112]
	ldp	x16, x17, [sp, #128]
	ldr	x18, [sp, #144]
	ldp	x29, x30, [sp, #232]
	add	sp, sp, #256
	.endm

	.globl	nvs_tramp_begin
	.hidden	nvs_tramp_begin
	.p2align 3
nvs_tramp_begin:
	/* struct nvs_fast_regs */
	sub	sp, sp, #256
	stp	x0, x1, [sp]
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x17, [sp, #128]
	stp	x18, x19, [sp, #144]
	stp	x20, x21, [sp, #160]
	stp	x22, x23, [sp, #176]
	stp	x24, x25, [sp, #192]
	stp	x26, x27, [sp, #208]
	str	x28, [sp, #224]
	stp	x29, x30, [sp, #232]
	mrs	x0, nzcv
	str	x0, [sp, #248]
	mov	x1, sp
	ldr	x0, nvs_tramp_site
	ldr	x16, nvs_tramp_function
	blr	x16
	tbz	w0, #0, 1f
	nvs_restore
	.globl	nvs_tramp_back1
	.hidden	nvs_tramp_back1
nvs_tramp_back1:
	.word	0 /* b to the instruction after the store */
1:	nvs_restore
	.globl	nvs_tramp_original
	.hidden	nvs_tramp_original
nvs_tramp_original:
	.word	0
	.globl	nvs_tramp_back2
	.hidden	nvs_tramp_back2
nvs_tramp_back2:
	.word	0
	.p2align 3
	.globl	nvs_tramp_site
	.hidden	nvs_tramp_site
nvs_tramp_site:
	.quad	0
	.globl	nvs_tramp_function
	.hidden	nvs_tramp_function
nvs_tramp_function:
	.quad	0
	.globl	nvs_tramp_end
	.hidden	nvs_tramp_end
nvs_tramp_end:

	.section .note.GNU-stack, "", @progbits
