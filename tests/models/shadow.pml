/* SPDX-License-Identifier: MIT */
/*
 * A channel with a shadow: two threads have each claimed one entry, and forward them to the real
 * GPFIFO and the real GP_PUT before they ring the doorbell. A thread whose turn does not come after
 * a while takes it, and forwards the earlier entry too. The thread of that entry then finds that
 * done, and only rings.
 *
 * Models take_turn(), put_after_entries() and nvs_shadow_forward() in trap/copy/shadow.c, and the
 * doorbell's store of trap/enter/fault.c and fast.c. commit_entries() and write_plain() in
 * trap/copy/gpfifo_timing.c order their stores in the same way.
 *
 * Shown: when a doorbell is rung, the GPU finds a GP_PUT behind the entry of that doorbell, and
 * every entry up to it is there. Not modelled: a thread that ends or jumps out in its turn.
 */
#define THREADS   2
#define LOCATIONS 6
#include "arm.pml"

#define MUTANT_NO_ENTRY_FENCE 1 /* GP_PUT's store may pass those of the entries */
#define MUTANT_NO_PUT_FENCE 2 /* a read-modify-write alone is between GP_PUT and the doorbell */

#define CARRIED 0
#define REAL    1 /* 2 */
#define PUT     3
#define BELL    4 /* 2 */

int now[2]; /* CARRIED as a thread has read it */
bool skips[2]; /* its entry is in the real GPFIFO */

inline list(t)
{
	/* take_turn(): now = load(&sh->carried) */
	instr(t, 0, ACQUIRE, CARRIED, 0);
	/* compare_exchange(&sh->carried, &now, now | BUSY) */
	instr(t, 1, ACQUIRE, CARRIED, 0);
	instr(t, 2, RELEASE, CARRIED, BIT(0) | BIT(1));
	/* sh->gpfifo[at] = ch->gpfifo[at], from the carried entry to the thread's own */
	instr(t, 3, STORE, REAL + 0, BIT(0) | BIT(1));
	instr(t, 4, STORE, REAL + 1, BIT(0) | BIT(1));
	/* put_after_entries() */
	instr(t, 5, UNLESS(MUTANT_NO_ENTRY_FENCE, FENCE_ST), NOWHERE, 0);
	instr(t, 6, STORE, PUT, BIT(0) | BIT(1));
	instr(t, 7, UNLESS(MUTANT_NO_PUT_FENCE, FENCE_ST), NOWHERE, 0);
	/* compare_exchange(&sh->carried, &now, (b->sequence + 1) << NVS_PUT_BITS | b->new_put) */
	instr(t, 8, ACQUIRE, CARRIED, 0);
	instr(t, 9, RELEASE, CARRIED, BIT(8));
	/* *(alias + DOORBELL_OFFSET) = token */
	instr(t, 10, STORE, BELL + t, BIT(0) | BIT(1) | BIT(8))
}

#define BUSY 8

/* Entry I is this thread's to forward. */
#define MINE(t, i) (now[t] <= i && i <= t && !skips[t])

#define CPU(t)                                                                 \
	do                                                                     \
	:: d_step { ready(t, 0) && !(mem[CARRIED] & BUSY) ->                   \
		now[t] = mem[CARRIED];                                         \
		skips[t] = now[t] > t;                                         \
		/* No other instruction of take_turn() and the forwarding is reached. */ \
		done[t] = done[t] | (skips[t] -> 1023 : 1) }                   \
	:: d_step { ready(t, 1) && !held[CARRIED] ->                           \
		if                                                             \
		:: mem[CARRIED] == now[t] -> held[CARRIED] = 1; ran(t, 1)      \
		:: else -> done[t] = 0                                         \
		fi }                                                           \
	:: d_step { ready(t, 2) -> mem[CARRIED] = now[t] | BUSY; held[CARRIED] = 0; ran(t, 2) } \
	:: d_step { ready(t, 3) -> if :: MINE(t, 0) -> mem[REAL] = 1 :: else fi; ran(t, 3) } \
	:: d_step { ready(t, 4) -> if :: MINE(t, 1) -> mem[REAL + 1] = 1 :: else fi; ran(t, 4) } \
	FENCED(t, 5)                                                           \
	STORED(t, 6, PUT, t + 1)                                               \
	FENCED(t, 7)                                                           \
	:: d_step { ready(t, 8) && !held[CARRIED] ->                           \
		assert(mem[CARRIED] == (now[t] | BUSY)); held[CARRIED] = 1; ran(t, 8) } \
	:: d_step { ready(t, 9) -> mem[CARRIED] = t + 1; held[CARRIED] = 0; ran(t, 9) } \
	STORED(t, 10, BELL + t, 1)                                             \
	:: finished(t, 11) -> break                                            \
	od

proctype first() { CPU(0) }
proctype second() { CPU(1) }

/* After a doorbell, the GPU reads GP_PUT and then the entries. */
#define RUNG(t)                                                                \
	:: d_step { mem[BELL + t] == 1 ->                                      \
		assert(mem[PUT] > t);                                          \
		assert(mem[REAL]);                                             \
		assert(mem[PUT] < 2 || mem[REAL + 1]);                         \
		mem[BELL + t] = 2 }

proctype gpu()
{
	do
	RUNG(0)
	RUNG(1)
	:: mem[BELL] == 2 && mem[BELL + 1] == 2 -> break
	od
}

init {
	read_mutant();
	d_step { list(0); list(1); order_instructions() };
	atomic { run first(); run second(); run gpu() };
	_nr_pr == 1;
	assert(mem[PUT] == 2)
}
