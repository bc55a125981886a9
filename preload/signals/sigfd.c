/* SPDX-License-Identifier: MIT */
/*
 * signalfd: which numbers stand in for our two signals, and what the kernel is asked for.
 *
 * A token is pending in the kernel where a signal of ours is pending in the program's eyes, for the
 * thread or for the process, and blocked wherever the program blocks that signal. A thread that had
 * it blocked before there were stand-ins gets the token, blocks it from then on, and puts it back.
 */
#include <string.h>
#include <sys/signalfd.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"

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
	if (!nvs_sigtoken_stand_in(1)) {
		first = choose(44);
		second = first ? choose(first + 1) : 0;
		if (second)
			nvs_sigtoken_stand_ins_made(first, second);
	}
	nvs_sigactions_unlock(&saved);
	return nvs_sighook(NVS_SIGHOOK_FD);
}

int nvs_signals_fd(int (*next)(int, const sigset_t *, int), int fd, const sigset_t *set, int flags)
{
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
	word &= ~nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS);
	word |= nvs_sigtoken_stand_ins(word);
	word &= ~NVS_SIGVIEW_SIGNALS;
	memcpy(&filtered, &word, sizeof(word));
	ret = next(fd, &filtered, flags);
	if (ret >= 0) {
		nvs_sigview_stand_ins_made();
		nvs_sigkeep_sync();
	}
	return ret;
}
