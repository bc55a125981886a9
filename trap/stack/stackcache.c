/* SPDX-License-Identifier: MIT */
/* Known stacks: turns an unwound stack into a list of checks, and keeps the lists as a tree for
 * each buffer. */
#include <stdatomic.h>
#include <stddef.h>
#include "trap/arch/cpu.h"
#include "trap/arch/context.h"
#include "trap/code/cfi.h"
#include "trap/stack/stackcache.h"
#include "trap/buffer/process.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

/* Checks of one stack: three a frame, pc and end. */
#define LONGEST (3 * NVS_STACKCACHE_FRAMES + 2)
#define FARTHEST 0x7ffffff8 /* maximum distance in bytes from SP to a slot */
#define REFUSED 256u

struct stackcache {
	uint64_t unloads; /* nvs_process->unload_count for which the tree is valid */
	uint64_t adds; /* of the modules when refused[] was cleared */
	uint32_t generation; /* of the buffer's owner */
	uint32_t used; /* used nodes */
	uint32_t refused[REFUSED]; /* stacks that cannot be learned, hashed by number: number + 1 */
	struct nvs_stackcache_node nodes[] __attribute__((aligned(16)));
};

#define NODES \
	((NVS_KNOWN_STACKS_BYTES - sizeof(struct stackcache)) / sizeof(struct nvs_stackcache_node))

_Static_assert(sizeof(struct nvs_stackcache_node) == 16 &&
		       offsetof(struct nvs_stackcache_node, slot) == 8 &&
		       offsetof(struct nvs_stackcache_node, next) == 12,
	       "walk.S knows the layout");
_Static_assert(NVS_CHECK_WORD_LESS_SP == 1 && NVS_CHECK_FP_LESS_SP == 2 && NVS_CHECK_FP == 3 &&
		       NVS_CHECK_END == 4 && NVS_CHECK_LR > 4,
	       "walk.S knows the checks");
_Static_assert(sizeof(struct stackcache) % 16 == 0, "nodes do not straddle cache lines");

static void clear_tree(struct stackcache *k, const struct nvs_buffer *buffer)
{
	k->used = 0;
	k->generation = buffer->shared->generation;
	k->unloads = atomic_load_explicit(&nvs_process->unload_count, memory_order_relaxed);
	for (uint32_t i = 0; i < REFUSED; i++)
		k->refused[i] = 0;
}

static bool is_current(const struct stackcache *k, const struct nvs_buffer *buffer)
{
	return k->generation == buffer->shared->generation &&
	       k->unloads == atomic_load_explicit(&nvs_process->unload_count, memory_order_relaxed);
}

/* ---- from a stack to its checks ---- */

/* Where FP's value in a frame is stored. */
enum fp_place { IN_FP, IN_SLOT, NOWHERE };

struct draft {
	struct nvs_stackcache_node *nodes;
	uint32_t n;
	uintptr_t sp; /* at the store */
	uintptr_t lr; /* at the store */
	int64_t frame; /* SP of the current frame, minus sp */
	enum fp_place fp_place;
	int64_t fp_slot;
	uint64_t fp; /* its value in that frame */
	bool fp_checked;
	bool innermost; /* the current frame is that of the store */
};

static bool add_check(struct draft *d, enum nvs_stackcache_check check, int64_t slot,
		      uint64_t value)
{
	if (d->n == LONGEST || slot < 0 || slot > FARTHEST || slot & 7)
		return false;
	d->nodes[d->n++] = (struct nvs_stackcache_node){.value = value,
							.slot = (int32_t)slot | (int32_t)check};
	return true;
}

static bool word_at(const struct draft *d, int64_t slot, uint64_t *value)
{
	return slot >= 0 && slot <= FARTHEST &&
	       nvs_load64_guarded((const uint64_t *)(d->sp + (uint64_t)slot), value);
}

/* Adds a check of FP's value in this frame, because something depends on it. */
static bool need_fp(struct draft *d)
{
	uint64_t less = d->fp - d->sp;
	bool done = false;

	if (d->fp_checked)
		return true;
	if (d->fp_place == IN_FP)
		done = add_check(d, NVS_CHECK_FP_LESS_SP, 0, less);
	else if (d->fp_place == IN_SLOT)
		done = add_check(d, NVS_CHECK_WORD_LESS_SP, d->fp_slot, less);
	d->fp_checked = done;
	return done;
}

