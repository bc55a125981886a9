/* SPDX-License-Identifier: MIT */
/*
 * Pending signals of ours. The thread's own lie in its storage; those of the process in two boxes
 * that are filled and emptied without a lock, since a handler may come in anywhere.
 *
 * A box belongs to the process whose number it bears: a forked child finds it empty, and so does a
 * vfork() child, which leaves it alone.
 */
#include "preload/base/next.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"

enum phase { EMPTY, FILLING, FULL };

struct box {
	_Atomic uint64_t state; /* process << 32 | count of changes << 2 | phase */
	siginfo_t info;
};
static struct box boxes[2];

static __thread struct {
	_Atomic uint64_t
		kept; /* whose: thread << 32 | signals. One word, since a handler may come in */
	siginfo_t info[2];
	uint32_t since[2]; /* discards when it was kept */
} mine;

/* How often the program has begun to ignore it: what any thread has kept from before is gone. */
static _Atomic uint32_t discards[2];

/* As the kernel gives them out. */
static const int order[2] = {SIGTRAP, SIGSEGV};

static int slot_of(int sig)
{
	return sig == SIGTRAP;
}

static uint64_t next_state(uint64_t old, enum phase phase)
{
	uint64_t pid = (uint64_t)nvs_sys_getpid();

	return pid << 32 | (((old & 0xffffffff) + 4) & 0xfffffffc) | phase;
}

static bool is_in(uint64_t state, enum phase phase)
{
	return (state & 3) == phase && state >> 32 == (uint64_t)nvs_sys_getpid();
}

static void fill(int sig, const siginfo_t *info)
{
	struct box *box = &boxes[slot_of(sig)];
	uint64_t old = atomic_load(&box->state), filling = next_state(old, FILLING);

	if (is_in(old, FULL) || is_in(old, FILLING) || nvs_state_borrowed())
		return;
	if (!atomic_compare_exchange_strong(&box->state, &old, filling))
		return;
	box->info = *info;
	atomic_store(&box->state, next_state(filling, FULL));
}

static bool take_box(int sig, siginfo_t *info)
{
	struct box *box = &boxes[slot_of(sig)];
	uint64_t old = atomic_load(&box->state);

	while ((old & 3) == FULL && is_in(old, FULL)) {
		*info = box->info;
		if (atomic_compare_exchange_strong(&box->state, &old, next_state(old, EMPTY)))
			return true;
	}
	return false;
}

uint64_t nvs_sigkeep_of_process(void)
{
	uint64_t set = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t state = atomic_load(&boxes[slot_of(order[i])].state);

		if ((state & 3) == FULL && is_in(state, FULL))
			set |= NVS_SIGBIT(order[i]);
	}
	return set;
}

/* The low half; 0 where they are another thread's, whose storage a forked child has. */
static uint64_t own_of(uint64_t kept)
{
	uint64_t own = (uint32_t)kept;

	if (!own || kept >> 32 != (uint64_t)nvs_sys_gettid())
		return 0;
	for (int i = 0; i < 2; i++)
		if (mine.since[slot_of(order[i])] != atomic_load(&discards[slot_of(order[i])]))
			own &= ~NVS_SIGBIT(order[i]);
	return own;
}

uint64_t nvs_sigkeep_of_thread(void)
{
	return own_of(atomic_load_explicit(&mine.kept, memory_order_relaxed));
}

static void keep(int sig, const siginfo_t *info)
{
	uint64_t old = atomic_load(&mine.kept), tid = (uint64_t)nvs_sys_gettid();

	if (own_of(old) & NVS_SIGBIT(sig) || nvs_state_borrowed())
		return;
	/* One that was ignored since is not to count again. */
	old = atomic_fetch_and(&mine.kept, ~NVS_SIGBIT(sig)) & ~NVS_SIGBIT(sig);
	mine.info[slot_of(sig)] = *info;
	mine.since[slot_of(sig)] = atomic_load(&discards[slot_of(sig)]);
	while (!atomic_compare_exchange_strong(&mine.kept, &old,
					       tid << 32 | own_of(old) | NVS_SIGBIT(sig)))
		;
}

static bool take_own(int sig, siginfo_t *info)
{
	if (!(nvs_sigkeep_of_thread() & NVS_SIGBIT(sig)))
		return false;
	*info = mine.info[slot_of(sig)];
	return atomic_fetch_and(&mine.kept, ~NVS_SIGBIT(sig)) & NVS_SIGBIT(sig);
}

/* Drained first, looked at then: what others put meanwhile is at most one too many. */
void nvs_sigkeep_sync(void)
{
	if (!nvs_sighook(NVS_SIGHOOK_FD) || nvs_state_borrowed())
		return;
	for (int i = 0; i < 2; i++) {
		uint64_t bit = NVS_SIGBIT(i ? SIGTRAP : SIGSEGV);

		nvs_sigtoken_drain(nvs_sigtoken_stand_in(i));
		if (nvs_sigkeep_of_thread() & bit)
			nvs_sigtoken_put(nvs_sigtoken_stand_in(i), false);
		if (nvs_sigkeep_of_process() & bit)
			nvs_sigtoken_put(nvs_sigtoken_stand_in(i), true);
	}
}

void nvs_sigkeep_add(int sig, const siginfo_t *info, bool process)
{
	if (process)
		fill(sig, info);
	else
		keep(sig, info);
	nvs_sigkeep_sync();
}

bool nvs_sigkeep_take_shared(uint64_t set, siginfo_t *info)
{
	for (int i = 0; i < 2; i++)
		if (set & NVS_SIGBIT(order[i]) && take_box(order[i], info)) {
			nvs_sigkeep_sync();
			return true;
		}
	return false;
}

bool nvs_sigkeep_take(uint64_t set, siginfo_t *info, bool *process)
{
	bool own = false;

	for (int i = 0; i < 2 && !own; i++)
		own = set & NVS_SIGBIT(order[i]) && take_own(order[i], info);
	if (process)
		*process = !own;
	if (!own)
		return nvs_sigkeep_take_shared(set, info);
	nvs_sigkeep_sync();
	return true;
}

void nvs_sigkeep_discard(uint64_t set)
{
	siginfo_t info;

	for (int i = 0; i < 2; i++)
		if (set & NVS_SIGBIT(order[i]))
			atomic_fetch_add(&discards[slot_of(order[i])], 1);
	while (nvs_sigkeep_take_shared(set, &info))
		;
	nvs_sigkeep_sync();
}

bool nvs_signals_process_pending(void)
{
	return nvs_sigkeep_of_process() != 0;
}
