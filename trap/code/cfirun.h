/* SPDX-License-Identifier: MIT */
/*
 * What finding a function's frame instructions (cfi.c) and running them (cfirun.c) share.
 */
#ifndef NVSNOOP_TRAP_CODE_CFIRUN_H
#define NVSNOOP_TRAP_CODE_CFIRUN_H

#include "trap/code/cursor.h"

/* A function's entry and its common one (FDE and CIE). */
struct nvs_cfi_entry {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of the FDE's pointers */
	bool augmented, signal;
	uintptr_t start, end; /* of the function */
	uintptr_t data; /* base of datarel pointers */
	struct nvs_cursor initial, own; /* instructions of the CIE, of the FDE */
};

/* The rules in force at one place; see struct nvs_cfi. */
struct nvs_cfi_row {
	int64_t cfa_offset, rbp_offset, ra_offset;
	uint8_t cfa_rule, cfa_register, rbp_rule, ra_rule, rsp_rule;
};

/* The rules at PC, within [start, end). False: an instruction is damaged or not known. */
bool nvs_cfi_run(struct nvs_cfi_entry *e, uintptr_t pc, struct nvs_cfi_row *row);

#endif
