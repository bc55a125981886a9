/* SPDX-License-Identifier: MIT */
/* Moves counts between blocks that are executed equally often by the same threads, so that fewer
 * blocks have to count. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

static bool is_unconditional(const struct nvs_function *fn, uint32_t i)
{
	return !(fn->flags[i] & NVS_FALLS) || !(fn->flags[i] & NVS_ENDS);
}

/* True if W leaves a region other than by its BSYNC, or changes which threads wait there. */
static bool breaks_region(nvs_word w)
{
	switch (nvs_word_opcode(w)) {
	case NVS_OP_EXIT:
	case NVS_OP_CALL_ABS:
	case NVS_OP_BREAK:
	case NVS_OP_BMOV_TO:
	case NVS_OP_BMOV_FROM:
	case NVS_OP_KILL:
	case NVS_OP_BPT:
	case NVS_OP_RTT:
		return true;
	case NVS_OP_WARPSYNC:
		return nvs_word_get(w, 86, 1);
	}
	return false;
}

static bool calls_unknown(const struct nvs_function *fn, uint32_t i)
{
	return fn->flags[i] & NVS_OUT ||
	       (nvs_word_opcode(fn->code[i]) == NVS_OP_CALL && fn->target[i] == NVS_NOWHERE);
}

struct merge_walk {
	uint32_t *stamp, now; /* instructions of the current region, marked with its number */
	uint32_t *list, lists; /* the same in order of discovery; also the work queue */
	uint64_t steps; /* remaining budget for the whole function */
};

static void visit_insn(struct merge_walk *walk, uint32_t i)
{
	if (walk->stamp[i] == walk->now)
		return;
	walk->stamp[i] = walk->now;
	walk->list[walk->lists++] = i;
}

static void visit_next(struct nvs_function *fn, struct merge_walk *walk, uint32_t i, bool targets)
{
	const uint8_t *table;
	uint32_t n = 0;

	if (fn->flags[i] & NVS_FALLS && i + 1 < fn->n)
		visit_insn(walk, i + 1);
	if (!targets)
		return;
	if (fn->target[i] != NVS_NOWHERE && nvs_word_opcode(fn->code[i]) != NVS_OP_BSSY)
		visit_insn(walk, fn->target[i]);
	if (!nvs_is_brx(fn->code[i]))
		return;
	table = nvs_branch_targets(&fn->info, i * 16, &n);
	for (uint32_t k = 0; table && k < n; k++)
		visit_insn(walk, nvs_elf_u32(table + 4 * (size_t)k) / 16);
}

/* True if all calls from the region return with the same threads. */
static bool calls_return(struct nvs_function *fn, struct merge_walk *walk, uint32_t from)
{
	for (; from < walk->lists; from++) {
		uint32_t i = walk->list[from];

		if (!walk->steps || breaks_region(fn->code[i]) || calls_unknown(fn, i))
			return false;
		walk->steps--;
		if (nvs_word_opcode(fn->code[i]) != NVS_OP_RET)
			visit_next(fn, walk, i, true);
		else if (fn->flags[i] & NVS_FALLS)
			visit_insn(walk, i + 1);
	}
	return true;
}

/* True if all threads that execute the BSSY at I reconverge at its BSYNC: the region is entered
 * only from I, and left only by BSYNCs directly before JOIN. */
static bool is_closed(struct nvs_function *fn, struct merge_walk *walk, uint32_t i)
{
	uint32_t join = fn->target[i], bar = (uint32_t)nvs_word_get(fn->code[i], 16, 4), own;
	bool calls = false;

	walk->now++;
	walk->lists = 0;
	visit_insn(walk, i + 1);
	for (uint32_t k = 0; k < walk->lists; k++) {
		uint32_t at = walk->list[k];
		nvs_word w = fn->code[at];
		unsigned op = nvs_word_opcode(w);

		if (!walk->steps)
			return false;
		walk->steps--;
		if (op == NVS_OP_BSYNC && nvs_word_get(w, 16, 4) == bar) {
			if (at + 1 != join)
				return false;
			continue;
		}
		if (breaks_region(w) || op == NVS_OP_RET || at == join || calls_unknown(fn, at) ||
		    (op == NVS_OP_BSSY && nvs_word_get(w, 16, 4) == bar))
			return false;
		calls |= op == NVS_OP_CALL;
		visit_next(fn, walk, at, op != NVS_OP_CALL);
	}
	own = walk->lists;
	for (uint32_t k = 0; k < own; k++) {
		uint32_t at = walk->list[k];

		if (at != i + 1 && at && fn->flags[at - 1] & NVS_SEEN &&
		    fn->flags[at - 1] & NVS_FALLS && walk->stamp[at - 1] != walk->now &&
		    at - 1 != i)
			return false;
		for (uint32_t e = fn->edges_to[at]; e != NVS_NOWHERE; e = fn->edge[e].next)
			if (nvs_word_opcode(fn->code[fn->edge[e].from]) != NVS_OP_BSSY &&
			    walk->stamp[fn->edge[e].from] != walk->now && fn->edge[e].from != i)
				return false;
	}
	/* JOIN may be entered only by BSYNCs of the region. */
	if (!(fn->flags[join] & NVS_LEAD) || join == 0)
		return false;
	if (join && fn->flags[join - 1] & NVS_SEEN && fn->flags[join - 1] & NVS_FALLS &&
	    (walk->stamp[join - 1] != walk->now ||
	     nvs_word_opcode(fn->code[join - 1]) != NVS_OP_BSYNC))
		return false;
	for (uint32_t e = fn->edges_to[join]; e != NVS_NOWHERE; e = fn->edge[e].next)
		if (nvs_word_opcode(fn->code[fn->edge[e].from]) != NVS_OP_BSSY)
			return false;
	if (!calls)
		return true;
	walk->now++;
	for (uint32_t k = 0; k < own; k++)
		if (nvs_word_opcode(fn->code[walk->list[k]]) == NVS_OP_CALL &&
		    fn->target[walk->list[k]] != NVS_NOWHERE)
			visit_insn(walk, fn->target[walk->list[k]]);
	return calls_return(fn, walk, own);
}

