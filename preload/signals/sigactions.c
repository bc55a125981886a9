/* SPDX-License-Identifier: MIT */
/*
 * Signal actions: ours in the kernel for SIGSEGV and SIGTRAP, the program's in a table of its own,
 * which it sets and asks by the usual functions. The table outlives a fork, as the kernel's does.
 * In it are handlers of other signals too that block ours while they run: that is in name only.
 *
 * Until ours are installed all of it only passes on. That is before the first doorbell page is
 * armed, or when the program first blocks one of the two, from when on it only believes so
 * (sigview.h).
 */
#include <errno.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigthreads.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"

#define SIGNALS 65
/* What an instruction causes, a system call in a sandbox too, kills where it is blocked. */
#define CAUSED                                                                                \
	(NVS_SIGVIEW_SIGNALS | NVS_SIGBIT(SIGBUS) | NVS_SIGBIT(SIGFPE) | NVS_SIGBIT(SIGILL) | \
	 NVS_SIGBIT(SIGSYS))
#define RESTORER 0x04000000 /* SA_RESTORER, which the C library sets and shows */

/* Two copies, of which the count's last bit says which one holds: a reader needs no lock. */
struct action {
	_Atomic uint32_t count;
	struct sigaction copy[2];
};
static struct action program[SIGNALS]; /* of those that are not as the kernel has them */
/* The other signals whose handlers block ours. */
static _Atomic uint64_t masked;
static _Atomic bool installed;
static void (*restorer)(void);

bool nvs_sigactions_installed(void)
{
	return atomic_load(&installed);
}

static bool is_caught(int sig)
{
	return sig == SIGSEGV || sig == SIGTRAP;
}

/* What stands in for the two as well. */
static bool is_ours(int sig)
{
	return is_caught(sig) ||
	       (sig > 0 && (sig == nvs_sigtoken_stand_in(0) || sig == nvs_sigtoken_stand_in(1)));
}

/* Below the root page, so that a forked child finds it free. */
void nvs_sigactions_lock(uint64_t *saved)
{
	uint64_t all = ~NVS_SIGVIEW_MARKER & ~NVS_SIGBIT(33);

	nvs_sys_sigmask(SIG_BLOCK, &all, saved);
	nvs_sys_lock((void *)nvs_slot(NVS_SLOT_SIGNALS));
}

void nvs_sigactions_unlock(const uint64_t *saved)
{
	nvs_sys_unlock((void *)nvs_slot(NVS_SLOT_SIGNALS));
	nvs_sys_sigmask(SIG_SETMASK, saved, NULL);
}

struct sigaction nvs_sigaction_of_program(int sig)
{
	struct action *a = &program[sig];
	struct sigaction copy;
	uint32_t count;

	do {
		count = atomic_load(&a->count);
		copy = a->copy[count & 1];
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load(&a->count) != count);
	return copy;
}

/* Under the lock. */
static void store_action(int sig, const struct sigaction *action)
{
	struct action *a = &program[sig];
	uint32_t count = atomic_load(&a->count);

	a->copy[(count + 1) & 1] = *action;
	atomic_store(&a->count, count + 1);
	if (action->sa_handler == SIG_IGN)
		atomic_fetch_or(&nvs_sighooks, NVS_SIGHOOK_VIEW);
}

