/* SPDX-License-Identifier: MIT */
/*
 * The actions for SIGSEGV and SIGTRAP that the program believes to have set.
 */
#ifndef NVSNOOP_PRELOAD_SIGACTIONS_H
#define NVSNOOP_PRELOAD_SIGACTIONS_H

#include <signal.h>
#include <stdbool.h>

/* True once our handlers are in place; in a forked child they still are. */
bool nvs_sigactions_installed(void);
/* Async-signal-safe. SIG is SIGSEGV or SIGTRAP. */
struct sigaction nvs_sigaction_of_program(int sig);
/* SA_RESETHAND: the program's handler for SIG is taken away before it runs. */
void nvs_sigaction_reset(int sig);
/* The kernel's action for SIG becomes the default one: the process is about to die of it. */
void nvs_sigaction_give_up(int sig);
/* signals.c */
void nvs_on_signal(int sig, siginfo_t *info, void *ucontext);

#endif
