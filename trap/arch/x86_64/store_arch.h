/* SPDX-License-Identifier: MIT */
/* The part of trap/arch/store.h that is x86-64's. Registers are those of gregset_t. */
#ifndef NVSNOOP_TRAP_ARCH_X86_64_STORE_ARCH_H
#define NVSNOOP_TRAP_ARCH_X86_64_STORE_ARCH_H

#include "trap/arch/x86_64/insn.h"

/* mov, movnti and xchg of 1, 2, 4 or 8 bytes, without FS and GS segments */
struct nvs_store {
	uint64_t address; /* in the program */
	uint64_t value; /* its low WIDTH bytes */
	uint64_t next; /* RIP after it */
	uint8_t width; /* bytes: 1, 2, 4, 8 */
	uint8_t reg; /* xchg: enum nvs_x86_reg that receives the old value, else NVS_REG_NONE */
	bool high; /* xchg: AH, CH, DH or BH of that register */
};

/* Bytes that INSN writes to memory; 0: unknown, dependent on data (masks, xsave), or none. */
unsigned nvs_insn_store_bytes(const struct nvs_insn *insn);

#define NVS_STEP_GREGS 18 /* the general registers, RIP and flags: the first ones of gregset_t */

/* An instruction runs in place if its base register can be changed, else as a copy in the slot. */
struct nvs_step {
	uint64_t address; /* address of the memory operand in the program, if address_known */
	uint16_t width;
	bool address_known;
	bool program_steps;

	bool relocated; /* a modified copy runs in the slot */
	uint8_t greg; /* index in gregset_t of the changed base register */
	uint64_t moved; /* value it was set to */
	uint64_t run, run_end; /* address range of the stepped instruction */
	uint64_t next; /* RIP after the original */
	greg_t before[NVS_STEP_GREGS]; /* the registers as they were */
};

#endif
