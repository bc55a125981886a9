/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is: which thread of the program takes a signal that was sent to the process and
 * came, in the kernel, to one that has it blocked in the program's eyes. Async-signal-safe.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGTHREADS_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGTHREADS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What the calling thread has blocked: by calls, and while the marker is in its mask. */
void nvs_sigthreads_publish(uint64_t asked, uint64_t by_handler);
/* What it waits for now; 0: it no longer does. */
void nvs_sigthreads_wait(uint64_t set);
/*
 * SIG is pending for the process: a thread that waits for it, or does not block it, is nudged to
 * take it. Of the latter only those with a number above AFTER, so that a nudge that comes too late
 * ends its round.
 */
void nvs_sigthreads_offer(int sig, int after);
/* True: this is a nudge; what it is about has to be taken from what is pending. */
bool nvs_sigthreads_is_nudge(const siginfo_t *info);
/* What is queued to one thread in place of VALUE, so that it is told from sigqueue()'s. */
union sigval nvs_sigthreads_disguise(union sigval value);
/* True: it was sent to this thread and not to the process. A value in disguise is put right. */
bool nvs_sigthreads_to_thread(siginfo_t *info);
/* The hexadecimal word behind NAME in the file FOLDER NUMBER FILE, which is one of the kernel's;
 * ~0: there is none. */
uint64_t nvs_sigthreads_proc_word(const char *folder, int number, const char *file,
				  const char *name);

#endif
