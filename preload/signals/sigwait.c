/* SPDX-License-Identifier: MIT */
/*
 * Waiting for signals: one of ours can be waited for only while it is blocked in the kernel, so it is for
 * that long. A thread that waits rings no doorbell.
 */
#include <errno.h>
#include <string.h>
#include "preload/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigfd.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/signext.h"
#include "preload/signals/sigthreads.h"
#include "preload/signals/sigview.h"
#include "preload/sys.h"

#define EXPORT __attribute__((visibility("default")))
#define FOREVER 1000000000 /* seconds: thirty years, whose nanoseconds a word holds */

/* Those of ours in SET that the program has blocked; they are blocked in the kernel now. */
static uint64_t begin_wait(uint64_t set)
{
	uint64_t ours = set & NVS_SIGVIEW_SIGNALS;

	if (ours)
		ours &= nvs_sigview_blocked();
	if (ours) {
		nvs_sys_sigmask(SIG_BLOCK, &ours, NULL);
		nvs_sigthreads_wait(ours);
	}
	return ours;
}

/* Also where the thread is cancelled. */
static void end_wait(void *arg)
{
	uint64_t ours = *(uint64_t *)arg;

	if (!ours)
		return;
	nvs_sigthreads_wait(0);
	nvs_sys_sigmask(SIG_UNBLOCK, &ours, NULL);
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
	d->left = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return &d->left;
}

/* As the C library does: for sigwaitinfo() raise() is a kill(). */
static int give(siginfo_t *info)
{
	if (info->si_code == SI_TKILL)
		info->si_code = SI_USER;
	return info->si_signo;
}

/* One of OURS, or another of SET from the kernel; 0: it was a nudge about something that is gone. */
static int take_or_wait(uint64_t ours, const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	int sig;

	if (nvs_sigkeep_take(ours, info, NULL))
		return give(info);
	sig = nvs_signext_find()->sigtimedwait(set, info, timeout);
	if (sig <= 0 || !(ours & NVS_SIGBIT(sig)))
		return sig;
	if (nvs_sigthreads_is_nudge(info))
		return nvs_sigkeep_take(ours, info, NULL) ? give(info) : 0;
	nvs_sigthreads_to_thread(info);
	return sig;
}

/* Goes on where it was interrupted by a signal of ours that the program is not to notice. */
static int wait_for(uint64_t ours, const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	struct nvs_sigcounts before = nvs_signals_counts();
	struct deadline deadline;
	bool again = false;
	int sig;

	set_deadline(&deadline, timeout);
	pthread_cleanup_push(end_wait, &ours);
	do {
		sig = take_or_wait(ours, set, info, time_left(&deadline, again));
		again = !sig || (sig < 0 && errno == EINTR && nvs_signals_unnoticed(&before));
	} while (again);
	pthread_cleanup_pop(1);
	return sig;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	sigset_t filtered = *set;
	siginfo_t own_info;
	uint64_t word, ours;

	memcpy(&word, set, sizeof(word));
	word &= ~nvs_sigfd_stand_ins(NVS_SIGVIEW_SIGNALS);
	memcpy(&filtered, &word, sizeof(word));
	ours = begin_wait(word);
	if (!ours && !nvs_sighook(NVS_SIGHOOK_VIEW | NVS_SIGHOOK_UNKNOWN))
		return nvs_signext_find()->sigtimedwait(&filtered, info, timeout);
	return wait_for(ours, &filtered, info ? info : &own_info, timeout);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

EXPORT int sigwait(const sigset_t *set, int *sig)
{
	int ret, saved = errno;

	do
		ret = sigtimedwait(set, NULL, NULL);
	while (ret < 0 && errno == EINTR);
	if (ret < 0) {
		ret = errno;
		errno = saved;
		return ret;
	}
	*sig = ret;
	return 0;
}
