/* SPDX-License-Identifier: MIT */
/*
 * signalfd for SIGSEGV and SIGTRAP, which are never pending in the kernel: for each of the two a
 * real-time signal that the program does not use stands in. It is only a token that makes the
 * descriptor readable: what is pending says sigkeep.h, and read() puts it in the token's place.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGFD_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGFD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The number that stands in for signal 0 (SIGSEGV) or 1 (SIGTRAP) of ours; 0: none does yet. */
int nvs_sigfd_stand_in(int slot);
/* The stand-ins of SET, which is of our two; all there are for NVS_SIGVIEW_SIGNALS. */
uint64_t nvs_sigfd_stand_ins(uint64_t set);
/* Makes the tokens that are pending for this thread and the process what they should be.
 * Async-signal-safe. */
void nvs_sigfd_sync(void);
/* The handler of the stand-ins. */
void nvs_sigfd_on_token(int sig, siginfo_t *info, void *ucontext);

#endif
