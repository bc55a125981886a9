/* SPDX-License-Identifier: MIT */
/*
 * The program's view of SIGSEGV and SIGTRAP, which are ours in the kernel (sigview.c says how):
 * what the library needs of it. What hooked functions call is in hooked.h.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGNALS_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGNALS_H

#include <stdbool.h>

/* Installs our handlers; called before the first page is armed. 0 or -errno. */
int nvs_signals_install(void);
/* True if the program has replaced them behind our back; they are put in again then. */
bool nvs_signals_check(void);
/* The program's view begins: in its main thread, at the library's load. */
void nvs_sigview_main_begins(void);
/* A thread of the program is about to make its first call of the driver. */
void nvs_sigview_thread_calls(void);
/*
 * On a thread of ours, which blocks all: faults of the trap come to it between the two. A SIGSEGV
 * that is sent to the process and comes to it then is passed on to the program's threads.
 */
void nvs_sigview_own_faults_begin(void);
void nvs_sigview_own_faults_end(void);
/* Sends again what came while the trap was at work. */
void nvs_sigview_deliver_now(void);

#endif
