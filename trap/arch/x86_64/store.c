/* SPDX-License-Identifier: MIT */
/* Simple stores: decodes their value and address, and performs them at another address. */
#include "trap/arch/store.h"
#include "trap/arch/x86_64/greg.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define ARCH_GET_FS_ 0x1003
#define ARCH_GET_GS_ 0x1004

const uint8_t nvs_greg_of[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				 REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				 REG_R12, REG_R13, REG_R14, REG_R15};

bool nvs_segment_base(uint8_t segment, uint64_t *base)
{
	*base = 0;
	if (!segment)
		return true;
	/* RDFSBASE would be faster where it is allowed; this case is rare. */
	return !nvs_sys4(SYS_arch_prctl, segment == 0x64 ? ARCH_GET_FS_ : ARCH_GET_GS_, base, 0, 0);
}

uint64_t nvs_operand_sum(const struct nvs_insn *insn, const greg_t *gregs)
{
	uint64_t sum = 0;

	if (insn->base == NVS_RIP)
		sum = gregs[REG_RIP] + insn->length;
	else if (insn->base != NVS_REG_NONE)
		sum = gregs[nvs_greg_of[insn->base]];
	/* pop includes its own change of RSP. */
	if (insn->base == NVS_RSP && nvs_insn_is_pop(insn))
		sum += insn->operand_bytes;
	if (insn->index != NVS_REG_NONE)
		sum += (uint64_t)gregs[nvs_greg_of[insn->index]] << insn->scale;
	return sum;
}

static bool has_bit_offset(const struct nvs_insn *insn)
{
	return insn->encoding == NVS_LEGACY && insn->map == NVS_MAP_0F &&
	       (insn->opcode == 0xa3 || insn->opcode == 0xab || insn->opcode == 0xb3 ||
		insn->opcode == 0xbb);
}

bool nvs_insn_address(const struct nvs_insn *insn, const mcontext_t *m, uint64_t *address)
{
	const greg_t *gregs = m->gregs;
	uint8_t implied = nvs_implied_pointer(insn);
	uint64_t sum, base;

	if (implied != NVS_REG_NONE)
		sum = gregs[nvs_greg_of[implied]];
	else if (nvs_insn_is_moffs(insn))
		sum = insn->imm;
	else if (!insn->memory || insn->vsib || has_bit_offset(insn))
		return false;
	else if (insn->encoding == NVS_EVEX && insn->disp_bytes == 1 && insn->disp)
		return false;
	else
		sum = nvs_operand_sum(insn, gregs) + insn->disp;
	if (insn->prefixes & NVS_PREFIX_ADDR32)
		sum = (uint32_t)sum;
	/* The destination of a string instruction is in ES, whatever the prefix is. */
	if (!nvs_segment_base(nvs_insn_is_string(insn) ? 0 : insn->segment, &base))
		return false;
	*address = sum + base;
	return true;
}

/* Without REX, byte registers 4 to 7 are AH, CH, DH, BH: bits 8-15 of the first four. */
static bool is_high_byte(const struct nvs_insn *insn)
{
	return insn->operand_bytes == 1 && !(insn->prefixes & NVS_PREFIX_REX) && insn->reg >= 4;
}

bool nvs_store_decode(struct nvs_store *store, const struct nvs_insn *insn, const mcontext_t *m)
{
	const greg_t *gregs = m->gregs;
	uint8_t op = insn->opcode;
	bool moffs = nvs_insn_is_moffs(insn);
	bool xchg, immediate, high;
	uint8_t reg;

	if (insn->encoding != NVS_LEGACY || insn->segment || (!insn->memory && !moffs))
		return false;
	if (insn->map == NVS_MAP_0F ? op != 0xc3 || insn->pp : insn->map != NVS_MAP_ONE)
		return false;
	xchg = op == 0x86 || op == 0x87;
	immediate = op == 0xc6 || op == 0xc7;
	if (insn->map == NVS_MAP_ONE && !xchg && !immediate && !moffs && op != 0x88 && op != 0x89)
		return false;
	/* Illegal: let the processor raise the fault. */
	if (!xchg && (insn->prefixes & NVS_PREFIX_LOCK))
		return false;
	reg = moffs ? NVS_RAX : insn->reg;
	high = !immediate && is_high_byte(insn);
	if (high)
		reg -= 4;
	store->value = immediate ? (uint64_t)insn->imm
				 : (uint64_t)gregs[nvs_greg_of[reg]] >> (high ? 8 : 0);
	store->width = insn->operand_bytes;
	store->reg = xchg ? reg : NVS_REG_NONE;
	store->high = xchg && high;
	store->next = gregs[REG_RIP] + insn->length;
	return nvs_insn_address(insn, m, &store->address);
}

static uint64_t exchange_at(uintptr_t alias, uint64_t value, unsigned width)
{
	switch (width) {
	case 1:
		return __atomic_exchange_n((uint8_t *)alias, value, __ATOMIC_SEQ_CST);
	case 2:
		return __atomic_exchange_n((uint16_t *)alias, value, __ATOMIC_SEQ_CST);
	case 4:
		return __atomic_exchange_n((uint32_t *)alias, value, __ATOMIC_SEQ_CST);
	default:
		return __atomic_exchange_n((uint64_t *)alias, value, __ATOMIC_SEQ_CST);
	}
}

static void write_once(uintptr_t alias, uint64_t value, unsigned width)
{
	switch (width) {
	case 1:
		*(volatile uint8_t *)alias = value;
		break;
	case 2:
		*(volatile uint16_t *)alias = value;
		break;
	case 4:
		*(volatile uint32_t *)alias = value;
		break;
	default:
		*(volatile uint64_t *)alias = value;
	}
}

/* Writes the low WIDTH bytes of VALUE to a register as instructions do. */
static void write_register(greg_t *greg, uint64_t value, unsigned width, bool high)
{
	uint64_t keep = width == 1 ? ~0xffull : width == 2 ? ~0xffffull : 0;

	if (high)
		*greg = (*greg & ~0xff00ull) | (value & 0xff) << 8;
	else
		*greg = (*greg & keep) | value;
}

void nvs_store_emulate(const struct nvs_store *store, uintptr_t alias, mcontext_t *m)
{
	greg_t *gregs = m->gregs;

	if (store->reg == NVS_REG_NONE)
		write_once(alias, store->value, store->width);
	else
		write_register(&gregs[nvs_greg_of[store->reg]],
			       exchange_at(alias, store->value, store->width), store->width,
			       store->high);
	gregs[REG_RIP] = store->next;
}
