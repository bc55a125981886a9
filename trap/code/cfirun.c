/* SPDX-License-Identifier: MIT */
/* Runs frame instructions (DW_CFA_*) from a function's start up to one address in it. */
#include "trap/arch/cpu.h"
#include "trap/code/cfi.h"
#include "trap/code/cfirun.h"
#include "trap/low/poison.h"

#define MAX_REMEMBERED 16

struct machine {
	const struct nvs_cfi_entry *entry;
	struct nvs_cfi_row row, initial;
	uint32_t depth;
	uintptr_t place;
	struct nvs_cfi_row remembered[MAX_REMEMBERED];
};

static void set_rule(struct nvs_cfi_row *r, uint64_t reg, enum nvs_reg_rule rule, int64_t offset)
{
	if (reg == NVS_DW_FP) {
		r->fp_rule = (uint8_t)rule;
		r->fp_offset = offset;
	} else if (reg == NVS_DW_RA) {
		r->ra_rule = (uint8_t)rule;
		r->ra_offset = offset;
	} else if (reg == NVS_DW_SP) {
		r->sp_rule = (uint8_t)rule;
	}
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	if (reg == NVS_DW_FP)
		set_rule(&m->row, reg, m->initial.fp_rule, m->initial.fp_offset);
	else if (reg == NVS_DW_RA)
		set_rule(&m->row, reg, m->initial.ra_rule, m->initial.ra_offset);
	else if (reg == NVS_DW_SP)
		set_rule(&m->row, reg, m->initial.sp_rule, 0);
}

static void set_cfa(struct nvs_cfi_row *r, enum nvs_cfa_rule rule, uint64_t reg, int64_t offset)
{
	r->cfa_rule = (uint8_t)(reg < 128 ? rule : NVS_CFA_UNKNOWN);
	r->cfa_register = (uint8_t)reg;
	r->cfa_offset = offset;
}

/* An expression of the form register plus constant, optionally dereferenced; other forms are not
 * known. */
struct simple {
	bool known, loaded;
	uint8_t reg;
	int64_t offset;
};

static struct simple get_expression(struct nvs_cfi_cursor *c)
{
	struct simple s = {.known = false};
	uint64_t length = nvs_get_uleb(c);
	uintptr_t end = c->at + length;
	uint8_t op;

	if (!length || length > c->end - c->at) {
		c->bad = true;
		return s;
	}
	op = nvs_get_byte(c);
	if (op >= 0x70 && op <= 0x8f) { /* DW_OP_breg0..31 */
		s.reg = op - 0x70;
		s.offset = nvs_get_sleb(c);
		s.loaded = c->at + 1 == end && nvs_get_byte(c) == 0x06; /* DW_OP_deref */
		s.known = c->at == end;
	}
	c->at = end;
	return s;
}

static void cfa_expression(struct nvs_cfi_row *r, struct nvs_cfi_cursor *c)
{
	struct simple s = get_expression(c);

	set_cfa(r,
		!s.known   ? NVS_CFA_UNKNOWN
		: s.loaded ? NVS_CFA_LOADED
			   : NVS_CFA_REGISTER,
		s.reg, s.offset);
}

/* The register's value is at the address that the expression gives. */
static void reg_expression(struct nvs_cfi_row *r, uint64_t reg, struct nvs_cfi_cursor *c)
{
	struct simple s = get_expression(c);

	if (s.known && !s.loaded && s.reg == NVS_DW_FP)
		set_rule(r, reg, NVS_REG_AT_FP, s.offset);
	else
		set_rule(r, reg, NVS_REG_UNKNOWN, 0);
}

/* Runs an instruction about the CFA. Returns false if it is not one. */
static bool step_cfa(struct machine *m, struct nvs_cfi_cursor *c, uint8_t op)
{
	struct nvs_cfi_row *r = &m->row;
	uint64_t reg;

	switch (op) {
	case 0x0c: /* DW_CFA_def_cfa */
		reg = nvs_get_uleb(c);
		set_cfa(r, NVS_CFA_REGISTER, reg, (int64_t)nvs_get_uleb(c));
		return true;
	case 0x12: /* DW_CFA_def_cfa_sf */
		reg = nvs_get_uleb(c);
		set_cfa(r, NVS_CFA_REGISTER, reg, nvs_get_sleb(c) * m->entry->data_align);
		return true;
	case 0x0d: /* DW_CFA_def_cfa_register */
		set_cfa(r, r->cfa_rule == NVS_CFA_REGISTER ? NVS_CFA_REGISTER : NVS_CFA_UNKNOWN,
			nvs_get_uleb(c), r->cfa_offset);
		return true;
	case 0x0e: /* DW_CFA_def_cfa_offset */
		r->cfa_offset = (int64_t)nvs_get_uleb(c);
		break;
	case 0x13: /* DW_CFA_def_cfa_offset_sf */
		r->cfa_offset = nvs_get_sleb(c) * m->entry->data_align;
		break;
	case 0x0f: /* DW_CFA_def_cfa_expression */
		cfa_expression(r, c);
		return true;
	default:
		return false;
	}
	if (r->cfa_rule != NVS_CFA_REGISTER) /* an offset without a register */
		r->cfa_rule = NVS_CFA_UNKNOWN;
	return true;
}

