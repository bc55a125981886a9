/* SPDX-License-Identifier: MIT */
/* Types shared by cfi.c, which finds a function's frame instructions, and cfirun.c, which runs
 * them. */
#ifndef NVSNOOP_TRAP_CODE_CFIRUN_H
#define NVSNOOP_TRAP_CODE_CFIRUN_H

#include "trap/code/cursor.h"

/* A function's own entry and its common one (FDE and CIE). */
struct nvs_cfi_entry {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of the FDE's pointers */
	bool augmented, signal;
	uintptr_t start, end; /* of the function */
	uintptr_t data; /* base of datarel pointers */
	struct nvs_cfi_cursor initial, own; /* instructions of the CIE and of the FDE */
};

/* The rules that apply at one address; see struct nvs_cfi. */
struct nvs_cfi_row {
	int64_t cfa_offset, fp_offset, ra_offset;
	uint8_t cfa_rule, cfa_register, fp_rule, ra_rule, sp_rule;
};

/* Computes the rules at PC, within [start, end). Returns false if an instruction is damaged or
 * unknown. */
bool nvs_cfi_run(struct nvs_cfi_entry *e, uintptr_t pc, struct nvs_cfi_row *row);

#endif
