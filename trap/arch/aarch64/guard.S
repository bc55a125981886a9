/* SPDX-License-Identifier: MIT */
/*
 * Loads and unwinders that survive a fault, and the switch to the trap's own stack.
 *
 * The SIGSEGV handler calls nvs_guard_fixup() with the faulting address. Each pair in its table is
 * an instruction that may fault and the address at which to continue.
 *
 * Loads are of aligned words, since memory may be mapped as device memory, where others fault. Each
 * load is followed by a barrier: what is loaded next must not be older, as GP_PUT and then the
 * entries before it.
 */
	.text

	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro	end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* size_t nvs_copy_guarded(void *to, const void *from, size_t bytes): bytes not copied. */
	function nvs_copy_guarded
	cbz	x2, 5f
1:	tst	x1, #7
	b.eq	2f
.Lhead:	ldrb	w3, [x1]
.Lhead_store:
	strb	w3, [x0], #1
	add	x1, x1, #1
	subs	x2, x2, #1
	b.ne	1b
	b	5f
2:	cmp	x2, #32
	b.lo	3f
.Lblock_low:
	ldp	x3, x4, [x1]
.Lblock_high:
	ldp	x5, x6, [x1, #16]
.Lblock_store_low:
	stp	x3, x4, [x0]
.Lblock_store_high:
	stp	x5, x6, [x0, #16]
	add	x0, x0, #32
	add	x1, x1, #32
	sub	x2, x2, #32
	b	2b
/* Also where a block faults: the words before the fault are still copied. */
.Lwords:
3:	cmp	x2, #8
	b.lo	4f
.Lword:	ldr	x3, [x1]
.Lword_store:
	str	x3, [x0], #8
	add	x1, x1, #8
	sub	x2, x2, #8
	b	3b
4:	cbz	x2, 5f
.Ltail:	ldrb	w3, [x1]
.Ltail_store:
	strb	w3, [x0], #1
	add	x1, x1, #1
	sub	x2, x2, #1
	b	4b
.Lcopy_end:
5:	dmb	ishld
	mov	x0, x2
	ret
	end	nvs_copy_guarded

/* bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value) */
	function nvs_load32_guarded
.Lload32:
	ldr	w2, [x0]
	dmb	ishld
	str	w2, [x1]
	mov	w0, #1
	ret
	end	nvs_load32_guarded

/* bool nvs_load64_guarded(const volatile uint64_t *from, uint64_t *value) */
	function nvs_load64_guarded
.Lload64:
	ldr	x2, [x0]
	dmb	ishld
	str	x2, [x1]
	mov	w0, #1
	ret
.Lload_end:
	mov	w0, #0
	ret
	end	nvs_load64_guarded

/* uintptr_t nvs_guard_fixup(uintptr_t pc) */
	.macro	pair from, to
	adr	x1, \from
	adr	x2, \to
	cmp	x0, x1
	b.eq	9f
	.endm

	function nvs_guard_fixup
	.irp	at, .Lhead, .Lhead_store, .Lword, .Lword_store, .Ltail, .Ltail_store
	pair	\at, .Lcopy_end
	.endr
	.irp	at, .Lblock_low, .Lblock_high, .Lblock_store_low, .Lblock_store_high
	pair	\at, .Lwords
	.endr
	pair	.Lload32, .Lload_end
	pair	.Lload64, .Lload_end
	adrp	x1, nvs_stackcache_load
	add	x1, x1, :lo12:nvs_stackcache_load
	adrp	x2, nvs_stackcache_miss
	add	x2, x2, :lo12:nvs_stackcache_miss
	cmp	x0, x1
	b.eq	9f
	adrp	x1, nvs_stackcache_load_base
	add	x1, x1, :lo12:nvs_stackcache_load_base
	cmp	x0, x1
	b.eq	9f
	mov	x2, #0
9:	mov	x0, x2
	ret
	end	nvs_guard_fixup

/*
 * void nvs_on_stack(uint8_t *top, void (*fn)(void *), void *arg) The frame has the standard shape,
 * so an unwinder crosses from the trap's stack to the interrupted one as it crosses any frame.
 */
	function nvs_on_stack
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	and	x0, x0, #-16
	mov	sp, x0
	mov	x0, x2
	blr	x1
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	end	nvs_on_stack

/*
 * int nvs_unwind_guarded(int (*fn)(void **, int), void **pcs, int max, uintptr_t *frame): fn(pcs, max), or -1 after a
 * fault. The frame has what the caller's registers were, for nvs_unwind_faulted.
 */
	function nvs_unwind_guarded
	stp	x29, x30, [sp, #-176]!
	.cfi_def_cfa_offset 176
	.cfi_offset x29, -176
	.cfi_offset x30, -168
	mov	x29, sp
	.cfi_def_cfa_register x29
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	str	x3, [sp, #160]
	str	x29, [x3]
	mov	x9, x0
	mov	x0, x1
	mov	w1, w2
	blr	x9
	b	.Lunwound
	.globl	nvs_unwind_faulted
	.hidden	nvs_unwind_faulted
nvs_unwind_faulted:
	mov	x29, sp
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	mov	w0, #-1
.Lunwound:
	ldr	x3, [sp, #160]
	str	xzr, [x3]
	ldp	x29, x30, [sp], #176
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	end	nvs_unwind_guarded

	.section .note.GNU-stack, "", @progbits
