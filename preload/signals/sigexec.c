/* SPDX-License-Identifier: MIT */
/*
 * The signal state that a program inherits over exec: whether one of our two signals is blocked or
 * ignored, and a pending SIGSEGV. It is put into the kernel for the duration of the call and
 * removed again if the call fails. May run in a handler and in a vfork() child: only system calls,
 * thread-local storage and the stack; no lock and no allocation.
 */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigview.h"
#include "trap/low/sys.h"

static const uint64_t segv = NVS_SIGBIT(SIGSEGV);

void nvs_signals_exec_begin(struct nvs_exec_signals *h)
{
	uint64_t shown;
	siginfo_t info;

	*h = (struct nvs_exec_signals){0};
	if (nvs_options()->disabled || !nvs_sigactions_installed())
		return;
	if (!nvs_sys_sigmask(SIG_BLOCK, NULL, &h->before)) {
		shown = nvs_sigview_to_program(h->before);
		h->masked = shown != h->before;
	}
	if (h->masked) {
		nvs_sys_sigmask(SIG_BLOCK, &segv, NULL);
		h->pending = nvs_sigview_take_pending(&info);
		if (h->pending)
			nvs_sys_queue_self(SIGSEGV, &info);
		nvs_sys_sigmask(SIG_SETMASK, &shown, NULL);
	}
	h->ignored = nvs_sigactions_exec_begin();
}

int nvs_signals_exec_failed(const struct nvs_exec_signals *h)
{
	static const uint64_t stand_in = NVS_SIGBIT(NVS_STAND_IN);
	struct timespec none = {0, 0};
	int err = errno;
	siginfo_t info;

	nvs_sigactions_exec_failed(h->ignored);
	if (h->pending)
		nvs_sys_sigmask(SIG_BLOCK, &stand_in, NULL);
	if (h->pending && nvs_sys4(SYS_rt_sigtimedwait, &segv, &info, &none, sizeof(segv)) > 0)
		nvs_sigview_make_pending(&info, true);
	if (h->masked)
		nvs_sys_sigmask(SIG_SETMASK, &h->before, NULL);
	errno = err;
	return -1;
}

const posix_spawnattr_t *nvs_signals_spawn_mask(posix_spawnattr_t *copy,
						const posix_spawnattr_t *attr)
{
	uint64_t kernel = 0, shown;
	short flags = 0;
	sigset_t mask;

	if (nvs_options()->disabled || !nvs_sigactions_installed())
		return attr;
	nvs_sys_sigmask(SIG_BLOCK, NULL, &kernel);
	shown = nvs_sigview_to_program(kernel);
	if (attr)
		posix_spawnattr_getflags(attr, &flags);
	if (shown == kernel || flags & POSIX_SPAWN_SETSIGMASK)
		return attr;
	if (attr)
		*copy = *attr;
	else
		posix_spawnattr_init(copy);
	sigemptyset(&mask);
	nvs_sigset_set_word(&mask, shown);
	posix_spawnattr_setsigmask(copy, &mask);
	posix_spawnattr_setflags(copy, (short)(flags | POSIX_SPAWN_SETSIGMASK));
	return copy;
}
