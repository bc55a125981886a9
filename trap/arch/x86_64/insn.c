/* SPDX-License-Identifier: MIT */
/* The instruction decoder: a table with one byte for each opcode of each map, and a cursor over the
 * instruction's bytes. Opcodes without an entry are unknown. */
#include "trap/arch/store.h"
#include "trap/low/poison.h"

/* Low four bits of a table entry: the parts that follow opcode, ModRM and displacement. */
enum tail {
	BAD, /* not an instruction known here */
	NONE,
	I8,
	I16,
	I24, /* enter: a word and a byte */
	IZ, /* two bytes with 66, else four */
	IV, /* as IZ, eight with REX.W */
	I32,
	MOFFS, /* as wide as an address */
	REL8,
	REL32
};

#define TAIL 0x0f
#define M 0x10 /* ModRM follows */
#define B 0x20 /* byte operands */
#define N 0x40 /* ModRM's reg is not a general register: opcode extension, vector, segment */

#define ALU(op)                                                                \
	[op] = M | B | NONE, [(op) + 1] = M | NONE, [(op) + 2] = M | B | NONE, \
	[(op) + 3] = M | NONE, [(op) + 4] = B | I8, [(op) + 5] = IZ

/* clang-format off */
static const uint8_t one_byte[256] = {
	ALU(0x00), ALU(0x08), ALU(0x10), ALU(0x18), ALU(0x20), ALU(0x28), ALU(0x30), ALU(0x38),
	[0x50 ... 0x5f] = NONE,
	[0x63] = M | NONE,
	[0x68] = IZ,
	[0x69] = M | IZ,
	[0x6a] = I8,
	[0x6b] = M | I8,
	[0x6c] = B | NONE,
	[0x6d] = NONE,
	[0x6e] = B | NONE,
	[0x6f] = NONE,
	[0x70 ... 0x7f] = REL8,
	[0x80] = M | B | N | I8,
	[0x81] = M | N | IZ,
	[0x83] = M | N | I8,
	[0x84] = M | B | NONE,
	[0x85] = M | NONE,
	[0x86] = M | B | NONE,
	[0x87] = M | NONE,
	[0x88] = M | B | NONE,
	[0x89] = M | NONE,
	[0x8a] = M | B | NONE,
	[0x8b] = M | NONE,
	[0x8c] = M | N | NONE,
	[0x8d] = M | NONE,
	[0x8e] = M | N | NONE,
	[0x8f] = M | N | NONE,
	[0x90 ... 0x99] = NONE,
	[0x9b ... 0x9f] = NONE,
	[0xa0] = B | MOFFS,
	[0xa1] = MOFFS,
	[0xa2] = B | MOFFS,
	[0xa3] = MOFFS,
	[0xa4] = B | NONE,
	[0xa5] = NONE,
	[0xa6] = B | NONE,
	[0xa7] = NONE,
	[0xa8] = B | I8,
	[0xa9] = IZ,
	[0xaa] = B | NONE,
	[0xab] = NONE,
	[0xac] = B | NONE,
	[0xad] = NONE,
	[0xae] = B | NONE,
	[0xaf] = NONE,
	[0xb0 ... 0xb7] = B | I8,
	[0xb8 ... 0xbf] = IV,
	[0xc0] = M | B | N | I8,
	[0xc1] = M | N | I8,
	[0xc2] = I16,
	[0xc3] = NONE,
	[0xc6] = M | B | N | I8,
	[0xc7] = M | N | IZ,
	[0xc8] = I24,
	[0xc9] = NONE,
	[0xca] = I16,
	[0xcb ... 0xcc] = NONE,
	[0xcd] = I8,
	[0xcf] = NONE,
	[0xd0] = M | B | N | NONE,
	[0xd1] = M | N | NONE,
	[0xd2] = M | B | N | NONE,
	[0xd3] = M | N | NONE,
	[0xd7] = NONE,
	[0xd8 ... 0xdf] = M | N | NONE,
	[0xe0 ... 0xe3] = REL8,
	[0xe4 ... 0xe7] = I8,
	[0xe8 ... 0xe9] = REL32,
	[0xeb] = REL8,
	[0xec ... 0xef] = NONE,
	[0xf1] = NONE,
	[0xf4 ... 0xf5] = NONE,
	[0xf6] = M | B | N | NONE,
	[0xf7] = M | N | NONE,
	[0xf8 ... 0xfd] = NONE,
	[0xfe] = M | B | N | NONE,
	[0xff] = M | N | NONE,
};

