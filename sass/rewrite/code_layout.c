/* SPDX-License-Identifier: MIT */
/*
 * Places the counting code. Inline: at the start of each block, moving all code after it. If
 * something that cannot be adjusted points into the code: in stubs after the function, to which one
 * instruction of each block jumps.
 */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

static nvs_word make_branch(const struct nvs_function *fn, uint32_t at, uint32_t to, unsigned guard)
{
	nvs_word w = nvs_word_put(nvs_word_set_stall(nvs_word_of(fn->words, NVS_W_BRA), 5), 109, 1,
				  1);

	return nvs_word_with_guard(
		nvs_word_set_target(fn->words, w, (int64_t)at * 16, (int64_t)to * 16), guard);
}

/* Turns the EXIT W at AT into a branch to the end: same guard, second predicate and waits. */
static nvs_word exit_branch(const struct nvs_function *fn, nvs_word w, uint32_t at, uint32_t end)
{
	nvs_word b = make_branch(fn, at, end, nvs_word_guard(w));

	return nvs_word_put(nvs_word_with_wait(b, (unsigned)nvs_word_get(w, 116, 6)), 87, 4,
			    nvs_word_get(w, 87, 4));
}

static int pad_code(struct nvs_function *fn)
{
	int err = 0;

	while (fn->outs % 8 && !err)
		err = nvs_emit_word(fn, nvs_word_of(fn->words, NVS_W_NOP));
	return err;
}

static bool has_target(const struct nvs_function *fn, uint32_t i)
{
	unsigned op = nvs_word_opcode(fn->code[i]);

	return fn->target[i] != NVS_NOWHERE && !(fn->flags[i] & NVS_OUT) &&
	       (op == NVS_OP_BRA || op == NVS_OP_CALL || op == NVS_OP_BSSY ||
		op == NVS_OP_WARPSYNC);
}

/* Minimum of cycles that block S takes. */
static unsigned min_cycles(const struct nvs_function *fn, const struct nvs_block_span *s)
{
	unsigned n = 0;

	for (uint32_t i = s->first; i <= s->last && n < 64; i++) {
		unsigned stall = (unsigned)nvs_word_get(fn->code[i], 105, 4);

		n += stall ? stall : 1;
	}
	return n;
}

static int free_predicate(const struct nvs_function *fn, uint32_t i)
{
	return fn->live ? __builtin_ctz(~(unsigned)fn->live[i]) : -1;
}

/* Returns the instruction of S before which its sum is added: the first, or, if a predicate is
 * needed, the first at which one is free. */
static uint32_t count_at(const struct nvs_function *fn, const struct nvs_block_span *s)
{
	uint32_t i = s->first;

	while (fn->live && i < s->last && (fn->live[i] & 0x7f) == 0x7f)
		i++;
	return i;
}

/* ---- inline ---- */

/* Number of instructions from I on that count by the same guard, none of which changes it. */
static uint32_t guard_run(const struct nvs_function *fn, uint32_t i, uint32_t last)
{
	unsigned guard = nvs_word_guard(fn->code[i]);
	uint32_t n = 0;

	for (; i <= last && nvs_counts_by_guard(fn, i) && nvs_word_guard(fn->code[i]) == guard;
	     i++) {
		struct nvs_sass_insn_use use;

		n++;
		nvs_insn_registers(fn, i, &use);
		if (use.written.predicate >> (guard & 7) & 1)
			break;
	}
	return n;
}

/* Uniform instructions have uniform predicates as guards, for which there is no sum of threads. */
static bool guard_is_uniform(nvs_word w)
{
	unsigned op = nvs_word_opcode(w);

	return op >= 0x080 && op <= 0x0bf;
}

static int count_guards(struct nvs_function *fn, const struct nvs_count_registers *h, uint32_t i,
			uint32_t last, uint32_t *covered)
{
	if (*covered) {
		--*covered;
		return 0;
	}
	if (!nvs_counts_by_guard(fn, i))
		return 0;
	if (guard_is_uniform(fn->code[i]))
		return nvs_refuse(fn, "a uniform predicate that may be off", i * 16);
	*covered = guard_run(fn, i, last) - 1;
	return nvs_emit_count(fn, h, *covered + 1, nvs_word_guard(fn->code[i]), 0,
			      (unsigned)nvs_word_get(fn->code[i], 116, 6), -1);
}

