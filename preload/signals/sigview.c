/* SPDX-License-Identifier: MIT */
/*
 * The program's view of blocked signals: for the handlers, for threads, and for a call with a mask
 * of its own. One file, since these three are one mask.
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
#include "trap/low/sys.h"

#define MARK 0x6e76737369677631ull

static __thread struct {
	struct nvs_sigview view;
	uint64_t known; /* of the kernel's mask: blocked ever since view.asked is something */
	uint64_t added; /* stand-ins that are blocked in the kernel by us alone (sigtoken.h) */
	struct nvs_sigtemp *temp; /* of the call that is being made with a mask of its own */
	struct nvs_activity activity; /* whether it is made still */
	struct nvs_sigview outside; /* what holds but for that call */
	int child; /* the vfork() child in this thread's memory whose mask in the kernel is what it
		      believes */
} mine;

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

/* The other threads are to know. */
static void publish(void)
{
	if ((mine.view.asked | mine.view.by_handler) && !nvs_sighook(NVS_SIGHOOK_VIEW))
		atomic_fetch_or(&nvs_sighooks, NVS_SIGHOOK_VIEW);
	nvs_sigthreads_publish(mine.view.asked, mine.view.by_handler);
}

/* ---- for the handlers and for threads ---- */

/*
 * KERNEL is the mask from now on. What a handler of the program has blocked besides is not to count
 * once it has returned, so that only the first to ask for something sets what is known.
 */
static void ask(uint64_t bits, uint64_t kernel)
{
	mine.known = (mine.view.asked ? mine.known & kernel : kernel) & ~NVS_SIGVIEW_MARKER;
	mine.view.asked = bits;
	publish();
}

/* The stand-ins of what is blocked in name are blocked in the kernel, where KERNEL says they are
 * not. */
static uint64_t add_stand_ins(uint64_t kernel)
{
	uint64_t need = nvs_sigtoken_stand_ins(mine.view.asked | mine.view.by_handler);

	mine.added = (mine.added & kernel) | (need & ~kernel);
	return kernel | need;
}

/* The marker stands in the kernel's mask, or has stood there. */
static bool marked(void)
{
	return mine.view.by_handler || mine.view.ended_call;
}

/*
 * A mask that has lost a signal since was set by a system call that we did not see, as Go's runtime
 * does in each thread: what was blocked before it is no more. Handlers that run only add to it.
 */
uint64_t nvs_sigview_blocked_with(uint64_t kernel)
{
	/* During such a call KERNEL is the mask from before it. */
	if (mine.temp)
		return mine.view.asked;
	if (!(kernel & NVS_SIGVIEW_MARKER)) {
		mine.view.by_handler = 0;
		if (mine.view.ended_call)
			mine.view.asked = mine.view.then_asked;
		mine.view.ended_call = false;
	}
	if (mine.view.asked && (mine.known & ~kernel))
		mine.view.asked = 0;
	return mine.view.asked | mine.view.by_handler;
}

uint64_t nvs_sigview_blocked(void)
{
	return marked() ? nvs_sigview_blocked_with(kernel_mask()) : mine.view.asked;
}

struct nvs_sigview nvs_sigview_save(void)
{
	return mine.view;
}

uint64_t nvs_sigview_enter_handler(const struct nvs_sigtemp *ended, uint64_t kernel,
				   uint64_t during)
{
	if (ended) {
		mine.view.then_asked = mine.view.asked;
		mine.view.ended_call = true;
		mine.view.asked = ended->mask & NVS_SIGVIEW_SIGNALS;
		mine.view.by_handler = 0;
		kernel = ended->mask;
		mine.known &= kernel;
	} else {
		nvs_sigview_blocked_with(kernel);
	}
	mine.view.by_handler |= during & NVS_SIGVIEW_SIGNALS & ~mine.view.asked;
	kernel = (kernel | during) & ~NVS_SIGVIEW_SIGNALS;
	publish();
	kernel = add_stand_ins(kernel);
	return marked() ? kernel | NVS_SIGVIEW_MARKER : kernel;
}

static void send_kept(uint64_t due)
{
	siginfo_t info;

	while (due && nvs_sigkeep_take(due, &info, NULL))
		nvs_sys_queue_self(info.si_signo, &info);
}