static const uint8_t legacy_0f[256] = {
	[0x00 ... 0x01] = M | N | NONE,
	[0x02 ... 0x03] = M | NONE,
	[0x05 ... 0x09] = NONE,
	[0x0b] = NONE,
	[0x0d] = M | N | NONE,
	[0x0e] = NONE,
	[0x0f] = M | N | I8, /* 3DNow!: the immediate is the opcode */
	[0x10 ... 0x17] = M | N | NONE,
	[0x18 ... 0x1f] = M | NONE,
	[0x20 ... 0x23] = M | NONE,
	[0x28 ... 0x29] = M | N | NONE,
	[0x2a] = M | NONE,
	[0x2b] = M | N | NONE,
	[0x2c ... 0x2d] = M | NONE,
	[0x2e ... 0x2f] = M | N | NONE,
	[0x30 ... 0x35] = NONE,
	[0x37] = NONE,
	[0x40 ... 0x4f] = M | NONE,
	[0x50] = M | NONE,
	[0x51 ... 0x6f] = M | N | NONE,
	[0x70 ... 0x73] = M | N | I8,
	[0x74 ... 0x76] = M | N | NONE,
	[0x77] = NONE,
	[0x78 ... 0x79] = M | NONE,
	[0x7c ... 0x7f] = M | N | NONE,
	[0x80 ... 0x8f] = REL32,
	[0x90 ... 0x9f] = M | B | N | NONE,
	[0xa0 ... 0xa2] = NONE,
	[0xa3] = M | NONE,
	[0xa4] = M | I8,
	[0xa5] = M | NONE,
	[0xa8 ... 0xaa] = NONE,
	[0xab] = M | NONE,
	[0xac] = M | I8,
	[0xad] = M | NONE,
	[0xae] = M | N | NONE,
	[0xaf] = M | NONE,
	[0xb0] = M | B | NONE,
	[0xb1 ... 0xb9] = M | NONE,
	[0xba] = M | N | I8,
	[0xbb ... 0xbf] = M | NONE,
	[0xc0] = M | B | NONE,
	[0xc1] = M | NONE,
	[0xc2] = M | N | I8,
	[0xc3] = M | NONE,
	[0xc4 ... 0xc5] = M | I8,
	[0xc6] = M | N | I8,
	[0xc7] = M | N | NONE,
	[0xc8 ... 0xcf] = NONE,
	[0xd0 ... 0xd6] = M | N | NONE,
	[0xd7] = M | NONE,
	[0xd8 ... 0xfe] = M | N | NONE,
};

static const uint8_t legacy_0f38[256] = {
	[0x00 ... 0x0b] = M | N | NONE,
	[0x10] = M | N | NONE,
	[0x14 ... 0x15] = M | N | NONE,
	[0x17] = M | N | NONE,
	[0x1c ... 0x1e] = M | N | NONE,
	[0x20 ... 0x25] = M | N | NONE,
	[0x28 ... 0x2b] = M | N | NONE,
	[0x30 ... 0x35] = M | N | NONE,
	[0x37 ... 0x41] = M | N | NONE,
	[0x80 ... 0x82] = M | NONE,
	[0xc8 ... 0xcd] = M | N | NONE,
	[0xcf] = M | N | NONE,
	[0xd8] = M | N | NONE,
	[0xdb ... 0xdf] = M | N | NONE,
	[0xf0 ... 0xf1] = M | NONE,
	[0xf5 ... 0xf6] = M | NONE,
	[0xf8 ... 0xfc] = M | NONE,
};

