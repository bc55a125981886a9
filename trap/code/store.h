/* SPDX-License-Identifier: MIT */
/*
 * A faulting store taken from the program's hands: performed for it at another address, or, where
 * it is of no simple form, run by the program's own thread as one single-stepped instruction with
 * its memory operand led to another address. Registers are those of a ucontext: uc_mcontext.gregs.
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
	uint64_t next; /* RIP behind it */
	uint8_t width; /* bytes: 1, 2, 4, 8 */
	uint8_t reg; /* xchg: enum nvs_reg that receives the old value, else NVS_REG_NONE */
	bool high; /* xchg: AH, CH, DH or BH of that register */
};

/*
 * True if INSN, about to run with GREGS (RIP at its first byte), is a simple form; fills STORE.
 * False for everything else, FS and GS segments among it.
 */
bool nvs_store_decode(struct nvs_store *store, const struct nvs_insn *insn, const greg_t *gregs);

/*
 * Performs STORE at ALIAS, writable memory that stands for store->address, as one access of its
 * width, and makes GREGS what they would be behind it. ALIAS must not fault.
 */
void nvs_store_emulate(const struct nvs_store *store, uintptr_t alias, greg_t *gregs);

/*
 * Address of INSN's memory operand (of its destination, for string instructions) when it runs with
 * GREGS. False: not to be told from here (vector index, scaled EVEX displacement, bit offset, no
 * memory operand).
 */
bool nvs_insn_address(const struct nvs_insn *insn, const greg_t *gregs, uint64_t *address);

/* Bytes that INSN writes to memory; 0: unknown, or depends on data (masks, xsave), or none. */
unsigned nvs_insn_store_bytes(const struct nvs_insn *insn);

/* ---- everything else: one step ---- */

#define NVS_STEP_GREGS 18 /* the general registers, RIP and flags: the first of gregset_t */

/* One step, from nvs_step_prepare to nvs_step_finish. The first four are for the caller to read. */
struct nvs_step {
	uint64_t address; /* of the memory operand in the program, when ADDRESS_KNOWN */
	uint16_t width; /* bytes it writes, 0 unknown */
	bool address_known;
	bool had_tf; /* the program was being stepped already: the SIGTRAP is for it as well */

	bool relocated; /* runs in the slot */
	uint8_t greg; /* index in gregset_t of the register that leads the way */
	uint64_t moved; /* what it was set to */
	uint64_t run, run_end; /* where it runs */
	uint64_t next; /* RIP behind the original */
	greg_t before[NVS_STEP_GREGS]; /* the registers as they were */
};

/*
 * Changes GREGS so that returning to them runs exactly the instruction INSN, found at BYTES and
 * about to run with GREGS, with its written memory operand DELTA bytes further on, and raises
 * SIGTRAP behind it. Of a rep string instruction one round is run. The memory there must be mapped
 * and writable; what the instruction reads from its operand is read there as well. Where its base
 * register cannot be moved, a changed copy of the instruction is written to SLOT_WRITE and run at
 * SLOT_RUN, which maps the same bytes (SLOT_WRITE NULL: there is none). The caller has to keep
 * signals blocked from here until nvs_step_finish, but SIGTRAP, SIGSEGV and SIGBUS. 0, or -1 with
 * GREGS untouched: it cannot be done.
 */
int nvs_step_prepare(struct nvs_step *step, const struct nvs_insn *insn, const uint8_t *bytes,
		     greg_t *gregs, int64_t delta, uint8_t *slot_write, uintptr_t slot_run);

/*
 * In the SIGTRAP behind it, or in a fault of the stepped instruction itself: puts everything back
 * that nvs_step_prepare changed. True: the instruction has been run, GREGS are as behind it. False:
 * it has not, GREGS are as before it. RIP stays at a rep string instruction until its last round.
 */
bool nvs_step_finish(const struct nvs_step *step, greg_t *gregs);

/*
 * GREGS as they were before nvs_step_prepare: after a step whose effect shall not count, to run it
 * again elsewhere. Vector state is not put back: no store changes it.
 */
void nvs_step_rewind(const struct nvs_step *step, greg_t *gregs);

/* True if RIP is where STEP runs: a fault there is the step's own. */
static inline bool nvs_step_is_at(const struct nvs_step *step, uint64_t rip)
{
	return rip >= step->run && rip <= step->run_end;
}

#endif
