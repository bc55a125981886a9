/* SPDX-License-Identifier: MIT */
/*
 * The view and the epochs: a trap reads a table that another thread replaces and then frees. A trap
 * with a buffer shows the epoch in which it began; one without a buffer counts itself. The first
 * thread enters twice.
 *
 * Models nvs_buffer_enter(), nvs_buffer_enter_at() and nvs_buffer_leave() in trap/buffer/owner.c,
 * nvs_fast_doorbell() in trap/enter/fast.c, is_doorbell() and on_store() in trap/enter/fault.c, and
 * nvs_view_publish() with wait_for_readers() in trap/buffer/process.c. nvs_modules_publish() and
 * its readers in trap/stack/callsite.c do the same, with `warming` in place of `bufferless`.
 *
 * Shown: no trap reads a table that was freed, or is not filled in yet. Not modelled: a trap that never ends, for which the
 * publisher gives up and frees nothing.
 */
#define THREADS   3
#define LOCATIONS 6
#include "arm.pml"

#define MUTANT_VIEW_ACQUIRE 1 /* the view is loaded with acquire only, which may be ldapr */
#define MUTANT_EPOCH_PLAIN 2 /* the trap's epoch is stored plain */
#define MUTANT_LEAVE_PLAIN 3 /* ... also when it leaves: the table may be read after that */
#define MUTANT_COUNT_ACQUIRE 4 /* the trap without a buffer loads the view with acquire only */
#define MUTANT_EXCHANGE_ACQUIRE 5 /* the publisher replaces the view without release */

#define VIEW       0
#define EPOCH      1 /* of the process */
#define OWN_EPOCH  2 /* of the buffer */
#define BUFFERLESS 3
#define TABLE      4 /* 2: the old one, and the new one */

#define READER    0
#define COUNTED   1
#define PUBLISHER 2

#define FILLED 1
#define FREED  2

int epoch[2], table[2]; /* as the reader has loaded them, the first time and the second */
int counted; /* the table that the trap without a buffer has loaded */
int count, target;

/* The I-th time, from instruction AT on. */
inline enter(i, at)
{
	/* store(&buffer->epoch, load(&nvs_process->epoch)). The load needs its acquire in C11 only. */
	instr(READER, at + 0, ACQUIRE, EPOCH, 0);
	instr(READER, at + 1, (mutant == MUTANT_EPOCH_PLAIN -> STORE : RELEASE), OWN_EPOCH, BIT(at + 0));
	/* view = load(&nvs_process->view), and a use of it */
	instr(READER, at + 2, (mutant == MUTANT_VIEW_ACQUIRE -> ACQUIRE_PC : ACQUIRE), VIEW, 0);
	instr(READER, at + 3, LOAD, TABLE, BIT(at + 2));
	/* nvs_buffer_leave(): store(&buffer->epoch, 0, release) */
	instr(READER, at + 4, (mutant == MUTANT_LEAVE_PLAIN -> STORE : RELEASE), OWN_EPOCH, 0)
}

inline lists()
{
	enter(0, 0);
	enter(1, 5);

	/* fetch_add(&nvs_process->bufferless, 1) */
	instr(COUNTED, 0, ACQUIRE, BUFFERLESS, 0);
	instr(COUNTED, 1, RELEASE, BUFFERLESS, BIT(0));
	instr(COUNTED, 2, (mutant == MUTANT_COUNT_ACQUIRE -> ACQUIRE_PC : ACQUIRE), VIEW, 0);
	instr(COUNTED, 3, LOAD, TABLE, BIT(2));
	/* fetch_sub(&nvs_process->bufferless, 1) */
	instr(COUNTED, 4, ACQUIRE, BUFFERLESS, 0);
	instr(COUNTED, 5, RELEASE, BUFFERLESS, BIT(4));

	/* the new table is filled in; old = exchange(&nvs_process->view, view) */
	instr(PUBLISHER, 0, STORE, TABLE + 1, 0);
	instr(PUBLISHER, 1, ACQUIRE, VIEW, 0);
	instr(PUBLISHER, 2, (mutant == MUTANT_EXCHANGE_ACQUIRE -> STORE : RELEASE), VIEW, BIT(1));
	/* target = fetch_add(&nvs_process->epoch, 1) + 1 */
	instr(PUBLISHER, 3, ACQUIRE, EPOCH, 0);
	instr(PUBLISHER, 4, RELEASE, EPOCH, BIT(3));
	/* e = load(&buffer->epoch), until it is 0 or not below the target */
	instr(PUBLISHER, 5, ACQUIRE, OWN_EPOCH, 0);
	/* load(&nvs_process->bufferless), until it is 0 */
	instr(PUBLISHER, 6, ACQUIRE, BUFFERLESS, 0);
	/* The caller frees the table: stores that depend on both. */
	instr(PUBLISHER, 7, STORE, TABLE, BIT(5) | BIT(6))
}

#define USED(t, i, at)                                                         \
	:: d_step { ready(t, i) -> assert(mem[TABLE + at] == FILLED); ran(t, i) }

#define ENTERED(i, at)                                                         \
	LOADED(READER, at + 0, epoch[i], EPOCH)                                \
	STORED(READER, at + 1, OWN_EPOCH, epoch[i])                            \
	LOADED(READER, at + 2, table[i], VIEW)                                 \
	USED(READER, at + 3, table[i])                                         \
	STORED(READER, at + 4, OWN_EPOCH, 0)

#define ADDED(t, i, at, x)                                                     \
	:: d_step { ready(t, i) && !held[at] -> held[at] = 1; ran(t, i) }      \
	:: d_step { ready(t, i + 1) -> mem[at] = mem[at] + (x); held[at] = 0; ran(t, i + 1) }

proctype reader()
{
	do
	ENTERED(0, 0)
	ENTERED(1, 5)
	:: finished(READER, 10) -> break
	od
}

proctype reader_counted()
{
	do
	ADDED(COUNTED, 0, BUFFERLESS, 1)
	LOADED(COUNTED, 2, counted, VIEW)
	USED(COUNTED, 3, counted)
	ADDED(COUNTED, 4, BUFFERLESS, -1)
	:: finished(COUNTED, 6) -> break
	od
}

proctype publisher()
{
	do
	STORED(PUBLISHER, 0, TABLE + 1, FILLED)
	ADDED(PUBLISHER, 1, VIEW, 1)
	:: d_step { ready(PUBLISHER, 3) && !held[EPOCH] -> held[EPOCH] = 1; target = mem[EPOCH] + 1; ran(PUBLISHER, 3) }
	:: d_step { ready(PUBLISHER, 4) -> mem[EPOCH] = target; held[EPOCH] = 0; ran(PUBLISHER, 4) }
	:: d_step { ready(PUBLISHER, 5) && (!mem[OWN_EPOCH] || (has_run(PUBLISHER, 3) && mem[OWN_EPOCH] >= target)) ->
		ran(PUBLISHER, 5) }
	:: d_step { ready(PUBLISHER, 6) && !mem[BUFFERLESS] -> ran(PUBLISHER, 6) }
	STORED(PUBLISHER, 7, TABLE, FREED)
	:: finished(PUBLISHER, 8) -> break
	od
}

init {
	read_mutant();
	d_step { lists(); mem[EPOCH] = 1; mem[TABLE] = FILLED; order_instructions() };
	atomic { run reader(); run reader_counted(); run publisher() };
	_nr_pr == 1
}