static const uint8_t legacy_0f3a[256] = {
	[0x08 ... 0x0f] = M | N | I8,
	[0x14 ... 0x17] = M | N | I8,
	[0x20 ... 0x22] = M | N | I8,
	[0x40 ... 0x42] = M | N | I8,
	[0x44] = M | N | I8,
	[0x60 ... 0x63] = M | N | I8,
	[0xcc] = M | N | I8,
	[0xce ... 0xcf] = M | N | I8,
	[0xdf] = M | N | I8,
	[0xf0] = M | N | I8,
};

/* VEX and EVEX share their maps: an instruction that one of them lacks never runs. */
static const uint8_t vector_0f[256] = {
	[0x10 ... 0x17] = M | N | NONE,
	[0x28 ... 0x29] = M | N | NONE,
	[0x2a] = M | NONE,
	[0x2b] = M | N | NONE,
	[0x2c ... 0x2d] = M | NONE,
	[0x2e ... 0x2f] = M | N | NONE,
	[0x41 ... 0x42] = M | N | NONE,
	[0x44 ... 0x47] = M | N | NONE,
	[0x4a ... 0x4b] = M | N | NONE,
	[0x50] = M | NONE,
	[0x51 ... 0x6f] = M | N | NONE,
	[0x70 ... 0x73] = M | N | I8,
	[0x74 ... 0x76] = M | N | NONE,
	[0x77] = NONE, /* vzeroupper */
	[0x78 ... 0x79] = M | NONE,
	[0x7a ... 0x7f] = M | N | NONE,
	[0x90 ... 0x91] = M | N | NONE,
	[0x92 ... 0x93] = M | NONE,
	[0x98 ... 0x99] = M | N | NONE,
	[0xae] = M | N | NONE,
	[0xc2] = M | N | I8,
	[0xc4 ... 0xc5] = M | I8,
	[0xc6] = M | N | I8,
	[0xd0 ... 0xd6] = M | N | NONE,
	[0xd7] = M | NONE,
	[0xd8 ... 0xfe] = M | N | NONE,
};

static const uint8_t vector_0f38[256] = {
	[0x00 ... 0xdf] = M | N | NONE,
	[0xe0 ... 0xef] = M | NONE, /* cmpccxadd */
	[0xf2 ... 0xf3] = M | NONE,
	[0xf5 ... 0xf7] = M | NONE,
};

static const uint8_t vector_0f3a[256] = {
	[0x00 ... 0x7f] = M | N | I8,
	[0xc2] = M | N | I8,
	[0xcc] = M | N | I8,
	[0xce ... 0xcf] = M | N | I8,
	[0xde ... 0xdf] = M | N | I8,
	[0xf0] = M | I8,
};

/* Half-precision instructions. */
static const uint8_t vector_5[256] = {
	[0x10 ... 0x11] = M | N | NONE,
	[0x1d] = M | N | NONE,
	[0x2a] = M | NONE,
	[0x2c ... 0x2d] = M | NONE,
	[0x2e ... 0x2f] = M | N | NONE,
	[0x51 ... 0x5f] = M | N | NONE,
	[0x6e] = M | NONE,
	[0x78 ... 0x79] = M | NONE,
	[0x7a] = M | N | NONE,
	[0x7b] = M | NONE,
	[0x7c ... 0x7d] = M | N | NONE,
	[0x7e] = M | NONE,
};

static const uint8_t vector_6[256] = {
	[0x13] = M | N | NONE,
	[0x2c ... 0x2d] = M | N | NONE,
	[0x42 ... 0x43] = M | N | NONE,
	[0x4c ... 0x4f] = M | N | NONE,
	[0x56 ... 0x57] = M | N | NONE,
	[0x96 ... 0x9f] = M | N | NONE,
	[0xa6 ... 0xaf] = M | N | NONE,
	[0xb6 ... 0xbf] = M | N | NONE,
	[0xd6 ... 0xd7] = M | N | NONE,
};
/* clang-format on */