/* Computes a register of the frame plus OFFSET, minus sp. */
static bool add_offset(struct draft *d, uint8_t reg, int64_t offset, int64_t *distance)
{
	if (reg == NVS_DW_SP)
		*distance = d->frame + offset;
	else if (reg == NVS_DW_FP && need_fp(d))
		*distance = (int64_t)(d->fp - d->sp) + offset;
	else
		return false;
	return true;
}

/* Computes the frame's CFA minus sp; each frame must be above the previous one. */
static bool find_cfa(struct draft *d, const struct nvs_cfi *cfi, int64_t *cfa)
{
	uint64_t word;

	if (cfi->cfa_rule == NVS_CFA_UNKNOWN ||
	    !add_offset(d, cfi->cfa_register, cfi->cfa_offset, cfa))
		return false;
	if (cfi->cfa_rule == NVS_CFA_LOADED) {
		if (!word_at(d, *cfa, &word) ||
		    !add_check(d, NVS_CHECK_WORD_LESS_SP, *cfa, word - d->sp))
			return false;
		*cfa = (int64_t)(word - d->sp);
	}
	/* Without a stack frame of its own, only the innermost one. */
	if (*cfa == d->frame && cfi->ra_rule == NVS_REG_SAME)
		return d->innermost;
	return *cfa > d->frame && *cfa <= FARTHEST;
}

/* Adds a check of the return address, which must be CALLER. */
static bool find_return(struct draft *d, const struct nvs_cfi *cfi, int64_t cfa, const void *caller)
{
	int64_t slot = cfa + cfi->ra_offset;
	uint64_t word;

	if (NVS_RA_IN_REGISTER && cfi->ra_rule == NVS_REG_SAME && d->innermost)
		return nvs_strip_return(d->lr) == (uintptr_t)caller &&
		       add_check(d, NVS_CHECK_LR, 0, (uintptr_t)caller);
	return cfi->ra_rule == NVS_REG_AT_CFA && word_at(d, slot, &word) &&
	       nvs_strip_return(word) == (uintptr_t)caller &&
	       add_check(d, NVS_CHECK_WORD, slot, (uintptr_t)caller);
}

/* Computes where the caller's FP is, given the frame's CFA. */
static bool move_fp(struct draft *d, const struct nvs_cfi *cfi, int64_t cfa)
{
	int64_t slot;

	switch (cfi->fp_rule) {
	case NVS_REG_SAME:
		return true;
	case NVS_REG_AT_CFA:
		slot = cfa + cfi->fp_offset;
		break;
	case NVS_REG_AT_FP:
		if (!add_offset(d, NVS_DW_FP, cfi->fp_offset, &slot))
			return false;
		break;
	default:
		d->fp_place = NOWHERE;
		d->fp_checked = false;
		return true;
	}
	d->fp_place = IN_SLOT;
	d->fp_slot = slot;
	d->fp_checked = false;
	return word_at(d, slot, &d->fp);
}

/* The outermost frame is code without rules: if FP is 0, all unwinders end there. */
static bool end_without_rules(struct draft *d)
{
	if (d->fp_place == NOWHERE || d->fp)
		return false;
	return d->fp_place == IN_FP ? add_check(d, NVS_CHECK_FP, 0, 0)
				    : add_check(d, NVS_CHECK_WORD, d->fp_slot, 0);
}

/* Adds the checks of one frame, at PC. CALLER is the unwinder's next address, NULL if there was
 * none. CUT: the unwinder's buffer may have been full. */
static bool add_frame(struct draft *d, struct nvs_cfi *cfi, uintptr_t pc, const void *caller,
		      bool cut)
{
	enum nvs_cfi_result result = nvs_cfi_find(atomic_load(&nvs_process->modules), pc, cfi);
	int64_t cfa;

	if (!caller && cut)
		return true;
	if (result == NVS_CFI_NO_FUNCTION && !caller)
		return end_without_rules(d);
	if (result != NVS_CFI_FOUND || cfi->signal)
		return false;
	if (cfi->ra_rule == NVS_REG_UNDEFINED)
		return !caller;
	if (!cfi->sp_is_cfa || !find_cfa(d, cfi, &cfa) || !find_return(d, cfi, cfa, caller) ||
	    !move_fp(d, cfi, cfa))
		return false;
	d->frame = cfa;
	d->innermost = false;
	return true;
}

