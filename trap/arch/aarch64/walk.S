/* SPDX-License-Identifier: MIT */
/*
 * Walks the tree of known stacks (stack/stackcache.h). In assembly for its two loads, which are
 * guarded (guard.S): a fault in one of them is a miss.
 *
 * Return addresses may be signed (PAC). A word is compared without its signature: the one that a
 * function has stored, and the unwinder's, which has none.
 */
	.text

/* uint32_t nvs_stackcache_walk(const struct nvs_stackcache_node *first, uintptr_t pc, uintptr_t sp, uintptr_t fp,
 * uintptr_t lr) */
	.globl	nvs_stackcache_walk
	.hidden	nvs_stackcache_walk
	.type	nvs_stackcache_walk, @function
	.p2align 5
nvs_stackcache_walk:
	.cfi_startproc
	mov	x9, x30
	.cfi_register x30, x9
.Lcompare:
	ldr	x10, [x0]
	cmp	x10, x1
	b.ne	.Lother
.Lholds:
	add	x0, x0, #16
	ldrsw	x11, [x0, #8]
	tst	w11, #7
	b.ne	.Lspecial
	.globl	nvs_stackcache_load
	.hidden	nvs_stackcache_load
nvs_stackcache_load:
	ldr	x30, [x2, x11]
	hint	#7 /* xpaclri */
	mov	x1, x30
	ldr	x10, [x0]
	cmp	x10, x1
	b.eq	.Lholds
.Lother:
	ldr	w12, [x0, #12]
	cbz	w12, nvs_stackcache_miss
	add	x0, x0, x12
	ldr	x10, [x0]
	cmp	x10, x1
	b.eq	.Lholds
	b	.Lother

.Lspecial:
	and	w12, w11, #7
	cmp	w12, #2
	b.hs	.Lregister
	/* NVS_CHECK_WORD_LESS_SP */
	sub	x11, x11, #1
	.globl	nvs_stackcache_load_base
	.hidden	nvs_stackcache_load_base
nvs_stackcache_load_base:
	ldr	x1, [x2, x11]
	sub	x1, x1, x2
	b	.Lcompare
.Lregister:
	mov	x1, x3
	cmp	w12, #3
	b.eq	.Lcompare
	b.lo	1f
	cmp	w12, #4
	b.eq	.Lend
	/* NVS_CHECK_LR */
	mov	x30, x4
	hint	#7
	mov	x1, x30
	b	.Lcompare
1:	sub	x1, x1, x2
	b	.Lcompare
.Lend:
	ldr	w0, [x0]
	ret	x9
	.globl	nvs_stackcache_miss
	.hidden	nvs_stackcache_miss
nvs_stackcache_miss:
	mov	w0, #-1
	ret	x9
	.cfi_endproc
	.size	nvs_stackcache_walk, . - nvs_stackcache_walk

	.section .note.GNU-stack, "", @progbits