/* Sends again what is no longer blocked. */
void nvs_sigview_deliver_now(void)
{
	uint64_t pending = nvs_sigkeep_pending();

	if (pending)
		send_kept(pending & ~nvs_sigview_blocked());
}

/* One at a time: its handler may block the next, and what is due then follows it. */
void nvs_sigview_deliver(uint64_t kernel)
{
	uint64_t due = nvs_sigkeep_pending(), bit;
	siginfo_t info;

	if (due)
		due &= ~nvs_sigview_blocked_with(kernel);
	if (!due || !nvs_sigkeep_take(due, &info, NULL))
		return;
	/* Until the handler that calls this has returned: it comes where that one came. */
	bit = NVS_SIGBIT(info.si_signo);
	change_kernel(SIG_BLOCK, bit);
	nvs_sys_queue_self(info.si_signo, &info);
}

uint64_t nvs_sigview_leave_handler(const struct nvs_sigview *before, uint64_t kernel)
{
	uint64_t view = kernel & NVS_SIGVIEW_SIGNALS;

	mine.view = *before;
	mine.view.by_handler &= view;
	kernel &= ~NVS_SIGVIEW_SIGNALS;
	ask(view & ~mine.view.by_handler, kernel);
	mine.added = 0;
	kernel = add_stand_ins(kernel);
	if (marked())
		kernel |= NVS_SIGVIEW_MARKER;
	return kernel;
}

uint64_t nvs_sigview_shown(uint64_t kernel)
{
	uint64_t blocked = nvs_sigview_blocked_with(kernel);

	return (kernel & ~mine.added & ~(marked() ? NVS_SIGVIEW_MARKER : 0)) | blocked;
}

uint64_t nvs_sigview_of_new_thread(void)
{
	return nvs_sigview_blocked() | mine.added;
}

bool nvs_sigview_differs(void)
{
	return mine.view.asked || marked() || mine.added;
}

uint64_t nvs_sigview_token_came(uint64_t kernel)
{
	return add_stand_ins(kernel);
}

void nvs_sigview_stand_ins_made(void)
{
	uint64_t need = nvs_sigtoken_stand_ins(nvs_sigview_blocked()), before;

	if (!nvs_sys_sigmask(SIG_BLOCK, &need, &before))
		mine.added |= need & ~before;
}

void nvs_sigview_thread_begins(uint64_t view)
{
	uint64_t never = NVS_SIGVIEW_SIGNALS | NVS_SIGVIEW_MARKER;

	mine.view = (struct nvs_sigview){.asked = view & NVS_SIGVIEW_SIGNALS};
	mine.added = view & ~NVS_SIGVIEW_SIGNALS;
	if (view)
		nvs_signals_install();
	publish();
	change_kernel(SIG_UNBLOCK, never);
	change_kernel(SIG_BLOCK, nvs_sigtoken_stand_ins(mine.view.asked));
	if (view)
		mine.known = kernel_mask();
	nvs_sigview_deliver_now();
}

/* In name it blocks both all the time, so that no handler of the program's runs on it. */
void nvs_sigview_own_faults_begin(void)
{
	nvs_sigview_thread_begins(NVS_SIGVIEW_SIGNALS);
}

void nvs_sigview_own_faults_end(void)
{
	change_kernel(SIG_BLOCK, NVS_SIGVIEW_SIGNALS);
}

void nvs_sigview_main_begins(void)
{
	uint64_t blocked = kernel_mask() & NVS_SIGVIEW_SIGNALS;

	if (!blocked)
		return;
	nvs_signals_install();
	/* In name first: one that is pending comes to us at once. */
	ask(mine.view.asked | blocked, kernel_mask() & ~blocked);
	change_kernel(SIG_UNBLOCK, blocked);
}

/* ---- a mask for one call ---- */

/* What the program jumped out of, by a handler that is none of ours, is over. */
static void heal(void)
{
	if (!mine.temp ||
	    !nvs_activity_abandoned(&mine.activity, (uintptr_t)__builtin_frame_address(0), NULL))
		return;
	mine.view = mine.outside;
	mine.added = nvs_sigtoken_stand_ins(mine.view.asked | mine.view.by_handler);
	mine.temp = NULL;
	publish();
}