/* Copies all code with the counting inserted; branches are adjusted afterwards. */
static int copy_code(struct nvs_function *fn, const struct nvs_count_registers *h)
{
	uint32_t span = 0, covered = 0;
	int err = 0;

	for (uint32_t i = 0; i < fn->n && !err; i++) {
		const struct nvs_block_span *s = NULL;
		uint32_t before;

		fn->new_label[i] = fn->outs;
		if (fn->flags[i] & NVS_SEEN) {
			span = fn->home[i];
			s = &fn->span[span];
			if (i == s->first)
				covered = 0;
		}
		before = fn->outs;
		if (s && i == 0 && fn->f->kernel)
			err = nvs_emit_start(fn, h, s->weight, free_predicate(fn, 0));
		else if (s && s->weight && i == count_at(fn, s))
			err = nvs_emit_count(fn, h, s->weight, NVS_ALWAYS,
					     fn->options->skip_off ? 0 : min_cycles(fn, s), 0,
					     free_predicate(fn, i));
		if (s && !err)
			err = count_guards(fn, h, i, s->last, &covered);
		/* An inserted instruction invalidates the operands that the previous one left in
		 * the reuse cache. */
		if (before && fn->outs > before)
			fn->out[before - 1] = nvs_word_no_reuse(fn->out[before - 1]);
		fn->new_own[i] = fn->outs;
		if (!err)
			err = nvs_emit_word(fn, fn->code[i]);
	}
	return err;
}

/* Adjusts the instruction before a call that loads the return address into a register. */
static int adjust_return(struct nvs_function *fn, uint32_t call)
{
	uint32_t from = call > 64 ? call - 64 : 0;

	for (uint32_t k = call; k-- > from;) {
		unsigned form = (unsigned)fn->code[k] & 0xfff;

		if (nvs_word_get(fn->code[k], 32, 32) != (uint64_t)call * 16 + 16 ||
		    (form != 0x802 && form != 0x424 && form != 0x882))
			continue;
		fn->out[fn->new_own[k]] = nvs_word_put(fn->out[fn->new_own[k]], 32, 32,
						       (uint64_t)fn->new_label[call + 1] * 16);
		return 0;
	}
	/* Compilers leave a loop by a CALL that never returns. */
	return fn->returns && !nvs_returns_by_relocation(fn, call)
		       ? nvs_refuse(fn, "a call whose return address was not found", call * 16)
		       : 0;
}

/* LEPC returns its own address plus an offset: correct only if nothing was inserted in between. */
static int check_lepc(struct nvs_function *fn, uint32_t i)
{
	nvs_word w = fn->code[i];
	uint64_t k = nvs_word_get(w, 24, 8);

	if (nvs_word_get(w, 32, 32) || nvs_word_get(w, 64, 32) & 0xffff || k % 16 ||
	    i + 1 + k / 16 >= fn->n || fn->new_label[i + 1 + k / 16] - fn->new_own[i] - 1 != k / 16)
		return nvs_refuse(fn, "an instruction that reads its own address", i * 16);
	return 0;
}

/* Finds the table of a BRX in .nv.constant2.NAME: a unique copy of the list of targets in .nv.info.
 *  */
static int find_table(struct nvs_function *fn, uint32_t i, uint32_t *at, uint32_t *n)
{
	const uint8_t *targets = nvs_branch_targets(&fn->info, i * 16, n);
	uint32_t found = 0;

	if (nvs_word_target(fn->words, fn->code[i], (int64_t)i * 16))
		return nvs_refuse(fn, "an indirect branch with an explicit base", i * 16);
	if (!targets || !*n || !fn->tables.index || !fn->tables.data ||
	    fn->tables.size > UINT32_MAX)
		return nvs_refuse(fn, "an indirect branch whose table was not found", i * 16);
	for (uint64_t k = 0; k + 4 * (uint64_t)*n <= fn->tables.size; k += 4)
		if (!memcmp(fn->tables.data + k, targets, 4 * (size_t)*n)) {
			*at = (uint32_t)k;
			found++;
		}
	if (found != 1)
		return nvs_refuse(fn, "an indirect branch whose table was not found", i * 16);
	return 0;
}

