/* SPDX-License-Identifier: MIT */
/*
 * Checks arm.pml itself, with small programs of two threads whose outcome on Arm is known from the
 * architecture; they have the names that they have in the literature. The outcomes that Arm forbids
 * must not be found. Each "mutant" is a program whose outcome Arm
 * allows; it must be found.
 */
#define THREADS   2
#define LOCATIONS 3
#include "arm.pml"

#define X 0
#define Y 1
#define Z 2

#define MUTANT_MP 1 /* message passing, plain */
#define MUTANT_MP_DMBST_PO 2 /* ... the reader has no order */
#define MUTANT_MP_PO_ADDR 3 /* ... the writer has no order */
#define MUTANT_MP_AFTER_RELEASE 4 /* ... a store passes an earlier release */
#define MUTANT_SB 5 /* store buffers, plain */
#define MUTANT_SB_RELEASE_ACQUIRE_PC 6 /* ... stlr and ldapr */
#define MUTANT_LB 7 /* a load that a later store passes */
#define MUTANT_LB_ACROSS_RELEASE 8 /* ... and neither is a release between them a fence */
#define MUTANT_2_2W 9 /* two threads store to both locations */

int program;
int kind[8], at[8], value[8], reg[8];

inline put(t, i, k, where, x, depends)
{
	kind[t * 4 + i] = k;
	at[t * 4 + i] = where;
	value[t * 4 + i] = x;
	instr(t, i, k, where, depends)
}

/* T: A on FIRST, then FENCE, then B on SECOND. Stores store 1, and 2 where the location is the
 * thread's second one. */
inline two(t, a, first, fence, b, second, depends)
{
	put(t, 0, a, first, 1, 0);
	put(t, 1, fence, Z, 0, 0);
	put(t, 2, b, second, 2, depends)
}

#define OPTION(t, i)                                                       \
	:: d_step {                                                        \
		ready(t, i) ->                                             \
		if                                                         \
		:: kind[t * 4 + i] & STORES -> mem[at[t * 4 + i]] = value[t * 4 + i] \
		:: kind[t * 4 + i] & LOADS -> reg[t * 4 + i] = mem[at[t * 4 + i]]   \
		:: else                                                    \
		fi;                                                        \
		ran(t, i)                                                  \
	}

proctype cpu(byte t)
{
	do
	OPTION(t, 0)
	OPTION(t, 1)
	OPTION(t, 2)
	:: finished(t, 3) -> break
	od
}

/* Message passing: 2 in Y says that there is 1 in X. */
inline mp(store, fence, flag, see, after, depends)
{
	two(0, store, X, fence, flag, Y, 0);
	two(1, see, Y, after, LOAD, X, depends)
}
inline sb(store, fence, load)
{
	two(0, store, X, fence, load, Y, 0);
	two(1, store, Y, fence, load, X, 0)
}
inline lb(load, fence, depends)
{
	two(0, load, X, fence, STORE, Y, depends);
	two(1, load, Y, fence, STORE, X, depends)
}
inline both(fence)
{
	two(0, STORE, X, fence, STORE, Y, 0);
	two(1, STORE, Y, fence, STORE, X, 0)
}

init {
	byte shape;

	read_mutant();
	if
	:: !mutant -> select(program : 10 .. 20)
	:: else -> program = mutant
	fi;
	d_step {
		if
		:: program == MUTANT_MP -> mp(STORE, NOTHING, STORE, LOAD, NOTHING, 0); shape = 1
		:: program == MUTANT_MP_DMBST_PO -> mp(STORE, FENCE_ST, STORE, LOAD, NOTHING, 0); shape = 1
		:: program == MUTANT_MP_PO_ADDR -> mp(STORE, NOTHING, STORE, LOAD, NOTHING, BIT(0)); shape = 1
		:: program == MUTANT_MP_AFTER_RELEASE -> mp(RELEASE, NOTHING, STORE, ACQUIRE, NOTHING, 0); shape = 1
		:: program == MUTANT_SB -> sb(STORE, NOTHING, LOAD); shape = 2
		:: program == MUTANT_SB_RELEASE_ACQUIRE_PC -> sb(RELEASE, NOTHING, ACQUIRE_PC); shape = 2
		:: program == MUTANT_LB -> lb(LOAD, NOTHING, 0); shape = 3
		:: program == MUTANT_LB_ACROSS_RELEASE -> lb(LOAD, RELEASE, 0); shape = 3
		:: program == MUTANT_2_2W -> both(NOTHING); shape = 4
		:: program == 10 -> mp(STORE, NOTHING, RELEASE, ACQUIRE, NOTHING, 0); shape = 1
		:: program == 11 -> mp(STORE, NOTHING, RELEASE, ACQUIRE_PC, NOTHING, 0); shape = 1
		:: program == 12 -> mp(STORE, FENCE_ST, STORE, LOAD, FENCE_LD, 0); shape = 1
		:: program == 13 -> mp(STORE, FENCE, STORE, LOAD, NOTHING, BIT(0)); shape = 1
		:: program == 14 -> sb(STORE, FENCE, LOAD); shape = 2
		:: program == 15 -> sb(RELEASE, NOTHING, ACQUIRE); shape = 2
		:: program == 16 -> lb(LOAD, NOTHING, BIT(0)); shape = 3
		:: program == 17 -> lb(ACQUIRE_PC, NOTHING, 0); shape = 3
		:: program == 18 -> lb(LOAD, FENCE_LD, 0); shape = 3
		:: program == 19 -> both(FENCE_ST); shape = 4
		:: program == 20 -> /* two loads of one location */
			two(0, STORE, X, NOTHING, STORE, X, 0);
			two(1, LOAD, X, NOTHING, LOAD, X, 0);
			shape = 5
		fi;
		order_instructions()
	};
	atomic { run cpu(0); run cpu(1) };
	_nr_pr == 1;
	assert(!(shape == 1 && reg[4] == 2 && reg[6] == 0));
	assert(!(shape == 2 && reg[2] == 0 && reg[6] == 0));
	assert(!(shape == 3 && reg[0] == 2 && reg[4] == 2));
	assert(!(shape == 4 && mem[X] == 1 && mem[Y] == 1));
	assert(!(shape == 5 && reg[4] > reg[6]))
}
