/* SPDX-License-Identifier: MIT */
/*
 * Signal actions. SIGSEGV, its stand-in (sigview.c) and SIGTRAP have our handler in the kernel; the
 * program's actions are in a table, which the hooked functions read and write. The table survives a
 * fork, like the kernel's. It also has the handlers of other signals that block SIGSEGV while they
 * run, or may change the mask that is restored after them. Until ours are installed (before the
 * first doorbell page is armed, or when the program first blocks SIGSEGV), calls are only passed
 * on.
 */
#include <errno.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "trap/low/sys.h"

#define SIGNALS 65
/* Signals that an instruction can cause, also a system call in a sandbox. Blocked, they kill. */
#define CAUSED                                                                                 \
	(NVS_SIGBIT(SIGSEGV) | NVS_SIGBIT(SIGTRAP) | NVS_SIGBIT(SIGBUS) | NVS_SIGBIT(SIGFPE) | \
	 NVS_SIGBIT(SIGILL) | NVS_SIGBIT(SIGSYS))
#define VIEW (NVS_SIGBIT(SIGSEGV) | NVS_SIGBIT(NVS_STAND_IN))
#define RESTORER 0x04000000 /* SA_RESTORER, which the C library sets and reports */

/* A seqlock with two copies: the last bit of count selects the valid one. Readers take no lock. */
struct action {
	_Atomic uint32_t count;
	struct sigaction copy[2];
};
static struct action
	program[SIGNALS]; /* for signals whose action in the kernel is not the program's */
/* Other signals, for whose handlers ours runs first. */
static _Atomic uint64_t wrapped;
static _Atomic bool installed;
static void (*restorer)(void);

bool nvs_sigactions_installed(void)
{
	return atomic_load(&installed);
}

static bool is_ours(int sig)
{
	return sig == SIGSEGV || sig == SIGTRAP || sig == NVS_STAND_IN;
}

/* No action changes while it is held. The lock is in the root page, so that a forked child finds it
 * free. */
static void lock_actions(uint64_t *saved)
{
	uint64_t all = ~(NVS_SIGBIT(32) | NVS_SIGBIT(33)); /* the C library's own two */

	nvs_sys_sigmask(SIG_BLOCK, &all, saved);
	nvs_sys_lock((void *)nvs_slot(NVS_SLOT_SIGNALS));
}

static void unlock_actions(const uint64_t *saved)
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
}

static bool has_handler(const struct sigaction *a)
{
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/*
 * Installs our handler in the kernel for SIG. Stack and restart flags, and for sent signals the
 * mask, are those of the program's action, for which it stands in. After a single step everything
 * is blocked already. During a fault all other signals are blocked, also the C library's own two,
 * which sigfillset() leaves out. Nested faults are part of the trap's work.
 */
static int put_kernel(int sig)
{
	struct sigaction view = nvs_sigaction_of_program(sig == NVS_STAND_IN ? SIGSEGV : sig);
	struct sigaction a = {.sa_sigaction = nvs_on_signal, .sa_flags = SA_SIGINFO};

	a.sa_flags |= has_handler(&view) ? view.sa_flags & (SA_ONSTACK | SA_RESTART) : SA_RESTART;
	a.sa_flags |= sig == SIGSEGV ? SA_NODEFER : view.sa_flags & SA_NODEFER;
	nvs_sigset_set_word(&a.sa_mask,
			    sig == SIGSEGV || !has_handler(&view)
				    ? ~CAUSED
				    : nvs_sigview_to_kernel(nvs_sigset_word(&view.sa_mask)));
	return nvs_next()->sigaction(sig, &a, NULL) ? -errno : 0;
}

/* A signal that the program starts to ignore is no longer pending. SIGTRAP may be needed in any
 * thread: only those of this thread and of the process are discarded. */
static void discard_pending(int sig)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct timespec none = {0, 0};
	uint64_t set = NVS_SIGBIT(sig);

	if (sig == SIGSEGV)
		nvs_next()->sigaction(NVS_STAND_IN, &ignore, NULL);
	for (int i = 0; sig == SIGTRAP && i < 2; i++)
		nvs_sys4(SYS_rt_sigtimedwait, &set, 0, &none, sizeof(set));
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
		if (after.sa_handler == SIG_IGN)
			discard_pending(sig);
		put_kernel(sig);
		if (sig == SIGSEGV)
			put_kernel(NVS_STAND_IN);
	}
	if (old)
		*old = before;
}

