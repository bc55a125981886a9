/* SPDX-License-Identifier: MIT */
/*
 * The program's view of the two signals that are ours: what it believes to be blocked.
 *
 * In the kernel they are never blocked in a thread of the program, since a doorbell store whose SIGSEGV is
 * blocked would kill it. From the library's load on, not only from the first doorbell: threads block
 * signals long before, and nobody but a thread itself can unblock them.
 *
 * Our handlers are installed when the first of them is blocked, so that one that is sent then is kept, and a
 * fault kills, as by the kernel. What is blocked by a call is kept per thread. What is blocked because the program's own handler for
 * one of the two is running ends in ways that we do not see (siglongjmp, setcontext): it counts while
 * a marker, the C library's cancellation signal, is blocked in the kernel's mask. Whatever restores the
 * mask from before the handler takes the marker away too, and no program can block it by itself.
 */
#ifndef NVSNOOP_PRELOAD_SIGVIEW_H
#define NVSNOOP_PRELOAD_SIGVIEW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define NVS_SIGBIT(sig) (1ull << ((sig) - 1))
#define NVS_SIGVIEW_SIGNALS (NVS_SIGBIT(SIGSEGV) | NVS_SIGBIT(SIGTRAP))
#define NVS_SIGVIEW_MARKER NVS_SIGBIT(32)

/* The signals of ours that the program has blocked in this thread: what it asked for, and by a handler. */
uint64_t nvs_sigview_blocked(void);
/* The same, where KERNEL is known to be the thread's mask in the kernel. */
uint64_t nvs_sigview_blocked_with(uint64_t kernel);
/* A thread of the program begins, with VIEW blocked in the program's eyes. */
void nvs_sigview_thread_begins(uint64_t view);
/* The main thread, at the library's load. */
void nvs_sigview_main_begins(void);
/*
 * The program's own handler is about to run, in a thread whose mask was KERNEL; DURING is what is blocked
 * meanwhile. Returns the mask to set in the kernel. What was blocked before is told by nvs_sigview_save().
 */
uint64_t nvs_sigview_enter_handler(uint64_t kernel, uint64_t during);
struct nvs_sigview {
	uint64_t asked; /* blocked by a call */
	uint64_t by_handler; /* blocked by a handler that runs, while the marker is */
};
struct nvs_sigview nvs_sigview_save(void);
/*
 * The handler has returned. KERNEL: the mask that it left to be restored, with the program's view in it.
 * Returns what to restore instead.
 */
uint64_t nvs_sigview_leave_handler(const struct nvs_sigview *before, uint64_t kernel);
/* A signal that was sent while it was blocked: kept, and sent again when it no longer is. */
void nvs_sigview_keep(int sig, const siginfo_t *info);
/* Sends again what was kept and is not blocked, in a thread whose mask is KERNEL. */
void nvs_sigview_deliver(uint64_t kernel);
/* Takes one of SET that was kept in this thread; its siginfo. False: none. */
bool nvs_sigview_take(uint64_t set, siginfo_t *info);

#endif