/* Runs an instruction about a register. Returns false if it is not one. */
static bool step_register(struct machine *m, struct nvs_cfi_cursor *c, uint8_t op)
{
	int64_t align = m->entry->data_align;
	struct nvs_cfi_row *r = &m->row;
	uint64_t reg = op >= 0x80 ? op & 0x3f : 0;

	if (op >= 0xc0) { /* DW_CFA_restore */
		restore_rule(m, reg);
		return true;
	}
	if (op >= 0x80) { /* DW_CFA_offset */
		set_rule(r, reg, NVS_REG_AT_CFA, (int64_t)nvs_get_uleb(c) * align);
		return true;
	}
	if ((op < 0x05 || op > 0x09) && op != 0x10 && op != 0x11 && (op < 0x14 || op > 0x16) &&
	    op != 0x2f)
		return false;
	reg = nvs_get_uleb(c);
	switch (op) {
	case 0x05: /* DW_CFA_offset_extended */
		set_rule(r, reg, NVS_REG_AT_CFA, (int64_t)nvs_get_uleb(c) * align);
		break;
	case 0x11: /* DW_CFA_offset_extended_sf */
		set_rule(r, reg, NVS_REG_AT_CFA, nvs_get_sleb(c) * align);
		break;
	case 0x2f: /* DW_CFA_GNU_negative_offset_extended */
		set_rule(r, reg, NVS_REG_AT_CFA, -(int64_t)nvs_get_uleb(c) * align);
		break;
	case 0x06: /* DW_CFA_restore_extended */
		restore_rule(m, reg);
		break;
	case 0x07: /* DW_CFA_undefined */
		set_rule(r, reg, NVS_REG_UNDEFINED, 0);
		break;
	case 0x08: /* DW_CFA_same_value */
		set_rule(r, reg, NVS_REG_SAME, 0);
		break;
	case 0x10: /* DW_CFA_expression */
		reg_expression(r, reg, c);
		break;
	case 0x16: /* DW_CFA_val_expression */
		get_expression(c);
		set_rule(r, reg, NVS_REG_UNKNOWN, 0);
		break;
	default: /* DW_CFA_register, val_offset, val_offset_sf: one operand more */
		nvs_get_uleb(c);
		set_rule(r, reg, NVS_REG_UNKNOWN, 0);
	}
	return true;
}

/* Runs an instruction that advances the address. Returns false if it is not one. */
static bool step_place(struct machine *m, struct nvs_cfi_cursor *c, uint8_t op)
{
	uint64_t by;

	if (op >> 6 == 1)
		by = op & 0x3f;
	else if (op >= 0x02 && op <= 0x04) /* DW_CFA_advance_loc1, 2, 4 */
		by = nvs_get_bytes(c, 1u << (op - 0x02));
	else if (op == 0x1d) /* DW_CFA_MIPS_advance_loc8 */
		by = nvs_get_bytes(c, 8);
	else
		return false;
	m->place += by * m->entry->code_align;
	return true;
}

static bool step_other(struct machine *m, struct nvs_cfi_cursor *c, uint8_t op)
{
	switch (op) {
	case 0x00: /* DW_CFA_nop */
		return true;
	case 0x01: /* DW_CFA_set_loc */
		m->place = nvs_get_pointer(c, m->entry->encoding, m->entry->data);
		return true;
	case 0x0a: /* DW_CFA_remember_state */
		if (m->depth == MAX_REMEMBERED)
			return false;
		m->remembered[m->depth++] = m->row;
		return true;
	case 0x0b: /* DW_CFA_restore_state */
		if (!m->depth)
			return false;
		m->row = m->remembered[--m->depth];
		return true;
	case 0x2d: /* DW_CFA_AARCH64_negate_ra_state: signatures are always removed */
		return NVS_RA_IN_REGISTER;
	case 0x2e: /* DW_CFA_GNU_args_size */
		nvs_get_uleb(c);
		return true;
	}
	return false;
}

/* Runs C's instructions until one moves past PC. Returns false if one is unknown. */
static bool run_instructions(struct machine *m, struct nvs_cfi_cursor *c, uintptr_t pc)
{
	while (c->at < c->end) {
		uint8_t op = nvs_get_byte(c);

		if (!step_register(m, c, op) && !step_cfa(m, c, op) && !step_place(m, c, op) &&
		    !step_other(m, c, op))
			return false;
		if (c->bad)
			return false;
		if (m->place > pc)
			return true;
	}
	return true;
}

bool nvs_cfi_run(struct nvs_cfi_entry *e, uintptr_t pc, struct nvs_cfi_row *row)
{
	struct machine m;

	m.entry = e;
	m.depth = 0;
	m.place = e->start;
	m.row = (struct nvs_cfi_row){.cfa_rule = NVS_CFA_UNKNOWN,
				     .ra_rule = NVS_RA_IN_REGISTER ? NVS_REG_SAME
								   : NVS_REG_UNKNOWN};
	if (!run_instructions(&m, &e->initial, UINTPTR_MAX))
		return false;
	m.initial = m.row;
	m.place = e->start;
	if (!run_instructions(&m, &e->own, pc))
		return false;
	*row = m.row;
	return true;
}
