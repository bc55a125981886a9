/* SPDX-License-Identifier: MIT */
/* Threads that the library starts inside the program, and how one of them, the keeper, is woken. */
#ifndef NVSNOOP_PRELOAD_BASE_OWNTHREAD_H
#define NVSNOOP_PRELOAD_BASE_OWNTHREAD_H

#include "preload/base/state.h"
#include "preload/base/sys.h"

/* Called in the constructor: saves the schedule for threads started later. */
void nvs_own_threads_prepare(void);

#define NVS_OWN_STACK (256u << 10)
/*
 * Starts RUN(ARG) on a detached thread called NAME (at most 15 characters), with all signals
 * blocked and the schedule that the process had at load. STACK is in bytes; 0: the default size,
 * for code that is not ours. Returns 0 or -errno. It waits until the thread runs, perhaps also for
 * the program's allocator: do not call it under nvs_lock.
 */
int nvs_own_thread_start(const char *name, size_t stack, void (*run)(void *), void *arg);

/* Returns how many such threads are alive. */
static inline uint32_t nvs_own_thread_count(void)
{
	return atomic_load(&nvs_state()->own_threads);
}

/* Makes the keeper (session/keeper.c) poll soon. Async-signal-safe and cheap. */
static inline void nvs_poll_thread_wake(void)
{
	if (!atomic_exchange(&nvs_state()->keeper, 1))
		nvs_sys_futex_wake(&nvs_state()->keeper);
}

#endif
