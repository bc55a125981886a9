/* SPDX-License-Identifier: MIT */
/*
 * Finds for each register which parameters' words may be the base of the address in it, by
 * following the code from the entry until nothing changes, and so which parameters are the
 * addresses of loads, stores and atomic operations. Factors of a product and shifted values are
 * indices, not bases: a pointer is only ever added to. What was loaded from memory is followed as
 * an address of its own.
 */
#include <errno.h>
#include "sass/blocks.h"
#include "sass/elf.h"

#define VECTORS 255u
#define REGISTERS (VECTORS + 63u)
#define MAX_BLOCKS 8192u
#define MAX_PASSES 40u
#define LOADED (1ull << 63) /* the value was loaded from memory */
#define WORDS (~LOADED)

/* Registers at one place: which words may be the base of the address in each. */
struct bases {
	uint64_t at[REGISTERS];
};

struct use_search {
	const struct nvs_cubin_function *kernel;
	enum nvs_sass_form form;
	struct nvs_sass_blocks blocks;
	struct bases *in; /* at the begin of each block */
	bool *reached, *changed; /* of each block */
	struct bases returned; /* where functions in this code return */
	bool returns;
	uint64_t local, shared; /* bases of addresses stored there */
	uint64_t escaped; /* and in global memory */
	uint32_t base; /* of the parameters in bank 0 */
	struct nvs_sass_parameter_use *use;
	uint64_t unsure; /* one of these is stored to */
	uint64_t via_loaded; /* not 0: stores to addresses that were loaded */
	bool lost; /* something is not known */
};

/* ---- operands ---- */

static unsigned bits(const struct nvs_sass_insn *insn, unsigned at, unsigned n)
{
	return (unsigned)nvs_sass_insn_bits(insn, at, n);
}

static uint64_t vector_at(const struct bases *s, unsigned r, unsigned n)
{
	uint64_t b = 0;

	for (unsigned i = r; i < r + n && i < VECTORS; i++)
		b |= s->at[i];
	return b;
}

static uint64_t uniform_at(const struct bases *s, unsigned r, unsigned n)
{
	uint64_t b = 0;

	for (unsigned i = r; i < r + n && i < 63; i++)
		b |= s->at[VECTORS + i];
	return b;
}

/* Words of the parameters in BYTES bytes of bank 0 from OFFSET on; with ALL, from there to the end.
 */
static uint64_t words_at(const struct use_search *f, unsigned bank, unsigned offset, unsigned bytes,
			 bool all)
{
	unsigned first, last;

	if (bank)
		return bytes >= 8 ? LOADED : 0;
	if (offset + bytes <= f->base && !all)
		return 0;
	first = offset < f->base ? 0 : (offset - f->base) / 8;
	last = offset + bytes <= f->base ? 0 : (offset + bytes - 1 - f->base) / 8;
	first = first < 62 ? first : 62;
	last = all || last > 62 ? 62 : last;
	return (~0ull >> (63 - last)) & ~((1ull << first) - 1);
}

static uint64_t constant_operand(const struct use_search *f, const struct nvs_sass_insn *insn,
				 unsigned bytes)
{
	return words_at(f, bits(insn, 54, 5), bits(insn, 38, 16), bytes, false);
}

/* Forms of arithmetic instructions: which operand is not a register. */
enum { C_VALUE = 2, C_CONSTANT, B_VALUE, B_CONSTANT, B_UNIFORM, C_UNIFORM };

/* The operand that is in the field at 32, and may be of any kind; and the register in the field
 * at 64. */
struct operands {
	uint64_t a, b, c;
};

static struct operands read_operands(const struct use_search *f, const struct nvs_sass_insn *insn,
				     const struct bases *s, bool uniform, unsigned wide)
{
	uint64_t (*reg)(const struct bases *, unsigned, unsigned) = uniform ? uniform_at
									    : vector_at;
	unsigned form = insn->opcode >> 9 & 7, width = uniform ? 6 : 8;
	struct operands o = {.a = reg(s, bits(insn, 24, width), 1)};
	uint64_t third = reg(s, bits(insn, 64, width), wide);
	uint64_t other = 0;

	if (form == C_CONSTANT || form == B_CONSTANT)
		other = constant_operand(f, insn, 4 * wide);
	else if (form == B_UNIFORM || form == C_UNIFORM)
		other = uniform_at(s, bits(insn, 32, 6), wide);
	else if (form != C_VALUE && form != B_VALUE)
		other = reg(s, bits(insn, 32, width), 1);
	if (form == C_VALUE || form == C_CONSTANT || form == C_UNIFORM) {
		o.c = other;
		o.b = third;
	} else {
		o.b = other;
		o.c = third;
	}
	return o;
}

