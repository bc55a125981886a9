/* SPDX-License-Identifier: MIT */
/*
 * The mask of the program's signals, as it changes and asks it.
 */
#include <errno.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigview.h"
#include "preload/base/sys.h"

/* The unwinder in the trap, and whoever our lock makes a stranger: the kernel's mask, never ours in
 * it. */
static int pass_mask(int how, const sigset_t *set, sigset_t *old, bool returns_error)
{
	uint64_t word = set ? nvs_sigset_word(set) : 0, before = 0;
	int ret;

	if (how != SIG_UNBLOCK)
		word &= ~NVS_SIGVIEW_SIGNALS;
	ret = nvs_sys_sigmask(how, set ? &word : NULL, &before);
	if (!ret && old) {
		sigemptyset(old);
		nvs_sigset_put(old, before);
	}
	if (!ret || returns_error)
		return -ret;
	errno = -ret;
	return -1;
}

int nvs_signals_mask(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old,
		     bool returns_error)
{
	if (nvs_in_trap())
		return pass_mask(how, set, old, returns_error);
	if (nvs_options()->disabled)
		return next(how, set, old);
	return nvs_sigview_change(next, how, set, old);
}

int nvs_signals_pending(sigset_t *set)
{
	long ret;

	sigemptyset(set);
	ret = nvs_sys(SYS_rt_sigpending, (long)set, sizeof(uint64_t), 0, 0, 0, 0);
	if (ret) {
		errno = (int)-ret;
		return -1;
	}
	nvs_sigset_put(set, (nvs_sigset_word(set) & ~nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS)) |
				    nvs_sigkeep_pending());
	return 0;
}