/* Converts the kernel's action of SIG, which is not one of ours, to what the program has set. */
static void show_other(int sig, struct sigaction *action)
{
	struct sigaction mine;

	if (action->sa_sigaction != nvs_on_other &&
	    !(wrapped & NVS_SIGBIT(sig) && action->sa_handler == SIG_DFL))
		return;
	mine = nvs_sigaction_of_program(sig);
	/* SA_RESETHAND has removed only the handler. */
	if (action->sa_handler != SIG_DFL)
		action->sa_sigaction = mine.sa_sigaction;
	nvs_sigset_set_word(&action->sa_mask, nvs_sigset_word(&mine.sa_mask) &
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

/* Our handler runs first if the program's handler blocks SIGSEGV, or receives the mask that is
 * restored after it. */
static int change_other(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction ours;
	bool wrap = action && has_handler(action) &&
		    (action->sa_flags & SA_SIGINFO || nvs_sigset_word(&action->sa_mask) & VIEW);

	if (nvs_next()->sigaction(sig, NULL, old))
		return -1;
	show_other(sig, old);
	if (!action)
		return 0;
	if (wrap) {
		ours = *action;
		ours.sa_sigaction = nvs_on_other;
		ours.sa_flags |= SA_SIGINFO;
		nvs_sigset_set_word(&ours.sa_mask,
				    nvs_sigview_to_kernel(nvs_sigset_word(&action->sa_mask)));
		store_action(sig, action);
	}
	if (nvs_next()->sigaction(sig, wrap ? &ours : action, NULL))
		return -1;
	if (wrap)
		wrapped |= NVS_SIGBIT(sig);
	else
		wrapped &= ~NVS_SIGBIT(sig);
	return 0;
}

int nvs_signals_set_action(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction wanted, before;
	uint64_t saved;
	int ret = 0;

	if (nvs_options()->disabled)
		return nvs_next()->sigaction(sig, action, old);
	/* A wrong address faults here, where a handler may run. */
	if (action)
		wanted = *action;
	lock_actions(&saved);
	if (!installed)
		ret = nvs_next()->sigaction(sig, action ? &wanted : NULL, &before);
	else if (action && nvs_state_is_borrowed())
		ret = change_borrowed(sig, &wanted, &before);
	else if (!is_ours(sig))
		ret = change_other(sig, action ? &wanted : NULL, &before);
	else
		change_ours(sig, action ? &wanted : NULL, &before);
	unlock_actions(&saved);
	if (!ret && old)
		*old = before;
	return ret;
}

bool nvs_signals_is_replaced(int sig)
{
	return nvs_sigactions_installed() &&
	       (is_ours(sig) || (sig > 0 && sig < SIGNALS && wrapped & NVS_SIGBIT(sig)));
}

/* ---- for the library ---- */

void nvs_sigaction_reset(int sig)
{
	struct sigaction action;
	uint64_t saved;

	lock_actions(&saved);
	action = nvs_sigaction_of_program(sig);
	action.sa_handler = SIG_DFL;
	store_action(sig, &action);
	unlock_actions(&saved);
}

void nvs_sigaction_set_default(int sig)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	nvs_next()->sigaction(sig, &action, NULL);
}

uint64_t nvs_sigactions_exec_begin(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, action;
	uint64_t set = 0;

	for (int i = 0; i < 2; i++) {
		int sig = i ? SIGSEGV : SIGTRAP;

		/* A vfork() child may have installed its own. */
		if (installed && nvs_sigaction_of_program(sig).sa_handler == SIG_IGN &&
		    !nvs_next()->sigaction(sig, NULL, &action) &&
		    action.sa_sigaction == nvs_on_signal &&
		    !nvs_next()->sigaction(sig, &ignore, NULL))
			set |= NVS_SIGBIT(sig);
	}
	return set;
}

void nvs_sigactions_exec_failed(uint64_t ignored)
{
	for (int i = 0; i < 2; i++) {
		int sig = i ? SIGSEGV : SIGTRAP;

		if (ignored & NVS_SIGBIT(sig))
			put_kernel(sig);
	}
}

/* Stores the kernel's action of SIG as the program's, and installs ours. */
static int take_over(int sig)
{
	struct sigaction action;
	int err;

	if (nvs_next()->sigaction(sig, NULL, &action))
		return -errno;
	store_action(sig, &action);
	err = put_kernel(sig);
	if (!err && !restorer && !nvs_next()->sigaction(sig, NULL, &action))
		restorer = action.sa_restorer;
	return err;
}

static void wrap_others(void)
{
	struct sigaction action, old;

	for (int sig = 1; sig < SIGNALS; sig++) {
		if (is_ours(sig) || sig == SIGKILL || sig == SIGSTOP ||
		    nvs_next()->sigaction(sig, NULL, &action))
			continue;
		if (has_handler(&action))
			change_other(sig, &action, &old);
	}
}

int nvs_signals_install(void)
{
	int err = 0, saved_errno = errno;
	uint64_t saved;

	if (nvs_sigactions_installed())
		return 0;
	if (nvs_state_is_borrowed())
		return -EPERM;
	lock_actions(&saved);
	if (!installed) {
		err = take_over(SIGSEGV);
		if (!err)
			err = take_over(SIGTRAP);
		if (!err)
			err = take_over(NVS_STAND_IN);
		if (!err) {
			wrap_others();
			installed = true;
		}
	}
	unlock_actions(&saved);
	errno = saved_errno;
	return err;
}

static bool is_replaced(int sig)
{
	struct sigaction action;

	return !nvs_next()->sigaction(sig, NULL, &action) && action.sa_sigaction != nvs_on_signal;
}

bool nvs_signals_check(void)
{
	bool any = false;
	uint64_t saved;

	/* Usually nothing is replaced: do not pay for blocking signals and getpid() then. */
	if (!installed || !(is_replaced(SIGSEGV) || is_replaced(SIGTRAP)) ||
	    nvs_state_is_borrowed())
		return false;
	lock_actions(&saved);
	for (int i = 0; i < 2; i++) {
		int sig = i ? SIGTRAP : SIGSEGV;

		if (is_replaced(sig)) {
			take_over(sig);
			any = true;
		}
	}
	put_kernel(NVS_STAND_IN);
	unlock_actions(&saved);
	return any;
}
