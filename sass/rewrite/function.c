/* SPDX-License-Identifier: MIT */
/* Analyses one function's code: reachability, basic blocks, and how much each block counts. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

#define NVS_ATTR_LD_SYNC 0x4a

int nvs_refuse(struct nvs_function *fn, const char *why, uint32_t at)
{
	fn->report->why = why;
	fn->report->why_at = at;
	return -ENOTSUP;
}

/* True for attributes whose values are instruction offsets. */
static bool is_list(unsigned code)
{
	switch (code) {
	case NVS_ATTR_EXIT_OFFSETS:
	case NVS_ATTR_S2RCTAID_OFFSETS:
	case NVS_ATTR_LD_CACHEMOD_OFFSETS:
	case NVS_ATTR_COOP_GROUP_OFFSETS:
	case NVS_ATTR_INT_WARP_WIDE_OFFSETS:
	case NVS_ATTR_MBARRIER_OFFSETS:
	case NVS_ATTR_SYSCALL_OFFSETS:
	case NVS_ATTR_MEMBAR_SYS_OFFSETS:
	case NVS_ATTR_LD_SYNC:
		return true;
	}
	return false;
}

bool nvs_offset_list_next(const struct nvs_cubin_section *info, size_t *at,
			  struct nvs_cubin_attribute *a)
{
	while (nvs_cubin_attribute(info, at, a))
		if (a->format == 4 && is_list(a->code))
			return true;
	return false;
}

/* .nv.info lists targets as offset, an unknown word, number of targets, targets. Returns NULL if
 * the BRX at AT is not listed. */
const uint8_t *nvs_branch_targets(const struct nvs_cubin_section *info, uint32_t at, uint32_t *n)
{
	struct nvs_cubin_attribute a;
	size_t next = 0;

	while (info->index && nvs_cubin_attribute(info, &next, &a)) {
		if (a.format != 4 || a.code != NVS_ATTR_INDIRECT_BRANCH_TARGETS)
			continue;
		for (uint32_t k = 0; k + 12 <= a.size;) {
			uint32_t count = nvs_elf_u32(a.value + k + 8);

			if (count > (a.size - k - 12) / 4u)
				break;
			*n = count;
			if (nvs_elf_u32(a.value + k) == at)
				return a.value + k + 12;
			k += 12 + 4 * count;
		}
	}
	return NULL;
}

static void set_flag(struct nvs_function *fn, uint64_t offset, unsigned flag)
{
	if (offset / 16 < fn->n)
		fn->flags[offset / 16] |= flag;
}

static void read_info(struct nvs_function *fn)
{
	struct nvs_cubin_attribute a;
	size_t at = 0;

	if (!fn->info.index)
		return;
	while (nvs_cubin_attribute(&fn->info, &at, &a)) {
		if (a.format != 4)
			continue;
		for (uint32_t k = 0; is_list(a.code) && k + 4 <= a.size; k += 4)
			set_flag(fn, nvs_elf_u32(a.value + k), NVS_NAMED);
	}
}

#define SHT_RELA 4
#define SHT_REL 9

/* Iterates over the relocation sections that change section INDEX, from *AT on. */
bool nvs_next_relocations(const struct nvs_cubin *c, uint32_t index, uint32_t *at,
			  struct nvs_cubin_section *s, uint32_t *each)
{
	while (*at < c->sections && nvs_cubin_section(c, (*at)++, s)) {
		*each = s->type == SHT_RELA ? 24 : 16;
		if ((s->type == SHT_RELA || s->type == SHT_REL) && s->info == index && s->data)
			return true;
	}
	return false;
}

bool nvs_returns_by_relocation(const struct nvs_function *fn, uint32_t call)
{
	struct nvs_cubin_section s;
	struct nvs_cubin_symbol y;
	uint32_t at = 0, each;

	while (nvs_next_relocations(&fn->r->cubin, fn->text.index, &at, &s, &each))
		for (uint64_t o = 0; each == 24 && o + each <= s.size; o += each)
			if (nvs_elf_u32(s.data + o + 16) == call * 16 + 16 &&
			    nvs_cubin_symbol(&fn->r->cubin, nvs_elf_u32(s.data + o + 12), &y) &&
			    y.section == fn->text.index && !y.value)
				return true;
	return false;
}

