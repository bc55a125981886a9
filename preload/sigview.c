/* SPDX-License-Identifier: MIT */
/*
 * The program's view of blocked signals, and the functions by which it changes and asks it.
 */
#include <errno.h>
#include <string.h>
#include "preload/preload.h"
#include "preload/sigactions.h"
#include "preload/sigview.h"
#include "preload/state.h"
#include "preload/sys.h"

#define EXPORT __attribute__((visibility("default")))

static __thread struct {
	struct nvs_sigview view;
	uint64_t known; /* the kernel's mask when view.asked was set */
	uint64_t kept; /* sent while blocked; their siginfo: */
	siginfo_t info[2];
} mine;

static int slot_of(int sig)
{
	return sig == SIGTRAP;
}

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

static uint64_t kernel_mask(void)
{
	uint64_t mask = 0;

	nvs_sys_sigmask(SIG_BLOCK, NULL, &mask);
	return mask;
}

static void change_kernel(int how, uint64_t set)
{
	nvs_sys_sigmask(how, &set, NULL);
}

/* ---- for the handlers and for threads ---- */

static void ask(uint64_t bits, uint64_t kernel)
{
	mine.view.asked = bits;
	mine.known = kernel & ~NVS_SIGVIEW_MARKER;
}

/*
 * A mask that has lost a signal since was set by a system call that we did not see, as Go's runtime does in each
 * thread: what was blocked before it is no more. Handlers that run only add to it.
 */
uint64_t nvs_sigview_blocked_with(uint64_t kernel)
{
	if (mine.view.asked && (mine.known & ~kernel))
		mine.view.asked = 0;
	if (!(kernel & NVS_SIGVIEW_MARKER))
		mine.view.by_handler = 0;
	return mine.view.asked | mine.view.by_handler;
}

uint64_t nvs_sigview_blocked(void)
{
	return mine.view.by_handler ? nvs_sigview_blocked_with(kernel_mask()) : mine.view.asked;
}

struct nvs_sigview nvs_sigview_save(void)
{
	return mine.view;
}

uint64_t nvs_sigview_enter_handler(uint64_t kernel, uint64_t during)
{
	nvs_sigview_blocked_with(kernel);
	mine.view.by_handler |= during & NVS_SIGVIEW_SIGNALS & ~mine.view.asked;
	kernel = (kernel | during) & ~NVS_SIGVIEW_SIGNALS;
	return mine.view.by_handler ? kernel | NVS_SIGVIEW_MARKER : kernel;
}

static void send_kept(uint64_t due)
{
	for (int sig = SIGSEGV;; sig = SIGTRAP) {
		if (due & NVS_SIGBIT(sig)) {
			siginfo_t info = mine.info[slot_of(sig)];

			mine.kept &= ~NVS_SIGBIT(sig);
			nvs_sys_queue_self(sig, &info);
		}
		if (sig == SIGTRAP)
			return;
	}
}

/* Sends again what is no longer blocked. */
static void deliver_kept(void)
{
	send_kept(mine.kept & ~nvs_sigview_blocked());
}

void nvs_sigview_deliver(uint64_t kernel)
{
	uint64_t due = mine.kept ? mine.kept & ~nvs_sigview_blocked_with(kernel) : 0;

	if (!due)
		return;
	/* Until the handler that calls this has returned: it comes where that one came. */
	change_kernel(SIG_BLOCK, due);
	send_kept(due);
}

uint64_t nvs_sigview_leave_handler(const struct nvs_sigview *before, uint64_t kernel)
{
	uint64_t view = kernel & NVS_SIGVIEW_SIGNALS;

	mine.view.by_handler = before->by_handler & view;
	kernel &= ~NVS_SIGVIEW_SIGNALS;
	ask(view & ~mine.view.by_handler, kernel);
	if (mine.view.by_handler)
		kernel |= NVS_SIGVIEW_MARKER;
	if (mine.kept & ~view)
		deliver_kept();
	return kernel;
}

void nvs_sigview_keep(int sig, const siginfo_t *info)
{
	/* As in the kernel, a second one of the same number is not kept. */
	if (mine.kept & NVS_SIGBIT(sig))
		return;
	mine.kept |= NVS_SIGBIT(sig);
	mine.info[slot_of(sig)] = *info;
}

bool nvs_sigview_take(uint64_t set, siginfo_t *info)
{
	for (int sig = SIGSEGV;; sig = SIGTRAP) {
		if (mine.kept & set & NVS_SIGBIT(sig)) {
			*info = mine.info[slot_of(sig)];
			mine.kept &= ~NVS_SIGBIT(sig);
			return true;
		}
		if (sig == SIGTRAP)
			return false;
	}
}