static bool has_handler(const struct sigaction *a)
{
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/*
 * Ours in the kernel. Nested faults are part of the trap's work, and so is a step within a fault.
 * On which stack and with which restarts: as the program's own handler would run, which we may have
 * to stand in for.
 */
static int put_kernel(int sig, const struct sigaction *view)
{
	struct sigaction a = {.sa_flags = SA_SIGINFO | SA_NODEFER};
	/* The C library's own two as well, which sigfillset() leaves out. */
	uint64_t mask = ~CAUSED;

	a.sa_sigaction = is_caught(sig) ? nvs_on_signal : nvs_on_token;
	memcpy(&a.sa_mask, &mask, sizeof(mask));
	a.sa_flags |= has_handler(view) ? view->sa_flags & (SA_ONSTACK | SA_RESTART) : SA_RESTART;
	return nvs_next()->sigaction(sig, &a, NULL) ? -errno : 0;
}

/* A vfork() child shares our memory, but its actions are its own. */
static bool in_vfork_child(void)
{
	return nvs_state_borrowed();
}

static void change_ours(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before = nvs_sigaction_of_program(sig), after;

	if (action) {
		after = *action;
		sigdelset(&after.sa_mask, SIGKILL);
		sigdelset(&after.sa_mask, SIGSTOP);
		after.sa_flags |= RESTORER;
		after.sa_restorer = restorer;
		store_action(sig, &after);
		put_kernel(sig, &after);
		if (after.sa_handler == SIG_IGN && is_caught(sig))
			nvs_sigkeep_discard(NVS_SIGBIT(sig));
	}
	if (old)
		*old = before;
}

/* What the kernel has for SIG, which is not ours, as the program set it. */
static void show_other(int sig, struct sigaction *action)
{
	struct sigaction mine;

	if (action->sa_sigaction != nvs_on_masked &&
	    !(masked & NVS_SIGBIT(sig) && action->sa_handler == SIG_DFL))
		return;
	mine = nvs_sigaction_of_program(sig);
	/* SA_RESETHAND has taken the handler away, and nothing else. */
	if (action->sa_handler != SIG_DFL)
		action->sa_sigaction = mine.sa_sigaction;
	nvs_sigset_put(&action->sa_mask, nvs_sigset_word(&mine.sa_mask) &
						 ~(NVS_SIGBIT(SIGKILL) | NVS_SIGBIT(SIGSTOP)));
	action->sa_flags &= ~SA_SIGINFO | mine.sa_flags;
}

static int change_borrowed(int sig, const struct sigaction *action, struct sigaction *old)
{
	int ret = nvs_next()->sigaction(sig, action, old);

	if (!ret && old && old->sa_sigaction == nvs_on_signal)
		*old = nvs_sigaction_of_program(sig);
	else if (!ret && old && !is_ours(sig))
		show_other(sig, old);
	return ret;
}

/* Ours runs first where the program's handler is to run with ours blocked: with all blocked, so
 * that nothing comes between. */
static int change_other(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction ours;
	bool mask = action && has_handler(action) &&
		    nvs_sigset_word(&action->sa_mask) & NVS_SIGVIEW_SIGNALS;

	if (nvs_next()->sigaction(sig, NULL, old))
		return -1;
	show_other(sig, old);
	if (!action)
		return 0;
	if (mask) {
		ours = *action;
		ours.sa_sigaction = nvs_on_masked;
		ours.sa_flags |= SA_SIGINFO;
		nvs_sigset_put(&ours.sa_mask, ~CAUSED | NVS_SIGVIEW_SIGNALS);
		store_action(sig, action);
	}
	if (nvs_next()->sigaction(sig, mask ? &ours : action, NULL))
		return -1;
	if (mask)
		masked |= NVS_SIGBIT(sig);
	else
		masked &= ~NVS_SIGBIT(sig);
	return 0;
}

int nvs_signals_action(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction wanted, before;
	uint64_t saved;
	int ret = 0;

	if (nvs_options()->disabled)
		return nvs_next()->sigaction(sig, action, old);
	/* A wrong address faults here, where a handler may run. */
	if (action)
		wanted = *action;
	nvs_sigactions_lock(&saved);
	if (!installed)
		ret = nvs_next()->sigaction(sig, action ? &wanted : NULL, &before);
	else if (action && in_vfork_child())
		ret = change_borrowed(sig, &wanted, &before);
	else if (!is_ours(sig))
		ret = change_other(sig, action ? &wanted : NULL, &before);
	else
		change_ours(sig, action ? &wanted : NULL, &before);
	nvs_sigactions_unlock(&saved);
	if (!ret && old)
		*old = before;
	return ret;
}

bool nvs_signals_take_over(int sig)
{
	return nvs_sigactions_installed() &&
	       (is_ours(sig) || (sig > 0 && sig < SIGNALS && masked & NVS_SIGBIT(sig)));
}

union sigval nvs_signals_queued(int sig, union sigval value)
{
	bool ours = sig == SIGSEGV || sig == SIGTRAP;

	return ours && nvs_sigactions_installed() && !in_vfork_child()
		       ? nvs_sigthreads_disguise(value)
		       : value;
}

/* ---- for the library ---- */

void nvs_sigaction_reset(int sig)
{
	struct sigaction action;
	uint64_t saved;

	nvs_sigactions_lock(&saved);
	action = nvs_sigaction_of_program(sig);
	action.sa_handler = SIG_DFL;
	store_action(sig, &action);
	nvs_sigactions_unlock(&saved);
}

void nvs_sigaction_give_up(int sig)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	nvs_next()->sigaction(sig, &action, NULL);
}

