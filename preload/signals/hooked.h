/* SPDX-License-Identifier: MIT */
/*
 * For preload/hooks alone: one part a hooked family of functions, each of which behaves as the C
 * library's for a program that is alone.
 */
#ifndef NVSNOOP_PRELOAD_SIGNALS_HOOKED_H
#define NVSNOOP_PRELOAD_SIGNALS_HOOKED_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define NVS_SIGBIT(sig) (1ull << ((sig)-1))

/* The 64 signals of a set that the kernel knows. */
static inline uint64_t nvs_sigset_word(const sigset_t *set)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	return word;
}

static inline void nvs_sigset_put(sigset_t *set, uint64_t word)
{
	memcpy(set, &word, sizeof(word));
}

/* ---- sigaction() and its simple forms ---- */

int nvs_signals_action(int sig, const struct sigaction *action, struct sigaction *old);
/* True: SIG's action is the program's in name only. */
bool nvs_signals_take_over(int sig);

/* ---- masks, and what is pending ---- */

/* sigprocmask() by the NEXT of its forms. */
typedef int (*nvs_mask_fn)(int, const sigset_t *, sigset_t *);
int nvs_signals_mask(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old);
int nvs_signals_pending(sigset_t *set);
/* sigtimedwait() */
int nvs_signals_wait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);
/*
 * What a call that has a mask of its own, as sigsuspend(), is to be given for MASK: MASK itself, or
 * GIVEN, which is filled in.
 */
const sigset_t *nvs_signals_call_mask(const sigset_t *mask, sigset_t *given);
/* Such a call has ended with EINTR: true, what it has ended for is delivered in the same call made
 * again. */
bool nvs_signals_call_again(const sigset_t *mask);
/* UC is about to be made the thread's context. */
void nvs_signals_enter_context(ucontext_t *uc);

/* ---- exec: what the program hands on, put into the kernel for the moment of the call ---- */

struct nvs_handover {
	bool masked, pending;
	uint64_t before; /* the kernel's mask */
	uint64_t ignored; /* of ours: by the kernel too */
};
void nvs_signals_hand_over(struct nvs_handover *h);
int nvs_signals_take_back(const struct nvs_handover *h); /* it has failed: -1, errno kept */
/* ATTR, or a COPY of it with the mask that the program believes to have. */
const posix_spawnattr_t *nvs_signals_spawn_mask(posix_spawnattr_t *copy,
						const posix_spawnattr_t *attr);

/* ---- threads ---- */

/* What a new thread is to be told of its mask: 0, nothing; MASKED, its mask is its attributes'. */
#define NVS_SIGVIEW_MASKED 0x100
uint64_t nvs_sigview_of_new_thread(void);
/* A thread of the program begins. */
void nvs_sigview_thread_begins(uint64_t told);

#endif
