/* SPDX-License-Identifier: MIT */
/*
 * The program's view of the two signals that are ours: what it believes to be blocked.
 *
 * In the kernel they are never blocked in a thread of the program, since a doorbell store whose
 * SIGSEGV is blocked would kill it. From the library's load on, not only from the first doorbell:
 * threads block signals long before, and nobody but a thread itself can unblock them.
 *
 * Our handlers are installed when the first of them is blocked, so that one that is sent then is
 * kept, and a fault kills, as by the kernel. What is blocked by a call is kept per thread. What is
 * blocked because the program's own handler for one of the two is running ends in ways that we do
 * not see (siglongjmp, setcontext): it counts while a marker, the C library's cancellation signal,
 * is blocked in the kernel's mask. Whatever restores the mask from before the handler takes the
 * marker away too, and no program can block it by itself.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_SIGVIEW_H
#define NVSNOOP_PRELOAD_SIGNALS_SIGVIEW_H

#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

#define NVS_SIGVIEW_MARKER NVS_SIGBIT(32)

/* The signals of ours that the program has blocked in this thread: what it asked for, and by a
 * handler. */
uint64_t nvs_sigview_blocked(void);
/* The same, where KERNEL is known to be the thread's mask in the kernel. */
uint64_t nvs_sigview_blocked_with(uint64_t kernel);
/*
 * The program's own handler is about to run, in a thread whose mask was KERNEL; DURING is what is
 * blocked meanwhile. ENDED: the call with a mask of its own that it ends, or NULL. Returns the mask
 * to set in the kernel. What was blocked before is told by nvs_sigview_save().
 */
struct nvs_sigtemp;
uint64_t nvs_sigview_enter_handler(const struct nvs_sigtemp *ended, uint64_t kernel,
				   uint64_t during);
struct nvs_sigview nvs_sigview_save(void);
/*
 * The handler has returned. KERNEL: the mask that it left to be restored, with the program's view
 * in it. Returns what to restore instead.
 */
uint64_t nvs_sigview_leave_handler(const struct nvs_sigview *before, uint64_t kernel);
/* Sends again what is kept and not blocked, at the end of a handler that leaves the mask KERNEL. */
void nvs_sigview_deliver(uint64_t kernel);

/* The mask that the program is to see, where the thread's is KERNEL. */
uint64_t nvs_sigview_shown(uint64_t kernel);
/* False: what the program sees is the kernel's mask. */
bool nvs_sigview_differs(void);
/* sigprocmask() by the NEXT of its forms. */
int nvs_sigview_change(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old);
/* A vfork() child is about to run a program: its mask in the kernel becomes what it believes. */
void nvs_sigview_settle_child(void);

/* There are stand-ins now (sigtoken.h): those of what this thread has blocked in name are blocked
 * in the kernel. */
void nvs_sigview_stand_ins_made(void);
/* A stand-in was delivered to a thread whose mask was KERNEL; the mask to restore. */
uint64_t nvs_sigview_token_came(uint64_t kernel);

/* A handler of the program is about to run, which ends such a call, if one is made; else NULL. */
const struct nvs_sigtemp *nvs_sigview_handler_ends_call(void);

#endif