struct cursor {
	const uint8_t *bytes;
	size_t size, at;
	bool over; /* more bytes were needed than there are */
};

static uint8_t next_byte(struct cursor *c)
{
	if (c->at >= c->size) {
		c->over = true;
		return 0;
	}
	return c->bytes[c->at++];
}

/* Reads COUNT bytes, little-endian, sign-extended. */
static int64_t next_signed(struct cursor *c, unsigned count)
{
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < count; i++)
		value |= (uint64_t)next_byte(c) << 8 * i;
	if (count && count < 8 && value >> (8 * count - 1))
		value |= ~0ull << 8 * count;
	return (int64_t)value;
}

/* Reads legacy prefixes and REX; returns the first byte after them. */
static uint8_t read_prefixes(struct nvs_insn *insn, struct cursor *c)
{
	for (;;) {
		uint8_t byte = next_byte(c);

		switch (byte) {
		case 0x66:
			insn->prefixes |= NVS_PREFIX_OPSIZE;
			break;
		case 0x67:
			insn->prefixes |= NVS_PREFIX_ADDR32;
			break;
		case 0xf2:
			insn->prefixes |= NVS_PREFIX_REPNE;
			insn->pp = 3;
			break;
		case 0xf3:
			insn->prefixes |= NVS_PREFIX_REP;
			insn->pp = 2;
			break;
		case 0xf0:
			insn->prefixes |= NVS_PREFIX_LOCK;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			break;
		case 0x64:
		case 0x65:
			insn->segment = byte;
			break;
		default:
			if ((byte & 0xf0) != 0x40)
				goto done;
			/* REX is effective only directly before the opcode. */
			insn->rex = byte & 0x0f;
			insn->prefixes |= NVS_PREFIX_REX;
			insn->rex_at = c->at - 1;
			insn->has_rex_at = true;
			continue;
		}
		insn->rex = 0;
		insn->prefixes &= ~NVS_PREFIX_REX;
		insn->rex_at = 0;
		insn->has_rex_at = false;
		continue;
	done:
		if (!insn->pp && (insn->prefixes & NVS_PREFIX_OPSIZE))
			insn->pp = 1;
		return byte;
	}
}

/* Reads the fields that the last byte of VEX, EVEX and XOP share: W, vvvv, pp. */
static void read_wvp(struct nvs_insn *insn, uint8_t byte, bool w)
{
	if (w && (byte & 0x80))
		insn->rex |= NVS_REX_W;
	insn->vvvv = ~byte >> 3 & 0x0f;
	insn->pp = byte & 3;
}

/* Reads the byte with inverted R, X and B in its top bits. */
static void read_rxb(struct nvs_insn *insn, uint8_t byte)
{
	insn->rex |= (byte & 0x80 ? 0 : NVS_REX_R) | (byte & 0x40 ? 0 : NVS_REX_X) |
		     (byte & 0x20 ? 0 : NVS_REX_B);
}

static bool read_vex3(struct nvs_insn *insn, struct cursor *c)
{
	uint8_t first = next_byte(c);
	uint8_t second = next_byte(c);

	read_rxb(insn, first);
	insn->map = first & 0x1f;
	read_wvp(insn, second, true);
	insn->vector_bytes = second & 0x04 ? 32 : 16;
	if (insn->encoding == NVS_XOP)
		return insn->map >= 8 && insn->map <= 10;
	return insn->map >= NVS_MAP_0F && insn->map <= NVS_MAP_0F3A;
}

