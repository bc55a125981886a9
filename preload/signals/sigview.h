/* SPDX-License-Identifier: MIT */
/*
 * The program's view of SIGSEGV, which another signal carries in the kernel. sigview.c says how.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGVIEW_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGVIEW_H

#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

#define NVS_STAND_IN SIGSTKFLT

/* The mask that the kernel is given where the program means WORD, and what the program is shown
 * where the kernel has KERNEL. */
uint64_t nvs_sigview_given(uint64_t word);
uint64_t nvs_sigview_shown(uint64_t kernel);
/* KERNEL with its SIGSEGV open. */
uint64_t nvs_sigview_opened(uint64_t kernel);

/*
 * A SIGSEGV that was sent is pending from now on, by its stand-in. Where the program has it BLOCKED
 * in this thread and it was not sent to this thread, for the process.
 */
void nvs_sigview_make_pending(const siginfo_t *info, bool blocked);
/* True: INFO is of such a stand-in, and says what was sent from now on. */
bool nvs_sigview_restore_info(siginfo_t *info);
/* Takes a pending one. */
bool nvs_sigview_take_pending(siginfo_t *info);
/* SIG came in the middle of a trap; nvs_sigview_deliver_now() sends it again. */
void nvs_sigview_keep(int sig, const siginfo_t *info);
bool nvs_sigview_keeps(void);

#endif
