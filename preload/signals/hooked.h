/* SPDX-License-Identifier: MIT */
/* Interface for preload/hooks: one block for each family of hooked functions. To the program each
 * function behaves like the C library's, as if the library were not loaded. */
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

/* The kernel's part of a signal set: 64 signals. */
static inline uint64_t nvs_sigset_word(const sigset_t *set)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	return word;
}

static inline void nvs_sigset_set_word(sigset_t *set, uint64_t word)
{
	memcpy(set, &word, sizeof(word));
}

/* ---- sigaction() and its simple forms ---- */

int nvs_signals_set_action(int sig, const struct sigaction *action, struct sigaction *old);
/* Returns true if the kernel's action for SIG is ours, in place of the program's. */
bool nvs_signals_is_replaced(int sig);

/* ---- masks and pending signals ---- */

/* sigprocmask() or pthread_sigmask(); NEXT is the C library's function. */
typedef int (*nvs_mask_fn)(int, const sigset_t *, sigset_t *);
int nvs_signals_change_mask(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old);
int nvs_signals_get_pending(sigset_t *set);
/* sigtimedwait() */
int nvs_signals_wait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);
/* Returns the mask to pass to a call that takes one, such as sigsuspend(): MASK, or GIVEN, which is
 * filled in. */
const sigset_t *nvs_signals_call_mask(const sigset_t *mask, sigset_t *given);
/* Such a call has returned EINTR. Returns true if the signal that ended it will be delivered in the
 * same call made again. */
bool nvs_signals_call_again(const sigset_t *mask);
/* UC is about to become the thread's context. */
void nvs_signals_enter_context(ucontext_t *uc);

/* ---- exec: the inherited state, which is in the kernel for the duration of the call ---- */

struct nvs_exec_signals {
	bool masked, pending;
	uint64_t before; /* the kernel's mask */
	uint64_t ignored; /* which of our signals the kernel ignores too */
};
void nvs_signals_exec_begin(struct nvs_exec_signals *h);
int nvs_signals_exec_failed(
	const struct nvs_exec_signals *h); /* the call has failed; returns -1 with errno kept */
/* Returns ATTR, or a COPY of it with the mask that the program believes to have. */
const posix_spawnattr_t *nvs_signals_spawn_mask(posix_spawnattr_t *copy,
						const posix_spawnattr_t *attr);

/* ---- threads ---- */

/* What a new thread is told of its mask: 0, nothing; MASKED: its attributes set it. */
#define NVS_SIGVIEW_MASKED 0x100
uint64_t nvs_sigview_inherited(void);
/* A thread of the program starts. */
void nvs_sigview_begin_thread(uint64_t told);

#endif