static bool read_evex(struct nvs_insn *insn, struct cursor *c)
{
	uint8_t first = next_byte(c);
	uint8_t second = next_byte(c);
	uint8_t third = next_byte(c);

	/* These two bits belong to later extensions (32 general registers). */
	if ((first & 0x08) || !(second & 0x04))
		return false;
	read_rxb(insn, first);
	insn->map = first & 0x07;
	insn->reg = first & 0x10 ? 0 : 16;
	read_wvp(insn, second, true);
	insn->vvvv |= third & 0x08 ? 0 : 16;
	insn->mask = third & 7;
	insn->vector_bytes = 16 << (third >> 5 & 3);
	if (insn->vector_bytes > 64)
		/* register forms: the length bits hold the rounding control */
		insn->vector_bytes = 64;
	return insn->map && insn->map != 4 && insn->map != 7;
}

/* Reads everything up to and including the opcode. */
static bool read_opcode(struct nvs_insn *insn, struct cursor *c)
{
	uint8_t byte = read_prefixes(insn, c);
	uint8_t ahead = c->at < c->size ? c->bytes[c->at] : 0;
	uint8_t second;

	insn->vvvv = NVS_REG_NONE;
	insn->vector_bytes = 16;
	if (byte == 0xc5)
		insn->encoding = NVS_VEX2;
	else if (byte == 0xc4)
		insn->encoding = NVS_VEX3;
	else if (byte == 0x62)
		insn->encoding = NVS_EVEX;
	else if (byte == 0x8f && (ahead & 0x1f) >= 8)
		insn->encoding = NVS_XOP;
	if (insn->encoding != NVS_LEGACY) {
		if (insn->pp || (insn->prefixes & ~NVS_PREFIX_ADDR32))
			return false;
		insn->rex_at = c->at - 1;
		insn->has_rex_at = true;
	}
	switch (insn->encoding) {
	case NVS_VEX2:
		second = next_byte(c);
		insn->rex = second & 0x80 ? 0 : NVS_REX_R;
		insn->map = NVS_MAP_0F;
		insn->vector_bytes = second & 0x04 ? 32 : 16;
		read_wvp(insn, second, false);
		break;
	case NVS_VEX3:
	case NVS_XOP:
		if (!read_vex3(insn, c))
			return false;
		break;
	case NVS_EVEX:
		if (!read_evex(insn, c))
			return false;
		break;
	default:
		insn->opcode_at = c->at - 1;
		insn->opcode = byte;
		if (byte != 0x0f)
			return true;
		insn->map = NVS_MAP_0F;
		byte = next_byte(c);
		if (byte == 0x38 || byte == 0x3a) {
			insn->map = byte == 0x38 ? NVS_MAP_0F38 : NVS_MAP_0F3A;
			byte = next_byte(c);
		}
		insn->opcode_at = c->at - 1;
		insn->opcode = byte;
		return true;
	}
	insn->opcode_at = c->at;
	insn->opcode = next_byte(c);
	return true;
}

static uint8_t table_entry(const struct nvs_insn *insn)
{
	static const uint8_t *const legacy[4] = {one_byte, legacy_0f, legacy_0f38, legacy_0f3a};

	if (insn->encoding == NVS_LEGACY)
		return legacy[insn->map][insn->opcode];
	switch (insn->map) {
	case NVS_MAP_0F:
		return vector_0f[insn->opcode];
	case NVS_MAP_0F38:
		return vector_0f38[insn->opcode];
	case NVS_MAP_0F3A:
		return vector_0f3a[insn->opcode];
	case NVS_MAP_5:
		return vector_5[insn->opcode];
	case NVS_MAP_6:
		return vector_6[insn->opcode];
	case 8:
		return M | N | I8;
	case 9:
		return M | NONE;
	case 10:
		return M | I32;
	}
	return BAD;
}

static bool is_vsib(const struct nvs_insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map != NVS_MAP_0F38)
		return false;
	if (insn->encoding == NVS_EVEX)
		return (op >= 0x90 && op <= 0x93) || (op >= 0xa0 && op <= 0xa3) || op == 0xc6 ||
		       op == 0xc7;
	return (insn->encoding == NVS_VEX2 || insn->encoding == NVS_VEX3) && op >= 0x90 &&
	       op <= 0x93;
}