static bool draft_stack(struct draft *d, void *const *pcs, uint32_t n, uint32_t stack)
{
	struct nvs_cfi cfi = {.module = NULL};

	if (n > NVS_STACKCACHE_FRAMES)
		return false;
	d->nodes[d->n++] = (struct nvs_stackcache_node){.value = (uintptr_t)pcs[0],
							.slot = NVS_CHECK_PC};
	for (uint32_t i = 0; i < n; i++) {
		/* A return address may be after the end of its function; the call itself is always
		 * within it. */
		uintptr_t pc = (uintptr_t)pcs[i] - (i > 0);

		if (!add_frame(d, &cfi, pc, i + 1 < n ? pcs[i + 1] : NULL, n >= NVS_STACKCACHE_CUT))
			return false;
	}
	return add_check(d, NVS_CHECK_END, 0, stack);
}

/* ---- from checks to the tree ---- */

/* Appends the draft's nodes from FROM on to the tree, and then links them from BEFORE. */
static void append_nodes(struct stackcache *k, const struct draft *d, uint32_t from,
			 struct nvs_stackcache_node *before)
{
	struct nvs_stackcache_node *to = &k->nodes[k->used];

	for (uint32_t i = from; i < d->n; i++)
		to[i - from] = d->nodes[i];
	k->used += d->n - from;
	atomic_signal_fence(memory_order_seq_cst);
	if (before)
		before->next = (uint32_t)((uint8_t *)to - (uint8_t *)before);
}

/*
 * Adds a draft to the tree. Equal checks are followed by equal checks, since those follow from
 * them; the one exception is a stack that was cut at another depth, for which this returns false.
 */
static bool insert_draft(struct stackcache *k, const struct draft *d)
{
	struct nvs_stackcache_node *at = k->nodes;

	if (!k->used) {
		append_nodes(k, d, 0, NULL);
		return true;
	}
	for (uint32_t i = 0; i < d->n; i++, at++) {
		if (at->slot != d->nodes[i].slot)
			return false;
		if ((at->slot & 7) == NVS_CHECK_END)
			return true;
		while (at->value != d->nodes[i].value) {
			if (!at->next) {
				append_nodes(k, d, i, at);
				return true;
			}
			at = (void *)((uint8_t *)at + at->next);
		}
	}
	return false;
}

/* Clears the parts of K that are invalid for the buffer's current owner and the current modules. */
static void refresh_tree(struct stackcache *k, const struct nvs_buffer *buffer)
{
	const struct nvs_module_view *view = atomic_load(&nvs_process->modules);

	if (!is_current(k, buffer) || NODES - k->used < LONGEST)
		clear_tree(k, buffer);
	if (view && view->adds != k->adds) {
		k->adds = view->adds;
		for (uint32_t i = 0; i < REFUSED; i++)
			k->refused[i] = 0;
	}
}

void nvs_stackcache_add(struct nvs_buffer *buffer, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			uintptr_t lr, void *const *pcs, uint32_t n, uint32_t stack)
{
	struct stackcache *k = buffer->known;
	struct draft d = {.sp = sp, .fp = fp, .lr = lr, .innermost = true};

	if (!n || stack == NVS_NONE || (uintptr_t)pcs[0] != pc || sp & 7)
		return;
	if (!k)
		return;
	refresh_tree(k, buffer);
	if (k->refused[stack % REFUSED] == stack + 1 ||
	    (k->used && nvs_stackcache_walk(k->nodes, pc, sp, fp, lr) != NVS_NONE))
		return;
	d.nodes = &k->nodes[k->used];
	if (!draft_stack(&d, pcs, n, stack) || !insert_draft(k, &d))
		k->refused[stack % REFUSED] = stack + 1;
}

uint32_t nvs_stackcache_match(struct nvs_buffer *buffer, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			      uintptr_t lr)
{
	const struct stackcache *k = buffer->known;

	if (!k || !k->used || !is_current(k, buffer))
		return NVS_NONE;
	return nvs_stackcache_walk(k->nodes, pc, sp, fp, lr);
}