/* A product's factors are indices, unless it is by 1. */
static uint64_t base_of_product(const struct nvs_sass_insn *insn, const struct operands *o)
{
	bool by_one = (insn->opcode >> 9 & 7) == B_VALUE && bits(insn, 32, 32) == 1;

	return o->c | (by_one ? o->a : 0);
}

static uint64_t base_of_result(const struct use_search *f, const struct nvs_sass_insn *insn,
			       const struct nvs_sass_insn_use *use, const struct bases *s)
{
	uint16_t op = nvs_sass_insn_op(insn);
	struct operands o = read_operands(f, insn, s, op >= 0x080 && op < 0x0c0,
					  op == 0x025 || op == 0x0a5 || op == 0x027 ? 2 : 1);
	uint64_t all = 0;

	switch (op) {
	case 0x024: /* IMAD, IMAD.WIDE, IMAD.HI, and those of the warp */
	case 0x025:
	case 0x027:
	case 0x0a4:
	case 0x0a5:
		return base_of_product(insn, &o);
	case 0x011: /* LEA: a shifted index and a base */
	case 0x091:
		return o.b | (bits(insn, 75, 5) ? 0 : o.a);
	default:
		break;
	}
	if (op >= 0x100 && op < 0x118) /* conversions and the like make no addresses */
		return 0;
	for (unsigned r = 0; r < VECTORS; r++)
		if (use->read.vector[r / 64] >> r % 64 & 1)
			all |= s->at[r];
	for (unsigned r = 0; r < 63; r++)
		if (use->read.uniform >> r & 1)
			all |= s->at[VECTORS + r];
	if ((insn->opcode >> 9 & 7) == C_CONSTANT || (insn->opcode >> 9 & 7) == B_CONSTANT)
		all |= constant_operand(f, insn, 4);
	return all;
}

/* ---- memory ---- */

/* Bytes of a load or store. */
static unsigned memory_bytes(const struct nvs_sass_insn *insn)
{
	unsigned size = bits(insn, 73, 3);

	return size < 5 ? 4 : size == 5 ? 8 : 16;
}

/* The address of a memory operand: registers, and those of the warp at UNIFORM. */
static uint64_t address_base(const struct nvs_sass_insn *insn, const struct bases *s,
			     unsigned uniform)
{
	uint64_t b = vector_at(s, bits(insn, 24, 8), 2);

	if (bits(insn, 91, 1) && uniform)
		b |= uniform_at(s, bits(insn, uniform, 6), 2);
	return b;
}

/* Which of several words it is, is not known: a condition may choose one, or the code is shared. */
static void note_store(struct use_search *f, uint64_t base, uint64_t *words)
{
	if (__builtin_popcountll(base & WORDS) > 1)
		f->unsure |= base & WORDS;
	else
		*words |= base & WORDS;
	f->via_loaded |= base & LOADED;
}

static uint64_t loaded_value(unsigned bytes)
{
	return bytes >= 8 ? LOADED : 0;
}

/* A load of the constants: of the warp or of a thread, with an index in a register or without. */
static uint64_t load_constant(const struct use_search *f, const struct nvs_sass_insn *insn)
{
	bool indexed = nvs_sass_insn_op(insn) == 0x182
			       ? bits(insn, 24, 8) != 255
			       : bits(insn, 91, 1) && bits(insn, 24, 6) != 63;

	return words_at(f, bits(insn, 54, 5), bits(insn, 38, 16), memory_bytes(insn), indexed);
}

