/* SPDX-License-Identifier: MIT */
/*
 * Decodes one x86-64 instruction: its parts, its memory operand, its branch target. Knows the
 * layout of practically all instructions of user space; returns "unknown" rather than a wrong
 * result.
 */
#ifndef NVSNOOP_TRAP_ARCH_X86_64_INSN_H
#define NVSNOOP_TRAP_ARCH_X86_64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_INSN_MAX 15

/* clang-format off */
/* General registers by hardware number. */
enum nvs_x86_reg {
	NVS_RAX, NVS_RCX, NVS_RDX, NVS_RBX, NVS_RSP, NVS_RBP, NVS_RSI, NVS_RDI,
	NVS_R8, NVS_R9, NVS_R10, NVS_R11, NVS_R12, NVS_R13, NVS_R14, NVS_R15,
	NVS_RIP = 0x40,
	NVS_REG_NONE = 0xff
};

enum nvs_insn_encoding { NVS_LEGACY, NVS_XOP, NVS_VEX2, NVS_VEX3, NVS_EVEX };

/* Opcode maps, with the numbers of VEX and EVEX. */
enum nvs_insn_map {
	NVS_MAP_ONE = 0, NVS_MAP_0F = 1, NVS_MAP_0F38 = 2, NVS_MAP_0F3A = 3,
	NVS_MAP_5 = 5, NVS_MAP_6 = 6
};
/* clang-format on */

#define NVS_PREFIX_OPSIZE 0x01 /* 66 */
#define NVS_PREFIX_ADDR32 0x02 /* 67 */
#define NVS_PREFIX_REP 0x04 /* F3 */
#define NVS_PREFIX_REPNE 0x08 /* F2 */
#define NVS_PREFIX_LOCK 0x10
#define NVS_PREFIX_REX 0x20 /* a REX byte: SPL..DIL instead of AH..BH */

#define NVS_REX_B 0x1
#define NVS_REX_X 0x2
#define NVS_REX_R 0x4
#define NVS_REX_W 0x8

enum nvs_branch {
	NVS_BRANCH_NONE,
	NVS_BRANCH_JCC, /* direct, conditional: jcc, loop, jrcxz, xbegin */
	NVS_BRANCH_JMP, /* direct */
	NVS_BRANCH_CALL, /* direct */
	NVS_BRANCH_JMP_INDIRECT,
	NVS_BRANCH_CALL_INDIRECT,
	NVS_BRANCH_RET,
	NVS_BRANCH_STOP /* execution does not continue after it: ud2, hlt */
};

/* All *_at count from the instruction's first byte; 0 means absent, except for opcode_at. */
struct nvs_insn {
	uint8_t length;
	uint8_t encoding; /* enum nvs_insn_encoding */
	uint8_t map; /* enum nvs_insn_map; XOP: 8, 9, 10 */
	uint8_t opcode;
	uint8_t prefixes; /* NVS_PREFIX_* */
	uint8_t segment; /* 0x64 (FS), 0x65 (GS) or 0: the other segments have no base */
	uint8_t rex; /* NVS_REX_*, from any of the prefixes that hold them */
	uint8_t pp; /* mandatory prefix, encoded as in VEX: 0 none, 1 66, 2 F3, 3 F2 */
	uint8_t rex_at; /* offset of REX, VEX, EVEX or XOP */
	bool has_rex_at; /* distinguishes offset 0 in rex_at from none */
	uint8_t opcode_at, modrm_at, disp_at, disp_bytes, imm_at, imm_bytes;
	uint8_t mod, reg, rm; /* ModRM with its extension bits; reg up to 31 in EVEX */
	bool memory; /* ModRM names memory */
	bool vsib; /* the index is a vector register */
	bool general; /* reg names a general register, or could */
	uint8_t base, index; /* enum nvs_x86_reg; base NVS_RIP: relative to the next instruction */
	uint8_t scale; /* shift */
	uint8_t vvvv; /* VEX, EVEX: second source; NVS_REG_NONE elsewhere */
	uint8_t vector_bytes; /* VEX, EVEX: 16, 32, 64; legacy 16 */
	uint8_t mask; /* EVEX: number of the opmask register, 0 none */
	uint8_t operand_bytes; /* of general-register instructions */
	uint8_t branch; /* enum nvs_branch */
	int32_t disp; /* as encoded: EVEX scales an 8-bit one */
	int64_t imm; /* first immediate sign-extended, or the absolute address of a moffs form */
	int64_t target; /* direct branches: relative to the instruction's first byte */
};

/* True if execution never continues after the instruction. */
static inline bool nvs_insn_ends_flow(const struct nvs_insn *insn)
{
	return insn->branch == NVS_BRANCH_JMP || insn->branch == NVS_BRANCH_JMP_INDIRECT ||
	       insn->branch == NVS_BRANCH_RET || insn->branch == NVS_BRANCH_STOP;
}

/* True for a direct branch of any kind: insn->target is valid. */
static inline bool nvs_insn_is_direct(const struct nvs_insn *insn)
{
	return insn->branch == NVS_BRANCH_JCC || insn->branch == NVS_BRANCH_JMP ||
	       insn->branch == NVS_BRANCH_CALL;
}

#endif
