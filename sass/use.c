/* SPDX-License-Identifier: MIT */
/*
 * Returns the registers that an instruction reads and writes, for Volta and newer. If a width is
 * uncertain the widest is assumed, and an instruction without a row touches all. The rows agree
 * with nvdisasm 13.0 for 590,000 instructions of sm_75 to sm_120. Those of textures, surfaces, bulk
 * copies and a few more come from code that ptxas 13.0 generates from PTX, and have the maximum of
 * registers over all their forms.
 */
#include "sass/sass.h"

/* Number of registers, starting with the one that a field names. */
enum width {
	NO,
	ONE,
	TWO,
	FOUR,
	EIGHT,
	SIXTEEN,
	MEMORY, /* depends on the size of the load or store */
	ATOM, /* depends on the type of the atomic operation */
	MATRICES, /* 1, 2 or 4, for LDSM and STSM */
	SUMS, /* of a tensor instruction: depends on their type */
	GROUP, /* of a warpgroup's tensor instruction: the maximum */
};

/* Predicate fields in use: written at bits 81 and 84, read at 87, 77 and 68. */
#define W81 (1u << 0)
#define W84 (1u << 1)
#define R87 (1u << 2)
#define R77 (1u << 3)
#define R68 (1u << 4)
#define WW (W81 | W84)
/* Registers and predicates are the warp's (uniform), not the threads'. */
#define UNIFORM (1u << 5)
/* It is uncertain how wide the destination is, or whether all of it is written. */
#define PARTLY (1u << 6)
/* The register in the destination's field is read. */
#define READS_D (1u << 7)
/* Memory operands: register fields do not depend on the form. Bit 91 selects UR. */
#define UR32 (1u << 8)
#define UR64 (1u << 9)
#define UR24 (1u << 10)
#define FIXED (1u << 11)
/* The destination is a uniform register although the sources are not, or the other way round. */
#define D_UNIFORM (1u << 12)
#define ANY_PREDICATE (1u << 13) /* sources may be of either kind */

/* Textures: what does not fit into one destination is in another, in C's field. */
#define TEXTURE (W81 | FIXED | PARTLY)

struct opcode_use {
	uint16_t op; /* without the form */
	uint8_t d, a, b, c; /* enum width */
	uint16_t flags;
	const char *name; /* mnemonic, without what modifies it; NULL: depends on more than OP */
};

