/* SPDX-License-Identifier: MIT */
/* The exported functions for signal actions, for signal masks, and for waiting for signals. */
#include <errno.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/hooks/export.h"
#include "preload/signals/hooked.h"

/* ---- actions ---- */

EXPORT int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	return nvs_signals_set_action(sig, action, old);
}

EXPORT_ALIAS(__sigaction, sigaction);

/* ---- the simple forms, which the C library implements with internal calls ---- */

typedef void (*handler_fn)(int);

/* For a signal whose action in the kernel is the program's. */
static handler_fn pass_signal(handler_fn (*next)(int, handler_fn), int sig, handler_fn handler)
{
	if (!next) {
		errno = ENOSYS;
		return SIG_ERR;
	}
	return next(sig, handler);
}

static handler_fn set_handler(int sig, handler_fn handler, int flags, bool block_itself)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (block_itself)
		sigaddset(&action.sa_mask, sig);
	return nvs_signals_set_action(sig, &action, &old) ? SIG_ERR : old.sa_handler;
}

EXPORT handler_fn signal(int sig, handler_fn handler)
{
	if (!nvs_signals_is_replaced(sig))
		return pass_signal(nvs_next()->signal, sig, handler);
	return set_handler(sig, handler, SA_RESTART, true);
}

EXPORT_ALIAS(ssignal, signal);
EXPORT_ALIAS(bsd_signal, signal);

handler_fn sysv_signal(int sig, handler_fn handler);
EXPORT handler_fn sysv_signal(int sig, handler_fn handler)
{
	if (!nvs_signals_is_replaced(sig))
		return pass_signal(nvs_next()->sysv_signal, sig, handler);
	return set_handler(sig, handler, (int)(SA_RESETHAND | SA_NODEFER), false);
}

EXPORT_ALIAS(__sysv_signal, sysv_signal);

EXPORT handler_fn sigset(int sig, handler_fn handler)
{
	sigset_t set, before;
	handler_fn old;

	if (!nvs_signals_is_replaced(sig))
		return pass_signal(nvs_next()->sigset, sig, handler);
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (handler == SIG_HOLD) {
		struct sigaction action;

		sigprocmask(SIG_BLOCK, &set, &before);
		nvs_signals_set_action(sig, NULL, &action);
		old = action.sa_handler;
	} else {
		old = set_handler(sig, handler, 0, false);
		if (old == SIG_ERR)
			return old;
		sigprocmask(SIG_UNBLOCK, &set, &before);
	}
	return sigismember(&before, sig) ? SIG_HOLD : old;
}

EXPORT int sigignore(int sig)
{
	struct sigaction action = {.sa_handler = SIG_IGN};

	return nvs_signals_set_action(sig, &action, NULL);
}

/* ---- masks ---- */

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return nvs_signals_change_mask(nvs_next()->sigprocmask, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return nvs_signals_change_mask(nvs_next()->pthread_sigmask, how, set, old);
}

/* The old forms, which the C library implements with internal calls. */
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
	nvs_sigset_set_word(&set, (uint32_t)mask);
	if (sigprocmask(how, &set, &old))
		return -1;
	return (int)nvs_sigset_word(&old);
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
	return nvs_signals_get_pending(set);
}

/* ---- waiting ---- */

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	return nvs_signals_wait(set, info, timeout);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return nvs_signals_wait(set, info, NULL);
}

EXPORT int sigwait(const sigset_t *set, int *sig)
{
	int ret, saved = errno;

	do
		ret = nvs_signals_wait(set, NULL, NULL);
	while (ret < 0 && errno == EINTR);
	if (ret < 0) {
		ret = errno;
		errno = saved;
		return ret;
	}
	*sig = ret;
	return 0;
}

/* ---- contexts: called by contexts.S in arch/, which then jumps to the returned function ---- */

void *nvs_before_setcontext(ucontext_t *uc);
void *nvs_before_setcontext(ucontext_t *uc)
{
	nvs_signals_enter_context(uc);
	return (void *)nvs_next()->setcontext;
}

void *nvs_before_swapcontext(ucontext_t *saved, ucontext_t *uc);
void *nvs_before_swapcontext(ucontext_t *saved, ucontext_t *uc)
{
	nvs_signals_enter_context(uc);
	return (void *)nvs_next()->swapcontext;
}

/* The C library itself enters uc_link when the context ends. */
void *nvs_before_makecontext(ucontext_t *uc);
void *nvs_before_makecontext(ucontext_t *uc)
{
	nvs_signals_enter_context(uc);
	if (uc->uc_link)
		nvs_signals_enter_context(uc->uc_link);
	return (void *)nvs_next()->makecontext;
}
