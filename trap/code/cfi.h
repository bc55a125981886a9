/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: what .eh_frame says about one place in the code, for who walks frames
 * inside the trap without an unwinder. Async-signal-safe, no allocation; every load may fault and
 * is guarded.
 *
 * Modules are those of a snapshot as nvs_modules_publish() takes them, functions are found through
 * their sorted table (.eh_frame_hdr). Read as the DWARF 5 standard (section 6.4) and the LSB's
 * chapter on exception frames have it.
 */
#ifndef NVSNOOP_TRAP_CODE_CFI_H
#define NVSNOOP_TRAP_CODE_CFI_H

#include <stdbool.h>
#include <stdint.h>

struct dl_phdr_info;
struct nvs_module_view;

/* DWARF's numbers of registers on x86-64. */
#define NVS_DW_RBP 6u
#define NVS_DW_RSP 7u
#define NVS_DW_RA 16u

/*
 * Of a thread that blocks SIGSEGV, where a fault could not be survived: the kernel reads for it,
 * and answers where a load would fault. Some hundred times slower.
 */
extern __thread bool nvs_cfi_by_kernel;

enum nvs_cfi_result {
	NVS_CFI_FOUND,
	NVS_CFI_NO_MODULE, /* in no executable segment of a known module: code made at run time, or
			      too new */
	NVS_CFI_NO_TABLE, /* its module has no table that can be searched */
	NVS_CFI_NO_FUNCTION, /* its module has one, and no function in it covers the place */
	NVS_CFI_BAD, /* damaged, unmapped, or of a form not known here */
};

/* How the canonical frame address is had: the value of RSP before the call that made the frame. */
enum nvs_cfa_rule {
	NVS_CFA_UNKNOWN, /* by an expression other than the next */
	NVS_CFA_REGISTER, /* cfa_register + cfa_offset */
	NVS_CFA_LOADED, /* the word at cfa_register + cfa_offset: functions that align their stack
			 */
};

/* Where the caller's value of a register is. */
enum nvs_reg_rule {
	NVS_REG_SAME, /* still in the register; also where nothing is said */
	NVS_REG_AT_CFA, /* at CFA + offset */
	NVS_REG_AT_RBP, /* at this frame's RBP + offset: functions that align their stack */
	NVS_REG_UNDEFINED, /* nowhere; of the return address: this is the outermost frame */
	NVS_REG_UNKNOWN, /* any other rule */
};

struct nvs_cfi {
	uintptr_t start, end; /* of the function */
	int64_t cfa_offset, rbp_offset, ra_offset;
	uint8_t cfa_rule; /* enum nvs_cfa_rule */
	uint8_t cfa_register; /* DWARF's number */
	uint8_t rbp_rule, ra_rule; /* enum nvs_reg_rule */
	bool signal; /* the frame that a signal's delivery made */
	bool rsp_is_cfa; /* nothing is said of RSP, so the caller's is the CFA, as everywhere but in
			    odd assembly */
	const struct dl_phdr_info *module; /* where a next look-up begins; NULL at first */
};

/*
 * What holds at PC, in one of MODULES (NULL: none), which stays as it is meanwhile. For a caller's
 * frame give its return address minus one: the call itself. The rest of *CFI is filled in only
 * where the result is NVS_CFI_FOUND.
 */
enum nvs_cfi_result nvs_cfi_find(const struct nvs_module_view *modules, uintptr_t pc,
				 struct nvs_cfi *cfi);

#endif