/* By opcode. */
static const struct opcode_use rows[] = {
	{0x001, NO, NO, NO, NO, 0, "PMTRIG"},
	{0x002, ONE, NO, ONE, NO, 0, "MOV"},
	{0x003, ONE, ONE, NO, NO, 0, "P2R"},
	{0x004, NO, ONE, NO, NO, PARTLY, "R2P"},
	{0x005, TWO, NO, NO, NO, 0, "CS2R"},
	{0x006, ONE, NO, NO, NO, W81 | R87, "VOTE"},
	{0x007, ONE, ONE, ONE, NO, R87, "SEL"},
	{0x008, ONE, ONE, ONE, NO, R87, "FSEL"},
	{0x009, ONE, ONE, ONE, NO, R87, "FMNMX"},
	{0x00a, ONE, ONE, ONE, NO, R87, "FSET"},
	{0x00b, NO, ONE, ONE, NO, WW | R87, "FSETP"},
	{0x00c, NO, ONE, ONE, NO, WW | R87 | R68, "ISETP"},
	{0x00f, ONE, ONE, ONE, ONE, WW | R87 | R77 | PARTLY, "VIMNMX3"},
	{0x010, ONE, ONE, ONE, ONE, WW | R87 | R77, "IADD3"},
	{0x011, ONE, ONE, ONE, ONE, W81 | R87, "LEA"},
	{0x012, ONE, ONE, ONE, ONE, W81 | R87, "LOP3"},
	{0x013, ONE, NO, ONE, NO, 0, "IABS"},
	{0x014, ONE, ONE, ONE, ONE, 0, "VABSDIFF"},
	{0x015, ONE, ONE, ONE, ONE, 0, "VABSDIFF4"},
	{0x016, ONE, ONE, ONE, ONE, 0, "PRMT"},
	{0x017, ONE, ONE, ONE, NO, R87, "IMNMX"},
	{0x019, ONE, ONE, ONE, ONE, 0, "SHF"},
	{0x01a, ONE, ONE, ONE, NO, 0, "SGXT"},
	{0x01b, ONE, ONE, ONE, NO, 0, "BMSK"},
	{0x01c, NO, NO, NO, NO, WW | R87 | R77 | R68, "PLOP3"},
	{0x01f, ONE, ONE, ONE, ONE, WW | R87 | R77 | PARTLY,
	 NULL}, /* clipped sums: add.sat, mad.hi.sat */
	{0x020, ONE, ONE, ONE, NO, 0, "FMUL"},
	{0x021, ONE, ONE, ONE, NO, 0, "FADD"},
	{0x022, ONE, ONE, ONE, NO, R87, "FSWZADD"},
	{0x023, ONE, ONE, ONE, ONE, 0, "FFMA"},
	{0x024, ONE, ONE, ONE, ONE, W81 | R87, "IMAD"},
	{0x025, TWO, ONE, ONE, TWO, W81 | R87, "IMAD.WIDE"},
	{0x026, ONE, ONE, ONE, ONE, 0, "IDP"},
	{0x027, ONE, ONE, ONE, TWO, W81 | R87, "IMAD.HI"},
	{0x028, TWO, TWO, TWO, NO, 0, "DMUL"},
	{0x029, TWO, TWO, NO, TWO, 0, "DADD"},
	{0x02a, NO, TWO, TWO, NO, WW | R87, "DSETP"},
	{0x02b, TWO, TWO, TWO, TWO, 0, "DFMA"},
	{0x02d, NO, NO, NO, NO, 0, "PREEXIT"},
	{0x02e, NO, NO, NO, NO, 0, "ACQBULK"},
	{0x02f, ONE, NO, NO, NO, W81 | R87 | D_UNIFORM, "ELECT"},
	{0x030, ONE, ONE, ONE, NO, PARTLY, "HADD2"},
	{0x031, ONE, ONE, ONE, ONE, PARTLY, "HFMA2"},
	{0x032, ONE, ONE, ONE, NO, PARTLY, "HMUL2"},
	{0x033, ONE, ONE, ONE, NO, R87, "HSET2"},
	{0x034, NO, ONE, ONE, NO, WW | R87, "HSETP2"},
	{0x035, ONE, ONE, ONE, ONE, PARTLY, "HFMA2.MMA"},
	{0x036, ONE, ONE, ONE, NO, 0, "VIADD"},
	{0x037, FOUR, FOUR, TWO, FOUR, PARTLY, "IMMA"},
	{0x038, ONE, NO, TWO, NO, PARTLY, "I2I"},
	{0x039, ONE, ONE, ONE, ONE, 0, "I2IP"},
	{0x03a, ONE, ONE, NO, NO, 0, "MOVM"},
	{0x03b, MATRICES, ONE, NO, NO, FIXED | UR32, "LDSM"},
	{0x03c, SUMS, FOUR, TWO, SUMS, 0, "HMMA"},
	{0x03d, FOUR, FOUR, TWO, FOUR, PARTLY, "BMMA"},
	{0x03e, ONE, ONE, ONE, ONE, 0, "F2FP"},
	{0x03f, EIGHT, SIXTEEN, EIGHT, EIGHT, PARTLY, "DMMA"},
	{0x040, ONE, ONE, ONE, NO, R87, "HMNMX2"},
	{0x043, ONE, ONE, ONE, ONE, 0, "F2IP"},
	{0x044, NO, ONE, MATRICES, NO, FIXED | UR64, "STSM"},
	{0x045, ONE, NO, ONE, NO, 0, "I2FP"},
	{0x046, ONE, ONE, ONE, ONE, WW | R87 | PARTLY, "VIADDMNMX"},
	{0x048, ONE, ONE, ONE, NO, WW | R87 | PARTLY, "VIMNMX"},
	{0x07a, FOUR, FOUR, FOUR, FOUR, PARTLY, "QMMA"},
	{0x082, ONE, NO, ONE, NO, UNIFORM, "UMOV"},
	{0x083, ONE, ONE, NO, NO, UNIFORM, "UP2UR"},
	{0x084, NO, ONE, NO, NO, UNIFORM | PARTLY, "UR2UP"},
	{0x086, ONE, NO, NO, NO, W81 | R87 | UNIFORM | ANY_PREDICATE, "VOTEU"},
	{0x087, ONE, ONE, ONE, NO, R87 | UNIFORM, "USEL"},
	{0x08c, NO, ONE, ONE, NO, WW | R87 | R68 | UNIFORM, "UISETP"},
	{0x090, ONE, ONE, ONE, ONE, WW | R87 | R77 | UNIFORM, "UIADD3"},
	{0x091, ONE, ONE, ONE, ONE, W81 | R87 | UNIFORM, "ULEA"},
	{0x092, ONE, ONE, ONE, ONE, W81 | R87 | UNIFORM, "ULOP3"},
	{0x096, ONE, ONE, ONE, ONE, UNIFORM, "UPRMT"},
	{0x097, TWO, TWO, TWO, TWO, WW | R87 | R77 | UNIFORM | PARTLY, "UIADD3.64"},
	{0x099, ONE, ONE, ONE, ONE, UNIFORM, "USHF"},
	{0x09a, ONE, ONE, ONE, NO, UNIFORM, "USGXT"},
	{0x09b, ONE, ONE, ONE, NO, UNIFORM, "UBMSK"},
	{0x09c, NO, NO, NO, NO, WW | R87 | R77 | R68 | UNIFORM, "UPLOP3"},
	{0x0a4, ONE, ONE, ONE, ONE, W81 | R87 | UNIFORM, "UIMAD"},
	{0x0a5, TWO, ONE, ONE, TWO, W81 | R87 | UNIFORM, "UIMAD.WIDE"},
	{0x0b9, MEMORY, NO, NO, NO, UNIFORM, "ULDC"},
	{0x0bb, MEMORY, ONE, NO, NO, UNIFORM, "ULDC"}, /* with a uniform bank */
	{0x0bd, ONE, NO, ONE, NO, W81 | UNIFORM, "UFLO"},
	{0x0be, ONE, NO, ONE, NO, UNIFORM, "UBREV"},
	{0x0bf, ONE, NO, ONE, NO, UNIFORM, "UPOPC"},
	{0x0ca, ONE, ONE, NO, NO, W81 | D_UNIFORM, "R2UR"},
	{0x100, ONE, NO, ONE, NO, W81, "FLO"},
	{0x101, ONE, NO, ONE, NO, 0, "BREV"},
	{0x102, NO, ONE, ONE, NO, W81, "FCHK"},
	{0x104, ONE, NO, ONE, NO, PARTLY, "F2F"},
	{0x105, ONE, NO, ONE, NO, PARTLY, "F2I"},
	{0x106, ONE, NO, ONE, NO, PARTLY, "I2F"},
	{0x107, ONE, NO, ONE, NO, PARTLY, "FRND"},
	{0x108, ONE, NO, ONE, NO, PARTLY, "MUFU"},
	{0x109, ONE, NO, ONE, NO, 0, "POPC"},
	{0x110, TWO, NO, TWO, NO, PARTLY, NULL}, /* from here the same for 64 bits */
	{0x111, TWO, NO, TWO, NO, PARTLY, NULL},
	{0x112, TWO, NO, TWO, NO, PARTLY, NULL},
	{0x113, TWO, NO, TWO, NO, PARTLY, NULL},
	{0x118, NO, NO, NO, NO, 0, "NOP"},
	{0x119, ONE, NO, NO, NO, 0, "S2R"},
	{0x11a, NO, NO, NO, NO, 0, "DEPBAR"},
	{0x11b, NO, NO, NO, NO, 0, "ENDCOLLECTIVE"},
	{0x11c, ONE, NO, NO, NO, W81 | PARTLY, "B2R"},
	{0x11d, NO, NO, ONE, NO, 0, "BAR"},
	{0x141, NO, NO, NO, NO, 0, "BSYNC"},
	{0x142, NO, NO, NO, NO, R87, "BREAK"},
	{0x143, NO, TWO, NO, NO, 0, "CALL.ABS"}, /* the callee is not examined */
	{0x144, NO, TWO, NO, NO, 0, "CALL.REL"},
	{0x145, NO, NO, NO, NO, 0, "BSSY"},
	{0x146, NO, NO, NO, NO, 0, "YIELD"},
	{0x147, NO, NO, NO, NO, R87, "BRA"},
	{0x148, NO, NO, NO, NO, 0, "WARPSYNC"},
	{0x149, NO, TWO, NO, NO, R87, "BRX"},
	{0x14d, NO, NO, NO, NO, R87, "EXIT"},
	{0x14e, TWO, NO, NO, NO, 0, "LEPC"},
	{0x150, NO, TWO, NO, NO, R87, "RET"},
	{0x155, ONE, NO, NO, NO, 0, "BMOV"}, /* from a barrier */
	{0x156, NO, NO, ONE, NO, 0, "BMOV"}, /* to one */
	{0x158, NO, TWO, NO, NO, R87 | UNIFORM, "BRXU"},
	{0x15c, NO, NO, NO, NO, 0, "BPT"},
	{0x15d, NO, NO, ONE, NO, 0, "NANOSLEEP"},
	{0x160, FOUR, FOUR, FOUR, NO, TEXTURE, "TEX"},
	{0x161, FOUR, FOUR, FOUR, NO, TEXTURE, NULL},
	{0x163, FOUR, FOUR, FOUR, NO, TEXTURE, "TLD4"},
	{0x164, FOUR, FOUR, FOUR, NO, TEXTURE, NULL},
	{0x166, FOUR, FOUR, FOUR, NO, TEXTURE, "TLD"},
	{0x167, FOUR, FOUR, FOUR, NO, TEXTURE, NULL},
	{0x16c, FOUR, FOUR, FOUR, NO, TEXTURE, "TXD"},
	{0x16d, FOUR, FOUR, FOUR, NO, TEXTURE, NULL},
	{0x16f, FOUR, FOUR, NO, NO, TEXTURE, "TXQ"},
	{0x170, FOUR, FOUR, NO, NO, TEXTURE, NULL},
	{0x180, MEMORY, TWO, NO, NO, FIXED | UR32, "LD"},
	{0x181, MEMORY, TWO, NO, NO, FIXED | UR32, "LDG"},
	{0x182, MEMORY, ONE, NO, NO, FIXED | UR32, "LDC"},
	{0x183, MEMORY, ONE, NO, NO, FIXED | UR32, "LDL"},
	{0x184, MEMORY, ONE, NO, NO, FIXED | UR32, "LDS"},
	{0x185, NO, TWO, MEMORY, NO, FIXED | UR64, "ST"},
	{0x186, NO, TWO, MEMORY, NO, FIXED | UR64, "STG"},
	{0x187, NO, ONE, MEMORY, NO, FIXED | UR64, "STL"},
	{0x188, NO, ONE, MEMORY, NO, FIXED | UR64, "STS"},
	{0x189, ONE, ONE, NO, NO, W81 | FIXED, "SHFL"},
	{0x18a, ATOM, TWO, ATOM, NO, WW | FIXED | UR64 | PARTLY, "ATOM"},
	{0x18b, FOUR, TWO, FOUR, FOUR, WW | FIXED | UR64 | PARTLY, "ATOM.CAS"},
	{0x18c, TWO, ONE, TWO, NO, FIXED | UR64 | PARTLY, "ATOMS"},
	{0x18d, TWO, ONE, TWO, TWO, W81 | FIXED | UR64 | PARTLY, "ATOMS.CAS"},
	{0x18e, NO, TWO, ATOM, NO, FIXED | UR64, "RED"},
	{0x18f, NO, TWO, NO, NO, FIXED | UR32, "CCTL"},
	{0x192, NO, NO, NO, NO, 0, "MEMBAR"},
	{0x199, FOUR, FOUR, NO, TWO, W81 | FIXED | PARTLY, "SULD"},
	{0x19a, FOUR, FOUR, NO, TWO, W81 | FIXED | PARTLY, NULL},
	{0x19b, NO, FOUR, FOUR, TWO, FIXED, "SUST"},
	{0x19c, NO, FOUR, FOUR, TWO, FIXED, NULL},
	{0x19d, NO, FOUR, FOUR, TWO, FIXED, NULL},
	{0x19e, NO, FOUR, FOUR, TWO, FIXED, NULL},
	{0x19f, NO, FOUR, FOUR, TWO, FIXED, "SURED"},
	{0x1a0, NO, FOUR, FOUR, TWO, FIXED, NULL},
	{0x1a1, ONE, TWO, NO, NO, W81 | FIXED, "MATCH"},
	{0x1a2, ATOM, TWO, ATOM, NO, WW | FIXED | UR64 | PARTLY, "ATOM"},
	{0x1a3, ATOM, TWO, ATOM, NO, WW | FIXED | UR32 | UR64 | PARTLY, "ATOMG"}, /* of floats */
	{0x1a4, FOUR, TWO, NO, NO, WW | FIXED | UR32 | UR64 | PARTLY, "LDGMC"},
	{0x1a5, FOUR, TWO, NO, NO, FIXED | UR32 | UR64 | PARTLY, "LDGMC"},
	{0x1a6, NO, TWO, ATOM, NO, FIXED | UR64, "REDG"},
	{0x1a7, NO, ONE, TWO, NO, W81 | FIXED | UR64 | PARTLY, "SYNCS"},
	{0x1a8, ATOM, TWO, ATOM, NO, WW | FIXED | UR32 | UR64 | PARTLY, "ATOMG"},
	{0x1a9, FOUR, TWO, FOUR, FOUR, WW | FIXED | UR32 | PARTLY, "ATOMG.CAS"},
	{0x1aa, ONE, TWO, NO, NO, W81 | FIXED | PARTLY, "QSPC"},
	{0x1ab, NO, NO, NO, NO, 0, "ERRBAR"},
	{0x1ae, ONE, TWO, NO, NO, R87 | FIXED | UR32 | UR64 | READS_D, "LDGSTS"},
	{0x1af, NO, NO, NO, NO, 0, "LDGDEPBAR"},
	{0x1b0, NO, TWO, NO, NO, FIXED | UR64, "ARRIVES"},
	{0x1b1, NO, TWO, NO, NO, FIXED | UR64, "SYNCS"}, /* that ends a barrier */
	{0x1b2, TWO, ONE, TWO, NO, FIXED | UNIFORM | PARTLY, "SYNCS"}, /* of the warp */
	{0x1b4, NO, TWO, EIGHT, TWO, FIXED | UNIFORM, "UTMALDG"},
	{0x1b5, NO, TWO, EIGHT, NO, FIXED | UNIFORM, "UTMASTG"},
	{0x1b6, NO, TWO, EIGHT, NO, FIXED | UNIFORM, "UTMAREDG"},
	{0x1b7, NO, NO, NO, NO, UNIFORM, "UTMACMDFLUSH"},
	{0x1b8, NO, TWO, EIGHT, TWO, FIXED | UNIFORM, "UTMAPF"},
	{0x1b9, NO, TWO, NO, NO, FIXED | UNIFORM, "UTMACCTL"},
	{0x1ba, NO, FOUR, FOUR, FOUR, FIXED | UNIFORM, "UBLKCP"},
	{0x1bb, NO, FOUR, FOUR, FOUR, FIXED | UNIFORM, "UBLKRED"},
	{0x1bc, NO, FOUR, NO, FOUR, FIXED | UNIFORM, "UBLKPF"},
	{0x1bd, NO, TWO, FOUR, NO, FIXED | UR64, "STAS"},
	{0x1be, NO, TWO, TWO, NO, FIXED | UR64, "REDAS"},
	{0x1c2, ONE, ONE, NO, NO, W81 | D_UNIFORM, "R2UR"},
	{0x1c3, ONE, NO, NO, NO, D_UNIFORM, "S2UR"},
	{0x1c4, ONE, ONE, NO, NO, D_UNIFORM, "REDUX"},
	{0x1c5, NO, NO, NO, NO, 0, "WARPGROUP"},
	{0x1c6, NO, NO, NO, NO, 0, "FENCE"},
	{0x1c7, NO, NO, NO, NO, 0, "UCGABAR"},
	{0x1c8, NO, NO, NO, NO, W81 | UNIFORM | PARTLY, "USETMAXREG"},
	{0x1c9, NO, NO, NO, NO, UNIFORM, "USETSHMSZ"},
	{0x1f0, GROUP, FOUR, NO, GROUP, R87 | FIXED | ANY_PREDICATE | PARTLY, "HGMMA"},
	{0x1f1, GROUP, FOUR, NO, GROUP, R87 | FIXED | ANY_PREDICATE | PARTLY, "IGMMA"},
	{0x1f2, GROUP, FOUR, NO, GROUP, R87 | FIXED | ANY_PREDICATE | PARTLY, "BGMMA"},
	{0x1f3, GROUP, FOUR, NO, GROUP, R87 | FIXED | ANY_PREDICATE | PARTLY, "QGMMA"},
};

