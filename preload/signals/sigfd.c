/* SPDX-License-Identifier: MIT */
/*
 * signalfd: the numbers that stand in for our two signals, and their tokens.
 *
 * A token is pending in the kernel where a signal of ours is pending in the program's eyes, for the
 * thread or for the process, and blocked wherever the program blocks that signal. A thread that had
 * it blocked before there were stand-ins gets the token, blocks it from then on, and puts it back.
 */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigfd.h"
#include "preload/signals/sigkeep.h"
#include "preload/base/signext.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"

/* Set once, both or none. */
static _Atomic int stand_ins[2];
static const char token; /* its address is a token's value */

int nvs_sigfd_stand_in(int slot)
{
	return atomic_load_explicit(&stand_ins[slot], memory_order_relaxed);
}

uint64_t nvs_sigfd_stand_ins(uint64_t set)
{
	uint64_t word = 0;

	if (!nvs_sighook(NVS_SIGHOOK_FD))
		return 0;
	if (set & NVS_SIGBIT(SIGSEGV))
		word |= NVS_SIGBIT(nvs_sigfd_stand_in(0));
	if (set & NVS_SIGBIT(SIGTRAP))
		word |= NVS_SIGBIT(nvs_sigfd_stand_in(1));
	return word;
}

bool nvs_sigtoken_is(uint64_t code, uint64_t value)
{
	return (int)code == SI_QUEUE && value == (uintptr_t)&token;
}

/* ---- tokens ---- */

static void drain(int number)
{
	uint64_t bit = NVS_SIGBIT(number);
	struct timespec none = {0, 0};

	while (nvs_sys4(SYS_rt_sigtimedwait, &bit, 0, &none, sizeof(bit)) > 0)
		;
}

static void put(int number, bool process)
{
	siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
	int pid = nvs_sys_getpid();

	info.si_value.sival_ptr = (void *)&token;
	if (process)
		nvs_sys4(SYS_rt_sigqueueinfo, pid, number, &info, 0);
	else
		nvs_sys4(SYS_rt_tgsigqueueinfo, pid, nvs_sys_gettid(), number, &info);
}

/* Drained first, looked at then: what others put meanwhile is at most one too many. */
void nvs_sigfd_sync(void)
{
	if (!nvs_sighook(NVS_SIGHOOK_FD) || nvs_state_borrowed())
		return;
	for (int i = 0; i < 2; i++) {
		uint64_t bit = NVS_SIGBIT(i ? SIGTRAP : SIGSEGV);

		drain(nvs_sigfd_stand_in(i));
		if (nvs_sigkeep_of_thread() & bit)
			put(nvs_sigfd_stand_in(i), false);
		if (nvs_sigkeep_of_process() & bit)
			put(nvs_sigfd_stand_in(i), true);
	}
}

/* What it stands for and is not blocked here is taken by the way; the rest stays for who has it
 * blocked. */
void nvs_sigfd_on_token(int sig, siginfo_t *info, void *ucontext)
{
	uint64_t *mask = (uint64_t *)(void *)&((ucontext_t *)ucontext)->uc_sigmask;
	int slot = sig == nvs_sigfd_stand_in(1), saved = errno;
	uint64_t bit = NVS_SIGBIT(slot ? SIGTRAP : SIGSEGV);

	if (!nvs_sigtoken_is((uint64_t)info->si_code, (uintptr_t)info->si_value.sival_ptr)) {
		nvs_signals_forward(sig, info, ucontext);
		return;
	}
	nvs_signals_count_kept(ucontext);
	if (nvs_sigview_blocked_with(*mask) & bit) {
		*mask = nvs_sigview_token_came(*mask);
		nvs_sigfd_sync();
	} else if (!nvs_in_trap()) {
		nvs_sigview_deliver(*mask);
	}
	errno = saved;
}

/* ---- the descriptor ---- */

/* From the middle of the range: programs count theirs from either end. */
static int choose(int from)
{
	for (int sig = from; sig < 64; sig++)
		if (nvs_sigactions_stand_in(sig))
			return sig;
	return 0;
}

static bool make_stand_ins(void)
{
	uint64_t saved;
	int first, second;

	if (nvs_sighook(NVS_SIGHOOK_FD))
		return true;
	nvs_sigactions_lock(&saved);
	if (!nvs_sigfd_stand_in(1)) {
		first = choose(44);
		second = first ? choose(first + 1) : 0;
		if (second) {
			atomic_store(&stand_ins[0], first);
			atomic_store(&stand_ins[1], second);
			atomic_fetch_or(&nvs_sighooks, NVS_SIGHOOK_FD);
		}
	}
	nvs_sigactions_unlock(&saved);
	return nvs_sighook(NVS_SIGHOOK_FD);
}

__attribute__((visibility("default"))) int signalfd(int fd, const sigset_t *set, int flags)
{
	int (*next)(int, const sigset_t *, int) = nvs_signext_find()->signalfd;
	sigset_t filtered = *set;
	uint64_t word;
	int ret;

	memcpy(&word, set, sizeof(word));
	if (nvs_options()->disabled ||
	    (!(word & NVS_SIGVIEW_SIGNALS) && !nvs_sighook(NVS_SIGHOOK_FD)))
		return next(fd, set, flags);
	if (word & NVS_SIGVIEW_SIGNALS &&
	    (nvs_state_borrowed() || nvs_signals_install() || !make_stand_ins()))
		return next(fd, set, flags);
	/* What the program means by those numbers nobody sends. */
	word &= ~nvs_sigfd_stand_ins(NVS_SIGVIEW_SIGNALS);
	word |= nvs_sigfd_stand_ins(word);
	word &= ~NVS_SIGVIEW_SIGNALS;
	memcpy(&filtered, &word, sizeof(word));
	ret = next(fd, &filtered, flags);
	if (ret >= 0) {
		nvs_sigview_stand_ins_made();
		nvs_sigfd_sync();
	}
	return ret;
}
