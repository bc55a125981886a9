/* SPDX-License-Identifier: MIT */
/*
 * Counters without a lock. A thread adds to a counter of its own, a signal handler interrupts it
 * anywhere and adds to the same counter, and another process reads it meanwhile. Two other threads
 * raise a second counter, which all threads without a slot share, to sums that they have computed.
 *
 * Models nvs_live_add() in trap/buffer/process.h and raise_to() in preload/live/slots.c, and, as a
 * process that reads, add_counts() in live/read/slots.c. nvs_live_add() is one instruction on
 * x86-64, and on Arm one instruction (stadd) or a loop of ldxr and stxr, as here: the processor
 * forgets the reservation when it enters or leaves a handler.
 *
 * Shown: nothing that was counted is lost, and a reader never sees a counter decrease. The order of
 * two counters is not promised to anybody, so no fence is needed: only the accesses are atomic.
 */
#define THREADS   1
#define LOCATIONS 2
#include "arm.pml"

#define MUTANT_PLAIN 1 /* nvs_live_add() is a load, an addition and a store */
#define MUTANT_RAISE_PLAIN 2 /* raise_to() compares, and then stores */

#define COUNTER 0
#define SHARED  1

#define ADDS 2

bool reserved; /* the processor's reservation, from ldxr to stxr */
bool in_handler;

/* nvs_live_add(&counter, 1); VALUE is a register. */
inline add(value)
{
	do
	:: atomic { value = mem[COUNTER]; reserved = 1 };
		if
		:: atomic { reserved || mutant == MUTANT_PLAIN ->
			assert(mutant || value == mem[COUNTER]);
			mem[COUNTER] = value + 1; reserved = 0 };
			break
		:: !reserved && mutant != MUTANT_PLAIN
		fi
	od
}

/* raise_to(&shared, SUM); NOW is a register. The order of the accesses of one location is kept. */
inline raise(sum, now)
{
	now = mem[SHARED];
	do
	:: now >= sum -> break
	:: now < sum ->
		if
		:: mutant == MUTANT_RAISE_PLAIN -> mem[SHARED] = sum; break
		:: atomic { mutant != MUTANT_RAISE_PLAIN && mem[SHARED] == now -> mem[SHARED] = sum }; break
		:: atomic { mutant != MUTANT_RAISE_PLAIN && mem[SHARED] != now -> now = mem[SHARED] }
		fi
	od
}

proctype owner() provided (!in_handler)
{
	int value;

	add(value);
	add(value)
}

proctype handler()
{
	int value;

	atomic { in_handler = 1; reserved = 0 };
	add(value);
	atomic { in_handler = 0; reserved = 0 }
}

proctype scan(int sum)
{
	int now;

	raise(sum, now);
	assert(mem[SHARED] >= sum)
}

proctype reader(byte at)
{
	int one, two;

	one = mem[at];
	two = mem[at];
	assert(one <= two)
}

init {
	read_mutant();
	if
	:: atomic { run owner(); run handler(); run reader(COUNTER) };
		_nr_pr == 1;
		assert(mem[COUNTER] == ADDS + 1)
	:: atomic { run scan(1); run scan(2); run reader(SHARED) };
		_nr_pr == 1;
		assert(mem[SHARED] == 2)
	fi
}