/*
 * Hands to the kernel what is pending and not blocked during the call, to be delivered by it; even
 * what is ignored, which only a call that waits takes.
 */
static uint64_t lend(struct nvs_sigtemp *t, uint64_t due)
{
	siginfo_t info;
	bool process;

	change_kernel(SIG_BLOCK, due);
	t->process = 0;
	for (uint64_t left = due; left && nvs_sigkeep_take(left, &info, &process);) {
		nvs_sys_queue_self(info.si_signo, &info);
		t->process |= process ? NVS_SIGBIT(info.si_signo) : 0;
		left &= ~NVS_SIGBIT(info.si_signo);
	}
	return due;
}

static void take_back(const struct nvs_sigtemp *t)
{
	struct timespec none = {0, 0};
	siginfo_t info;

	for (int i = 0; i < 2; i++) {
		uint64_t bit = NVS_SIGBIT(i ? SIGSEGV : SIGTRAP);

		if (t->lent & bit &&
		    nvs_sys4(SYS_rt_sigtimedwait, &bit, &info, &none, sizeof(bit)) > 0 &&
		    !nvs_sigthreads_is_nudge(&info))
			nvs_sigkeep_add(info.si_signo, &info, t->process & bit);
	}
	change_kernel(SIG_UNBLOCK, t->lent);
}

uint64_t nvs_sigview_begin_call(struct nvs_sigtemp *t, uint64_t mask)
{
	uint64_t bits = mask & NVS_SIGVIEW_SIGNALS, pending;

	heal();
	nvs_sigview_blocked();
	*t = (struct nvs_sigtemp){.mask = mask,
				  .before = mine.temp,
				  .outside = mine.outside,
				  .view = mine.view,
				  .added = mine.added,
				  .activity = mine.activity};
	pending = nvs_sigkeep_pending() & ~bits;
	if (pending)
		t->lent = lend(t, pending);
	mine.outside = mine.view;
	mine.temp = t;
	t->mark = (uintptr_t)t ^ MARK;
	mine.activity = (struct nvs_activity){
		.sp = (uintptr_t)t, .mark = &t->mark, .token = (uintptr_t)t ^ MARK};
	mine.view = (struct nvs_sigview){.asked = bits};
	mine.added = nvs_sigtoken_stand_ins(bits) & ~mask;
	publish();
	return (mask & ~NVS_SIGVIEW_SIGNALS) | mine.added;
}

/* The call is over for the view; what was lent is still with the kernel. */
static void leave_call(struct nvs_sigtemp *t)
{
	mine.view = t->view;
	mine.added = t->added;
	mine.outside = t->outside;
	mine.temp = t->before;
	mine.activity = t->activity;
	t->mark = 0;
	publish();
}

void nvs_sigview_end_call(struct nvs_sigtemp *t)
{
	if (mine.temp == t)
		leave_call(t);
	if (t->lent)
		take_back(t);
	nvs_sigview_deliver_now();
}

void nvs_sigview_keep_call(struct nvs_sigtemp *t)
{
	struct nvs_sigview view = mine.view;

	if (mine.temp != t)
		return;
	leave_call(t);
	mine.view = view;
	mine.added = nvs_sigtoken_stand_ins(view.asked);
	mine.known = 0;
	publish();
}

const struct nvs_sigtemp *nvs_sigview_handler_ends_call(void)
{
	struct nvs_sigtemp *t = mine.temp;

	if (t)
		leave_call(t);
	return t;
}

/* ---- for the program ---- */

static uint64_t changed(int how, uint64_t mask, uint64_t by)
{
	return how == SIG_BLOCK ? mask | by : how == SIG_UNBLOCK ? mask & ~by : by;
}

static bool concerns_us(const sigset_t *set)
{
	return nvs_sigview_differs() || mine.temp ||
	       (set && (nvs_sigset_word(set) & NVS_SIGVIEW_SIGNALS));
}

/*
 * In a vfork() child the view is its parent's, until it changes its mask: then what it believes is
 * put into the kernel's, which is what a program gets that it runs. It rings no doorbell.
 */
