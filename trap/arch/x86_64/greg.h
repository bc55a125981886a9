/* SPDX-License-Identifier: MIT */
/* Shared by store.c and redirect.c: evaluates decoded operands with the registers of a ucontext. */
#ifndef NVSNOOP_TRAP_ARCH_X86_64_GREG_H
#define NVSNOOP_TRAP_ARCH_X86_64_GREG_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "trap/arch/x86_64/insn.h"

extern const uint8_t nvs_greg_of[16]; /* from enum nvs_x86_reg to the index in gregset_t */

/* Gets the base of FS (0x64), GS (0x65) or no segment (0). */
bool nvs_segment_base(uint8_t segment, uint64_t *base);

/* Base plus index of the memory operand, without displacement and segment. Not for vector indexes.
 *  */
uint64_t nvs_operand_sum(const struct nvs_insn *insn, const greg_t *gregs);

static inline bool nvs_insn_is(const struct nvs_insn *insn, unsigned map, unsigned opcode)
{
	return insn->encoding == NVS_LEGACY && insn->map == map && insn->opcode == opcode;
}

/* pop to memory */
static inline bool nvs_insn_is_pop(const struct nvs_insn *insn)
{
	return nvs_insn_is(insn, NVS_MAP_ONE, 0x8f);
}

/* mov AL/AX/EAX/RAX to an absolute address */
static inline bool nvs_insn_is_moffs(const struct nvs_insn *insn)
{
	return nvs_insn_is(insn, NVS_MAP_ONE, 0xa2) || nvs_insn_is(insn, NVS_MAP_ONE, 0xa3);
}

/* movs, stos: the string instructions that write memory and are not privileged */
static inline bool nvs_insn_is_string(const struct nvs_insn *insn)
{
	return nvs_insn_is(insn, NVS_MAP_ONE, 0xa4) || nvs_insn_is(insn, NVS_MAP_ONE, 0xa5) ||
	       nvs_insn_is(insn, NVS_MAP_ONE, 0xaa) || nvs_insn_is(insn, NVS_MAP_ONE, 0xab);
}

/* maskmovq, maskmovdqu, vmaskmovdqu */
static inline bool nvs_insn_is_maskmov(const struct nvs_insn *insn)
{
	return insn->encoding != NVS_EVEX && insn->encoding != NVS_XOP && insn->map == NVS_MAP_0F &&
	       insn->opcode == 0xf7 && !insn->memory;
}

static inline bool nvs_insn_is_movdir64b(const struct nvs_insn *insn)
{
	return nvs_insn_is(insn, NVS_MAP_0F38, 0xf8) && insn->pp == 1 && insn->memory;
}

/* The implied register that points to the written memory, if ModRM does not; else NVS_REG_NONE. */
static inline uint8_t nvs_implied_pointer(const struct nvs_insn *insn)
{
	if (nvs_insn_is_string(insn) || nvs_insn_is_maskmov(insn))
		return NVS_RDI;
	return nvs_insn_is_movdir64b(insn) ? insn->reg : NVS_REG_NONE;
}

#endif
