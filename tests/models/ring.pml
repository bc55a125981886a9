/* SPDX-License-Identifier: MIT */
/*
 * The GPFIFO ring and GP_PUT: two threads of the program each put an entry into one channel and ring
 * its doorbell. Each trap claims the entries between the last claim and GP_PUT, copies them, and
 * rings. The second thread may come so early that the first one's trap claims both entries, and the
 * other way round.
 *
 * Models claim_entries(), read_entries() and nvs_capture_doorbell() in trap/copy/capture.c,
 * finish_copy(), nvs_load32_guarded(), nvs_buffer_commit(), and the doorbell's store in on_store() of
 * trap/enter/fault.c and ring_doorbell() of trap/enter/fast.c.
 *
 * Shown: each entry is captured exactly once, as the program wrote it. The GPU takes an entry when
 * its doorbell is rung, and the program then writes another one there. Not modelled: the end of the
 * ring, and its being filled again while a thread that has been rung for is still copying.
 */
#define THREADS   2
#define LOCATIONS 9
#include "arm.pml"

#define MUTANT_PUT_PLAIN 1 /* GP_PUT is loaded plain: entries may be read before it */
#define MUTANT_CLAIM_RELAXED 2 /* the claim is loaded plain: GP_PUT may be read before it */
#define MUTANT_NO_COPY_FENCE 3 /* the doorbell's store may pass the loads of the copy */

#define ENTRY 0 /* 2 */
#define PUT   2
#define LOCK  3 /* the driver's */
#define CLAIM 4
#define HEAD  5 /* 2 */
#define BELL  7 /* 2 */

#define EMPTY  0
#define GOOD   1
#define REUSED 2

int claim[2], put[2]; /* as a thread has read them; then, what it has claimed */
int copy[4]; /* copy[t * 2 + i]: entry i as thread t has read it */
int captured[2];

inline list(t)
{
	/* the program */
	instr(t, 0, (t == 1 -> ACQUIRE : NOTHING), LOCK, 0);
	instr(t, 1, STORE, ENTRY + t, 0);
	instr(t, 2, FENCE_ST, NOWHERE, 0);
	instr(t, 3, STORE, PUT, 0);
	instr(t, 4, (t == 0 -> RELEASE : NOTHING), LOCK, 0);
	instr(t, 5, FENCE_ST, NOWHERE, 0);
	/* claim = load(&state->claim, ACQUIRE) */
	instr(t, 6, (mutant == MUTANT_CLAIM_RELAXED -> LOAD : ACQUIRE), CLAIM, 0);
	/* nvs_load32_guarded(ch->put, put) */
	instr(t, 7, OWN | (mutant == MUTANT_PUT_PLAIN -> LOAD : ACQUIRE), PUT, 0);
	/* compare_exchange(&state->claim, &claim, next, ACQ_REL, ACQUIRE) */
	instr(t, 8, ACQUIRE, CLAIM, 0);
	instr(t, 9, RELEASE, CLAIM, BIT(6) | BIT(7) | BIT(8));
	/* read_entries(): their addresses come from the claim */
	instr(t, 10, OWN | LOAD, ENTRY + 0, BIT(6));
	instr(t, 11, OWN | LOAD, ENTRY + 1, BIT(6));
	/* nvs_buffer_commit(): store(&shared->head, RELEASE) */
	instr(t, 12, RELEASE, HEAD + t, 0);
	/* finish_copy() */
	instr(t, 13, UNLESS(MUTANT_NO_COPY_FENCE, FENCE_LD), NOWHERE, 0);
	/* *(alias + DOORBELL_OFFSET) = token, after the loop around claim_entries() */
	instr(t, 14, STORE, BELL + t, BIT(6) | BIT(7) | BIT(8))
}

/* What thread T reads at location AT, with its own store I there to be X. */
#define FORWARD(t, i, at, x) (has_run(t, i) -> mem[at] : (x))

#define CHECK_COPY(t, i)                                                       \
	if                                                                     \
	:: claim[t] <= i && i < put[t] -> assert(copy[t * 2 + i] == GOOD);     \
		captured[i]++                                                  \
	:: else                                                                \
	fi

#define CPU(t)                                                                 \
	do                                                                     \
	:: d_step { ready(t, 0) && (t == 0 || mem[LOCK]) -> ran(t, 0) }        \
	STORED(t, 1, ENTRY + t, GOOD)                                          \
	FENCED(t, 2)                                                           \
	STORED(t, 3, PUT, t + 1)                                               \
	:: d_step { ready(t, 4) -> if :: t == 0 -> mem[LOCK] = 1 :: else fi; ran(t, 4) } \
	FENCED(t, 5)                                                           \
	LOADED(t, 6, claim[t], CLAIM)                                          \
	:: d_step { ready(t, 7) -> put[t] = FORWARD(t, 3, PUT, t + 1); ran(t, 7) } \
	:: d_step { ready(t, 8) && !held[CLAIM] ->                             \
		if                                                             \
		:: mem[CLAIM] == claim[t] -> held[CLAIM] = 1; ran(t, 8)        \
		/* GP_PUT is read again, and what was read early is thrown away */ \
		:: else -> claim[t] = mem[CLAIM];                              \
			done[t] = done[t] & ~(BIT(7) | BIT(10) | BIT(11))      \
		fi }                                                           \
	:: d_step { ready(t, 9) -> assert(put[t] >= claim[t]);                 \
		mem[CLAIM] = put[t]; held[CLAIM] = 0; ran(t, 9) }              \
	:: d_step { ready(t, 10) ->                                            \
		copy[t * 2] = (t == 0 -> FORWARD(t, 1, ENTRY, GOOD) : mem[ENTRY]); ran(t, 10) } \
	:: d_step { ready(t, 11) ->                                            \
		copy[t * 2 + 1] = (t == 1 -> FORWARD(t, 1, ENTRY + 1, GOOD) : mem[ENTRY + 1]); ran(t, 11) } \
	:: d_step { ready(t, 12) -> CHECK_COPY(t, 0); CHECK_COPY(t, 1); ran(t, 12) } \
	FENCED(t, 13)                                                          \
	STORED(t, 14, BELL + t, 1)                                             \
	:: finished(t, 15) -> break                                            \
	od

proctype first() { CPU(0) }
proctype second() { CPU(1) }

/* The GPU takes entry I, and the program writes another one there. */
#define TAKEN(t, i) (mem[BELL + t] && claim[t] <= i && i < put[t])
#define REUSE(i)                                                               \
	:: d_step { mem[ENTRY + i] != REUSED && (TAKEN(0, i) || TAKEN(1, i)) -> \
		assert(mem[ENTRY + i] == GOOD); mem[ENTRY + i] = REUSED }

proctype gpu()
{
	do
	REUSE(0)
	REUSE(1)
	:: mem[ENTRY] == REUSED && mem[ENTRY + 1] == REUSED -> break
	od
}

init {
	read_mutant();
	d_step { list(0); list(1); order_instructions() };
	atomic { run first(); run second(); run gpu() };
	_nr_pr == 1;
	assert(captured[0] == 1 && captured[1] == 1)
}