void nvs_sigview_thread_begins(uint64_t view)
{
	uint64_t never = NVS_SIGVIEW_SIGNALS | NVS_SIGVIEW_MARKER;

	mine.view = (struct nvs_sigview){ .asked = view };
	if (view)
		nvs_signals_install();
	change_kernel(SIG_UNBLOCK, never);
	if (view)
		mine.known = kernel_mask();
}

void nvs_sigview_main_begins(void)
{
	uint64_t blocked = kernel_mask() & NVS_SIGVIEW_SIGNALS;

	if (!blocked)
		return;
	nvs_signals_install();
	change_kernel(SIG_UNBLOCK, blocked);
	ask(mine.view.asked | blocked, kernel_mask());
}

/* ---- for the program ---- */

/* What the program's call makes of the view. */
static void change_view(int how, uint64_t bits)
{
	struct nvs_sigview *v = &mine.view;

	if (how == SIG_BLOCK) {
		v->asked |= bits & ~v->by_handler;
	} else if (how == SIG_UNBLOCK) {
		v->asked &= ~bits;
		v->by_handler &= ~bits;
	} else {
		v->by_handler &= bits;
		v->asked = bits & ~v->by_handler;
	}
}

typedef int (*mask_fn)(int, const sigset_t *, sigset_t *);

/* The unwinder in the trap, and whoever our lock makes a stranger: the kernel's mask, never ours in it. */
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

static bool concerns_us(const sigset_t *set)
{
	return mine.view.asked || mine.view.by_handler ||
	       (set && (low_word(set) & NVS_SIGVIEW_SIGNALS));
}

/* In a vfork() child the view is its parent's, and its mask in the kernel what a program gets that it runs. */
static int change_borrowed(mask_fn next, int how, const sigset_t *set, sigset_t *old)
{
	int ret = next(how, set, old);

	if (!ret && old)
		set_low_word(old, low_word(old) | mine.view.asked);
	return ret;
}

/*
 * Bits of ours in the kernel's mask: a handler of the program runs that was begun before ours were
 * installed. From now on they are blocked in name, for as long as that handler runs.
 */
static void adopt(uint64_t kernel)
{
	mine.view.by_handler |= kernel & NVS_SIGVIEW_SIGNALS & ~mine.view.asked;
}

static int change_mask(mask_fn next, int how, const sigset_t *set, sigset_t *old)
{
	uint64_t before = nvs_sigview_blocked(), bits = 0, kernel;
	sigset_t filtered, was;
	bool marked;
	int ret;

	if (concerns_us(set) && nvs_state_borrowed())
		return change_borrowed(next, how, set, old);
	if (set) {
		filtered = *set;
		bits = low_word(set) & NVS_SIGVIEW_SIGNALS;
		/* What is sent or faults while it is blocked in name only has to come to us. */
		if (bits && how != SIG_UNBLOCK)
			nvs_signals_install();
		if (how != SIG_UNBLOCK)
			set_low_word(&filtered, low_word(set) & ~NVS_SIGVIEW_SIGNALS);
	}
	ret = next(how, set ? &filtered : NULL, &was);
	if (ret)
		return ret;
	kernel = low_word(&was);
	if (set && nvs_sigactions_installed())
		adopt(kernel);
	marked = mine.view.by_handler != 0;
	set_low_word(&was, (kernel & ~(marked ? NVS_SIGVIEW_MARKER : 0)) | before);
	if (old)
		*old = was;
	if (!set)
		return 0;
	change_view(how, bits);
	if (mine.view.asked)
		mine.known = kernel_mask() & ~NVS_SIGVIEW_MARKER;
	/* The C library never lets a call block the marker: a mask that was set has lost it. */
	if (marked)
		change_kernel(mine.view.by_handler ? SIG_BLOCK : SIG_UNBLOCK, NVS_SIGVIEW_MARKER);
	if (kernel & NVS_SIGVIEW_SIGNALS && nvs_sigactions_installed())
		change_kernel(SIG_UNBLOCK, NVS_SIGVIEW_SIGNALS);
	if (mine.kept)
		deliver_kept();
	return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	if (nvs_in_trap())
		return pass_mask(how, set, old, false);
	if (nvs_options()->disabled)
		return nvs_next()->sigprocmask(how, set, old);
	return change_mask(nvs_next()->sigprocmask, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	if (nvs_in_trap())
		return pass_mask(how, set, old, true);
	if (nvs_options()->disabled)
		return nvs_next()->pthread_sigmask(how, set, old);
	return change_mask(nvs_next()->pthread_sigmask, how, set, old);
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
	set_low_word(set, low_word(set) | mine.kept);
	return 0;
}