static void read_relocations(struct nvs_function *fn)
{
	struct nvs_cubin_section s;
	uint32_t at = 0, each;

	while (nvs_next_relocations(&fn->r->cubin, fn->text.index, &at, &s, &each))
		for (uint64_t o = 0; o + each <= s.size; o += each) {
			uint64_t offset;

			memcpy(&offset, s.data + o, 8);
			set_flag(fn, offset, NVS_RELOCATED);
		}
}

/* Sets the flags and the target of instruction I. */
static int flow_of(struct nvs_function *fn, uint32_t i)
{
	nvs_word w = fn->code[i];
	unsigned op = nvs_word_opcode(w);
	struct nvs_sass_insn insn;
	struct nvs_sass_flow f;
	uint16_t flags = NVS_FALLS;
	int64_t target = -1;

	if (!nvs_is_control(w)) {
		fn->flags[i] |= NVS_FALLS;
		return 0;
	}
	fn->returns |= op == NVS_OP_RET;
	fn->exits |= op == NVS_OP_EXIT;
	if (!nvs_sass_insn(fn->form, (const uint8_t *)fn->code, (size_t)fn->n * 16, i, &insn))
		return nvs_refuse(fn, "unreadable code", i * 16);
	nvs_sass_insn_flow(&insn, fn->form, &f);
	switch (f.flow) {
	case NVS_FLOW_UNKNOWN:
		return nvs_refuse(fn, "an unknown control instruction", i * 16);
	case NVS_FLOW_CALL:
		flags = NVS_FALLS | NVS_ENDS;
		if (fn->flags[i] & NVS_RELOCATED || op == NVS_OP_CALL_ABS)
			flags |= NVS_OUT;
		else if ((w & 0xfff) != 0x944)
			fn->calls_pointer = true;
		else
			target = nvs_word_target(fn->words, w, i * 16);
		break;
	case NVS_FLOW_BRANCH:
	case NVS_FLOW_BSSY:
	case NVS_FLOW_WARPSYNC:
		if (op == NVS_OP_BRA || op == NVS_OP_BSSY ||
		    (op == NVS_OP_WARPSYNC && nvs_word_get(w, 86, 1)))
			target = nvs_word_target(fn->words, w, i * 16);
		else if (op != NVS_OP_WARPSYNC)
			return nvs_refuse(fn, "a jump to an absolute address", i * 16);
		if (fn->flags[i] & NVS_RELOCATED && target >= 0)
			return nvs_refuse(fn, "a branch with a relocation", i * 16);
		flags = (f.falls || f.flow != NVS_FLOW_BRANCH ? NVS_FALLS : 0) |
			(f.flow != NVS_FLOW_BSSY ? NVS_ENDS : 0);
		break;
	case NVS_FLOW_NEXT:
	case NVS_FLOW_OTHER:
		break;
	case NVS_FLOW_INDIRECT:
		if (!nvs_is_brx(w))
			return nvs_refuse(fn, "a jump to an absolute address", i * 16);
		/* fallthrough */
	default:
		flags = (f.falls ? NVS_FALLS : 0) | NVS_ENDS;
	}
	if (f.flow == NVS_FLOW_RETURN && nvs_word_guard(w) == NVS_ALWAYS)
		flags &= (uint16_t)~NVS_FALLS;
	fn->flags[i] |= flags;
	if (target >= 0 || flags & NVS_OUT || op == NVS_OP_BRA || op == NVS_OP_BSSY) {
		if (!(flags & NVS_OUT) && (target < 0 || target % 16 || target / 16 >= fn->n))
			return nvs_refuse(fn, "a branch out of the function", i * 16);
		if (!(flags & NVS_OUT))
			fn->target[i] = (uint32_t)(target / 16);
	}
	return 0;
}

