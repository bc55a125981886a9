/* SPDX-License-Identifier: MIT */
/* The actions for SIGSEGV and SIGTRAP that the program believes to have set. */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGACTIONS_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGACTIONS_H

#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

/* Returns true once our handlers are installed; a forked child keeps them. */
bool nvs_sigactions_installed(void);
/* Returns the program's action of SIG, a signal whose action in the kernel is ours.
 * Async-signal-safe. */
struct sigaction nvs_sigaction_of_program(int sig);
/* SA_RESETHAND: resets the program's action of SIG before its handler runs. */
void nvs_sigaction_reset(int sig);
/* Sets the kernel's action of SIG to the default, before the process is to die of it. */
void nvs_sigaction_set_default(int sig);
/* Installs our handler again where nvs_sigactions_exec_begin() removed it. */
void nvs_sigactions_exec_failed(uint64_t ignored);
/* Before an exec: the kernel also ignores what the program ignores. Returns which of our signals
 * were changed. Async-signal-safe. */
uint64_t nvs_sigactions_exec_begin(void);

/* ---- signals.c ---- */
/* Handler of SIGSEGV, SIGTRAP and the stand-in (sigview.h). */
void nvs_on_signal(int sig, siginfo_t *info, void *ucontext);
/* Handler of other signals; the program's handler may read and change the mask to be restored. */
void nvs_on_other(int sig, siginfo_t *info, void *ucontext);

#endif
