/* SPDX-License-Identifier: MIT */
/*
 * Keeps SIGSEGV open in the kernel while the program believes it is blocked, since a doorbell store
 * with SIGSEGV blocked kills. SIGSTKFLT, which neither the kernel nor the C library ever sends, is
 * blocked, and made pending, in its place from the library's load on. The state is thus the
 * kernel's own: siglongjmp, contexts, returning handlers, sigsuspend and clone save, set, restore
 * and inherit the program's view without our help.
 */
#include <string.h>
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigview.h"
#include "trap/low/sys.h"

/*
 * The kernel's mask, and what it means:
 *
 *   SIGSEGV   SIGSTKFLT   for the program SIGSEGV is
 *   open      open        open
 *   open      blocked     blocked
 *   blocked   any         blocked, but by no call that we have seen
 *
 * The last happens by a bare system call, or by the C library for a moment or in a thread that it
 * created. A doorbell kills then. The next hooked call or handler unblocks SIGSEGV, and so does a
 * thread's first driver call.
 *
 * A sent SIGSEGV reaches our handler, which sends the stand-in with a mark in si_errno. The kernel
 * keeps it while it is blocked and delivers it when it is unblocked, to the thread or to any thread
 * of the process. What the program itself asks of SIGSTKFLT is not done, only shown: a per-thread
 * word remembers it. SIGTRAP is blocked in the kernel if the program blocks it; we need it only
 * after a single step, which unblocks it.
 */
#define SEGV NVS_SIGBIT(SIGSEGV)
#define STAND_IN NVS_SIGBIT(NVS_STAND_IN)
#define MARK 0x6e76736e /* si_errno */

/* Whether the program has asked to block SIGSTKFLT. If it asked in the same call as for SIGSEGV,
 * the request ends with that one, when the stand-in is unblocked. */
static __thread enum { NOT_ASKED, ASKED_WITH_SEGV, ASKED_ALONE } asked;

/* Signals that arrived during a trap: SIGSEGV, and SIGTRAP for the thread and for the process. */
static __thread struct {
	volatile bool is;
	siginfo_t info;
} kept[3];

/* A SIGSEGV arrived while this thread had it blocked; cleared by the reader. */
static __thread volatile bool came_blocked;

static uint64_t kernel_mask(void)
{
	uint64_t mask = 0;

	nvs_sys_sigmask(SIG_BLOCK, NULL, &mask);
	return mask;
}

static void set_kernel(uint64_t mask)
{
	nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
}

/* ---- conversion between the two masks ---- */

uint64_t nvs_sigview_to_kernel(uint64_t word)
{
	return (word & ~(SEGV | STAND_IN)) | (word & SEGV ? STAND_IN : 0);
}

uint64_t nvs_sigview_to_program(uint64_t kernel)
{
	bool blocked = kernel & (SEGV | STAND_IN);
	bool stand_in = asked == ASKED_ALONE || (asked == ASKED_WITH_SEGV && blocked);

	return (kernel & ~(SEGV | STAND_IN)) | (blocked ? SEGV : 0) | (stand_in ? STAND_IN : 0);
}

static void store_asked(uint64_t shown)
{
	asked = !(shown & STAND_IN) ? NOT_ASKED : shown & SEGV ? ASKED_WITH_SEGV : ASKED_ALONE;
}

/* ---- the program's calls ---- */

/* Our handlers must be installed before SIGSEGV is blocked in name only: a signal or a fault has to
 * reach us then. */
static bool may_block(void)
{
	return nvs_sigactions_installed() || !nvs_signals_install();
}

static uint64_t kernel_word(int how, uint64_t word)
{
	if (how == SIG_UNBLOCK)
		return (word & ~STAND_IN) | (word & SEGV ? STAND_IN : 0);
	return word & SEGV && !may_block() ? word : nvs_sigview_to_kernel(word);
}

static uint64_t change_mask(int how, uint64_t mask, uint64_t by)
{
	return how == SIG_BLOCK ? mask | by : how == SIG_UNBLOCK ? mask & ~by : by;
}

static void open_blocked(void)
{
	uint64_t kernel;

	if (!nvs_sigactions_installed())
		return;
	kernel = kernel_mask();
	set_kernel(kernel & SEGV ? nvs_sigview_to_kernel(kernel) : kernel);
}

/* libunwind calls this on stacks that are nearly used up: only one set is on the stack. */
int nvs_signals_change_mask(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old)
{
	uint64_t word = set ? nvs_sigset_word(set) : 0, kernel, shown;
	sigset_t given, *was = old ? old : &given;
	int ret;

	if (nvs_options()->disabled)
		return next(how, set, old);
	if (set) {
		given = *set;
		nvs_sigset_set_word(&given, kernel_word(how, word));
	}
	/* The kernel reads the new mask before it writes the old one, so they may share memory. */
	ret = next(how, set ? &given : NULL, was);
	if (ret)
		return ret;
	kernel = nvs_sigset_word(was);
	shown = nvs_sigview_to_program(kernel);
	if (set && (asked || word & STAND_IN))
		store_asked(change_mask(how, shown, word));
	if (kernel & SEGV)
		open_blocked();
	if (old) {
		sigemptyset(old);
		nvs_sigset_set_word(old, shown);
	}
	return 0;
}

const sigset_t *nvs_signals_call_mask(const sigset_t *mask, sigset_t *given)
{
	uint64_t word = mask ? nvs_sigset_word(mask) : 0;

	came_blocked = false;
	if (!(word & (SEGV | STAND_IN)) || nvs_options()->disabled || (word & SEGV && !may_block()))
		return mask;
	*given = *mask;
	nvs_sigset_set_word(given, nvs_sigview_to_kernel(word));
	return given;
}

