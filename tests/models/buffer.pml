/* SPDX-License-Identifier: MIT */
/*
 * A thread buffer with room for one record of two words: its thread fills in a record, waits for
 * room, and fills in another one; the writer copies each into a frame.
 *
 * Models has_room(), nvs_buffer_reserve() and nvs_buffer_commit() in trap/buffer/buffer.c, and
 * copy_record() and nvs_merge_commit() in preload/writer/merge.c.
 *
 * Shown: the writer never copies a record that is not complete, or is being overwritten.
 */
#define THREADS   2
#define LOCATIONS 4
#include "arm.pml"

#define MUTANT_HEAD_PLAIN 1 /* head may be stored before the record */
#define MUTANT_READ_PLAIN 2 /* the record may be copied before head is read */
#define MUTANT_TAIL_PLAIN 3 /* tail may be stored before the record is copied */

#define WORD 0 /* 2 */
#define HEAD 2
#define TAIL 3

#define OWNER  0
#define WRITER 1

int copy[4];

inline lists()
{
	instr(OWNER, 0, STORE, WORD + 0, 0);
	instr(OWNER, 1, STORE, WORD + 1, 0);
	/* nvs_buffer_commit(): store(&buffer->shared->head, head + size, RELEASE) */
	instr(OWNER, 2, (mutant == MUTANT_HEAD_PLAIN -> STORE : RELEASE), HEAD, 0);
	/* has_room(): load(&buffer->shared->tail, ACQUIRE) */
	instr(OWNER, 3, ACQUIRE_PC, TAIL, 0);
	instr(OWNER, 4, STORE, WORD + 0, BIT(3));
	instr(OWNER, 5, STORE, WORD + 1, BIT(3));
	instr(OWNER, 6, (mutant == MUTANT_HEAD_PLAIN -> STORE : RELEASE), HEAD, 0);

	/* load(&shared->head, ACQUIRE) */
	instr(WRITER, 0, (mutant == MUTANT_READ_PLAIN -> LOAD : ACQUIRE_PC), HEAD, 0);
	instr(WRITER, 1, LOAD, WORD + 0, 0);
	instr(WRITER, 2, LOAD, WORD + 1, 0);
	/* nvs_merge_commit(): store(&shared->tail, to, RELEASE) */
	instr(WRITER, 3, (mutant == MUTANT_TAIL_PLAIN -> STORE : RELEASE), TAIL, BIT(0));
	instr(WRITER, 4, (mutant == MUTANT_READ_PLAIN -> LOAD : ACQUIRE_PC), HEAD, 0);
	instr(WRITER, 5, LOAD, WORD + 0, 0);
	instr(WRITER, 6, LOAD, WORD + 1, 0)
}

proctype owner()
{
	do
	STORED(OWNER, 0, WORD + 0, 1)
	STORED(OWNER, 1, WORD + 1, 1)
	STORED(OWNER, 2, HEAD, 1)
	:: d_step { ready(OWNER, 3) && mem[TAIL] -> ran(OWNER, 3) }
	STORED(OWNER, 4, WORD + 0, 2)
	STORED(OWNER, 5, WORD + 1, 2)
	STORED(OWNER, 6, HEAD, 2)
	:: finished(OWNER, 7) -> break
	od
}

proctype writer()
{
	do
	:: d_step { ready(WRITER, 0) && mem[HEAD] -> ran(WRITER, 0) }
	LOADED(WRITER, 1, copy[0], WORD + 0)
	LOADED(WRITER, 2, copy[1], WORD + 1)
	STORED(WRITER, 3, TAIL, 1)
	:: d_step { ready(WRITER, 4) && mem[HEAD] == 2 -> ran(WRITER, 4) }
	LOADED(WRITER, 5, copy[2], WORD + 0)
	LOADED(WRITER, 6, copy[3], WORD + 1)
	:: finished(WRITER, 7) -> break
	od;
	assert(copy[0] == 1 && copy[1] == 1);
	assert(copy[2] == 2 && copy[3] == 2)
}

init {
	read_mutant();
	d_step { lists(); order_instructions() };
	atomic { run owner(); run writer() }
}