static void read_sib(struct nvs_insn *insn, struct cursor *c)
{
	uint8_t sib = next_byte(c);
	uint8_t index = (sib >> 3 & 7) | (insn->rex & NVS_REX_X ? 8 : 0);

	insn->scale = sib >> 6;
	insn->vsib = is_vsib(insn);
	if (!insn->vsib && index != NVS_RSP)
		insn->index = index;
	insn->base = (sib & 7) | (insn->rex & NVS_REX_B ? 8 : 0);
	if ((sib & 7) == NVS_RBP && !insn->mod) {
		insn->base = NVS_REG_NONE;
		insn->disp_bytes = 4;
	}
}

static void read_modrm(struct nvs_insn *insn, struct cursor *c)
{
	uint8_t modrm;

	insn->modrm_at = c->at;
	modrm = next_byte(c);
	insn->mod = modrm >> 6;
	insn->reg |= (modrm >> 3 & 7) | (insn->rex & NVS_REX_R ? 8 : 0);
	insn->rm = (modrm & 7) | (insn->rex & NVS_REX_B ? 8 : 0);
	/* Moves from and to control and debug registers have no memory form, whatever mod is. */
	if (insn->encoding == NVS_LEGACY && insn->map == NVS_MAP_0F &&
	    (insn->opcode & 0xfc) == 0x20)
		insn->mod = 3;
	if (insn->mod == 3)
		return;
	insn->memory = true;
	insn->disp_bytes = insn->mod == 1 ? 1 : insn->mod == 2 ? 4 : 0;
	if ((modrm & 7) == NVS_RSP) {
		read_sib(insn, c);
	} else if ((modrm & 7) == NVS_RBP && !insn->mod) {
		insn->base = NVS_RIP;
		insn->disp_bytes = 4;
	} else {
		insn->base = insn->rm;
	}
	if (insn->disp_bytes) {
		insn->disp_at = c->at;
		insn->disp = next_signed(c, insn->disp_bytes);
	}
}

/* Handles opcodes whose forms differ by ModRM. May change TAIL_KIND. Returns false if the form is
 * not an instruction. */
static bool check_group(struct nvs_insn *insn, uint8_t *tail_kind)
{
	uint8_t ext = insn->reg & 7;

	if (insn->encoding != NVS_LEGACY)
		return true;
	if (insn->map == NVS_MAP_0F) {
		if (insn->opcode == 0xba)
			return ext >= 4;
		if (insn->opcode == 0x78 && insn->pp) { /* extrq, insertq: two bytes */
			*tail_kind = I16;
			insn->general = false;
		}
		return insn->opcode != 0xb8 || insn->pp == 2;
	}
	if (insn->map != NVS_MAP_ONE)
		return true;
	switch (insn->opcode) {
	case 0x8f:
		return ext == 0;
	case 0xc6:
		return ext == 0 || (ext == 7 && insn->mod == 3 && insn->rm == 0);
	case 0xc7:
		if (ext == 7 && insn->mod == 3 && insn->rm == 0)
			*tail_kind = REL32;
		else if (ext)
			return false;
		return true;
	case 0xf6:
		if (ext < 2)
			*tail_kind = I8;
		return true;
	case 0xf7:
		if (ext < 2)
			*tail_kind = IZ;
		return true;
	case 0xfe:
		return ext < 2;
	case 0xff:
		return ext != 7 && (insn->memory || (ext != 3 && ext != 5));
	}
	return true;
}

static void find_operand_size(struct nvs_insn *insn, uint8_t entry)
{
	uint8_t ext = insn->reg & 7;
	bool wide = insn->map == NVS_MAP_ONE && insn->encoding == NVS_LEGACY &&
		    (insn->opcode == 0x8f || (insn->opcode & 0xf0) == 0x50 ||
		     insn->opcode == 0x68 || insn->opcode == 0x6a ||
		     (insn->opcode == 0xff && ext != 0 && ext != 1));

	if (entry & B)
		insn->operand_bytes = 1;
	else if (insn->rex & NVS_REX_W)
		insn->operand_bytes = 8;
	else if (insn->encoding == NVS_LEGACY && (insn->prefixes & NVS_PREFIX_OPSIZE))
		insn->operand_bytes = 2;
	else
		insn->operand_bytes = wide ? 8 : 4;
}

