/* SPDX-License-Identifier: MIT */
/*
 * Handles a faulting store for the program. A store of a simple form is performed at another
 * address. Any other one is run by the program's own thread as a single-stepped instruction with
 * its memory operand redirected. Registers are those of a ucontext: uc_mcontext.gregs.
 */
#ifndef NVSNOOP_TRAP_CODE_STORE_H
#define NVSNOOP_TRAP_CODE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "trap/code/insn.h"

/* ---- simple forms: mov, movnti and xchg of 1, 2, 4 or 8 bytes ---- */

struct nvs_store {
	uint64_t address; /* in the program */
	uint64_t value; /* its low WIDTH bytes */
	uint64_t next; /* RIP after it */
	uint8_t width; /* bytes: 1, 2, 4, 8 */
	uint8_t reg; /* xchg: enum nvs_x86_reg that receives the old value, else NVS_REG_NONE */
	bool high; /* xchg: AH, CH, DH or BH of that register */
};

/* Decodes INSN, which is about to run with GREGS (RIP at its first byte), into STORE. Returns true
 * if it is a simple form. Returns false for all others, including those with FS and GS segments. */
bool nvs_store_decode(struct nvs_store *store, const struct nvs_insn *insn, const greg_t *gregs);

/* Performs STORE at ALIAS, writable memory that replaces store->address, as one access of its
 * width, and sets GREGS to their values after it. ALIAS must not fault. */
void nvs_store_emulate(const struct nvs_store *store, uintptr_t alias, greg_t *gregs);

/*
 * Computes the address of INSN's memory operand (for string instructions, of its destination) when
 * it runs with GREGS. Returns false if it cannot be known (vector index, scaled EVEX displacement,
 * bit offset, no memory operand).
 */
bool nvs_insn_address(const struct nvs_insn *insn, const greg_t *gregs, uint64_t *address);

/* Bytes that INSN writes to memory; 0: unknown, dependent on data (masks, xsave), or none. */
unsigned nvs_insn_store_bytes(const struct nvs_insn *insn);

/* ---- all other forms: single-stepping ---- */

#define NVS_STEP_GREGS 18 /* the general registers, RIP and flags: the first ones of gregset_t */

/* One step, from nvs_step_prepare to nvs_step_finish. Callers read the first four fields only. */
struct nvs_step {
	uint64_t address; /* address of the memory operand in the program, if address_known */
	uint16_t width; /* bytes it writes, 0: unknown */
	bool address_known;
	/* the program was single-stepping already: the SIGTRAP is also for the program */
	bool had_tf;

	bool relocated; /* a modified copy runs in the slot */
	uint8_t greg; /* index in gregset_t of the changed base register */
	uint64_t moved; /* value it was set to */
	uint64_t run, run_end; /* address range of the stepped instruction */
	uint64_t next; /* RIP after the original */
	greg_t before[NVS_STEP_GREGS]; /* the registers as they were */
};

/*
 * Prepares a single step of INSN, found at BYTES and about to run with GREGS. Returning to the
 * changed GREGS runs exactly that instruction, with its written memory operand moved by DELTA
 * bytes, and raises SIGTRAP after it. A rep string instruction does one iteration. The memory at
 * the moved operand must be mapped and writable; the instruction also reads its operand there. If
 * its base register cannot be changed, a modified copy of the instruction is written to SLOT_WRITE
 * and run at SLOT_RUN, which maps the same bytes (SLOT_WRITE NULL: there is no slot). The caller
 * keeps all signals except SIGTRAP, SIGSEGV and SIGBUS blocked until nvs_step_finish. Returns 0, or
 * -1 with GREGS unchanged if it cannot be done.
 */
int nvs_step_prepare(struct nvs_step *step, const struct nvs_insn *insn, const uint8_t *bytes,
		     greg_t *gregs, int64_t delta, uint8_t *slot_write, uintptr_t slot_run);

/*
 * Undoes the changes of nvs_step_prepare, in the SIGTRAP after the step or in a fault of the
 * stepped instruction itself. Returns true if the instruction has run: GREGS are those after it.
 * Returns false if not: GREGS are those before it. RIP stays at a rep string instruction until its
 * last iteration.
 */
bool nvs_step_finish(const struct nvs_step *step, greg_t *gregs);

/* Restores GREGS to their values before nvs_step_prepare, so that a step can be repeated at another
 * address. Vector state is not restored: no store changes it. */
void nvs_step_rewind(const struct nvs_step *step, greg_t *gregs);

/* True if RIP is within STEP's instruction: a fault there is the step's own. */
static inline bool nvs_step_is_at(const struct nvs_step *step, uint64_t rip)
{
	return rip >= step->run && rip <= step->run_end;
}

#endif
