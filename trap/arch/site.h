/* SPDX-License-Identifier: MIT */
/*
 * A store that is replaced by a jump to the trap: whether it can be, which bytes to write, how they
 * are written while other threads run them, and the trampoline to which the jump leads.
 *
 * Each processor's folder defines, in site_arch.h:
 *
 *   NVS_SITE_REACH        how far from the store the trampoline is looked for, in bytes
 *   NVS_SITE_CODE_BYTES   bytes of the store that say what is there: enum nvs_site_code
 *   NVS_SITE_HOP          bytes of a hop, which follows it: code in the slack after the text that
 *                         leads on to a trampoline out of reach; 0: hops are not used
 *   struct nvs_site_form  a store's operands
 *   struct nvs_site       a store, and the bytes to be written for it: .resume, the instruction
 *                         after the store, and .hop, the address of its hop, 0: none
 *   struct nvs_fast_regs  the program's registers as the trampoline saves them
 */
#ifndef NVSNOOP_TRAP_ARCH_SITE_H
#define NVSNOOP_TRAP_ARCH_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trap/arch/store.h"

/* The code around a store. */
struct nvs_site_text {
	const uint8_t *bytes; /* readable copy of the code at... */
	uint64_t address; /* ...this address */
	size_t size;
	/* Start of the function that contains the store (from its unwind table), 0: unknown. */
	uint64_t function;
	/* Bytes of the mapping's last page that are in no segment; space for hops. Empty: 0, 0. */
	uint64_t slack, slack_end;
};

enum nvs_site_verdict {
	NVS_SITE_OK,
	NVS_SITE_UNKNOWN, /* the instruction is unknown, or not within the text */
	NVS_SITE_TARGET, /* a jump may lead into the middle of the overwritten bytes */
	NVS_SITE_NO_CAVE, /* no padding near it that execution cannot reach */
	NVS_SITE_FAR /* the trampoline is out of reach, and there is no slack for a hop */
};

/* What is at a site. */
enum nvs_site_code {
	NVS_SITE_CODE_OTHER,
	NVS_SITE_CODE_JUMP,
	NVS_SITE_CODE_STOP, /* faults, while the jump is being written */
};

#include "site_arch.h"

/* Extracts INSN's operands. Returns false if it is not of the form that can be replaced: a store of
 * 32 bits from a general register. */
bool nvs_site_form(struct nvs_site_form *form, const struct nvs_insn *insn);

/*
 * Analyses the store at STORE, an address at which an instruction was seen to run. TEXT is all code
 * that may jump there directly: the module's whole executable mapping. May read all of it, so call
 * it outside the doorbell's path. Nothing is written.
 */
enum nvs_site_verdict nvs_site_analyse(struct nvs_site *site, const struct nvs_site_text *text,
				       uint64_t store, uint64_t trampoline);

/*
 * Writes what is between the store and the trampoline, where no thread can be yet; then the store
 * itself, so that no core runs a mixture of old and new. MEM: /proc/self/mem, or negative
 * (trap/low/code_write.h). Return false if a write failed; the store's earlier bytes are then put
 * back, or, if that fails too, a stop stays there.
 */
bool nvs_site_write_way(long mem, const struct nvs_site *site);
bool nvs_site_write_store(long mem, const struct nvs_site *site);

/* What CODE is, NVS_SITE_CODE_BYTES of the code at a site. */
static inline enum nvs_site_code nvs_site_code_of(const uint8_t *code);
/* True if PC is between the site at ADDRESS and its trampoline, other than in a hop. */
static inline bool nvs_site_is_way(uintptr_t address, uintptr_t pc);

/*
 * Fills the page at TRAMP, writable for now, with a trampoline: it calls FUNCTION(SITE, registers).
 * If that returns true it continues at RESUME, else with a copy of the store, the LENGTH bytes at
 * BYTES, and then at RESUME. Returns the address of the copy.
 */
uintptr_t nvs_tramp_fill(uint8_t *tramp, const void *site, const void *function,
			 const uint8_t *bytes, size_t length, uintptr_t resume);

/* Values of the interrupted code, from the trampoline's registers. */
static inline uintptr_t nvs_fast_sp(const struct nvs_fast_regs *regs);
static inline uintptr_t nvs_fast_fp(const struct nvs_fast_regs *regs);
static inline uintptr_t nvs_fast_lr(const struct nvs_fast_regs *regs); /* see nvs_context_lr() */
/* Where the store of this form stores, and what. */
static inline uintptr_t nvs_fast_address(const struct nvs_fast_regs *regs,
					 const struct nvs_site_form *form);
static inline uint32_t nvs_fast_value(const struct nvs_fast_regs *regs,
				      const struct nvs_site_form *form);

#endif