void nvs_sigview_settle_child(void)
{
	uint64_t mask = kernel_mask();
	int tid = nvs_sys_gettid();

	if (mine.child == tid)
		return;
	change_kernel(SIG_SETMASK, nvs_sigview_shown(mask));
	/* The marker is not one that the C library would let through. */
	mine.child = tid;
}

/*
 * Bits of ours in the kernel's mask: a handler of the program runs that was begun before ours were
 * installed. From now on they are blocked in name, for as long as that handler runs. The mask with
 * the marker for it.
 */
static uint64_t adopt(uint64_t kernel)
{
	uint64_t found = nvs_sigactions_installed()
				 ? kernel & NVS_SIGVIEW_SIGNALS & ~mine.view.asked
				 : 0;

	mine.view.by_handler |= found;
	return found ? kernel | NVS_SIGVIEW_MARKER : kernel;
}

/*
 * What the program's call makes of the view, and of the kernel's mask, KERNEL, which is returned.
 * Of the stand-ins in it some are blocked by us alone.
 */
static uint64_t change_view(int how, uint64_t word, uint64_t kernel)
{
	uint64_t bits = word & NVS_SIGVIEW_SIGNALS,
		 all = nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS), view, own, need;
	struct nvs_sigview *v = &mine.view;

	own = changed(how, kernel & ~mine.added, word) & ~NVS_SIGVIEW_SIGNALS & ~NVS_SIGVIEW_MARKER;
	view = changed(how, v->asked | v->by_handler, bits);
	v->by_handler &= view;
	ask(view & ~v->by_handler, kernel & own);
	need = nvs_sigtoken_stand_ins(view);
	mine.added = need & ~own & all;
	return own | need | (marked() ? NVS_SIGVIEW_MARKER : 0);
}

static int set_mask(nvs_mask_fn next, uint64_t mask)
{
	sigset_t set;

	/* The C library lets no call block the marker. */
	if (mask & NVS_SIGVIEW_MARKER)
		return nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
	sigemptyset(&set);
	nvs_sigset_put(&set, mask);
	return next(SIG_SETMASK, &set, NULL);
}

static void show_mask(sigset_t *old, uint64_t shown)
{
	if (!old)
		return;
	sigemptyset(old);
	nvs_sigset_put(old, shown);
}

/* The view first: a handler that the kernel's change lets in finds it changed. */
static int change(nvs_mask_fn next, int how, uint64_t word, sigset_t *old)
{
	bool was_known = mine.view.asked;
	uint64_t kernel, shown;

	/* What is sent or faults while it is blocked in name only has to come to us. */
	if (word & NVS_SIGVIEW_SIGNALS && how != SIG_UNBLOCK)
		nvs_signals_install();
	kernel = adopt(kernel_mask());
	shown = nvs_sigview_shown(kernel);
	set_mask(next, change_view(how, word, kernel));
	if (mine.view.asked && !was_known)
		mine.known = kernel_mask() & ~NVS_SIGVIEW_MARKER;
	show_mask(old, shown);
	nvs_sigview_deliver_now();
	return 0;
}

/* Nothing of ours in it, unless ours were installed while a handler ran. */
static int pass(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old)
{
	sigset_t was;
	int ret = next(how, set, &was);

	if (ret)
		return ret;
	if (set && how != SIG_SETMASK && nvs_sigset_word(&was) & NVS_SIGVIEW_SIGNALS &&
	    nvs_sigactions_installed()) {
		change_kernel(SIG_BLOCK, adopt(nvs_sigset_word(&was)) & NVS_SIGVIEW_MARKER);
		change_kernel(SIG_UNBLOCK, NVS_SIGVIEW_SIGNALS);
		publish();
	}
	show_mask(old, nvs_sigset_word(&was));
	return 0;
}

int nvs_sigview_change(nvs_mask_fn next, int how, const sigset_t *set, sigset_t *old)
{
	if (!concerns_us(set))
		return pass(next, how, set, old);
	if (nvs_state_borrowed()) {
		nvs_sigview_settle_child();
		return next(how, set, old);
	}
	/* Wrong ones are for the kernel to refuse. */
	if (set && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)
		return next(how, set, old);
	heal();
	if (set)
		return change(next, how, nvs_sigset_word(set), old);
	show_mask(old, nvs_sigview_shown(kernel_mask()));
	return 0;
}
