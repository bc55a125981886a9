/* SPDX-License-Identifier: MIT */
/*
 * The calls in flight of a thread: it returns from one call and makes another one at the same depth,
 * while the writer's thread, at the end of the trace, reads which call it is in.
 *
 * Models nvs_calls_show() and nvs_calls_hide() in trap/buffer/calls.h, and read_call() in
 * preload/writer/open_calls.c.
 *
 * Shown: the reader never takes the number, the begin and the entry point of two calls for one.
 */
#define THREADS   2
#define LOCATIONS 4
#include "arm.pml"

#define MUTANT_NUMBER_FIRST 1 /* the number is checked before the depth */
#define MUTANT_BEGIN_PLAIN 2 /* the begin may be stored before the previous call is hidden */
#define MUTANT_API_PLAIN 3 /* ... or the entry point */
#define MUTANT_NUMBER_PLAIN 4 /* the number may be stored before those two */
#define MUTANT_READ_PLAIN 5 /* the number may be read after the others, and again before them */

#define NCALLS 0
#define BEGIN  1
#define API    2
#define NUMBER 3

#define OWNER  0
#define READER 1

int ncalls, begin, api, number, again;

inline lists()
{
	/* nvs_calls_hide() */
	instr(OWNER, 0, RELEASE, NCALLS, 0);
	/* nvs_calls_show() */
	instr(OWNER, 1, (mutant == MUTANT_BEGIN_PLAIN -> STORE : RELEASE), BEGIN, 0);
	instr(OWNER, 2, (mutant == MUTANT_API_PLAIN -> STORE : RELEASE), API, 0);
	instr(OWNER, 3, (mutant == MUTANT_NUMBER_PLAIN -> STORE : RELEASE), NUMBER, 0);
	instr(OWNER, 4, RELEASE, NCALLS, 0);

	/* read_call() */
	instr(READER, 0, (mutant == MUTANT_READ_PLAIN -> LOAD : ACQUIRE_PC), NUMBER, 0);
	instr(READER, 1, (mutant == MUTANT_READ_PLAIN -> LOAD : ACQUIRE_PC), BEGIN, 0);
	instr(READER, 2, (mutant == MUTANT_READ_PLAIN -> LOAD : ACQUIRE_PC), API, 0);
	instr(READER, 3, ACQUIRE_PC, (mutant == MUTANT_NUMBER_FIRST -> NUMBER : NCALLS), 0);
	instr(READER, 4, ACQUIRE_PC, (mutant == MUTANT_NUMBER_FIRST -> NCALLS : NUMBER), 0)
}

proctype owner()
{
	do
	STORED(OWNER, 0, NCALLS, 0)
	STORED(OWNER, 1, BEGIN, 2)
	STORED(OWNER, 2, API, 2)
	STORED(OWNER, 3, NUMBER, 2)
	STORED(OWNER, 4, NCALLS, 1)
	:: finished(OWNER, 5) -> break
	od
}

proctype reader()
{
	do
	LOADED(READER, 0, number, NUMBER)
	LOADED(READER, 1, begin, BEGIN)
	LOADED(READER, 2, api, API)
	:: d_step { ready(READER, 3) ->
		if
		:: mutant == MUTANT_NUMBER_FIRST -> again = mem[NUMBER]
		:: else -> ncalls = mem[NCALLS]
		fi;
		ran(READER, 3) }
	:: d_step { ready(READER, 4) ->
		if
		:: mutant == MUTANT_NUMBER_FIRST -> ncalls = mem[NCALLS]
		:: else -> again = mem[NUMBER]
		fi;
		ran(READER, 4) }
	:: finished(READER, 5) -> break
	od;
	if
	:: ncalls && again == number -> assert(begin == number && api == number)
	:: else
	fi
}

init {
	read_mutant();
	d_step {
		lists();
		mem[NCALLS] = 1; mem[BEGIN] = 1; mem[API] = 1; mem[NUMBER] = 1;
		order_instructions()
	};
	atomic { run owner(); run reader() }
}