static bool read_tail(struct nvs_insn *insn, struct cursor *c, uint8_t tail_kind)
{
	bool w = insn->rex & NVS_REX_W;
	bool opsize = insn->encoding == NVS_LEGACY && (insn->prefixes & NVS_PREFIX_OPSIZE) && !w;
	static const uint8_t sizes[] = {
		[NONE] = 0, [I8] = 1, [I16] = 2, [I24] = 3, [I32] = 4, [REL8] = 1, [REL32] = 4};
	unsigned bytes;

	if (tail_kind == IZ)
		bytes = opsize ? 2 : 4;
	else if (tail_kind == IV)
		bytes = w ? 8 : opsize ? 2 : 4;
	else if (tail_kind == MOFFS)
		bytes = insn->prefixes & NVS_PREFIX_ADDR32 ? 4 : 8;
	else
		bytes = sizes[tail_kind];
	/* With prefix 66, processor vendors disagree about the length of a direct branch. */
	if (opsize && (tail_kind == REL8 || tail_kind == REL32))
		return false;
	if (!bytes)
		return true;
	insn->imm_at = c->at;
	insn->imm_bytes = bytes;
	insn->imm = next_signed(c, bytes);
	if (tail_kind == MOFFS && bytes == 4)
		insn->imm = (uint32_t)insn->imm;
	return true;
}

static void find_branch(struct nvs_insn *insn, uint8_t tail_kind)
{
	uint8_t op = insn->opcode;
	uint8_t ext = insn->reg & 7;

	if (insn->encoding != NVS_LEGACY)
		return;
	if (tail_kind == REL8 || tail_kind == REL32) {
		insn->target = insn->length + insn->imm;
		insn->branch = NVS_BRANCH_JCC;
		if (insn->map == NVS_MAP_ONE && (op == 0xe9 || op == 0xeb))
			insn->branch = NVS_BRANCH_JMP;
		else if (insn->map == NVS_MAP_ONE && op == 0xe8)
			insn->branch = NVS_BRANCH_CALL;
	} else if (insn->map == NVS_MAP_0F) {
		if (op == 0x0b || op == 0xb9)
			insn->branch = NVS_BRANCH_STOP;
	} else if (insn->map == NVS_MAP_ONE) {
		if (op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb || op == 0xcf)
			insn->branch = NVS_BRANCH_RET;
		else if (op == 0xf4)
			insn->branch = NVS_BRANCH_STOP;
		else if (op == 0xff && (ext == 2 || ext == 3))
			insn->branch = NVS_BRANCH_CALL_INDIRECT;
		else if (op == 0xff && (ext == 4 || ext == 5))
			insn->branch = NVS_BRANCH_JMP_INDIRECT;
	}
}

int nvs_insn_decode(struct nvs_insn *insn, const uint8_t *bytes, size_t size)
{
	struct cursor c = {bytes, size < NVS_INSN_MAX ? size : NVS_INSN_MAX, 0, false};
	uint8_t entry, tail_kind;

	*insn = (struct nvs_insn){.base = NVS_REG_NONE, .index = NVS_REG_NONE};
	if (!read_opcode(insn, &c) || c.over)
		return 0;
	entry = table_entry(insn);
	tail_kind = entry & TAIL;
	if (tail_kind == BAD)
		return 0;
	if (entry & M) {
		insn->general = !(entry & N);
		read_modrm(insn, &c);
		if (!check_group(insn, &tail_kind))
			return 0;
	}
	if (!read_tail(insn, &c, tail_kind) || c.over)
		return 0;
	insn->length = c.at;
	find_operand_size(insn, entry);
	find_branch(insn, tail_kind);
	return insn->length;
}
