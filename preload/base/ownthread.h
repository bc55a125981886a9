/* SPDX-License-Identifier: MIT */
/*
 * Threads of ours inside the program, and how one of them, the keeper, is woken.
 */
#ifndef NVSNOOP_PRELOAD_BASE_OWNTHREAD_H
#define NVSNOOP_PRELOAD_BASE_OWNTHREAD_H

#include "preload/base/state.h"
#include "preload/base/sys.h"

/* In our constructor: remembers the schedule that our threads are to have. */
void nvs_own_threads_prepare(void);

#define NVS_OWN_STACK (256u << 10)
/*
 * Starts RUN(ARG) on a detached thread called NAME (at most 15 characters), with all signals
 * blocked, with the ordinary schedule of the process at load, on a stack of STACK bytes; 0: as
 * large as the program's, for code that is not ours. 0 or -errno. May wait for the program's
 * allocator, and waits until the thread runs: not under nvs_lock.
 */
int nvs_own_thread(const char *name, size_t stack, void (*run)(void *), void *arg);

/* How many of them are alive. */
static inline uint32_t nvs_own_threads(void)
{
	return atomic_load(&nvs_state()->own_threads);
}

/* Has the keeper (session/keeper.c) look around soon. Async-signal-safe, cheap. */
static inline void nvs_keeper_wake(void)
{
	if (!atomic_exchange(&nvs_state()->keeper, 1))
		nvs_sys_futex_wake(&nvs_state()->keeper);
}

#endif