/* Forms of operands: which operand is not a register of a thread. */
enum form { REGISTERS = 1, C_VALUE = 2, C_CONSTANT = 3, B_VALUE, B_CONSTANT, B_UNIFORM, C_UNIFORM };

static const struct opcode_use *row_of(uint16_t op)
{
	uint32_t first = 0, last = sizeof(rows) / sizeof(*rows);

	while (first < last) {
		uint32_t middle = first + (last - first) / 2;

		if (rows[middle].op == op)
			return rows + middle;
		if (rows[middle].op < op)
			first = middle + 1;
		else
			last = middle;
	}
	return NULL;
}

static unsigned how_many(const struct nvs_sass_insn *insn, uint8_t width)
{
	static const uint8_t count[] = {
		[ONE] = 1, [TWO] = 2, [FOUR] = 4, [EIGHT] = 8, [SIXTEEN] = 16};
	unsigned size = (unsigned)nvs_sass_insn_bits(insn, 73, 3);

	switch (width) {
	case MEMORY:
		return size < 5 ? 1 : size == 5 ? 2 : 4;
	case ATOM: /* 32 bits: unsigned, signed, float, two halves */
		return size == 0 || size == 1 || size == 3 || size == 4 ? 1 : 2;
	case MATRICES:
		return 1u << nvs_sass_insn_bits(insn, 72, 2);
	case SUMS:
		return nvs_sass_insn_bits(insn, 76, 1) ? 4 : 2;
	/* the instruction's N in eights, for floats; for integers it is stored elsewhere */
	case GROUP:
		if (nvs_sass_insn_op(insn) == 0x1f1 || nvs_sass_insn_op(insn) == 0x1f2)
			return 128;
		return 4 * ((unsigned)nvs_sass_insn_bits(insn, 53, 5) + 1);
	default:
		return width < sizeof(count) ? count[width] : 4;
	}
}

