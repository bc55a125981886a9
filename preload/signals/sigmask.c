/* SPDX-License-Identifier: MIT */
/*
 * The functions by which the program changes and asks the mask of its signals.
 */
#include <errno.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/signals/sigfd.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigview.h"
#include "preload/base/sys.h"

#define EXPORT __attribute__((visibility("default")))

static uint64_t low_word(const sigset_t *set)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	return word;
}

static void set_low_word(sigset_t *set, uint64_t word)
{
	memcpy(set, &word, sizeof(word));
}

/* The unwinder in the trap, and whoever our lock makes a stranger: the kernel's mask, never ours in
 * it. */
static int pass_mask(int how, const sigset_t *set, sigset_t *old, bool returns_error)
{
	uint64_t word = set ? low_word(set) : 0, before = 0;
	int ret;

	if (how != SIG_UNBLOCK)
		word &= ~NVS_SIGVIEW_SIGNALS;
	ret = nvs_sys_sigmask(how, set ? &word : NULL, &before);
	if (!ret && old) {
		sigemptyset(old);
		set_low_word(old, before);
	}
	if (!ret || returns_error)
		return -ret;
	errno = -ret;
	return -1;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	if (nvs_in_trap())
		return pass_mask(how, set, old, false);
	if (nvs_options()->disabled)
		return nvs_next()->sigprocmask(how, set, old);
	return nvs_sigview_change(nvs_next()->sigprocmask, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	if (nvs_in_trap())
		return pass_mask(how, set, old, true);
	if (nvs_options()->disabled)
		return nvs_next()->pthread_sigmask(how, set, old);
	return nvs_sigview_change(nvs_next()->pthread_sigmask, how, set, old);
}

/* The old forms, which the C library makes of its own inner calls. */
static int change_one(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	if (sigaddset(&set, sig))
		return -1;
	return sigprocmask(how, &set, NULL);
}

EXPORT int sighold(int sig)
{
	return change_one(SIG_BLOCK, sig);
}

EXPORT int sigrelse(int sig)
{
	return change_one(SIG_UNBLOCK, sig);
}

static int change_old(int how, int mask)
{
	sigset_t set, old;

	sigemptyset(&set);
	set_low_word(&set, (uint32_t)mask);
	if (sigprocmask(how, &set, &old))
		return -1;
	return (int)low_word(&old);
}

EXPORT int sigblock(int mask)
{
	return change_old(SIG_BLOCK, mask);
}

EXPORT int sigsetmask(int mask)
{
	return change_old(SIG_SETMASK, mask);
}

EXPORT int sigpending(sigset_t *set)
{
	long ret;

	sigemptyset(set);
	ret = nvs_sys(SYS_rt_sigpending, (long)set, sizeof(uint64_t), 0, 0, 0, 0);
	if (ret) {
		errno = (int)-ret;
		return -1;
	}
	set_low_word(set, (low_word(set) & ~nvs_sigfd_stand_ins(NVS_SIGVIEW_SIGNALS)) |
				  nvs_sigkeep_pending());
	return 0;
}
