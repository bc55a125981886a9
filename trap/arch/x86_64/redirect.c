/* SPDX-License-Identifier: MIT */
/*
 * Single-steps one instruction with its written memory operand redirected: by changing its base
 * register if nothing else depends on it, else by running a modified copy that uses a free register
 * as base.
 */
#include "trap/arch/context.h"
#include "trap/arch/store.h"
#include "trap/arch/x86_64/greg.h"
#include "trap/low/poison.h"

#define BIT(reg) (1u << (reg))

/* Registers that INSN uses without naming them in ModRM, VEX or a string form. May return more than
 * it really uses. Only for instructions that write memory. */
static unsigned implied_registers(const struct nvs_insn *insn)
{
	if (insn->encoding != NVS_LEGACY)
		return 0;
	if (insn->map == NVS_MAP_ONE) {
		if (insn->opcode == 0xd2 || insn->opcode == 0xd3)
			return BIT(NVS_RCX);
		if (nvs_insn_is_moffs(insn))
			return BIT(NVS_RAX);
		return nvs_insn_is_pop(insn) ? BIT(NVS_RSP) : 0;
	}
	if (insn->map == NVS_MAP_0F) {
		if (insn->opcode == 0xa5 || insn->opcode == 0xad)
			return BIT(NVS_RCX);
		if (insn->opcode == 0xb0 || insn->opcode == 0xb1)
			return BIT(NVS_RAX);
		if (insn->opcode == 0xc7)
			return BIT(NVS_RAX) | BIT(NVS_RBX) | BIT(NVS_RCX) | BIT(NVS_RDX);
	}
	return 0;
}

/* Registers that INSN uses other than as base and index of its memory operand. */
static unsigned data_registers(const struct nvs_insn *insn)
{
	unsigned used = implied_registers(insn);

	if (insn->modrm_at && insn->general && insn->reg < 16) {
		used |= BIT(insn->reg);
		if (insn->operand_bytes == 1 && insn->reg >= 4)
			used |= BIT(insn->reg - 4); /* AH..BH, or a conservative guess at them */
	}
	if (insn->general && insn->vvvv < 16)
		used |= BIT(insn->vvvv);
	return used;
}

/* True for instructions that this method does not support, or whose faulting access may not be the
 * operand that ModRM names. */
static bool is_excluded(const struct nvs_insn *insn)
{
	uint8_t op = insn->opcode;
	uint8_t ext = insn->reg & 7;

	if (insn->branch != NVS_BRANCH_NONE || insn->vsib)
		return true;
	if (insn->encoding == NVS_XOP)
		return true;
	if (insn->encoding != NVS_LEGACY)
		/* AMX tiles: the rows are far apart */
		return insn->map == NVS_MAP_0F38 && op == 0x4b;
	switch (insn->map) {
	case NVS_MAP_ONE:
		/* push m writes the stack; no single-step trap follows a mov to SS */
		return (op == 0xff && ext >= 2) || op == 0x8e;
	case NVS_MAP_0F:
		/* xsave, xsaveopt, xsavec, xsaves: size not known here */
		return (op == 0xae && (ext == 4 || ext == 6)) ||
		       (op == 0xc7 && ext >= 3 && ext <= 5);
	case NVS_MAP_0F38:
		return op == 0xf8 && !nvs_insn_is_movdir64b(insn); /* enqcmd */
	}
	return false;
}

/* Returns the register whose change moves the operand and affects nothing else, or NVS_REG_NONE. */
static uint8_t movable_base(const struct nvs_insn *insn)
{
	uint8_t implied = nvs_implied_pointer(insn);
	uint8_t base = implied != NVS_REG_NONE ? implied : insn->base;

	/* RSP stays: signals are delivered below it. 32-bit addresses cannot reach the twin. */
	if (base >= 16 || base == NVS_RSP || (insn->prefixes & NVS_PREFIX_ADDR32))
		return NVS_REG_NONE;
	if (implied != NVS_REG_NONE) {
		if (nvs_insn_is_string(insn))
			return base;
		/* The register is also part of the source address. */
		if (insn->memory && (insn->base == base || insn->index == base))
			return NVS_REG_NONE;
		return insn->segment && nvs_insn_is_maskmov(insn) ? NVS_REG_NONE : base;
	}
	if (!insn->memory || insn->segment || insn->index == base ||
	    (data_registers(insn) & BIT(base)))
		return NVS_REG_NONE;
	return base;
}

