/* SPDX-License-Identifier: MIT */
/*
 * Waiting for signals: one of ours can be waited for only while it is blocked in the kernel, so it
 * is for that long. A handler of the program may not run meanwhile, since it may ring a doorbell:
 * the others are blocked as well and waited for, and what comes of them is given out with ours open
 * again.
 */
#include <errno.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigthreads.h"
#include "preload/signals/sigview.h"
#include "preload/base/sys.h"

#define FOREVER 1000000000 /* seconds: thirty years, whose nanoseconds a word holds */

/* What cannot be put off: faults, a sandbox's question, and the C library's own two. */
#define NEVER                                                                                \
	(NVS_SIGBIT(SIGBUS) | NVS_SIGBIT(SIGFPE) | NVS_SIGBIT(SIGILL) | NVS_SIGBIT(SIGSYS) | \
	 NVS_SIGVIEW_MARKER | NVS_SIGBIT(33))

struct waiting {
	uint64_t ours; /* those that the program has blocked and waits for; 0: nothing is to be done
			*/
	uint64_t asked; /* what it waits for */
	uint64_t blocked; /* for that long, ours among them */
	sigset_t all; /* with what is to be given out */
};

/* The other signals, but for what stands in for ours. */
static uint64_t others(void)
{
	return ~(NEVER | NVS_SIGVIEW_SIGNALS | nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS));
}

static void block(const struct waiting *w)
{
	nvs_sys_sigmask(SIG_BLOCK, &w->blocked, NULL);
	nvs_sigthreads_wait(w->ours);
}

static void begin_wait(struct waiting *w, const sigset_t *set)
{
	uint64_t word = nvs_sigset_word(set), mask = 0;

	*w = (struct waiting){.asked = word, .ours = word & NVS_SIGVIEW_SIGNALS, .all = *set};
	if (w->ours)
		w->ours &= nvs_sigview_blocked();
	if (!w->ours)
		return;
	nvs_sys_sigmask(SIG_BLOCK, NULL, &mask);
	w->blocked = (others() | w->ours) & ~mask;
	word |= w->blocked;
	memcpy(&w->all, &word, sizeof(word));
	block(w);
}

/* Also where the thread is cancelled. */
static void end_wait(void *arg)
{
	const struct waiting *w = arg;

	if (!w->ours)
		return;
	nvs_sigthreads_wait(0);
	nvs_sys_sigmask(SIG_UNBLOCK, &w->blocked, NULL);
}

/* A signal that the program does not wait for comes now as if it had not waited. True: the wait
 * ends by that. */
static bool give_out(const struct waiting *w, const siginfo_t *info)
{
	bool ends = nvs_signals_does_something(info->si_signo);

	nvs_sys_queue_self(info->si_signo, info);
	end_wait((void *)w);
	block(w);
	return ends;
}

struct deadline {
	const struct timespec *given;
	struct timespec end, left;
};

static void set_deadline(struct deadline *d, const struct timespec *given)
{
	d->given = given;
	if (!given)
		return;
	clock_gettime(CLOCK_MONOTONIC, &d->end);
	d->left = *given;
	d->end.tv_sec += given->tv_sec < FOREVER ? given->tv_sec : FOREVER;
	d->end.tv_nsec += given->tv_nsec;
}

static const struct timespec *time_left(struct deadline *d, bool again)
{
	struct timespec now;
	int64_t ns;

	if (!d->given || !again)
		return d->given;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (int64_t)(d->end.tv_sec - now.tv_sec) * 1000000000 + d->end.tv_nsec - now.tv_nsec;
	ns = ns < 0 ? 0 : ns;
	d->left = (struct timespec){ns / 1000000000, ns % 1000000000};
	return &d->left;
}

/* As the C library does: for sigwaitinfo() raise() is a kill(). */
static int give(siginfo_t *info)
{
	if (info->si_code == SI_TKILL)
		info->si_code = SI_USER;
	return info->si_signo;
}

#define ENDED -2 /* by a handler of the program */

/* One of ours, or another that is waited for; 0: what came was nothing, or about something that is
 * gone. */
static int take_or_wait(const struct waiting *w, siginfo_t *info, const struct timespec *timeout)
{
	int sig;

	if (nvs_sigkeep_take(w->ours, info, NULL))
		return give(info);
	sig = nvs_next()->sigtimedwait(&w->all, info, timeout);
	if (sig > 0 && w->ours && !(w->asked & NVS_SIGBIT(sig)))
		return give_out(w, info) ? ENDED : 0;
	if (sig <= 0 || !(w->ours & NVS_SIGBIT(sig)))
		return sig;
	if (nvs_sigthreads_is_nudge(info))
		return nvs_sigkeep_take(w->ours, info, NULL) ? give(info) : 0;
	nvs_sigthreads_to_thread(info);
	return sig;
}

/* Goes on where it was interrupted by a signal of ours that the program is not to notice. */
static int wait_for(struct waiting *w, siginfo_t *info, const struct timespec *timeout)
{
	struct nvs_sigcounts before = nvs_signals_counts();
	struct deadline deadline;
	bool again = false;
	int sig;

	set_deadline(&deadline, timeout);
	pthread_cleanup_push(end_wait, w);
	do {
		sig = take_or_wait(w, info, time_left(&deadline, again));
		again = !sig || (sig == -1 && errno == EINTR && nvs_signals_unnoticed(&before));
	} while (again);
	pthread_cleanup_pop(1);
	if (sig == ENDED)
		errno = EINTR;
	return sig == ENDED ? -1 : sig;
}

int nvs_signals_wait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t word = nvs_sigset_word(set) & ~nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS);
	sigset_t filtered = *set;
	struct waiting w;
	siginfo_t came;
	int sig;

	memcpy(&filtered, &word, sizeof(word));
	begin_wait(&w, &filtered);
	if (!w.ours && !nvs_sighook(NVS_SIGHOOK_VIEW | NVS_SIGHOOK_UNKNOWN))
		return nvs_next()->sigtimedwait(&filtered, info, timeout);
	sig = wait_for(&w, &came, timeout);
	if (sig > 0 && info)
		*info = came;
	return sig;
}
