/* SPDX-License-Identifier: MIT */
/*
 * Arm's memory order, for the models in this folder.
 *
 * Arm (ARMv8, "other-multi-copy-atomic") has one memory, and a store appears in it for all other
 * threads at once. But a thread's instructions take effect in any order except as far as one of
 * these rules orders them. So each thread of a model is a list of instructions in the order of the
 * program, and spin tries every order in which they may take effect, of all threads together. That
 * includes each effect of store buffers (a store takes effect late), of speculation (a load takes
 * effect early, also under a condition that is not decided yet) and of slow loads (a later store
 * takes effect first).
 *
 * Instruction B waits for an earlier instruction A of its thread if:
 *
 *   - A is an ACQUIRE (ldar) or an ACQUIRE_PC (ldapr);
 *   - B is a RELEASE (stlr);
 *   - A is a RELEASE and B is an ACQUIRE. This is not so for ACQUIRE_PC, as which a compiler may
 *     translate memory_order_acquire; it translates memory_order_seq_cst as ACQUIRE;
 *   - A or B is a FENCE (dmb ish);
 *   - A is a FENCE_LD (dmb ishld), or A is a load and B is a FENCE_LD;
 *   - A is a FENCE_ST (dmb ishst) and B is a store, or A is a store and B is a FENCE_ST;
 *   - both are about the same location. The exception is a load after a store: it may return the
 *     value before the store takes effect for others. With OWN it does not wait, and the model
 *     returns that value itself;
 *   - the model says so, for a dependency: B's address or stored value is computed from what A
 *     loaded, or B is a store under a condition that is. A load under a condition does not wait.
 *
 * A read-modify-write is two instructions, a load and a store, between which no other thread stores
 * to the location: it does not order what is before it with what is after it, unless both its parts
 * do. (Arm's casal orders more than this, but the loop of ldaxr and stlxr does not, nor does C11.)
 *
 * Entering a handler waits for what the faulting instruction read, its code included, and for
 * nothing else: the models list that as dependencies.
 *
 * Not modelled: memory with different caching attributes, and what orders even more than this (an
 * isb after a condition; a store after an address that depends on a load).
 */

#define NOTHING    0
#define LOAD       1
#define ACQUIRE    2
#define ACQUIRE_PC 4
#define STORE      8
#define RELEASE    16
#define FENCE      32
#define FENCE_LD   64
#define FENCE_ST   128
#define OWN        256

#define LOADS    (LOAD | ACQUIRE | ACQUIRE_PC)
#define STORES   (STORE | RELEASE)
#define NOWHERE  255 /* the location of fences */
#define BIT(i)   (1 << (i))

/* Bit j of before[t * 32 + i]: instruction i of thread t waits for its instruction j. */
hidden int before[THREADS * 32];
hidden int kind_[THREADS * 32], where_[THREADS * 32], t_, i_, j_;
int done[THREADS]; /* the instructions that have taken effect */
int mem[LOCATIONS];
bool held[LOCATIONS]; /* a thread is between the two parts of a read-modify-write */

/* Instruction I of thread T, of those up to 30, and the instructions that it depends on. */
inline instr(t, i, kind, where, depends)
{
	kind_[(t) * 32 + i] = kind;
	where_[(t) * 32 + i] = where;
	before[(t) * 32 + i] = depends
}

#define WAITS(a, b)                                                                       \
	(((a) & (ACQUIRE | ACQUIRE_PC | FENCE | FENCE_LD)) || ((b) & (RELEASE | FENCE)) ||   \
	 (((a) & RELEASE) && ((b) & ACQUIRE)) || (((a) & LOADS) && ((b) & FENCE_LD)) ||      \
	 (((a) & FENCE_ST) && ((b) & STORES)) || (((a) & STORES) && ((b) & FENCE_ST)))
#define MEETS(a, b)                                                                       \
	(((a) & (LOADS | STORES)) && ((b) & (LOADS | STORES)) && !(((a) & STORES) && ((b) & OWN)))
#define KIND(i)  kind_[t_ * 32 + (i)]
#define WHERE(i) where_[t_ * 32 + (i)]

/* To be called when all instructions are listed. */
inline order_instructions()
{
	t_ = 0;
	do
	:: t_ < THREADS ->
		i_ = 0;
		do
		:: i_ < 32 ->
			j_ = 0;
			do
			:: j_ < i_ ->
				if
				:: WAITS(KIND(j_), KIND(i_)) || (WHERE(j_) == WHERE(i_) && MEETS(KIND(j_), KIND(i_))) ->
					before[t_ * 32 + i_] = before[t_ * 32 + i_] | BIT(j_)
				:: else
				fi;
				j_++
			:: else -> break
			od;
			i_++
		:: else -> break
		od;
		t_++
	:: else -> break
	od
}

#define ready(t, i)    (!(done[t] & BIT(i)) && !(before[(t) * 32 + (i)] & ~done[t]))
#define has_run(t, i)  (done[t] & BIT(i))
#define ran(t, i)      done[t] = done[t] | BIT(i)
/* The thread is between two instructions: all before have taken effect, and none after. */
#define is_precise(t)  (!(done[t] & (done[t] + 1)))
#define finished(t, n) (done[t] == BIT(n) - 1)

/* Options of a thread's loop. The value of a load is kept, whether or not it is then used. */
#define FENCED(t, i)           :: d_step { ready(t, i) -> ran(t, i) }
#define STORED(t, i, at, x)    :: d_step { ready(t, i) && !held[at] -> mem[at] = (x); ran(t, i) }
#define LOADED(t, i, to, at)   :: d_step { ready(t, i) -> to = mem[at]; ran(t, i) }

/* MUTANT, a number in the environment, says what is left out. 0, or none: nothing. */
c_decl {
	\#include <stdlib.h>
}
int mutant;
inline read_mutant()
{
	c_code { now.mutant = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0; }
}
#define UNLESS(m, kind) (mutant == (m) -> NOTHING : (kind))