static int adjust_insn(struct nvs_function *fn, uint32_t i, uint32_t end)
{
	uint32_t at = fn->new_own[i], table, n;
	nvs_word w = fn->code[i];
	unsigned op = nvs_word_opcode(w);

	if (!(fn->flags[i] & NVS_SEEN)) {
		if (op == NVS_OP_BRA &&
		    (w & 0xfff) == 0x947) /* the branch to itself after the function */
			fn->out[at] = make_branch(fn, at, at, nvs_word_guard(w));
		return 0;
	}
	if (op == NVS_OP_EXIT)
		fn->out[at] = exit_branch(fn, w, at, end);
	else if (op == NVS_OP_RET || op == NVS_OP_BRX || op == NVS_OP_BRXU) {
		/* Their base is the beginning of the function, or none. */
		if (op == NVS_OP_RET && nvs_is_absolute(w))
			return 0;
		if (nvs_word_target(fn->words, w, (int64_t)i * 16))
			return nvs_refuse(fn, "a return with an explicit base", i * 16);
		fn->out[at] = nvs_word_set_target(fn->words, fn->out[at], (int64_t)at * 16, 0);
		if (op != NVS_OP_RET)
			return find_table(fn, i, &table, &n);
	} else if (has_target(fn, i))
		fn->out[at] = nvs_word_set_target(fn->words, fn->out[at], (int64_t)at * 16,
						  (int64_t)fn->new_label[fn->target[i]] * 16);
	else if (op == NVS_OP_LEPC)
		return check_lepc(fn, i);
	if (op == NVS_OP_CALL && !(fn->flags[i] & NVS_OUT))
		return adjust_return(fn, i);
	return 0;
}

static void adjust_tables(struct nvs_function *fn)
{
	for (uint32_t i = 0; i < fn->n; i++) {
		uint32_t at, n;
		uint8_t *p;

		if (!(fn->flags[i] & NVS_SEEN) ||
		    (nvs_word_opcode(fn->code[i]) != NVS_OP_BRX &&
		     nvs_word_opcode(fn->code[i]) != NVS_OP_BRXU) ||
		    find_table(fn, i, &at, &n))
			continue;
		p = fn->r->data + (fn->tables.data - fn->r->data) + at;
		for (uint32_t k = 0; k < n; k++)
			nvs_store_u32(p + 4 * (size_t)k,
				      fn->new_label[nvs_elf_u32(p + 4 * (size_t)k) / 16] * 16);
	}
}

/* Adjusts an address within the code, such as a return address: symbol plus addend. Elf64_Rela has
 * the symbol at 12, the addend at 16. */
static void adjust_addend(struct nvs_function *fn, uint8_t *p)
{
	struct nvs_cubin_symbol s;
	uint64_t addend;

	memcpy(&addend, p + 16, 8);
	if (!addend || !nvs_cubin_symbol(&fn->r->cubin, nvs_elf_u32(p + 12), &s) ||
	    s.section != fn->text.index || s.value || addend % 16 || addend / 16 >= fn->n)
		return;
	addend = (uint64_t)fn->new_label[addend / 16] * 16;
	memcpy(p + 16, &addend, 8);
}

static void adjust_relocations(struct nvs_function *fn)
{
	struct nvs_cubin_section s;
	uint32_t at = 0, each;

	while (nvs_next_relocations(&fn->r->cubin, fn->text.index, &at, &s, &each))
		for (uint64_t o = 0; o + each <= s.size; o += each) {
			uint8_t *p = fn->r->data + (s.data - fn->r->data) + o;
			uint64_t offset;

			memcpy(&offset, p, 8);
			if (offset / 16 >= fn->n)
				continue;
			offset = (uint64_t)fn->new_own[offset / 16] * 16 + offset % 16;
			memcpy(p, &offset, 8);
			if (each == 24)
				adjust_addend(fn, p);
		}
}

