/* SPDX-License-Identifier: MIT */
/* The program's view of SIGSEGV, for which the kernel has another signal: see sigview.c. */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGVIEW_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGVIEW_H

#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

#define NVS_STAND_IN SIGSTKFLT

/* nvs_sigview_to_kernel() returns the kernel's mask for the program's WORD;
 * nvs_sigview_to_program() returns the program's mask for KERNEL. */
uint64_t nvs_sigview_to_kernel(uint64_t word);
uint64_t nvs_sigview_to_program(uint64_t kernel);

/* Makes a sent SIGSEGV pending through its stand-in. BLOCKED: the program blocks it in this thread;
 * the stand-in then goes to the process, unless the signal was sent to this thread. */
void nvs_sigview_make_pending(const siginfo_t *info, bool blocked);
/* Returns true if INFO belongs to a stand-in; INFO then describes the signal that was sent. */
bool nvs_sigview_restore_info(siginfo_t *info);
/* Takes a pending stand-in, if there is one. */
bool nvs_sigview_take_pending(siginfo_t *info);
/* SIG arrived during a trap; nvs_sigview_send_deferred() sends it again. */
void nvs_sigview_defer(int sig, const siginfo_t *info);
bool nvs_sigview_has_deferred(void);

#endif