static void add_registers(struct nvs_sass_registers *r, bool uniform, unsigned first, unsigned n)
{
	unsigned none = uniform ? 63 : 255;

	if (first >= none)
		return;
	for (unsigned k = first; k < first + n && k < none; k++)
		if (uniform)
			r->uniform |= 1ull << k;
		else
			r->vector[k / 64] |= 1ull << k % 64;
}

/* Adds N registers from the one that the field at AT names. */
static void add_field(const struct nvs_sass_insn *insn, struct nvs_sass_registers *r, bool uniform,
		      unsigned at, unsigned n)
{
	if (n)
		add_registers(r, uniform, (unsigned)nvs_sass_insn_bits(insn, at, uniform ? 6 : 8),
			      n);
}

static void add_predicate(const struct nvs_sass_insn *insn, struct nvs_sass_registers *r,
			  uint32_t flags, unsigned at)
{
	uint8_t bit = (uint8_t)(1u << nvs_sass_insn_bits(insn, at, 3) & 0x7f);

	if (flags & (UNIFORM | ANY_PREDICATE))
		r->uniform_predicate |= bit;
	if (!(flags & UNIFORM) || flags & ANY_PREDICATE)
		r->predicate |= bit;
}

static void add_predicates(const struct nvs_sass_insn *insn, const struct opcode_use *row,
			   struct nvs_sass_insn_use *use)
{
	static const struct {
		uint32_t flag;
		unsigned at;
	} reads[] = {{R87, 87}, {R77, 77}, {R68, 68}};