/* Picks a register for the copy: needs neither REX.B nor SIB, and RBP only with a displacement. */
static uint8_t free_register(const struct nvs_insn *insn)
{
	unsigned used = data_registers(insn);

	if (!(used & BIT(NVS_RSI)))
		return NVS_RSI;
	if (!(used & BIT(NVS_RDI)))
		return NVS_RDI;
	if (!(used & BIT(NVS_RBP)) && insn->disp_bytes)
		return NVS_RBP;
	return used & BIT(NVS_RBX) ? NVS_REG_NONE : NVS_RBX;
}

/* Copies REX, VEX or EVEX from INSN's BYTES to TO, changed so that base and index are not R8-R15.
 *  */
static unsigned copy_rex(uint8_t *to, const struct nvs_insn *insn, const uint8_t *bytes)
{
	unsigned n = insn->opcode_at - insn->rex_at, i;

	for (i = 0; i < n; i++)
		to[i] = bytes[insn->rex_at + i];
	if (insn->encoding == NVS_VEX3 || insn->encoding == NVS_EVEX)
		to[1] |= 0x60;
	else if (insn->encoding == NVS_LEGACY)
		to[0] &= nvs_insn_is_moffs(insn) ? ~(NVS_REX_R | NVS_REX_X | NVS_REX_B)
						 : ~(NVS_REX_X | NVS_REX_B);
	return n;
}

/* Copies the prefixes, except for address size and segments with a base, which are included in the
 * register's value. */
static unsigned copy_prefixes(uint8_t *to, const struct nvs_insn *insn, const uint8_t *bytes)
{
	unsigned end = insn->opcode_at, n = 0, i;

	if (insn->has_rex_at)
		end = insn->rex_at;
	else if (insn->map != NVS_MAP_ONE)
		end -= insn->map == NVS_MAP_0F ? 1 : 2;
	for (i = 0; i < end; i++) {
		if (bytes[i] == 0x67 || bytes[i] == 0x64 || bytes[i] == 0x65 ||
		    (bytes[i] & 0xf0) == 0x40)
			continue;
		to[n++] = bytes[i];
	}
	if (insn->has_rex_at)
		return n + copy_rex(to + n, insn, bytes);
	for (; i < insn->opcode_at; i++)
		to[n++] = bytes[i];
	return n;
}

/* Writes INSN with REG plus its displacement as memory operand. Returns the new length. */
static unsigned write_copy(uint8_t *to, const struct nvs_insn *insn, const uint8_t *bytes,
			   uint8_t reg)
{
	unsigned n = copy_prefixes(to, insn, bytes);
	unsigned i;

	if (nvs_insn_is_moffs(insn)) {
		to[n++] = insn->opcode == 0xa2 ? 0x88 : 0x89;
		to[n++] = NVS_RAX << 3 | reg;
		return n;
	}
	to[n++] = insn->opcode;
	/* Without a base, or relative to RIP, the displacement has 32 bits. */
	to[n++] = (insn->disp_bytes == 4 ? 2 : insn->mod) << 6 | (insn->reg & 7) << 3 | reg;
	for (i = 0; i < insn->disp_bytes; i++)
		to[n++] = bytes[insn->disp_at + i];
	for (i = 0; i < insn->imm_bytes; i++)
		to[n++] = bytes[insn->imm_at + i];
	return n;
}

