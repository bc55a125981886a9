/* SPDX-License-Identifier: MIT */
/*
 * Thunks of the API layer, one per slot, and their common routine.
 *
 * A thunk saves every argument register, calls nvs_api_enter(), passes the arguments on (stack
 * arguments are copied), calls the original, and then nvs_api_leave(). Its frame has the standard
 * layout, so that unwinders, exceptions and the end of a thread can pass through; the personality
 * routine reports the latter two.
 */
#define SLOTS 1024
#define FRAME 256 /* struct nvs_api_frame */
#define INDIRECT 16 /* x8, and padding, below it */
#define F_INDEX 64
#define F_STACK 72
#define F_RESULT 104
#define F_VECTOR 128
#define BTI_C hint #34

	.text

	.globl	nvs_api_thunks
	.hidden	nvs_api_thunks
	.type	nvs_api_thunks, @function
	.p2align 4
nvs_api_thunks:
	.cfi_startproc
	.set	index, 0
	.rept	SLOTS
	.p2align 4
	BTI_C
	mov	w17, #index
	b	call
	.set	index, index + 1
	.endr
	.p2align 4
	.cfi_endproc
	.size	nvs_api_thunks, . - nvs_api_thunks

	.type	call, @function
call:
	.cfi_startproc
	.cfi_personality 0x1b, nvs_api_personality
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	sub	sp, sp, #FRAME + INDIRECT
	str	x8, [sp]
	add	x16, sp, #INDIRECT
	stp	x0, x1, [x16]
	stp	x2, x3, [x16, #16]
	stp	x4, x5, [x16, #32]
	stp	x6, x7, [x16, #48]
	add	x9, x29, #16
	stp	x17, x9, [x16, #F_INDEX]
	stp	q0, q1, [x16, #F_VECTOR]
	stp	q2, q3, [x16, #F_VECTOR + 32]
	stp	q4, q5, [x16, #F_VECTOR + 64]
	stp	q6, q7, [x16, #F_VECTOR + 96]
	mov	x0, x16
	bl	nvs_api_enter
	/* x0: the original; x1: number of stack argument words */
	mov	x16, x0
	mov	x10, x1
	ldr	x8, [sp], #INDIRECT
	ldp	q0, q1, [sp, #F_VECTOR]
	ldp	q2, q3, [sp, #F_VECTOR + 32]
	ldp	q4, q5, [sp, #F_VECTOR + 64]
	ldp	q6, q7, [sp, #F_VECTOR + 96]
	ldp	x0, x1, [sp]
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	cbz	x10, 2f
	add	x11, x10, #1
	and	x11, x11, #-2
	sub	sp, sp, x11, lsl #3
	add	x12, x29, #16
1:	sub	x10, x10, #1
	ldr	x11, [x12, x10, lsl #3]
	str	x11, [sp, x10, lsl #3]
	cbnz	x10, 1b
2:	blr	x16
	sub	sp, x29, #FRAME
	stp	x0, x1, [sp, #F_RESULT]
	mov	x0, sp
	bl	nvs_api_leave
	ldp	x0, x1, [sp, #F_RESULT]
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	call, . - call

/*
 * void *nvs_api_call_as(handle, name, version, fn, gadget): FN gets GADGET as its return address.
 * GADGET is `ldp x29, x30, [sp], #n; ret`: it takes the return to here from the stack, whose
 * pointer is then set anew.
 */
#define LARGEST_STEP 512
	.globl	nvs_api_call_as
	.hidden	nvs_api_call_as
	.type	nvs_api_call_as, @function
nvs_api_call_as:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	sub	sp, sp, #LARGEST_STEP
	adr	x9, 1f
	stp	x29, x9, [sp]
	mov	x30, x4
	mov	x16, x3
	br	x16
1:	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	nvs_api_call_as, . - nvs_api_call_as

	.section .note.GNU-stack, "", @progbits
