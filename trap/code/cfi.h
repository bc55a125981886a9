/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: the rules of .eh_frame for one address in the code, for walking frames
 * inside the trap without an unwinder. Async-signal-safe, no allocation; every load may fault and
 * is guarded. Modules are those of a snapshot published by nvs_modules_publish(); functions are
 * found through their sorted table (.eh_frame_hdr). Format: the DWARF 5 standard (section 6.4) and
 * the LSB's chapter on exception frames.
 */
#ifndef NVSNOOP_TRAP_CODE_CFI_H
#define NVSNOOP_TRAP_CODE_CFI_H

#include <stdbool.h>
#include <stdint.h>

struct dl_phdr_info;
struct nvs_module_view;

/* Set on a thread that blocks SIGSEGV, where a guarded load would not survive a fault: memory is
 * read by a system call, which reports the fault. About a hundred times slower. */
extern __thread bool nvs_cfi_by_kernel;

enum nvs_cfi_result {
	NVS_CFI_FOUND,
	/* not in an executable segment of a known module: code made at run time, or loaded too
	 * recently */
	NVS_CFI_NO_MODULE,
	NVS_CFI_NO_TABLE, /* the module has no searchable table */
	NVS_CFI_NO_FUNCTION, /* the module's table has no function that covers the address */
	NVS_CFI_BAD, /* damaged, unmapped, or of an unknown form */
};

/* How the canonical frame address is computed: the value of SP before the call that made the
 * frame. */
enum nvs_cfa_rule {
	NVS_CFA_UNKNOWN, /* by an expression other than that of NVS_CFA_LOADED */
	NVS_CFA_REGISTER, /* cfa_register + cfa_offset */
	NVS_CFA_LOADED, /* the word at cfa_register + cfa_offset: functions that align their stack
			 */
};

/* Where the caller's value of a register is. */
enum nvs_reg_rule {
	NVS_REG_SAME, /* still in the register; also if there is no rule */
	NVS_REG_AT_CFA, /* at CFA + offset */
	NVS_REG_AT_FP, /* at this frame's FP + offset: functions that align their stack */
	NVS_REG_UNDEFINED, /* nowhere; for the return address: this is the outermost frame */
	NVS_REG_UNKNOWN, /* any other rule */
};

struct nvs_cfi {
	uintptr_t start, end; /* of the function */
	int64_t cfa_offset, fp_offset, ra_offset;
	uint8_t cfa_rule; /* enum nvs_cfa_rule */
	uint8_t cfa_register; /* DWARF number */
	uint8_t fp_rule, ra_rule; /* enum nvs_reg_rule */
	bool signal; /* a frame made by the delivery of a signal */
	/* no rule for SP, so the caller's SP is the CFA, as everywhere except in unusual
	 * assembly */
	bool sp_is_cfa;
	const struct dl_phdr_info *module; /* where the next look-up begins; NULL at first */
};

/*
 * Finds the rules at PC, in one of MODULES (NULL: none), which must stay unchanged meanwhile. For a
 * caller's frame pass its return address minus one, which is in the call itself. The other fields
 * of *CFI are filled in only if the result is NVS_CFI_FOUND.
 */
enum nvs_cfi_result nvs_cfi_find(const struct nvs_module_view *modules, uintptr_t pc,
				 struct nvs_cfi *cfi);

#endif
