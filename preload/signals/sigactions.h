/* SPDX-License-Identifier: MIT */
/*
 * The actions for SIGSEGV and SIGTRAP that the program believes to have set.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGACTIONS_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGACTIONS_H

#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

/* True once our handlers are in place; in a forked child they still are. */
bool nvs_sigactions_installed(void);
/* Async-signal-safe. SIG's action in the kernel is ours. */
struct sigaction nvs_sigaction_of_program(int sig);
/* SA_RESETHAND: the program's handler for SIG is taken away before it runs. */
void nvs_sigaction_reset(int sig);
/* The kernel's action for SIG becomes the default one: the process is about to die of it. */
void nvs_sigaction_give_up(int sig);
/* Puts our handler in again where nvs_sigactions_hand_over() took it away. */
void nvs_sigactions_take_back(uint64_t ignored);
/*
 * What the program ignores is ignored by the kernel too from now on, for the program that is about
 * to be run; returns which signals of ours. Async-signal-safe.
 */
uint64_t nvs_sigactions_hand_over(void);
/* No action is changed meanwhile. */
void nvs_sigactions_lock(uint64_t *saved);
void nvs_sigactions_unlock(const uint64_t *saved);

/* ---- signals.c ---- */
/* Of SIGSEGV, SIGTRAP and the stand-in (sigview.h). */
void nvs_on_signal(int sig, siginfo_t *info, void *ucontext);
/* Of another signal: its handler of the program's may see and change the mask to be restored. */
void nvs_on_other(int sig, siginfo_t *info, void *ucontext);

#endif