static int add_edge(struct nvs_function *fn, uint32_t from, uint64_t offset, uint32_t *work,
		    uint32_t *works)
{
	uint32_t to = (uint32_t)(offset / 16);

	if (offset % 16 || offset / 16 >= fn->n)
		return nvs_refuse(fn, "a branch out of the function", from * 16);
	if (!to && fn->f->kernel)
		return nvs_refuse(fn, "a branch to the entry", from * 16);
	if (to <= from)
		fn->loops = true;
	fn->edge[fn->edges] =
		(struct nvs_flow_edge){.to = to, .from = from, .next = fn->edges_to[to]};
	fn->edges_to[to] = fn->edges++;
	fn->flags[to] |= NVS_LEAD;
	if (!(fn->flags[to] & NVS_SEEN))
		work[(*works)++] = to;
	return 0;
}

static int targets_of(struct nvs_function *fn, uint32_t i, uint32_t *work, uint32_t *works)
{
	const uint8_t *targets;
	uint32_t n = 0;
	int err = 0;

	if (fn->target[i] != NVS_NOWHERE)
		return add_edge(fn, i, (uint64_t)fn->target[i] * 16, work, works);
	if (!nvs_is_brx(fn->code[i]))
		return 0;
	targets = nvs_branch_targets(&fn->info, i * 16, &n);
	if (!targets)
		return nvs_refuse(fn, "an indirect branch without a table", i * 16);
	for (uint32_t k = 0; k < n && !err; k++)
		err = add_edge(fn, i, nvs_elf_u32(targets + 4 * (size_t)k), work, works);
	return err;
}

/* Follows the code from its entries. */
static int follow_code(struct nvs_function *fn, uint32_t *work, uint32_t works)
{
	while (works) {
		uint32_t i = work[--works];

		for (; i < fn->n && !(fn->flags[i] & NVS_SEEN); i++) {
			int err;

			fn->flags[i] |= NVS_SEEN;
			err = flow_of(fn, i);
			if (!err)
				err = targets_of(fn, i, work, &works);
			if (err)
				return err;
			if (fn->flags[i] & NVS_ENDS && i + 1 < fn->n)
				fn->flags[i + 1] |= NVS_LEAD;
			if (nvs_word_opcode(fn->code[i]) == NVS_OP_SETMAXREG) {
				uint32_t m = (uint32_t)nvs_word_get(fn->code[i], 32, 16);

				fn->max_registers = fn->max_registers && fn->max_registers < m
							    ? fn->max_registers
							    : m;
			}
			if (!(fn->flags[i] & NVS_FALLS))
				break;
			if (i + 1 == fn->n)
				return nvs_refuse(fn, "code that runs past its end", i * 16);
		}
	}
	return 0;
}

#define OPCODE_NOP 0x918

/* A function called by register has a symbol; code that nothing reaches may therefore be called
 * without being counted. */
static int check_unreached(struct nvs_function *fn)
{
	for (uint32_t i = 0; fn->calls_pointer && i < fn->n; i++)
		if (!(fn->flags[i] & NVS_SEEN) && ((unsigned)fn->code[i] & 0xfff) != OPCODE_NOP &&
		    !(nvs_word_opcode(fn->code[i]) == NVS_OP_BRA &&
		      nvs_word_target(fn->words, fn->code[i], (int64_t)i * 16) == (int64_t)i * 16))
			return nvs_refuse(fn, "code that only calls through registers may reach",
					  i * 16);
	return 0;
}

static bool is_guarded(const struct nvs_function *fn, uint32_t i)
{
	return nvs_word_guard(fn->code[i]) != NVS_ALWAYS;
}

static bool in_range(const struct nvs_count_options *o, uint32_t i)
{
	return !o->to || (i >= o->from && i < o->to);
}

static bool counts_with_block(const struct nvs_function *fn, uint32_t i)
{
	return in_range(fn->options, i) && !(fn->options->skip_off && is_guarded(fn, i));
}

bool nvs_counts_by_guard(const struct nvs_function *fn, uint32_t i)
{
	return in_range(fn->options, i) && fn->options->skip_off && is_guarded(fn, i);
}

static int make_spans(struct nvs_function *fn)
{
	bool open = false;

	for (uint32_t i = 0; i < fn->n; i++) {
		if (!(fn->flags[i] & NVS_SEEN)) {
			open = false;
			continue;
		}
		if (!open || fn->flags[i] & NVS_LEAD)
			fn->span[fn->spans++] = (struct nvs_block_span){.first = i, .last = i};
		open = true;
		fn->span[fn->spans - 1].last = i;
		fn->span[fn->spans - 1].weight += counts_with_block(fn, i);
		fn->home[i] = fn->spans - 1;
	}
	return 0;
}

