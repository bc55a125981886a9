/* SPDX-License-Identifier: MIT */
/*
 * What was sent while the program had it blocked: SIGSEGV and SIGTRAP as they would be pending in
 * the kernel, for one thread or for the process, one of each number. Async-signal-safe. Nothing is
 * pending in a child.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGKEEP_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGKEEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* SIG is pending from now on; a second one of the same number is not kept. */
void nvs_sigkeep_add(int sig, const siginfo_t *info, bool process);
/* What is pending for the calling thread alone, and for the process. */
uint64_t nvs_sigkeep_of_thread(void);
uint64_t nvs_sigkeep_of_process(void);
static inline uint64_t nvs_sigkeep_pending(void)
{
	return nvs_sigkeep_of_thread() | nvs_sigkeep_of_process();
}
/*
 * Takes the one of SET that the kernel would give out first; its siginfo, and which of the two it
 * was pending for (PROCESS may be NULL). False: none.
 */
bool nvs_sigkeep_take(uint64_t set, siginfo_t *info, bool *process);
/* Only what is pending for the process. */
bool nvs_sigkeep_take_shared(uint64_t set, siginfo_t *info);
/* Makes the tokens (sigtoken.h) that are pending for this thread and the process what they should
 * be. */
void nvs_sigkeep_sync(void);
/* As when the program begins to ignore it: for all threads. */
void nvs_sigkeep_discard(uint64_t set);

#endif
