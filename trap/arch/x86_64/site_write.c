/* SPDX-License-Identifier: MIT */
/*
 * Writes a site, and its trampoline.
 *
 * Other threads may run the code while it is written. So first a stop is written to the first byte,
 * then the tail, then the first byte of the jump, with a core-serialising membarrier between them:
 * no core runs a mixture. The stop is not a breakpoint, because the program may have SIGTRAP
 * blocked; it is an instruction that faults as the store does. A thread that reaches it continues
 * where the jump will lead. So nothing requires that the writing is ever finished, neither after a
 * failed write nor in a child that was forked in the middle of it.
 */
#include "trap/arch/site.h"
#include "trap/low/code_write.h"
#include "trap/low/poison.h"

extern const uint8_t nvs_tramp_begin[], nvs_tramp_end[], nvs_tramp_site[], nvs_tramp_function[];
extern const uint8_t nvs_tramp_back1[], nvs_tramp_original[], nvs_tramp_back2[];

/* mov %r32, disp(%base): the form of all known doorbell stores. Other forms stay with the trap. */
bool nvs_site_form(struct nvs_site_form *form, const struct nvs_insn *insn)
{
	form->base = insn->base;
	form->source = insn->reg;
	form->disp = insn->disp;
	return insn->encoding == NVS_LEGACY && insn->map == NVS_MAP_ONE && insn->opcode == 0x89 &&
	       insn->memory && insn->operand_bytes == 4 && !insn->segment &&
	       !(insn->prefixes & ~NVS_PREFIX_REX) && insn->index == NVS_REG_NONE &&
	       insn->base <= NVS_R15;
}

/* No thread can reach the hop and the cave yet. */
bool nvs_site_write_way(long mem, const struct nvs_site *site)
{
	return (!site->hop || nvs_code_write(mem, site->hop, site->hop_new, NVS_SITE_HOP)) &&
	       nvs_code_write(mem, site->cave, site->cave_new, NVS_SITE_TAIL) && nvs_code_sync();
}

/* Replaces the first two bytes of the store, in an order in which no core runs half of each. If a
 * write fails, the earlier ones are undone, the stop last; if that fails too, the stop stays. */
bool nvs_site_write_store(long mem, const struct nvs_site *site)
{
	const uint8_t stop = NVS_STOP, *old = site->store_old, *new = site->store_new;

	if (!nvs_code_write(mem, site->store, &stop, 1))
		return false;
	if (nvs_code_sync() && nvs_code_write(mem, site->store + 1, new + 1, 1)) {
		if (nvs_code_sync() && nvs_code_write(mem, site->store, new, 1)) {
			nvs_code_sync();
			return true;
		}
		if (!nvs_code_write(mem, site->store + 1, old + 1, 1) || !nvs_code_sync())
			return false;
	}
	nvs_code_write(mem, site->store, old, 1);
	return false;
}

static void put_address(uint8_t *tramp, const uint8_t *slot, uint64_t address)
{
	__builtin_memcpy(tramp + (slot - nvs_tramp_begin), &address, 8);
}

uintptr_t nvs_tramp_fill(uint8_t *tramp, const void *site, const void *function,
			 const uint8_t *bytes, size_t length, uintptr_t resume)
{
	uint8_t *copy = tramp + (nvs_tramp_original - nvs_tramp_begin);

	__builtin_memcpy(tramp, nvs_tramp_begin, (size_t)(nvs_tramp_end - nvs_tramp_begin));
	put_address(tramp, nvs_tramp_site, (uintptr_t)site);
	put_address(tramp, nvs_tramp_function, (uintptr_t)function);
	__builtin_memcpy(copy, bytes, length);
	put_address(tramp, nvs_tramp_back1, resume);
	put_address(tramp, nvs_tramp_back2, resume);
	return (uintptr_t)copy;
}