/* Adjusts symbols of functions in the kernel's section; Elf64_Sym: value at 8, size at 16. */
static void adjust_symbols(struct nvs_function *fn)
{
	struct nvs_cubin_section table;
	struct nvs_cubin_symbol s;

	if (!nvs_cubin_section(&fn->r->cubin, fn->r->cubin.symtab, &table) || !table.data)
		return;
	for (uint32_t i = 0; i < fn->r->cubin.symbols; i++) {
		uint8_t *p = fn->r->data + (table.data - fn->r->data) + (size_t)i * 24;
		uint64_t from, to;

		if (!nvs_cubin_symbol(&fn->r->cubin, i, &s) || s.section != fn->text.index ||
		    s.type != 2 || i == fn->f->symbol || s.value / 16 >= fn->n)
			continue;
		from = fn->new_label[s.value / 16];
		to = s.size / 16 + s.value / 16;
		to = to < fn->n ? fn->new_label[to] : fn->outs;
		from *= 16;
		to = to * 16 - from;
		memcpy(p + 8, &from, 8);
		memcpy(p + 16, &to, 8);
	}
}

int nvs_place_inline(struct nvs_function *fn, const struct nvs_count_registers *h)
{
	uint32_t end;
	int err;

	if (fn->pointed_into)
		return nvs_refuse(fn, "an address within the code is taken", UINT32_MAX);
	if (fn->calls_pointer)
		return nvs_refuse(fn, "calls through addresses in the cubin's data", UINT32_MAX);
	fn->report->place = NVS_COUNT_INLINE;
	err = copy_code(fn, h);
	end = fn->outs;
	if (!err)
		err = fn->exits ? nvs_emit_end(fn, h) : 0;
	for (uint32_t i = 0; i < fn->n; i++)
		fn->new_named[i] = fn->flags[i] & NVS_SEEN &&
						   nvs_word_opcode(fn->code[i]) == NVS_OP_EXIT
					   ? fn->outs - 1
					   : fn->new_own[i];
	for (uint32_t i = 0; i < fn->n && !err; i++)
		err = adjust_insn(fn, i, end);
	return err ? err : pad_code(fn);
}

void nvs_place_adjust_refs(struct nvs_function *fn)
{
	if (fn->report->place != NVS_COUNT_INLINE)
		return;
	adjust_tables(fn);
	adjust_relocations(fn);
	adjust_symbols(fn);
}

/* ---- stubs ---- */

/* True for instructions, other than control instructions, that must not move: DEPBAR, MEMBAR,
 * ERRBAR, CCTL, LDGDEPBAR, SETMAXREG, BAR. */
static bool must_stay(unsigned op)
{
	switch (op) {
	case 0x11a:
	case 0x192:
	case 0x1ab:
	case 0x18f:
	case 0x1af:
	case NVS_OP_SETMAXREG:
	case NVS_OP_BAR:
		return true;
	}
	/* of the texture and memory instructions only S2R and S2UR may move */
	return (op >= 0x160 && op <= 0x170) || (op >= 0x199 && op != 0x1c3 && op != 0x1c2);
}

static bool may_be_control(unsigned op)
{
	return op == NVS_OP_BSYNC || op == NVS_OP_WARPSYNC || op == NVS_OP_BAR ||
	       op == NVS_OP_CALL || op == NVS_OP_RET || op == NVS_OP_BSSY ||
	       op == NVS_OP_CALL_ABS || op == NVS_OP_YIELD;
}

/* Picks the instruction of S to be replaced by a jump, preferably one that nothing waits for. */
static int pick_displaced(struct nvs_function *fn, const struct nvs_block_span *s, uint32_t *picked)
{
	unsigned last = nvs_word_opcode(fn->code[s->last]), best = 3;
	const unsigned held = NVS_NAMED | NVS_RELOCATED;

	*picked = s->last;
	if (last == NVS_OP_EXIT || (last == NVS_OP_BRA && !(fn->flags[s->last] & held))) {
		if (!fn->live || !s->weight || (fn->live[s->last] & 0x7f) != 0x7f)
			return 0;
		if (last == NVS_OP_EXIT)
			return nvs_refuse(fn, "no free predicate where a thread ends",
					  s->last * 16);
	}
	for (uint32_t i = s->first; i <= s->last; i++) {
		unsigned op = nvs_word_opcode(fn->code[i]), cost;

		if (fn->flags[i] & held || nvs_is_control(fn->code[i]) || must_stay(op) ||
		    (fn->live && (fn->live[i] & 0x7f) == 0x7f))
			continue;
		cost = op < 0x100 && nvs_word_get(fn->code[i], 110, 6) == 63 ? 0
		       : op < 0x100					     ? 1
									     : 2;
		if (cost < best) {
			best = cost;
			*picked = i;
		}
	}
	if (best < 3)
		return 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = s->last + 1; i-- > s->first;) {
			bool fitting = pass ? !(fn->flags[i] & NVS_RELOCATED)
					    : may_be_control(nvs_word_opcode(fn->code[i])) &&
						       !(fn->flags[i] & held);

			if (fitting && !(fn->live && (fn->live[i] & 0x7f) == 0x7f)) {
				*picked = i;
				return 0;
			}
		}
	return nvs_refuse(fn, "a block without an instruction that can be moved", s->first * 16);
}

