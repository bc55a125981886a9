/* SPDX-License-Identifier: MIT */
/*
 * A patched site: one thread replaces the two first bytes of a store by a stop, then by a jump to a
 * trampoline, while another one runs the store. That thread meets the store, which traps, or the
 * stop, which faults, or the jump; a handler reads the code and the site's state.
 *
 * Models write_all(), nvs_patch_site_of() and nvs_patch_resume_at() in trap/enter/patch.c,
 * nvs_site_write_store() in trap/arch/x86_64/site_write.c, and fetch_instruction() in
 * trap/enter/fault.c.
 *
 * Shown: no thread runs a mixture of old and new bytes, or a trampoline that is not filled in; the
 * handler never takes bytes of the patch for the program's, and knows each stop that was run. Not
 * modelled: writing that fails or never ends, and a module that is unloaded.
 *
 * membarrier(SYNC_CORE) interrupts the other thread between two instructions: all before have taken
 * effect then, and none after, not even its fetch.
 */
#define THREADS   2
#define LOCATIONS 5
#include "arm.pml"

#define MUTANT_NO_STATE_FENCE 1 /* the stop may be seen before the state that explains it */
#define MUTANT_NO_READ_FENCE 2 /* the handler may read the state before the code */
#define MUTANT_NO_STOP_SYNC 3 /* no membarrier after the stop */
#define MUTANT_NO_TAIL_SYNC 4 /* ... after the second byte */

#define FIRST      0 /* the two bytes */
#define SECOND     1
#define TRAMPOLINE 2
#define ADDRESS    3 /* s->trampoline */
#define STATE      4

#define OLD  0
#define STOP 1
#define NEW  2

#define SEEN    0
#define WRITING 1
#define DONE    2

#define PATCHER 0
#define RUNNER  1

int first, second, trampoline; /* as they were fetched */
int code[2], done_state, state, address, now; /* as the handler has read them */

inline lists()
{
	/* fill_trampoline(); sync_cores() */
	instr(PATCHER, 0, STORE, TRAMPOLINE, 0);
	instr(PATCHER, 1, FENCE, NOWHERE, 0);
	/* s->trampoline = ...; store(&s->state, NVS_PATCH_WRITING); a fence */
	instr(PATCHER, 2, STORE, ADDRESS, 0);
	instr(PATCHER, 3, RELEASE, STATE, 0);
	instr(PATCHER, 4, UNLESS(MUTANT_NO_STATE_FENCE, FENCE), NOWHERE, 0);
	/* nvs_site_write_store() */
	instr(PATCHER, 5, STORE, FIRST, 0);
	instr(PATCHER, 6, UNLESS(MUTANT_NO_STOP_SYNC, FENCE), NOWHERE, 0);
	instr(PATCHER, 7, STORE, SECOND, 0);
	instr(PATCHER, 8, UNLESS(MUTANT_NO_TAIL_SYNC, FENCE), NOWHERE, 0);
	instr(PATCHER, 9, STORE, FIRST, 0);
	instr(PATCHER, 10, FENCE, NOWHERE, 0);
	/* store(&s->state, NVS_PATCH_DONE) */
	instr(PATCHER, 11, RELEASE, STATE, 0);

	/* The instruction and the trampoline's are fetched. */
	instr(RUNNER, 0, LOAD, FIRST, 0);
	instr(RUNNER, 1, LOAD, SECOND, 0);
	instr(RUNNER, 2, LOAD, TRAMPOLINE, 0);
	/* fetch_instruction(): nvs_copy_guarded(code, rip, NVS_INSN_MAX), a fence */
	instr(RUNNER, 3, LOAD, FIRST, BIT(0) | BIT(1));
	instr(RUNNER, 4, LOAD, SECOND, BIT(0) | BIT(1));
	instr(RUNNER, 5, UNLESS(MUTANT_NO_READ_FENCE, FENCE_LD), NOWHERE, 0);
	/* nvs_patch_resume_at(): load(&s->state) == NVS_PATCH_DONE */
	instr(RUNNER, 6, ACQUIRE_PC, STATE, BIT(0) | BIT(1));
	/* is_written(): load(&s->state, ACQUIRE) >= NVS_PATCH_WRITING && s->trampoline */
	instr(RUNNER, 7, ACQUIRE_PC, STATE, BIT(0) | BIT(1));
	instr(RUNNER, 8, LOAD, ADDRESS, BIT(0) | BIT(1));
	/* The code is read again. */
	instr(RUNNER, 9, LOAD, FIRST, BIT(0) | BIT(1))
}

/* RUNNER is not inside of the fetch of its instruction. */
#define BETWEEN (is_precise(RUNNER) && done[RUNNER] != 1)

#define SYNCED(i, m)                                                           \
	:: d_step { ready(PATCHER, i) && (BETWEEN || mutant == m) -> ran(PATCHER, i) }

proctype patcher()
{
	do
	STORED(PATCHER, 0, TRAMPOLINE, 1)
	SYNCED(1, -1)
	STORED(PATCHER, 2, ADDRESS, 1)
	STORED(PATCHER, 3, STATE, WRITING)
	FENCED(PATCHER, 4)
	STORED(PATCHER, 5, FIRST, STOP)
	SYNCED(6, MUTANT_NO_STOP_SYNC)
	STORED(PATCHER, 7, SECOND, NEW)
	SYNCED(8, MUTANT_NO_TAIL_SYNC)
	STORED(PATCHER, 9, FIRST, NEW)
	SYNCED(10, -1)
	STORED(PATCHER, 11, STATE, DONE)
	:: finished(PATCHER, 12) -> break
	od
}

#define IS_WRITTEN (state >= WRITING && address)

proctype runner()
{
	do
	LOADED(RUNNER, 0, first, FIRST)
	LOADED(RUNNER, 1, second, SECOND)
	LOADED(RUNNER, 2, trampoline, TRAMPOLINE)
	LOADED(RUNNER, 3, code[0], FIRST)
	LOADED(RUNNER, 4, code[1], SECOND)
	FENCED(RUNNER, 5)
	LOADED(RUNNER, 6, done_state, STATE)
	LOADED(RUNNER, 7, state, STATE)
	LOADED(RUNNER, 8, address, ADDRESS)
	LOADED(RUNNER, 9, now, FIRST)
	:: finished(RUNNER, 10) -> break
	od;
	if
	:: first == NEW -> assert(second == NEW && trampoline)
	/* The stop is left for the trampoline, for the jump that is there by now, or for nothing. */
	:: first == STOP -> assert(IS_WRITTEN && (now == NEW || (now == STOP && done_state != DONE)))
	:: else ->
		assert(second == OLD);
		/* The handler uses the site's bytes, or those it has read. */
		assert((IS_WRITTEN && now != OLD) || (code[0] == OLD && code[1] == OLD))
	fi
}

init {
	read_mutant();
	d_step { lists(); order_instructions() };
	atomic { run patcher(); run runner() }
}