/* Computes the copy's base register: the operand's address minus its displacement, plus DELTA. */
static bool relocated_base(const struct nvs_insn *insn, const greg_t *gregs, int64_t delta,
			   uint64_t *value)
{
	uint64_t base, sum;

	if (!nvs_segment_base(insn->segment, &base))
		return false;
	if (nvs_insn_is_moffs(insn)) {
		sum = insn->imm;
	} else {
		sum = nvs_operand_sum(insn, gregs);
		if (insn->prefixes & NVS_PREFIX_ADDR32) {
			if (insn->encoding == NVS_EVEX && insn->disp_bytes == 1)
				return false; /* the scale of the displacement is unknown */
			sum = (uint32_t)(sum + insn->disp) - (int64_t)insn->disp;
		}
	}
	*value = sum + base + delta;
	return true;
}

static bool prepare_copy(struct nvs_step *step, const struct nvs_insn *insn, const uint8_t *bytes,
			 const greg_t *gregs, int64_t delta, uint8_t *slot_write,
			 uintptr_t slot_run)
{
	uint8_t reg = free_register(insn);

	if (!slot_write || reg == NVS_REG_NONE || (!insn->memory && !nvs_insn_is_moffs(insn)) ||
	    nvs_implied_pointer(insn) != NVS_REG_NONE)
		return false;
	if (!relocated_base(insn, gregs, delta, &step->moved))
		return false;
	step->relocated = true;
	step->greg = nvs_greg_of[reg];
	step->run = slot_run;
	/* Only this thread runs the slot, and the return to it is serialising. */
	step->run_end = slot_run + write_copy(slot_write, insn, bytes, reg);
	return true;
}

static bool prepare_in_place(struct nvs_step *step, const struct nvs_insn *insn,
			     const greg_t *gregs, int64_t delta)
{
	uint8_t reg = movable_base(insn);

	if (reg == NVS_REG_NONE)
		return false;
	step->relocated = false;
	step->greg = nvs_greg_of[reg];
	step->run = gregs[REG_RIP];
	step->run_end = step->next;
	step->moved = gregs[step->greg] + delta;
	return true;
}

int nvs_step_prepare(struct nvs_step *step, const struct nvs_insn *insn, const uint8_t *bytes,
		     mcontext_t *m, int64_t delta, uint8_t *slot_write, uintptr_t slot_run)
{
	greg_t *gregs = m->gregs;
	unsigned i;

	if (is_excluded(insn))
		return -1;
	step->next = gregs[REG_RIP] + insn->length;
	if (!prepare_in_place(step, insn, gregs, delta) &&
	    !prepare_copy(step, insn, bytes, gregs, delta, slot_write, slot_run))
		return -1;
	step->width = nvs_insn_store_bytes(insn);
	step->address_known = nvs_insn_address(insn, m, &step->address);
	step->program_steps = nvs_context_steps(m);
	for (i = 0; i < NVS_STEP_GREGS; i++)
		step->before[i] = gregs[i];
	gregs[step->greg] = step->moved;
	gregs[REG_RIP] = step->run;
	gregs[REG_EFL] |= NVS_TRAP_FLAG;
	return 0;
}

bool nvs_step_finish(const struct nvs_step *step, mcontext_t *m)
{
	greg_t *gregs = m->gregs;
	uint64_t change = gregs[step->greg] - step->moved;
	bool done = (uint64_t)gregs[REG_RIP] != step->run || change;

	/* String instructions advance their pointer. */
	gregs[step->greg] = step->before[step->greg] + change;
	if (step->relocated)
		gregs[REG_RIP] = done ? step->next : (uint64_t)step->before[REG_RIP];
	if (!step->program_steps)
		gregs[REG_EFL] &= ~NVS_TRAP_FLAG;
	return done;
}

void nvs_step_rewind(const struct nvs_step *step, mcontext_t *m)
{
	greg_t *gregs = m->gregs;
	unsigned i;

	for (i = 0; i < NVS_STEP_GREGS; i++)
		gregs[i] = step->before[i];
}

bool nvs_step_is_at(const struct nvs_step *step, uintptr_t pc)
{
	return pc >= step->run && pc <= step->run_end;
}
