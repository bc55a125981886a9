/* SPDX-License-Identifier: MIT */
/* The program's view of SIGSEGV and SIGTRAP, whose handlers in the kernel are ours (sigview.c
 * explains it): the interface for the library. hooked.h is for the hooked functions. */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGNALS_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGNALS_H

#include <stdbool.h>

/* Installs our handlers. Called before the first page is armed. Returns 0 or -errno. */
int nvs_signals_install(void);
/* Returns true if the program has replaced our handlers by a bare system call; they are installed
 * again then. */
bool nvs_signals_check(void);
/* Starts the program's view in the main thread, at load. */
void nvs_sigview_begin_main(void);
/* A thread of the program is about to make its first driver call. */
void nvs_sigview_before_driver_call(void);
/*
 * Between the two calls a thread of the library, which blocks all signals, takes faults of the
 * trap. A sent SIGSEGV that the kernel delivers to it meanwhile is passed on to the program's
 * threads.
 */
void nvs_sigview_own_faults_begin(void);
void nvs_sigview_own_faults_end(void);
/* Sends the signals again that arrived during the trap. */
void nvs_sigview_send_deferred(void);

#endif