	/* The guard is of the same kind as the instruction. */
	add_predicate(insn, &use->read, row->flags & UNIFORM, 12);
	for (unsigned k = 0; k < sizeof(reads) / sizeof(*reads); k++)
		if (row->flags & reads[k].flag)
			add_predicate(insn, &use->read, row->flags, reads[k].at);
	if (row->flags & W81)
		add_predicate(insn, &use->written, row->flags & UNIFORM, 81);
	if (row->flags & W84)
		add_predicate(insn, &use->written, row->flags & UNIFORM, 84);
}

/* Adds the sources of arithmetic instructions: if one of B and C is not a register, the other is in
 * C's field. */
static void add_sources(const struct nvs_sass_insn *insn, const struct opcode_use *row,
			struct nvs_sass_registers *read)
{
	unsigned form = insn->opcode >> 9 & 7, b = how_many(insn, row->b);
	unsigned c = how_many(insn, row->c);
	bool uniform = row->flags & UNIFORM;

	add_field(insn, read, uniform, 24, how_many(insn, row->a));
	switch (form) {
	case REGISTERS:
		add_field(insn, read, uniform, 32, b);
		add_field(insn, read, uniform, 64, c);
		break;
	case C_VALUE:
	case C_CONSTANT:
	case C_UNIFORM:
		if (row->c && row->b)
			add_field(insn, read, uniform, 64, b);
		break;
	default:
		add_field(insn, read, uniform, 64, c);
	}
	if (form == B_UNIFORM)
		add_field(insn, read, true, 32, b);
	if (form == C_UNIFORM)
		add_field(insn, read, true, 32, c ? c : b);
}