static uint64_t kernel_pending(void)
{
	uint64_t pending = 0;

	nvs_sys4(SYS_rt_sigpending, &pending, sizeof(pending), 0, 0);
	return pending;
}

/* A SIGSEGV that interrupts the call finds the mask from before it in its frame, where it is
 * blocked. It is pending now; the kernel delivers it in the repeated call, which unblocks it. */
bool nvs_signals_call_again(const sigset_t *mask)
{
	bool came = came_blocked;

	came_blocked = false;
	return came && mask && !(nvs_sigset_word(mask) & SEGV) && kernel_pending() & STAND_IN;
}

/* If SIGSEGV is blocked and its stand-in is not, the program has set the mask itself; else the
 * kernel has. */
void nvs_signals_enter_context(ucontext_t *uc)
{
	uint64_t word = nvs_sigset_word(&uc->uc_sigmask);

	if (word & SEGV && !nvs_options()->disabled && may_block())
		nvs_sigset_set_word(&uc->uc_sigmask, nvs_sigview_to_kernel(word));
}

/* ---- pending signals ---- */

static bool is_for_process(const siginfo_t *info)
{
	return info->si_code != SI_TKILL;
}

static void send_signal(int sig, const siginfo_t *info, bool process)
{
	/* For the thread's own id the kernel accepts any code, and sends to its process. */
	if (!process || nvs_sys4(SYS_rt_sigqueueinfo, nvs_sys_gettid(), sig, info, 0))
		nvs_sys_queue_self(sig, info);
}

void nvs_sigview_make_pending(const siginfo_t *info, bool blocked)
{
	siginfo_t marked = *info;

	marked.si_signo = NVS_STAND_IN;
	marked.si_errno = MARK;
	came_blocked |= blocked;
	send_signal(NVS_STAND_IN, &marked, blocked && is_for_process(info));
}

bool nvs_sigview_restore_info(siginfo_t *info)
{
	if (info->si_signo != NVS_STAND_IN || info->si_errno != MARK)
		return false;
	info->si_signo = SIGSEGV;
	info->si_errno = 0;
	return true;
}

bool nvs_sigview_take_pending(siginfo_t *info)
{
	uint64_t set = STAND_IN;
	struct timespec none = {0, 0};

	return nvs_sys4(SYS_rt_sigtimedwait, &set, info, &none, sizeof(set)) > 0 &&
	       nvs_sigview_restore_info(info);
}

int nvs_signals_get_pending(sigset_t *set)
{
	uint64_t pending = kernel_pending();

	sigemptyset(set);
	nvs_sigset_set_word(set, (pending & ~STAND_IN) | (pending & STAND_IN ? SEGV : 0));
	return 0;
}

/* A signal that arrives during the wait is open in the kernel and is taken as itself. */
int nvs_signals_wait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t word = nvs_sigset_word(set);
	sigset_t given = *set;
	siginfo_t came;
	int sig;

	if (!(word & (SEGV | STAND_IN)) || !nvs_sigactions_installed())
		return nvs_next()->sigtimedwait(set, info, timeout);
	nvs_sigset_set_word(&given, nvs_sigview_to_kernel(word) | (word & SEGV));
	sig = nvs_next()->sigtimedwait(&given, &came, timeout);
	if (sig == NVS_STAND_IN && nvs_sigview_restore_info(&came))
		sig = SIGSEGV;
	if (sig > 0 && info)
		*info = came;
	return sig;
}

void nvs_sigview_defer(int sig, const siginfo_t *info)
{
	int i = sig == SIGSEGV ? 0 : 1 + is_for_process(info);

	if (kept[i].is)
		return;
	kept[i].info = *info;
	kept[i].is = true;
}

bool nvs_sigview_has_deferred(void)
{
	return kept[0].is || kept[1].is || kept[2].is;
}

void nvs_sigview_send_deferred(void)
{
	siginfo_t info;

	for (int i = 0; i < 3; i++) {
		if (!kept[i].is)
			continue;
		info = kept[i].info;
		kept[i].is = false;
		if (i)
			send_signal(SIGTRAP, &info, i == 2);
		else
			nvs_sigview_make_pending(&info, false);
	}
}

/* ---- threads ---- */

/* The thread has KERNEL from before our first look: no bit stands in for another there. */
static void begin_with(uint64_t kernel)
{
	store_asked(kernel);
	if (kernel & SEGV && !may_block())
		return;
	if (kernel & (SEGV | STAND_IN))
		set_kernel(nvs_sigview_to_kernel(kernel));
}

void nvs_sigview_begin_main(void)
{
	uint64_t kernel = kernel_mask();

	if (!nvs_sigactions_installed())
		begin_with(kernel);
	else if (kernel & SEGV)
		open_blocked();
}

/* The kernel inherits the mask itself. */
uint64_t nvs_sigview_inherited(void)
{
	return asked;
}

void nvs_sigview_begin_thread(uint64_t told)
{
	if (told == NVS_SIGVIEW_MASKED)
		begin_with(kernel_mask());
	else
		asked = (unsigned)told;
}

void nvs_sigview_before_driver_call(void)
{
	static __thread bool done;

	if (!done)
		open_blocked();
	done = true;
}

void nvs_sigview_own_faults_begin(void)
{
	uint64_t set = SEGV;

	nvs_sys_sigmask(SIG_UNBLOCK, &set, NULL);
}

void nvs_sigview_own_faults_end(void)
{
	uint64_t set = SEGV;

	nvs_sys_sigmask(SIG_BLOCK, &set, NULL);
}
