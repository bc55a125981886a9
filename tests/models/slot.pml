/* SPDX-License-Identifier: MIT */
/*
 * The owner of a slot of the live page: a thread has ended, another one takes its buffer and the
 * slot of that, while the library's thread marks slots of ended threads as free, and another process
 * reads the page with pread(). The generation is odd while there is an owner.
 *
 * Models claim_buffer(), reset_buffer() and own_slot() in trap/buffer/owner.c, nvs_live_free_slot()
 * in trap/buffer/process.h, nvs_live_scan_slots() in preload/live/slots.c, and read_slot() with
 * add_thread() in live/read/slots.c.
 *
 * Shown: the slot of a running thread is not marked as free, and the reader never takes the number
 * of one thread with the name or the generation of another.
 */
#define THREADS   3
#define LOCATIONS 4
#include "arm.pml"

#define MUTANT_NO_OWN_FENCE 1 /* the new owner's name may be stored before the slot is free */
#define MUTANT_OWN_PLAIN 2 /* ... or after it is owned */
#define MUTANT_SCAN_PLAIN 3 /* the scan may read the generation after it has seen no owner */
#define MUTANT_NO_READ_FENCE 4 /* the second pread() may read before the first one has */
#define MUTANT_ONE_COPY 5 /* the reader compares only the generations of its two copies */

#define OWNER  0
#define SCAN   1
#define READER 2

#define GENERATION 0
#define BUFFER     1 /* tid of the buffer's owner */
#define TID        2
#define NAME       3

int generation, seen, seen_buffer; /* as OWNER and SCAN have read them */
bool frees;
int copy[6];

inline lists()
{
	/* owner_swap(buffer->shared, 0, tid) */
	instr(OWNER, 0, ACQUIRE, BUFFER, 0);
	instr(OWNER, 1, RELEASE, BUFFER, BIT(0));
	/* nvs_live_free_slot(slot, nvs_live_generation(slot)) */
	instr(OWNER, 2, ACQUIRE, GENERATION, 0);
	instr(OWNER, 3, ACQUIRE, GENERATION, 0);
	instr(OWNER, 4, RELEASE, GENERATION, BIT(2) | BIT(3));
	/* own_slot() */
	instr(OWNER, 5, UNLESS(MUTANT_NO_OWN_FENCE, FENCE), NOWHERE, 0);
	instr(OWNER, 6, STORE, TID, 0);
	instr(OWNER, 7, STORE, NAME, 0);
	instr(OWNER, 8, (mutant == MUTANT_OWN_PLAIN -> STORE : RELEASE), GENERATION, 0);

	/* generation = nvs_live_generation(buffer->live); load(&buffer->shared->tid, ACQUIRE) */
	instr(SCAN, 0, (mutant == MUTANT_SCAN_PLAIN -> LOAD : ACQUIRE), GENERATION, 0);
	instr(SCAN, 1, ACQUIRE, BUFFER, 0);
	/* nvs_live_free_slot(buffer->live, generation) */
	instr(SCAN, 2, ACQUIRE, GENERATION, 0);
	instr(SCAN, 3, RELEASE, GENERATION, BIT(0) | BIT(1) | BIT(2));

	instr(READER, 0, LOAD, GENERATION, 0);
	instr(READER, 1, LOAD, TID, 0);
	instr(READER, 2, LOAD, NAME, 0);
	instr(READER, 3, UNLESS(MUTANT_NO_READ_FENCE, FENCE_LD), NOWHERE, 0);
	instr(READER, 4, LOAD, GENERATION, 0);
	instr(READER, 5, LOAD, TID, 0);
	instr(READER, 6, LOAD, NAME, 0)
}

proctype owner()
{
	do
	:: d_step { ready(OWNER, 0) -> assert(!mem[BUFFER]); ran(OWNER, 0) }
	STORED(OWNER, 1, BUFFER, 2)
	LOADED(OWNER, 2, generation, GENERATION)
	:: d_step { ready(OWNER, 3) && !held[GENERATION] ->
		if
		:: generation % 2 && mem[GENERATION] == generation -> held[GENERATION] = 1
		:: else -> ran(OWNER, 4) /* it is free already */
		fi;
		ran(OWNER, 3) }
	:: d_step { ready(OWNER, 4) -> mem[GENERATION] = generation + 1; held[GENERATION] = 0; ran(OWNER, 4) }
	FENCED(OWNER, 5)
	STORED(OWNER, 6, TID, 3)
	STORED(OWNER, 7, NAME, 3)
	STORED(OWNER, 8, GENERATION, 3)
	:: finished(OWNER, 9) -> break
	od
}

proctype scan()
{
	do
	LOADED(SCAN, 0, seen, GENERATION)
	LOADED(SCAN, 1, seen_buffer, BUFFER)
	:: d_step { ready(SCAN, 2) && has_run(SCAN, 0) && !held[GENERATION] ->
		if
		:: !seen_buffer && seen % 2 && mem[GENERATION] == seen -> held[GENERATION] = 1
		:: else -> ran(SCAN, 3)
		fi;
		ran(SCAN, 2) }
	:: d_step { ready(SCAN, 3) -> mem[GENERATION] = seen + 1; held[GENERATION] = 0; ran(SCAN, 3) }
	:: finished(SCAN, 4) -> break
	od
}

proctype reader()
{
	do
	LOADED(READER, 0, copy[0], GENERATION)
	LOADED(READER, 1, copy[1], TID)
	LOADED(READER, 2, copy[2], NAME)
	FENCED(READER, 3)
	LOADED(READER, 4, copy[3], GENERATION)
	LOADED(READER, 5, copy[4], TID)
	LOADED(READER, 6, copy[5], NAME)
	:: finished(READER, 7) -> break
	od;
	if
	:: copy[0] == copy[3] && copy[0] % 2 &&
	   (mutant == MUTANT_ONE_COPY || (copy[1] == copy[4] && copy[2] == copy[5])) ->
		assert(copy[4] == copy[3] && copy[5] == copy[3])
	:: else
	fi
}

init {
	read_mutant();
	d_step {
		lists();
		/* The thread that has ended is the first owner; the second one is the third. */
		mem[GENERATION] = 1; mem[TID] = 1; mem[NAME] = 1;
		order_instructions()
	};
	atomic { run owner(); run scan(); run reader() };
	_nr_pr == 1;
	assert(mem[GENERATION] == 3)
}