static int place_stub(struct nvs_function *fn, const struct nvs_count_registers *h,
		      const struct nvs_block_span *s, uint32_t end)
{
	uint32_t i, here;
	nvs_word w;
	int err = pick_displaced(fn, s, &i);
	bool is_exit;

	if (err)
		return err;
	w = fn->code[i];
	is_exit = nvs_word_opcode(w) == NVS_OP_EXIT;
	if (!s->weight && !is_exit && (s->first || !fn->f->kernel))
		return 0;
	if (nvs_word_opcode(w) == NVS_OP_LEPC || nvs_word_opcode(w) == NVS_OP_BRX ||
	    nvs_word_opcode(w) == NVS_OP_BRXU)
		return nvs_refuse(fn, "a block without an instruction that can be moved", i * 16);
	fn->out[i] = make_branch(fn, i, fn->outs, NVS_ALWAYS);
	if (i > s->first && !is_exit)
		fn->out[i - 1] = nvs_word_no_reuse(fn->out[i - 1]);
	if (!s->first && fn->f->kernel)
		err = nvs_emit_start(fn, h, s->weight, free_predicate(fn, i));
	else if (s->weight)
		err = nvs_emit_count(fn, h, s->weight, NVS_ALWAYS, 64, 0, free_predicate(fn, i));
	here = fn->outs;
	if (is_exit)
		w = exit_branch(fn, w, here, end);
	else {
		w = nvs_word_no_reuse(w);
		fn->new_named[i] = here;
		if (has_target(fn, i))
			w = nvs_word_set_target(fn->words, w, (int64_t)here * 16,
						(int64_t)fn->target[i] * 16);
		else if (nvs_word_opcode(w) == NVS_OP_RET && !nvs_is_absolute(w))
			w = nvs_word_set_target(fn->words, w, (int64_t)here * 16,
						nvs_word_target(fn->words, w, (int64_t)i * 16));
	}
	if (!err)
		err = nvs_emit_word(fn, w);
	if (!err && (fn->flags[i] & NVS_FALLS || nvs_word_opcode(w) == NVS_OP_CALL))
		err = nvs_emit_word(fn, make_branch(fn, fn->outs, i + 1, NVS_ALWAYS));
	return err;
}

int nvs_place_stub(struct nvs_function *fn, const struct nvs_count_registers *h)
{
	uint32_t end;
	int err = 0;

	if (fn->options->skip_off)
		return nvs_refuse(
			fn, "predicated-off instructions cannot be left out without moving code",
			UINT32_MAX);
	fn->report->place = NVS_COUNT_STUB;
	for (uint32_t i = 0; i < fn->n && !err; i++) {
		fn->new_own[i] = fn->new_label[i] = fn->new_named[i] = i;
		err = nvs_emit_word(fn, fn->code[i]);
	}
	end = fn->outs;
	if (!err)
		err = fn->exits ? nvs_emit_end(fn, h) : 0;
	for (uint32_t i = 0; i < fn->n; i++)
		if (fn->flags[i] & NVS_SEEN && nvs_word_opcode(fn->code[i]) == NVS_OP_EXIT)
			fn->new_named[i] = fn->outs - 1;
	for (uint32_t b = 0; b < fn->spans && !err; b++)
		err = place_stub(fn, h, &fn->span[b], end);
	return err ? err : pad_code(fn);
}