/* Instructions that access memory: *BASE is that of the result. Returns false for others. */
static bool follow_memory(struct use_search *f, const struct nvs_sass_insn *insn,
			  const struct bases *s, uint64_t *base)
{
	unsigned data = nvs_sass_insn_op(insn) == 0x185 && insn->opcode >> 9 == 1 ? 64 : 32;

	*base = 0;
	switch (nvs_sass_insn_op(insn)) {
	case 0x180: /* LD, LDG, LDGMC */
	case 0x181:
	case 0x1a4:
	case 0x1a5:
		f->use->loaded |= address_base(insn, s, 32) & WORDS;
		*base = loaded_value(memory_bytes(insn));
		return true;
	case 0x1ae: /* LDGSTS */
		f->use->loaded |= (address_base(insn, s, 32) | address_base(insn, s, 64)) & WORDS;
		return true;
	case 0x182: /* LDC, ULDC */
	case 0x0b9:
		*base = load_constant(f, insn);
		return true;
	case 0x0bb:
		*base = LOADED;
		return true;
	case 0x183: /* LDL: whole addresses may be there in halves */
		*base = f->local;
		return true;
	case 0x184: /* LDS */
		*base = memory_bytes(insn) >= 8 ? f->shared : 0;
		return true;
	case 0x185: /* ST, STG */
	case 0x186:
		note_store(f, address_base(insn, s, 64), &f->use->stored);
		if (memory_bytes(insn) >= 8)
			f->escaped |= vector_at(s, bits(insn, data, 8), memory_bytes(insn) / 4);
		return true;
	case 0x187: /* STL */
		f->local |= vector_at(s, bits(insn, 32, 8), memory_bytes(insn) / 4);
		return true;
	case 0x188: /* STS */
		f->shared |= vector_at(s, bits(insn, 32, 8), memory_bytes(insn) / 4);
		return true;
	case 0x18a: /* ATOM, RED, ATOMG, with and without a comparison */
	case 0x18b:
	case 0x18e:
	case 0x1a2:
	case 0x1a3:
	case 0x1a6:
	case 0x1a8:
	case 0x1a9:
		note_store(f, address_base(insn, s, 64) | address_base(insn, s, 32),
			   &f->use->added);
		*base = LOADED;
		return true;
	case 0x1b4: /* tensor maps, bulk copies and reductions: not followed */
	case 0x1b5:
	case 0x1b6:
	case 0x1ba:
	case 0x1bb:
	case 0x1bd:
	case 0x1be:
		f->lost = true;
		return true;
	case 0x02e: /* ACQBULK */
		f->use->waits = true;
		return true;
	default:
		return false;
	}
}

/* ---- code ---- */

static void set_register(uint64_t *at, uint64_t base, bool whole)
{
	*at = whole ? base : *at | base;
}

static void follow_insn(struct use_search *f, const struct nvs_sass_insn *insn, struct bases *s)
{
	struct nvs_sass_insn_use use;
	uint64_t base;

	nvs_sass_insn_use(insn, f->form, &use);
	if (!use.known) {
		f->lost = true;
		return;
	}
	if (!follow_memory(f, insn, s, &base))
		base = base_of_result(f, insn, &use, s);
	for (unsigned w = 0; w < 4; w++)
		for (uint64_t m = use.written.vector[w]; m; m &= m - 1)
			set_register(s->at + 64 * w + (unsigned)__builtin_ctzll(m), base,
				     use.whole);
	for (uint64_t m = use.written.uniform; m; m &= m - 1)
		set_register(s->at + VECTORS + (unsigned)__builtin_ctzll(m), base, use.whole);
}

static bool join_bases(struct bases *into, const struct bases *from)
{
	uint64_t more = 0;

	for (unsigned r = 0; r < REGISTERS; r++) {
		more |= from->at[r] & ~into->at[r];
		into->at[r] |= from->at[r];
	}
	return more;
}

static void enter_block(struct use_search *f, uint32_t b, const struct bases *s)
{
	if (b >= f->blocks.n)
		return;
	if (join_bases(f->in + b, s) || !f->reached[b])
		f->reached[b] = f->changed[b] = true;
}

static void enter_target(struct use_search *f, int64_t at, const struct bases *s)
{
	uint32_t from = 0, to = f->blocks.n;

	if (at < 0 || at / 16 >= f->blocks.instructions) {
		f->lost = true;
		return;
	}
	while (to - from > 1) {
		uint32_t middle = from + (to - from) / 2;

		if (f->blocks.block[middle].first <= at / 16)
			from = middle;
		else
			to = middle;
	}
	enter_block(f, from, s);
}

static void enter_all(struct use_search *f, const struct bases *s)
{
	for (uint32_t b = 0; b < f->blocks.n; b++)
		if (f->blocks.block[b].reached)
			enter_block(f, b, s);
}

