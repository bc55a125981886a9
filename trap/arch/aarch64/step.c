/* SPDX-License-Identifier: MIT */
/*
 * Runs one store at another address: a copy of it in the slot, followed by a breakpoint. User space
 * has no single-step flag here. No store is relative to the program counter, so any may be moved. A
 * register that the store does not use takes the place of its base, and the base keeps its value:
 * it may be SP, or be stored itself.
 */
#include "trap/arch/store.h"
#include "trap/low/poison.h"

#define SP 31u
#define BASE_FIELD (31u << 5)
#define BREAKPOINT 0xd4209ae0u /* brk #0x4d7 */

/* Makes the two instructions at WRITE visible at RUN, another mapping of them. */
static void sync_slot(const uint8_t *write, uintptr_t run)
{
	__asm__ volatile("dc cvau, %0\n\t"
			 "dsb ish\n\t"
			 "ic ivau, %1\n\t"
			 "dsb ish\n\t"
			 "isb"
			 :
			 : "r"(write), "r"(run)
			 : "memory");
}

/* Returns a register that differs from all that the instruction may name. */
static unsigned spare_register(uint32_t word)
{
	unsigned reg = 0;

	while (reg == (word & 31) || reg == (word >> 5 & 31) || reg == (word >> 10 & 31) ||
	       reg == (word >> 16 & 31))
		reg++;
	return reg;
}

int nvs_step_prepare(struct nvs_step *step, const struct nvs_insn *insn, const uint8_t *bytes,
		     mcontext_t *m, int64_t delta, uint8_t *slot_write, uintptr_t slot_run)
{
	uint32_t code[2] = {insn->word, BREAKPOINT};

	if (insn->form == NVS_A64_OTHER || !slot_write)
		return -1;
	*step = (struct nvs_step){
		.width = (uint16_t)(insn->width << insn->pair),
		.base = insn->base,
		.spare = (uint8_t)spare_register(insn->word),
		.run = slot_run,
		.sp = m->sp,
		.pc = m->pc,
		.pstate = m->pstate,
	};
	for (unsigned i = 0; i < 31; i++)
		step->before[i] = m->regs[i];
	code[0] = (code[0] & ~BASE_FIELD) | (uint32_t)step->spare << 5;
	__builtin_memcpy(slot_write, code, sizeof(code));
	sync_slot(slot_write, slot_run);
	step->moved = (insn->base == SP ? m->sp : m->regs[insn->base]) + (uint64_t)delta;
	m->regs[step->spare] = step->moved;
	m->pc = slot_run;
	return 0;
}

bool nvs_step_finish(const struct nvs_step *step, mcontext_t *m)
{
	uint64_t change = m->regs[step->spare] - step->moved;

	if (m->pc != step->run + 4) {
		nvs_step_rewind(step, m);
		return false;
	}
	m->regs[step->spare] = step->before[step->spare];
	if (step->base == SP)
		m->sp += change;
	else if (change)
		m->regs[step->base] += change;
	m->pc = step->pc + 4;
	return true;
}

void nvs_step_rewind(const struct nvs_step *step, mcontext_t *m)
{
	for (unsigned i = 0; i < 31; i++)
		m->regs[i] = step->before[i];
	m->sp = step->sp;
	m->pc = step->pc;
	m->pstate = step->pstate;
}

bool nvs_step_is_at(const struct nvs_step *step, uintptr_t pc)
{
	return pc - step->run <= 4;
}
