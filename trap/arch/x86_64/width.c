/* SPDX-License-Identifier: MIT */
/* Computes how many bytes an instruction writes to its memory operand. */
#include "trap/arch/store.h"
#include "trap/arch/x86_64/greg.h"
#include "trap/low/poison.h"

static unsigned x87_bytes(unsigned opcode, unsigned ext)
{
	/* Indexed by opcode from D8 and ModRM's reg; fnstenv and fnsave in their 32-bit layout. */
	static const uint8_t bytes[8][8] = {
		[1] = {[2] = 4, [3] = 4, [6] = 28, [7] = 2},
		[3] = {[1] = 4, [2] = 4, [3] = 4, [7] = 10},
		[5] = {[1] = 8, [2] = 8, [3] = 8, [6] = 108, [7] = 2},
		[7] = {[1] = 2, [2] = 2, [3] = 2, [6] = 10, [7] = 8},
	};

	return bytes[opcode & 7][ext];
}

static unsigned one_byte_map(const struct nvs_insn *insn)
{
	uint8_t op = insn->opcode;
	uint8_t ext = insn->reg & 7;

	if (op >= 0xd8 && op <= 0xdf)
		return insn->prefixes & NVS_PREFIX_OPSIZE && ext == 6 ? 0 : x87_bytes(op, ext);
	if (nvs_insn_is_string(insn) || nvs_insn_is_moffs(insn))
		return insn->operand_bytes;
	if (!insn->memory)
		return 0;
	if (op < 0x40) /* add .. xor; cmp only reads */
		return (op & 7) < 2 && op < 0x38 ? insn->operand_bytes : 0;
	switch (op) {
	case 0x80 ... 0x83:
		return ext == 7 ? 0 : insn->operand_bytes;
	case 0x86 ... 0x89:
	case 0x8f:
	case 0xc0 ... 0xc1:
	case 0xc6 ... 0xc7:
	case 0xd0 ... 0xd3:
		return insn->operand_bytes;
	case 0x8c:
		return 2;
	case 0xf6 ... 0xf7: /* not, neg */
		return ext == 2 || ext == 3 ? insn->operand_bytes : 0;
	case 0xfe ... 0xff: /* inc, dec */
		return ext < 2 ? insn->operand_bytes : 0;
	}
	return 0;
}

/* Vector stores of map 0F; the same for legacy, VEX and EVEX. */
static unsigned vector_0f(const struct nvs_insn *insn)
{
	switch (insn->opcode) {
	case 0x11: /* movups, movupd, movss, movsd */
		return insn->pp == 2 ? 4 : insn->pp == 3 ? 8 : insn->vector_bytes;
	case 0x13:
	case 0x17:
	case 0xd6:
		return 8;
	case 0x29:
	case 0x2b:
		return insn->vector_bytes;
	case 0x7e: /* movd, movq; with F3 it loads */
		return insn->pp == 2 ? 0 : insn->rex & NVS_REX_W ? 8 : 4;
	case 0x7f:
	case 0xe7: /* without prefix they store an MMX register */
		return insn->pp ? insn->vector_bytes : 8;
	case 0x91: /* kmov */
		return insn->rex & NVS_REX_W ? (insn->pp == 1 ? 4 : 8) : insn->pp == 1 ? 1 : 2;
	case 0xae: /* vstmxcsr */
		return (insn->reg & 7) == 3 ? 4 : 0;
	}
	return 0;
}

static unsigned legacy_0f(const struct nvs_insn *insn)
{
	uint8_t ext = insn->reg & 7;

	switch (insn->opcode) {
	case 0x00: /* sldt, str */
		return ext < 2 ? 2 : 0;
	case 0x01: /* sgdt, sidt, smsw */
		return ext < 2 ? 10 : ext == 4 ? 2 : 0;
	case 0x90 ... 0x9f:
		return 1;
	case 0xa4 ... 0xa5:
	case 0xac ... 0xad:
	case 0xb0 ... 0xb1:
	case 0xc0 ... 0xc1:
	case 0xc3:
		return insn->operand_bytes;
	case 0xae: /* fxsave, stmxcsr */
		return ext == 0 ? 512 : ext == 3 ? 4 : 0;
	case 0xba:
		return ext > 4 ? insn->operand_bytes : 0;
	case 0xc7:
		return ext == 1 ? (insn->rex & NVS_REX_W ? 16 : 8) : 0;
	}
	return vector_0f(insn);
}

/* The element that pextr and extractps store, or the half that vextract stores. */
static unsigned map_0f3a(const struct nvs_insn *insn)
{
	switch (insn->opcode) {
	case 0x14:
		return 1;
	case 0x15:
		return 2;
	case 0x16:
		return insn->rex & NVS_REX_W ? 8 : 4;
	case 0x17:
		return 4;
	case 0x19:
	case 0x39:
		return 16;
	case 0x1b:
	case 0x3b:
		return 32;
	case 0x1d: /* vcvtps2ph */
		return insn->vector_bytes / 2;
	}
	return 0;
}

static unsigned map_0f38(const struct nvs_insn *insn)
{
	if (insn->encoding == NVS_LEGACY) {
		if (nvs_insn_is_movdir64b(insn))
			return 64;
		if (insn->opcode == 0xf1) /* movbe; with F2 it is crc32 */
			return insn->pp < 2 ? insn->operand_bytes : 0;
		if (insn->opcode == 0xf9 || insn->opcode == 0xfc) /* movdiri; aadd and its kin */
			return insn->rex & NVS_REX_W ? 8 : 4;
		return 0;
	}
	if (insn->encoding != NVS_EVEX && insn->opcode >= 0xe0 && insn->opcode <= 0xef)
		return insn->rex & NVS_REX_W ? 8 : 4; /* cmpccxadd */
	return 0;
}

unsigned nvs_insn_store_bytes(const struct nvs_insn *insn)
{
	bool legacy = insn->encoding == NVS_LEGACY;

	if (insn->encoding == NVS_XOP || insn->mask)
		return 0;
	if (insn->map == NVS_MAP_ONE)
		return one_byte_map(insn);
	if (!insn->memory)
		return 0;
	switch (insn->map) {
	case NVS_MAP_0F:
		return legacy ? legacy_0f(insn) : vector_0f(insn);
	case NVS_MAP_0F38:
		return map_0f38(insn);
	case NVS_MAP_0F3A:
		return map_0f3a(insn);
	case NVS_MAP_5: /* vmovsh, vmovw */
		return insn->opcode == 0x11 || insn->opcode == 0x7e ? 2 : 0;
	}
	return 0;
}