static void add_memory(const struct nvs_sass_insn *insn, const struct opcode_use *row,
		       struct nvs_sass_registers *read)
{
	bool uniform = nvs_sass_insn_bits(insn, 91, 1), whole = row->flags & UNIFORM;
	/* The data of Turing's ST is in another field. */
	unsigned at = row->op == 0x185 && insn->opcode >> 9 == REGISTERS ? 64 : 32;

	add_field(insn, read, whole, 24, how_many(insn, row->a));
	add_field(insn, read, whole, at, how_many(insn, row->b));
	add_field(insn, read, whole, 64, how_many(insn, row->c));
	if (uniform && row->flags & UR32)
		add_field(insn, read, true, 32, how_many(insn, row->a));
	if (uniform && row->flags & UR64)
		add_field(insn, read, true, 64, how_many(insn, row->a));
}

/* Handles instructions that a row cannot describe. */
static void add_special(const struct nvs_sass_insn *insn, enum nvs_sass_form of,
			struct nvs_sass_insn_use *use)
{
	unsigned form = insn->opcode >> 9 & 7;
	uint8_t mask = form == B_VALUE ? nvs_sass_insn_bits(insn, 32, 7) : 0x7f;

	switch (nvs_sass_insn_op(insn)) {
	case 0x002: /* MOV.64 and UMOV.64 of Blackwell */
	case 0x082:
		if (form != C_VALUE && !nvs_sass_insn_bits(insn, 80, 1))
			break;
		add_field(insn, &use->written, nvs_sass_insn_op(insn) == 0x082, 16, 2);
		if (form == REGISTERS)
			add_field(insn, &use->read, nvs_sass_insn_op(insn) == 0x082, 32, 2);
		else if (form == B_UNIFORM)
			add_field(insn, &use->read, true, 32, 2);
		break;
	case 0x003: /* P2R */
		use->read.predicate |= mask;
		break;
	case 0x004: /* R2P */
		use->written.predicate |= mask;
		break;
	case 0x01c: /* PLOP3: its third source may be of either kind */
		if (nvs_sass_insn_bits(insn, 67, 1))
			add_predicate(insn, &use->read, UNIFORM, 68);
		break;
	case 0x083: /* UP2UR */
		use->read.uniform_predicate |= mask;
		break;
	case 0x084: /* UR2UP */
		use->written.uniform_predicate |= mask;
		break;
	case 0x086: /* VOTEU and S2UR: the guard may be of either kind */
	case 0x1c3:
		add_predicate(insn, &use->read, UNIFORM | ANY_PREDICATE, 12);
		break;
	case 0x0b9: /* ULDC */
		if (nvs_sass_insn_bits(insn, 91, 1))
			add_field(insn, &use->read, true, 24, 1);
		break;
	/* BAR: the number of threads may be a register in addition to an immediate; RED reads a
	 * predicate */
	case 0x11d:
		if (form == C_VALUE || form == B_VALUE)
			add_field(insn, &use->read, false, 32, 1);
		if (nvs_sass_insn_bits(insn, 78, 1))
			add_predicate(insn, &use->read, 0, 87);
		break;
	case 0x147: /* BRA.U, BRA.DIV, BRA.CONV */
		if (form == C_VALUE)
			add_predicate(insn, &use->read, UNIFORM, 24);
		else if (nvs_sass_insn_bits(insn, 91, 1))
			add_field(insn, &use->read, true, 24, 1);
		break;
	case 0x148: /* WARPSYNC: on Hopper, the mask's field holds a part of the target */
		if (form == REGISTERS)
			add_field(insn, &use->read, false, of >= NVS_SASS_HOPPER ? 24 : 32, 1);
		break;
	case 0x160: /* textures */
	case 0x161:
	case 0x163:
	case 0x164:
	case 0x166:
	case 0x167:
	case 0x16c:
	case 0x16d:
	case 0x16f:
	case 0x170:
		add_field(insn, &use->written, false, 64, 4);
		/* fallthrough */
	case 0x199: /* textures and surfaces: which one */
	case 0x19b:
	case 0x19d:
	case 0x19f:
		if (nvs_sass_insn_bits(insn, 91, 1))
			add_field(insn, &use->read, true, 40, 2);
		break;
	case 0x189: /* SHFL: lane and mask */
		if (form == REGISTERS || form == C_VALUE)
			add_field(insn, &use->read, false, 32, 1);
		if (form == REGISTERS || form == B_VALUE)
			add_field(insn, &use->read, false, 64, 1);
		break;
	case 0x1a7: /* SYNCS that arrives returns the barrier's state */
		if (form == B_VALUE)
			add_field(insn, &use->written, false, 16, 2);
		break;
	case 0x1b0: /* of the warp, but may be guarded by a thread's predicate */
	case 0x1b2:
	case 0x1b7:
	case 0x1c8:
	case 0x1c9:
		add_predicate(insn, &use->read, ANY_PREDICATE, 12);
		break;
	case 0x1b4: /* the same, with a descriptor */
	case 0x1b5:
	case 0x1b6:
	case 0x1b8:
	case 0x1b9:
	case 0x1ba:
	case 0x1bb:
	case 0x1bc:
		add_predicate(insn, &use->read, ANY_PREDICATE, 12);
		add_field(insn, &use->read, true, 40, 2);
		break;
	case 0x1f0:
	case 0x1f1:
	case 0x1f2:
	case 0x1f3: /* descriptors, also of A if that is in shared memory */
		add_field(insn, &use->read, true, form == B_VALUE ? 24 : 32, 4);
		break;
	}
}