uint64_t nvs_sigactions_hand_over(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, action;
	uint64_t set = 0;

	for (int i = 0; i < 2; i++) {
		int sig = i ? SIGSEGV : SIGTRAP;

		/* A vfork() child may have put in one of its own. */
		if (installed && nvs_sigaction_of_program(sig).sa_handler == SIG_IGN &&
		    !nvs_next()->sigaction(sig, NULL, &action) &&
		    action.sa_sigaction == nvs_on_signal &&
		    !nvs_next()->sigaction(sig, &ignore, NULL))
			set |= NVS_SIGBIT(sig);
	}
	return set;
}

void nvs_sigactions_take_back(uint64_t ignored)
{
	for (int i = 0; i < 2; i++) {
		int sig = i ? SIGSEGV : SIGTRAP;
		struct sigaction action = nvs_sigaction_of_program(sig);

		if (ignored & NVS_SIGBIT(sig))
			put_kernel(sig, &action);
	}
}

bool nvs_sigactions_stand_in(int sig)
{
	struct sigaction action,
		ours = {.sa_sigaction = nvs_on_token, .sa_flags = SA_SIGINFO | SA_RESTART};
	uint64_t mask = ~CAUSED;

	if (nvs_next()->sigaction(sig, NULL, &action) || action.sa_handler != SIG_DFL)
		return false;
	memcpy(&ours.sa_mask, &mask, sizeof(mask));
	show_other(sig, &action);
	store_action(sig, &action);
	return !nvs_next()->sigaction(sig, &ours, NULL);
}

/* Takes what stands in the kernel for SIG as the program's, and puts ours there. */
static int take_over(int sig)
{
	struct sigaction action;
	int err;

	if (nvs_next()->sigaction(sig, NULL, &action))
		return -errno;
	store_action(sig, &action);
	err = put_kernel(sig, &action);
	if (!err && !restorer && !nvs_next()->sigaction(sig, NULL, &action))
		restorer = action.sa_restorer;
	return err;
}

/* Handlers of other signals no longer run with ours blocked. */
static void open_masks(void)
{
	struct sigaction action, old;

	for (int sig = 1; sig < SIGNALS; sig++) {
		if (is_ours(sig) || sig == SIGKILL || sig == SIGSTOP ||
		    nvs_next()->sigaction(sig, NULL, &action))
			continue;
		if (has_handler(&action) && nvs_sigset_word(&action.sa_mask) & NVS_SIGVIEW_SIGNALS)
			change_other(sig, &action, &old);
	}
}

int nvs_signals_install(void)
{
	int err = 0, saved_errno = errno;
	uint64_t saved;

	if (nvs_sigactions_installed())
		return 0;
	if (in_vfork_child())
		return -EPERM;
	nvs_sigactions_lock(&saved);
	if (!installed) {
		err = take_over(SIGSEGV);
		if (!err)
			err = take_over(SIGTRAP);
		if (!err) {
			open_masks();
			installed = true;
		}
	}
	nvs_sigactions_unlock(&saved);
	errno = saved_errno;
	return err;
}

static bool replaced(int sig)
{
	struct sigaction action;

	return !nvs_next()->sigaction(sig, NULL, &action) && action.sa_sigaction != nvs_on_signal;
}

bool nvs_signals_check(void)
{
	bool any = false;
	uint64_t saved;

	/* Mostly nobody has: what blocks signals, and asks who we are, is for where somebody did.
	 */
	if (!installed || !(replaced(SIGSEGV) || replaced(SIGTRAP)) || in_vfork_child())
		return false;
	nvs_sigactions_lock(&saved);
	for (int sig = SIGSEGV;; sig = SIGTRAP) {
		if (replaced(sig)) {
			take_over(sig);
			any = true;
		}
		if (sig == SIGTRAP)
			break;
	}
	nvs_sigactions_unlock(&saved);
	return any;
}
