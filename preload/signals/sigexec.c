/* SPDX-License-Identifier: MIT */
/*
 * What a program hands on to the one it runs: that it blocks or ignores one of our two signals, and
 * what is pending of them. In the kernel it does so for the moment of the call; where that fails,
 * all is as before.
 *
 * May run in a handler and in a vfork() child: system calls and the thread's own storage, no lock,
 * no memory but the stack's.
 */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "trap/low/sys.h"

/* Blocked already, in the kernel as well. */
static void hand_pending(struct nvs_handover *h)
{
	uint64_t left = nvs_sigview_blocked();
	siginfo_t info;
	bool process;

	while (left && nvs_sigkeep_take(left, &info, &process)) {
		left &= ~NVS_SIGBIT(info.si_signo);
		nvs_sys_queue_self(info.si_signo, &info);
		h->pending |= NVS_SIGBIT(info.si_signo);
		h->process |= process ? NVS_SIGBIT(info.si_signo) : 0;
	}
	nvs_sigkeep_sync();
}

void nvs_signals_hand_over(struct nvs_handover *h)
{
	uint64_t shown;

	*h = (struct nvs_handover){0};
	if (nvs_options()->disabled || !nvs_sigactions_installed())
		return;
	if (nvs_state_borrowed()) {
		if (nvs_sigview_differs())
			nvs_sigview_settle_child();
	} else if (nvs_sigview_differs() && !nvs_sys_sigmask(SIG_BLOCK, NULL, &h->before)) {
		shown = nvs_sigview_shown(h->before);
		/* What stands in for a pending one is taken back before it is open. */
		h->masked = !nvs_sys_sigmask(SIG_BLOCK, &shown, NULL);
		hand_pending(h);
		nvs_sys_sigmask(SIG_SETMASK, &shown, NULL);
	}
	h->ignored = nvs_sigactions_hand_over();
}

int nvs_signals_take_back(const struct nvs_handover *h)
{
	struct timespec none = {0, 0};
	int err = errno;
	siginfo_t info;

	nvs_sigactions_take_back(h->ignored);
	for (int i = 0; i < 2; i++) {
		uint64_t bit = NVS_SIGBIT(i ? SIGSEGV : SIGTRAP);

		if (h->pending & bit &&
		    nvs_sys4(SYS_rt_sigtimedwait, &bit, &info, &none, sizeof(bit)) > 0)
			nvs_sigkeep_add(info.si_signo, &info, h->process & bit);
	}
	if (h->masked)
		nvs_sys_sigmask(SIG_SETMASK, &h->before, NULL);
	errno = err;
	return -1;
}

const posix_spawnattr_t *nvs_signals_spawn_mask(posix_spawnattr_t *copy,
						const posix_spawnattr_t *attr)
{
	uint64_t kernel = 0;
	short flags = 0;
	sigset_t mask;

	if (nvs_options()->disabled || !nvs_sigview_differs())
		return attr;
	if (attr)
		*copy = *attr;
	else
		posix_spawnattr_init(copy);
	posix_spawnattr_getflags(copy, &flags);
	if (flags & POSIX_SPAWN_SETSIGMASK)
		return attr;
	nvs_sys_sigmask(SIG_BLOCK, NULL, &kernel);
	kernel = nvs_sigview_shown(kernel);
	sigemptyset(&mask);
	memcpy(&mask, &kernel, sizeof(kernel));
	posix_spawnattr_setsigmask(copy, &mask);
	posix_spawnattr_setflags(copy, (short)(flags | POSIX_SPAWN_SETSIGMASK));
	return copy;
}
