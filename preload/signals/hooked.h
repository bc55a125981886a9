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
#include <sys/uio.h>
#include <time.h>
#include "trap/buffer/abandoned.h"

#define NVS_SIGBIT(sig) (1ull << ((sig)-1))
#define NVS_SIGVIEW_SIGNALS (NVS_SIGBIT(SIGSEGV) | NVS_SIGBIT(SIGTRAP))

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

/* ---- sigprocmask(), sigpending(), pthread_sigqueue() ---- */

typedef int (*nvs_mask_fn)(int, const sigset_t *, sigset_t *);
int nvs_signals_mask(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old,
		     bool returns_error);
int nvs_signals_pending(sigset_t *set);
/* What is to be queued to a thread in place of VALUE. */
union sigval nvs_signals_queued(int sig, union sigval value);

/* ---- calls that wait ---- */

struct nvs_sigview {
	uint64_t asked; /* blocked by a call */
	uint64_t by_handler; /* blocked by a handler that runs, while the marker is */
	/* A handler that ended a call with a mask of its own: what is asked when the marker is
	 * gone. */
	bool ended_call;
	uint64_t then_asked;
};
/*
 * A call that has a mask of its own, as sigsuspend(): MASK is what the program wants; returns what
 * the kernel is to be given. What is pending and not blocked by MASK is with the kernel during the
 * call, and delivered by it.
 */
struct nvs_sigtemp {
	uint64_t mask;
	uint64_t lent,
		process; /* signals that were, and which of them are pending for the process */
	struct nvs_sigview view, outside; /* what holds again after it */
	uint64_t added; /* and which stand-ins are blocked by us alone */
	struct nvs_sigtemp *before; /* such a call around it */
	struct nvs_activity activity;
	volatile uint64_t mark;
};
uint64_t nvs_sigview_begin_call(struct nvs_sigtemp *t, uint64_t mask);
void nvs_sigview_end_call(struct nvs_sigtemp *t);
/* The thread is cancelled in it: in the kernel too the call's mask stays. */
void nvs_sigview_keep_call(struct nvs_sigtemp *t);
/*
 * Of this thread: signals that came and that the program is not to notice, though a call may have
 * ended for them; and handlers of the program that were run.
 */
struct nvs_sigcounts {
	uint32_t kept, handled;
};
struct nvs_sigcounts nvs_signals_counts(void);
/* True: since *BEFORE only such signals came that it is not to notice, and at least one. *BEFORE is
 * then now. */
bool nvs_signals_unnoticed(struct nvs_sigcounts *before);

/* sigtimedwait() */
int nvs_signals_wait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);

/* ---- signalfd() by NEXT, and what is read of it ---- */

int nvs_signals_fd(int (*next)(int, const sigset_t *, int), int fd, const sigset_t *set, int flags);
ssize_t nvs_signals_read(int fd, void *data, size_t size);
ssize_t nvs_signals_readv(int fd, const struct iovec *iov, int n);

/* ---- exec: what the program hands on, put into the kernel for the moment of the call ---- */

struct nvs_handover {
	bool masked;
	uint64_t before; /* the kernel's mask */
	uint64_t ignored; /* of ours: by the kernel too */
	uint64_t pending, process; /* of ours: with the kernel; and those for the process */
};
void nvs_signals_hand_over(struct nvs_handover *h);
int nvs_signals_take_back(const struct nvs_handover *h); /* it has failed: -1, errno kept */
/* ATTR, or a COPY of it with the mask that the program believes to have. */
const posix_spawnattr_t *nvs_signals_spawn_mask(posix_spawnattr_t *copy,
						const posix_spawnattr_t *attr);

/* ---- threads ---- */

/* A thread of the program begins, with VIEW blocked in the program's eyes. */
void nvs_sigview_thread_begins(uint64_t view);
/* What a new thread inherits, for nvs_sigview_thread_begins(). */
uint64_t nvs_sigview_of_new_thread(void);
/* Something is pending for the process. */
bool nvs_signals_process_pending(void);

#endif