/* What follows block B. A function may return to each place from which one is called. */
static void leave_block(struct use_search *f, uint32_t b, const struct nvs_sass_insn *last,
			const struct bases *s)
{
	struct nvs_sass_flow flow;

	nvs_sass_insn_flow(last, f->form, &flow);
	if (flow.target_known && flow.flow != NVS_FLOW_BSSY)
		enter_target(f, flow.target, s);
	if (flow.flow == NVS_FLOW_INDIRECT)
		enter_all(f, s);
	if (flow.flow == NVS_FLOW_UNKNOWN || (flow.flow == NVS_FLOW_CALL && !flow.target_known))
		f->lost = true;
	if (flow.flow == NVS_FLOW_RETURN && join_bases(&f->returned, s))
		f->returns = true;
	if (!flow.falls)
		return;
	enter_block(f, b + 1, s);
	if (flow.flow == NVS_FLOW_CALL)
		enter_block(f, b + 1, &f->returned);
}

static void follow_block(struct use_search *f, uint32_t b)
{
	struct bases s = f->in[b];
	struct nvs_sass_insn insn = {0};

	f->changed[b] = false;
	for (uint32_t i = f->blocks.block[b].first; i <= f->blocks.block[b].last; i++) {
		nvs_sass_insn(f->form, f->kernel->code, f->kernel->size, i, &insn);
		follow_insn(f, &insn, &s);
	}
	leave_block(f, b, &insn, &s);
}

/* What is in local or shared memory, and where functions return, changes what was followed before.
 */
static bool follow_all(struct use_search *f)
{
	uint64_t local = f->local, shared = f->shared;
	bool any = false;

	f->returns = false;
	for (uint32_t b = 0; b < f->blocks.n; b++)
		if (f->changed[b]) {
			any = true;
			follow_block(f, b);
		}
	if (f->local == local && f->shared == shared && !f->returns)
		return any;
	for (uint32_t b = 0; b < f->blocks.n; b++)
		f->changed[b] = f->reached[b];
	return true;
}

/* ---- the whole ---- */

/* Offset of the parameters in bank 0, from the kernel's attributes. */
static bool find_base(struct use_search *f, const struct nvs_cubin *cubin)
{
	struct nvs_cubin_section info;
	struct nvs_cubin_attribute a;
	size_t at = 0;

	if (!f->kernel->info || !nvs_cubin_section(cubin, f->kernel->info, &info))
		return false;
	while (nvs_cubin_attribute(&info, &at, &a))
		if (a.code == NVS_ATTR_PARAM_CBANK && a.format == 4 && a.size >= 8) {
			f->base = nvs_elf_u16(a.value + 4);
			return true;
		}
	return false;
}

static void finish_use(struct use_search *f, bool settled)
{
	struct nvs_sass_parameter_use *use = f->use;

	use->unknown = (f->escaped & WORDS) | (f->unsure & ~(use->stored | use->added));
	if (f->lost || !settled)
		use->unknown = WORDS;
	/* Such a store may reach any memory. */
	if (f->via_loaded)
		use->unknown |= WORDS & ~(use->stored | use->added);
}

int nvs_sass_parameter_use(const struct nvs_cubin *cubin, const struct nvs_cubin_function *kernel,
			   const struct nvs_sass_memory *memory, struct nvs_sass_parameter_use *use)
{
	struct use_search f = {.kernel = kernel, .form = nvs_sass_form(cubin->arch), .use = use};
	size_t bytes, flags;
	uint32_t passes = 0;
	bool *room;
	int r;

	*use = (struct nvs_sass_parameter_use){0};
	if (!find_base(&f, cubin))
		return -ENOTSUP;
	r = nvs_sass_blocks(cubin, kernel, memory, &f.blocks);
	if (r)
		return r;
	flags = 2 * (size_t)f.blocks.n;
	bytes = f.blocks.n * sizeof(*f.in);
	f.lost = f.blocks.unknown || f.blocks.n > MAX_BLOCKS;
	f.in = f.lost ? NULL : memory->get(memory->arg, bytes);
	room = f.lost ? NULL : memory->get(memory->arg, flags);
	if (f.in && room) {
		f.reached = room;
		f.changed = room + f.blocks.n;
		f.reached[0] = f.changed[0] = true;
		while (follow_all(&f) && ++passes < MAX_PASSES)
			;
	}
	r = f.lost || (f.in && room) ? 0 : -ENOMEM;
	finish_use(&f, passes < MAX_PASSES);
	if (f.in)
		memory->put(memory->arg, f.in, bytes);
	if (room)
		memory->put(memory->arg, room, flags);
	nvs_sass_blocks_free(&f.blocks, memory);
	return r;
}
