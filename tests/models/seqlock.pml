/* SPDX-License-Identifier: MIT */
/*
 * The seqlock of the live page: the process changes a row twice, while another process reads the
 * page with pread(), and a thread of the same process reads the row in memory. pread() copies the
 * row in any order; its reader takes what two copies agree on.
 *
 * Models set_clock() in preload/live/page.c, begin_write() and end_write() in
 * preload/session/channels.c, and the writers in preload/live/page_tables.c, preload/api/nvtx/nvtx.c
 * and preload/api/intercept/waiting.c, which are the same; read_clock() in live/read/page.c, and the
 * readers in live/read/page_tables.c and live/read/slots.c; and the reader in preload/live/stall.c.
 *
 * Shown: no reader takes a row of which one word is from one change and one from another. The
 * values of both are different: two words that are written again with the same value do no harm.
 */
#define THREADS   3
#define LOCATIONS 3
#include "arm.pml"

#define MUTANT_NO_WRITE_FENCE 1 /* the words may be stored before the sequence is odd */
#define MUTANT_END_PLAIN 2 /* the sequence may be even before the words are stored */
#define MUTANT_NO_READ_FENCE 3 /* the second pread() may read before the first one has */
#define MUTANT_BEGIN_PLAIN 4 /* the thread may read the words before the sequence */
#define MUTANT_NO_CHECK_FENCE 5 /* ... and the sequence again before the words */

#define SEQUENCE 0
#define WORD     1 /* 2 */

#define WRITER  0
#define PROCESS 1
#define OTHER   2

int copy[6]; /* sequence and words as the two preads have copied them */
int first, last, word[2]; /* as the thread has read them */

/* The I-th change, from instruction AT on. */
inline change(at)
{
	/* store(&c->sequence, c->sequence + 1, RELAXED); thread_fence(SEQ_CST) */
	instr(WRITER, at + 0, STORE, SEQUENCE, 0);
	instr(WRITER, at + 1, UNLESS(MUTANT_NO_WRITE_FENCE, FENCE), NOWHERE, 0);
	instr(WRITER, at + 2, STORE, WORD + 0, 0);
	instr(WRITER, at + 3, STORE, WORD + 1, 0);
	/* store(&c->sequence, c->sequence + 1, RELEASE) */
	instr(WRITER, at + 4, (mutant == MUTANT_END_PLAIN -> STORE : RELEASE), SEQUENCE, 0)
}

inline lists()
{
	change(0);
	change(5);

	/* read_into(file, &two, at, sizeof(two)), twice */
	instr(PROCESS, 0, LOAD, SEQUENCE, 0);
	instr(PROCESS, 1, LOAD, WORD + 0, 0);
	instr(PROCESS, 2, LOAD, WORD + 1, 0);
	instr(PROCESS, 3, UNLESS(MUTANT_NO_READ_FENCE, FENCE_LD), NOWHERE, 0);
	instr(PROCESS, 4, LOAD, SEQUENCE, 0);
	instr(PROCESS, 5, LOAD, WORD + 0, 0);
	instr(PROCESS, 6, LOAD, WORD + 1, 0);

	/* load(&row->sequence, ACQUIRE) */
	instr(OTHER, 0, (mutant == MUTANT_BEGIN_PLAIN -> LOAD : ACQUIRE_PC), SEQUENCE, 0);
	instr(OTHER, 1, LOAD, WORD + 0, 0);
	instr(OTHER, 2, LOAD, WORD + 1, 0);
	/* thread_fence(ACQUIRE) */
	instr(OTHER, 3, UNLESS(MUTANT_NO_CHECK_FENCE, FENCE_LD), NOWHERE, 0);
	/* load(&row->sequence, RELAXED) */
	instr(OTHER, 4, LOAD, SEQUENCE, 0)
}

#define CHANGED(at, x)                                                         \
	STORED(WRITER, at + 0, SEQUENCE, 2 * x - 1)                            \
	FENCED(WRITER, at + 1)                                                 \
	STORED(WRITER, at + 2, WORD + 0, x)                                    \
	STORED(WRITER, at + 3, WORD + 1, x)                                    \
	STORED(WRITER, at + 4, SEQUENCE, 2 * x)

proctype writer()
{
	do
	CHANGED(0, 1)
	CHANGED(5, 2)
	:: finished(WRITER, 10) -> break
	od
}

proctype process()
{
	do
	LOADED(PROCESS, 0, copy[0], SEQUENCE)
	LOADED(PROCESS, 1, copy[1], WORD + 0)
	LOADED(PROCESS, 2, copy[2], WORD + 1)
	FENCED(PROCESS, 3)
	LOADED(PROCESS, 4, copy[3], SEQUENCE)
	LOADED(PROCESS, 5, copy[4], WORD + 0)
	LOADED(PROCESS, 6, copy[5], WORD + 1)
	:: finished(PROCESS, 7) -> break
	od;
	if
	:: copy[0] % 2 == 0 && copy[0] == copy[3] && copy[1] == copy[4] && copy[2] == copy[5] ->
		assert(copy[1] == copy[2])
	:: else
	fi
}

proctype other()
{
	do
	LOADED(OTHER, 0, first, SEQUENCE)
	LOADED(OTHER, 1, word[0], WORD + 0)
	LOADED(OTHER, 2, word[1], WORD + 1)
	FENCED(OTHER, 3)
	LOADED(OTHER, 4, last, SEQUENCE)
	:: finished(OTHER, 5) -> break
	od;
	if
	:: first % 2 == 0 && first == last -> assert(word[0] == word[1])
	:: else
	fi
}

init {
	read_mutant();
	d_step { lists(); order_instructions() };
	/* The readers share nothing: one of them at a time. */
	if
	:: atomic { run writer(); run process() }
	:: atomic { run writer(); run other() }
	fi
}
