/* SPDX-License-Identifier: MIT */
/* The part of trap/arch/store.h that is aarch64's. Registers are those of mcontext_t. */
#ifndef NVSNOOP_TRAP_ARCH_AARCH64_STORE_ARCH_H
#define NVSNOOP_TRAP_ARCH_AARCH64_STORE_ARCH_H

#define NVS_INSN_MAX 4
#define NVS_ADDRESS_BITS 0x00ffffffffffffffull /* the top byte of a pointer is ignored */

enum nvs_a64_form {
	NVS_A64_OTHER, /* not a store, or one that is not supported */
	NVS_A64_SIMPLE, /* STR, STUR, STTR, STP, STNP, STLR, STLUR */
	NVS_A64_SWAP, /* SWP */
	NVS_A64_COPIED, /* stores that are run as a copy: other atomics, ST1 to ST4 */
};

struct nvs_insn {
	uint8_t length;
	uint8_t form; /* enum nvs_a64_form */
	uint8_t base; /* register, 31: SP */
	uint8_t source, second; /* registers that are stored, 31: zero */
	uint8_t index; /* register that is added to the base; 31: none */
	uint8_t old; /* NVS_A64_SWAP: receives the old value, 31: nothing */
	uint8_t option, shift; /* extension of the index */
	uint8_t width; /* bytes that each register stores; 0: unknown */
	bool pair, vector, release, writeback;
	int32_t offset; /* of the first byte stored, from the base */
	int32_t change; /* of the base, if writeback */
	uint32_t word;
};

struct nvs_store {
	uint64_t address; /* in the program */
	uint64_t value[4]; /* its first WIDTH bytes */
	uint64_t base_value; /* of the base register after it */
	uint8_t width; /* bytes: 1, 2, 4, 8, 16 or 32 */
	uint8_t base; /* register that is written back, 0xff: none */
	uint8_t old; /* swap: register that receives the old value, 0xff: no swap */
	bool release;
};

/* A copy of the instruction runs in the slot, with a breakpoint after it and a spare register in
 * place of its base. */
struct nvs_step {
	uint16_t width;
	bool program_steps;
	uint8_t base, spare; /* registers; base 31: SP */
	uint64_t moved; /* value of the spare register before the copy runs */
	uint64_t run; /* address of the copy */
	uint64_t before[31], sp, pc, pstate;
};

#endif