static void mark_fixed(struct nvs_function *fn, uint32_t i)
{
	if (i < fn->n && fn->flags[i] & NVS_SEEN)
		fn->span[fn->home[i]].fixed = true;
}

/* Marks blocks that are entered in ways that are not in the edges: entries, reconvergence points of
 * BSSY, functions, and code after calls. */
static void find_fixed(struct nvs_function *fn)
{
	struct nvs_cubin_symbol s;

	mark_fixed(fn, 0);
	for (uint32_t i = 0; i < fn->r->cubin.symbols; i++)
		if (nvs_cubin_symbol(&fn->r->cubin, i, &s) && s.section == fn->text.index &&
		    s.type == 2 && s.value / 16 < fn->n)
			mark_fixed(fn, (uint32_t)(s.value / 16));
	for (uint32_t i = 0; i < fn->n; i++) {
		unsigned op = nvs_word_opcode(fn->code[i]);

		if (!(fn->flags[i] & NVS_SEEN))
			continue;
		if (op == NVS_OP_BSSY || op == NVS_OP_CALL)
			mark_fixed(fn, fn->target[i]);
		if (op == NVS_OP_CALL || fn->flags[i] & NVS_OUT)
			mark_fixed(fn, i + 1);
	}
}

/* True if span B's last instruction leads to only one place, with the same threads. */
static bool leads_on(const struct nvs_function *fn, const struct nvs_block_span *b)
{
	unsigned op = nvs_word_opcode(fn->code[b->last]);
	bool falls = fn->flags[b->last] & NVS_FALLS;

	if (!(fn->flags[b->last] & NVS_ENDS))
		return falls;
	return op == NVS_OP_BRA && is_unconditional(fn, b->last) &&
	       fn->target[b->last] != NVS_NOWHERE;
}

/* Moves B's sum into all blocks that lead to it. Returns false if one of them also leads elsewhere.
 *  */
static bool move_up(struct nvs_function *fn, uint32_t b)
{
	struct nvs_block_span *s = &fn->span[b];
	bool any = false;

	for (int pass = 0; pass < 2; pass++) {
		if (s->first && fn->flags[s->first - 1] & NVS_SEEN &&
		    fn->flags[s->first - 1] & NVS_FALLS) {
			struct nvs_block_span *p = &fn->span[fn->home[s->first - 1]];

			if (!pass && (!leads_on(fn, p) || p == s))
				return false;
			if (pass)
				p->weight += s->weight;
			any = true;
		}
		for (uint32_t e = fn->edges_to[s->first]; e != NVS_NOWHERE; e = fn->edge[e].next) {
			struct nvs_block_span *p = &fn->span[fn->home[fn->edge[e].from]];

			if (!pass && (!leads_on(fn, p) || p == s))
				return false;
			if (pass)
				p->weight += s->weight;
			any = true;
		}
		if (!any)
			return false;
	}
	s->weight = 0;
	return true;
}

#define ROUNDS 12
#define STEPS (UINT64_C(1) << 26)

int nvs_function_merge(struct nvs_function *fn)
{
	struct merge_walk walk = {.steps = STEPS};
	uint32_t(*region)[2], regions = 0;
	bool moved = true;

	walk.stamp = nvs_arena_get(fn->arena, fn->n, sizeof(*walk.stamp));
	walk.list = nvs_arena_get(fn->arena, 2 * (size_t)fn->n + 2, sizeof(*walk.list));
	region = nvs_arena_get(fn->arena, fn->n, sizeof(*region));
	if (!walk.stamp || !walk.list || !region)
		return -ENOMEM;
	find_fixed(fn);
	for (uint32_t i = 0; i < fn->n; i++)
		if (fn->flags[i] & NVS_SEEN && nvs_word_opcode(fn->code[i]) == NVS_OP_BSSY &&
		    nvs_word_guard(fn->code[i]) == NVS_ALWAYS &&
		    fn->flags[fn->target[i]] & NVS_SEEN && is_closed(fn, &walk, i)) {
			region[regions][0] = fn->home[i];
			region[regions++][1] = fn->home[fn->target[i]];
		}
	for (int round = 0; round < ROUNDS && moved; round++) {
		moved = false;
		for (uint32_t k = 0; k < regions; k++) {
			struct nvs_block_span *a = &fn->span[region[k][0]],
					      *b = &fn->span[region[k][1]];

			if (!b->weight || a == b)
				continue;
			a->weight += b->weight;
			b->weight = 0;
			moved = true;
		}
		for (uint32_t b = fn->spans; b-- > 0;)
			if (fn->span[b].weight && !fn->span[b].fixed)
				moved |= move_up(fn, b);
	}
	return 0;
}
