/* SPDX-License-Identifier: MIT */
/*
 * The row of a kernel's handle: the place of one key gets another key and its row, under a lock,
 * while a thread that launches a kernel looks one of the two keys up without the lock.
 *
 * Models nvs_live_kernel_new() in preload/live/page_tables.c and nvs_live_handle_row() in
 * preload/live/live.h; keep_context() and find_context() in preload/api/stats/call_stats.c do the
 * same.
 *
 * Shown: a key is never taken for the row of the other one.
 */
#define THREADS   2
#define LOCATIONS 2
#include "arm.pml"

#define MUTANT_NO_CHECK 1 /* the key is not read again after the row */
#define MUTANT_NO_CHECK_FENCE 2 /* ... or may be read before it */
#define MUTANT_NO_WRITE_FENCE 3 /* the new row may be stored before the old key is gone */
#define MUTANT_KEY_PLAIN 4 /* ... or after the new key */
#define MUTANT_FIND_PLAIN 5 /* the row may be read before the key */

#define KEY 0
#define ROW 1

#define WRITER 0
#define READER 1

int wanted, key, row, again;

inline lists()
{
	instr(WRITER, 0, STORE, KEY, 0);
	instr(WRITER, 1, UNLESS(MUTANT_NO_WRITE_FENCE, FENCE), NOWHERE, 0);
	instr(WRITER, 2, STORE, ROW, 0);
	instr(WRITER, 3, (mutant == MUTANT_KEY_PLAIN -> STORE : RELEASE), KEY, 0);

	instr(READER, 0, (mutant == MUTANT_FIND_PLAIN -> LOAD : ACQUIRE_PC), KEY, 0);
	instr(READER, 1, LOAD, ROW, 0);
	instr(READER, 2, UNLESS(MUTANT_NO_CHECK_FENCE, FENCE_LD), NOWHERE, 0);
	instr(READER, 3, LOAD, KEY, 0)
}

proctype writer()
{
	do
	STORED(WRITER, 0, KEY, 0)
	FENCED(WRITER, 1)
	STORED(WRITER, 2, ROW, 2)
	STORED(WRITER, 3, KEY, 2)
	:: finished(WRITER, 4) -> break
	od
}

proctype reader()
{
	do
	LOADED(READER, 0, key, KEY)
	LOADED(READER, 1, row, ROW)
	FENCED(READER, 2)
	LOADED(READER, 3, again, KEY)
	:: finished(READER, 4) -> break
	od;
	if
	:: key == wanted && (again == wanted || mutant == MUTANT_NO_CHECK) -> assert(row == wanted)
	:: else
	fi
}

init {
	read_mutant();
	d_step { lists(); mem[KEY] = 1; mem[ROW] = 1; order_instructions() };
	select(wanted : 1 .. 2);
	atomic { run writer(); run reader() }
}
