/* SPDX-License-Identifier: MIT */
/*
 * Waiting for signals: one of ours can be waited for only while it is blocked in the kernel, so it is for
 * that long. A thread that waits rings no doorbell.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "preload/preload.h"
#include "preload/sigview.h"
#include "preload/sys.h"

#define EXPORT __attribute__((visibility("default")))

static void *next_of(_Atomic(void *) *cache, const char *name)
{
	void *next = atomic_load(cache);

	if (!next) {
		next = dlsym(RTLD_NEXT, name);
		atomic_store(cache, next);
	}
	return next;
}

/* Those of ours in SET that the program has blocked; they are blocked in the kernel now. */
static uint64_t begin_wait(const sigset_t *set)
{
	uint64_t ours;

	memcpy(&ours, set, sizeof(ours));
	ours &= NVS_SIGVIEW_SIGNALS & nvs_sigview_blocked();
	if (ours)
		nvs_sys_sigmask(SIG_BLOCK, &ours, NULL);
	return ours;
}

static void end_wait(uint64_t ours)
{
	if (ours)
		nvs_sys_sigmask(SIG_UNBLOCK, &ours, NULL);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	static _Atomic(void *) cache;
	int (*next)(const sigset_t *, siginfo_t *, const struct timespec *) =
		next_of(&cache, "sigtimedwait");
	uint64_t ours = begin_wait(set);
	siginfo_t kept;
	int ret;

	if (ours && nvs_sigview_take(ours, &kept)) {
		if (info)
			*info = kept;
		ret = kept.si_signo;
	} else {
		ret = next(set, info, timeout);
	}
	end_wait(ours);
	return ret;
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

/* Handlers that run meanwhile may ring: ours are not blocked for them. */
EXPORT int sigsuspend(const sigset_t *set)
{
	static _Atomic(void *) cache;
	int (*next)(const sigset_t *) = next_of(&cache, "sigsuspend");
	sigset_t filtered = *set;
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	word &= ~NVS_SIGVIEW_SIGNALS;
	memcpy(&filtered, &word, sizeof(word));
	return next(&filtered);
}
