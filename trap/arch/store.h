/* SPDX-License-Identifier: MIT */
/*
 * Handles a faulting store for the program. A store of a simple form is performed at another
 * address. Any other one is run by the program's own thread as a single-stepped instruction with
 * its memory operand redirected.
 *
 * Each processor's folder defines, in store_arch.h:
 *
 *   NVS_INSN_MAX      bytes of the longest instruction
 *   struct nvs_insn   a decoded instruction; its length is in .length
 *   struct nvs_store  a decoded store of a simple form: .address in the program, .width in bytes,
 *                     and .value, whose first WIDTH bytes are stored
 *   struct nvs_step   one step, from nvs_step_prepare to nvs_step_finish: .width in bytes, 0 if it
 *                     is unknown; .program_steps, true if the program was single-stepping already,
 *                     so the SIGTRAP is also for the program
 */
#ifndef NVSNOOP_TRAP_ARCH_STORE_H
#define NVSNOOP_TRAP_ARCH_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include "store_arch.h"

/* Decodes the instruction at BYTES, of which SIZE may be read. Returns its length, or 0 if it is
 * unknown, invalid, or longer than SIZE. INSN is valid only if a length is returned. */
int nvs_insn_decode(struct nvs_insn *insn, const uint8_t *bytes, size_t size);

/* Computes the address of INSN's memory operand when it runs with the registers of M. Returns false
 * if it cannot be known, or if there is no such operand. */
bool nvs_insn_address(const struct nvs_insn *insn, const mcontext_t *m, uint64_t *address);

/* ---- simple forms ---- */

/* Decodes INSN, which is about to run with the registers of M (the program counter at its first
 * byte), into STORE. Returns true if it is a simple form. */
bool nvs_store_decode(struct nvs_store *store, const struct nvs_insn *insn, const mcontext_t *m);

/* Performs STORE at ALIAS, writable memory that replaces store->address, as one access of its
 * width, and sets M's registers to their values after it. ALIAS must not fault. */
void nvs_store_emulate(const struct nvs_store *store, uintptr_t alias, mcontext_t *m);

/* ---- all other forms: single-stepping ---- */

/*
 * Prepares a single step of INSN, found at BYTES and about to run with M. Returning to the changed
 * M runs exactly that instruction, with its written memory operand moved by DELTA bytes, and raises
 * SIGTRAP after it. An instruction that repeats itself does one iteration. The memory at the moved
 * operand must be mapped and writable; the instruction also reads its operand there. A modified
 * copy of the instruction may be written to SLOT_WRITE and run at SLOT_RUN, which maps the same
 * NVS_SLOT_BYTES (SLOT_WRITE NULL: there is no slot). The caller keeps all signals except SIGTRAP,
 * SIGSEGV and SIGBUS blocked until nvs_step_finish. Returns 0, or -1 with M unchanged if it cannot
 * be done.
 */
int nvs_step_prepare(struct nvs_step *step, const struct nvs_insn *insn, const uint8_t *bytes,
		     mcontext_t *m, int64_t delta, uint8_t *slot_write, uintptr_t slot_run);

/*
 * Undoes the changes of nvs_step_prepare, in the SIGTRAP after the step or in a fault of the
 * stepped instruction itself. Returns true if the instruction has run: M's registers are those
 * after it. Returns false if not: they are those before it. The program counter stays at an
 * instruction that repeats itself until its last iteration.
 */
bool nvs_step_finish(const struct nvs_step *step, mcontext_t *m);

/* Restores M's registers to their values before nvs_step_prepare, so that a step can be repeated at
 * another address. Vector state is not restored: no store changes it. */
void nvs_step_rewind(const struct nvs_step *step, mcontext_t *m);

/* True if PC is within STEP's instruction: a fault there is the step's own. */
bool nvs_step_is_at(const struct nvs_step *step, uintptr_t pc);

#define NVS_SLOT_BYTES 64u

#endif