static void set_all(struct nvs_sass_registers *r)
{
	*r = (struct nvs_sass_registers){
		.vector = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX >> 1},
		.uniform = UINT64_MAX >> 1,
		.predicate = 0x7f,
		.uniform_predicate = 0x7f,
	};
}

/* True if sources may be read after the instruction issues: if it sets a barrier, which shows when
 * it is done, and always for memory instructions. */
static bool reads_late(const struct nvs_sass_insn *insn)
{
	uint16_t op = nvs_sass_insn_op(insn);

	return op >= 0x160 || op == 0x03a || op == 0x03b || op == 0x044 ||
	       (op >= 0x100 && op < 0x118) || insn->control.read_barrier != 7 ||
	       insn->control.write_barrier != 7;
}

static void set_unknown(const struct nvs_sass_insn *insn, struct nvs_sass_insn_use *use)
{
	set_all(&use->read);
	set_all(&use->written);
	use->whole = use->known = false;
}

void nvs_sass_insn_use(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
		       struct nvs_sass_insn_use *use)
{
	const struct opcode_use *row = form < NVS_SASS_VOLTA ? NULL
							     : row_of(nvs_sass_insn_op(insn));
	uint16_t op = nvs_sass_insn_op(insn);

	*use = (struct nvs_sass_insn_use){.late = reads_late(insn)};
	/* Blackwell uses this opcode for other instructions. */
	if (!row || (form == NVS_SASS_BLACKWELL && op == 0x035)) {
		set_unknown(insn, use);
		return;
	}
	use->known = true;
	use->whole = insn->predicate == 7 && !insn->negated && !(row->flags & PARTLY);
	add_field(insn, &use->written, row->flags & (UNIFORM | D_UNIFORM), 16,
		  how_many(insn, row->d));
	if (row->flags & READS_D) {
		use->read = use->written;
		use->written = (struct nvs_sass_registers){0};
	}
	add_predicates(insn, row, use);
	if (row->flags & FIXED)
		add_memory(insn, row, &use->read);
	else
		add_sources(insn, row, &use->read);
	add_special(insn, form, use);
}

void nvs_sass_insn_sources(const struct nvs_sass_insn *insn, uint8_t source[3])
{
	const struct opcode_use *row = row_of(nvs_sass_insn_op(insn));
	unsigned form = insn->opcode >> 9 & 7;

	source[0] = source[1] = source[2] = NVS_SASS_NONE;
	if (!row || row->flags & (UNIFORM | FIXED) || row->op >= 0x100)
		return;
	if (row->a)
		source[0] = (uint8_t)nvs_sass_insn_bits(insn, 24, 8);
	if (row->b && form == REGISTERS)
		source[1] = (uint8_t)nvs_sass_insn_bits(insn, 32, 8);
	if (row->b && row->c && (form == C_VALUE || form == C_CONSTANT || form == C_UNIFORM))
		source[1] = (uint8_t)nvs_sass_insn_bits(insn, 64, 8);
	if (row->c && form != C_VALUE && form != C_CONSTANT && form != C_UNIFORM)
		source[2] = (uint8_t)nvs_sass_insn_bits(insn, 64, 8);
}

const char *nvs_sass_insn_name(const struct nvs_sass_insn *insn)
{
	const struct opcode_use *row = row_of(nvs_sass_insn_op(insn));

	return row ? row->name : NULL;
}