/* Lists functions within the kernel's section that have their own symbol: they are entered by
 * calls, and in unknown ways if their address is taken. */
static uint32_t list_entries(struct nvs_function *fn, uint32_t *work)
{
	struct nvs_cubin_symbol s;
	uint32_t n = 0;

	fn->flags[0] |= NVS_LEAD;
	work[n++] = 0;
	for (uint32_t i = 0; i < fn->r->cubin.symbols; i++) {
		if (!nvs_cubin_symbol(&fn->r->cubin, i, &s) || s.section != fn->text.index ||
		    s.type != 2 || i == fn->f->symbol)
			continue;
		if (s.value / 16 < fn->n && !(fn->flags[s.value / 16] & NVS_LEAD)) {
			fn->flags[s.value / 16] |= NVS_LEAD;
			work[n++] = (uint32_t)(s.value / 16);
		}
	}
	return n;
}

int nvs_function_open(struct nvs_function *fn)
{
	const struct nvs_cubin *c = &fn->r->cubin;
	struct nvs_cubin_attribute a;
	uint32_t *work, room, works;
	char name[1024];
	size_t at = 0, length = strlen(fn->f->name);
	int err;

	fn->report->why_at = UINT32_MAX;
	if (!nvs_cubin_section(c, fn->f->section, &fn->text) || !fn->text.data || !fn->text.size ||
	    fn->text.size % 16 || fn->text.size > (size_t)1 << 28)
		return nvs_refuse(fn, "unreadable code", UINT32_MAX);
	if (fn->f->offset)
		return nvs_refuse(fn, "a function that does not begin its section", UINT32_MAX);
	if (fn->f->registers_at == UINT32_MAX)
		return nvs_refuse(fn, "no register count", UINT32_MAX);
	if (fn->f->info && !nvs_cubin_section(c, fn->f->info, &fn->info))
		fn->info.index = 0;
	memset(&fn->tables, 0, sizeof(fn->tables));
	if (length + 15 < sizeof(name)) {
		memcpy(name, ".nv.constant2.", 14);
		memcpy(name + 14, fn->f->name, length + 1);
		if (!nvs_cubin_section_named(c, name, &fn->tables))
			fn->tables.index = 0;
	}
	fn->n = (uint32_t)(fn->text.size / 16);
	fn->form = nvs_sass_form(fn->r->cubin.arch);
	room = 2 * fn->n + 16;
	while (fn->info.index && nvs_cubin_attribute(&fn->info, &at, &a))
		room += a.size / 4; /* an edge for each target of a table */
	fn->code = nvs_arena_get(fn->arena, fn->n, sizeof(*fn->code));
	fn->flags = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->flags));
	fn->target = nvs_arena_get(fn->arena, fn->n, sizeof(*fn->target));
	fn->edges_to = nvs_arena_get(fn->arena, fn->n, sizeof(*fn->edges_to));
	fn->edge = nvs_arena_get(fn->arena, room, sizeof(*fn->edge));
	fn->span = nvs_arena_get(fn->arena, fn->n, sizeof(*fn->span));
	fn->home = nvs_arena_get(fn->arena, fn->n, sizeof(*fn->home));
	work = nvs_arena_get(fn->arena, room, sizeof(*work));
	if (!fn->code || !fn->flags || !fn->target || !fn->edges_to || !fn->edge || !fn->span ||
	    !fn->home || !work)
		return -ENOMEM;
	memcpy(fn->code, fn->text.data, fn->text.size);
	memset(fn->target, 0xff, fn->n * sizeof(*fn->target));
	memset(fn->edges_to, 0xff, fn->n * sizeof(*fn->edges_to));
	read_info(fn);
	read_relocations(fn);
	works = list_entries(fn, work);
	err = follow_code(fn, work, works);
	if (!err)
		err = check_unreached(fn);
	return err ? err : make_spans(fn);
}
