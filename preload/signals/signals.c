/* SPDX-License-Identifier: MIT */
/*
 * Our handler for SIGSEGV and SIGTRAP: the trap first, and for what is not the trap's, what the
 * kernel would have done with the program's own action.
 */
#include <errno.h>
#include <string.h>
#include <ucontext.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigthreads.h"
#include "preload/signals/sigview.h"
#include "preload/base/sys.h"
#include "trap/low/sys.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

static __thread struct nvs_sigcounts counts;

/* Changes the alternate stack as if from another stack: on it, the kernel would refuse. */
static void set_altstack(const stack_t *stack)
{
	long ret = SYS_sigaltstack;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "xor %%esp, %%esp\n\t"
			 "syscall\n\t"
			 "mov %%r12, %%rsp"
			 : "+a"(ret)
			 : "D"(stack), "S"(0)
			 : "rcx", "r11", "r12", "memory");
}

static bool contains(const stack_t *stack, uintptr_t sp)
{
	return sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* True where this handler runs on the program's alternate stack. */
static bool on_altstack(const ucontext_t *uc)
{
	const stack_t *stack = &uc->uc_stack;
	char here;

	return !((unsigned)stack->ss_flags & (SS_DISABLE | SS_AUTODISARM)) &&
	       contains(stack, (uintptr_t)&here);
}

/*
 * The trap works on a stack of its own and meets faults there by design. On the alternate stack the
 * kernel would put such a fault's frame over ours, as that stack then looks free; so there is none
 * meanwhile.
 */
static bool run_trap(int sig, siginfo_t *info, ucontext_t *uc)
{
	static const stack_t none = {.ss_flags = SS_DISABLE};
	bool alternate = on_altstack(uc), ours;
	stack_t stack = uc->uc_stack;

	if (alternate)
		set_altstack(&none);
	ours = sig == SIGSEGV ? nvs_trap_segv(info, uc) : nvs_trap_sigtrap(info, uc);
	if (alternate) {
		stack.ss_flags &= ~SS_ONSTACK;
		set_altstack(&stack);
	}
	return ours;
}

static uint64_t *mask_of(ucontext_t *uc)
{
	return (uint64_t *)(void *)&uc->uc_sigmask;
}

/* The signal is taken again, by the default action, where the program was interrupted. */
static void die(int sig, const siginfo_t *info)
{
	uint64_t bit = NVS_SIGBIT(sig);

	nvs_sigaction_give_up(sig);
	/* Blocked until this handler has returned, so that a core file shows the program's
	 * registers. */
	nvs_sys_sigmask(SIG_BLOCK, &bit, NULL);
	if (nvs_sys_queue_self(sig, info))
		nvs_sys(SYS_tgkill, nvs_sys_getpid(), nvs_sys_gettid(), sig, 0, 0, 0);
}

/* Runs the program's handler as the kernel would have, with its mask. */
static void run_masked(int sig, siginfo_t *info, ucontext_t *uc, const struct sigaction *action)
{
	const struct nvs_sigtemp *ended = nvs_sigview_handler_ends_call();
	uint64_t kernel = *mask_of(uc) & ~(ended ? ended->lent : 0),
		 shown = nvs_sigview_shown(kernel), during;
	struct nvs_sigview before = nvs_sigview_save();

	memcpy(&during, &action->sa_mask, sizeof(during));
	if (!(action->sa_flags & SA_NODEFER))
		during |= NVS_SIGBIT(sig);
	*mask_of(uc) = shown;
	kernel = nvs_sigview_enter_handler(ended, kernel, during);
	nvs_sys_sigmask(SIG_SETMASK, &kernel, NULL);
	/* As by the kernel, what is still due interrupts it at its first instruction. */
	if (!nvs_in_trap())
		nvs_sigview_deliver_now();
	/* A plain handler is given all three as well, as by the kernel. */
	action->sa_sigaction(sig, info, uc);
	*mask_of(uc) = nvs_sigview_leave_handler(&before, *mask_of(uc));
}

static void run_handler(int sig, siginfo_t *info, ucontext_t *uc, const struct sigaction *action)
{
	if ((unsigned)action->sa_flags & SA_RESETHAND)
		nvs_sigaction_reset(sig);
	counts.handled++;
	run_masked(sig, info, uc, action);
}

/* In the kernel: a handler, SIG_DFL (0) or SIG_IGN (1). */
static uintptr_t handler_in_kernel(int sig)
{
	struct {
		uintptr_t handler, flags, restorer;
		uint64_t mask;
	} action;

	return nvs_sys4(SYS_rt_sigaction, sig, 0, &action, sizeof(action.mask)) ? 0
										: action.handler;
}

bool nvs_signals_does_something(int sig)
{
	uintptr_t handler = handler_in_kernel(sig);

	return handler ? handler != 1
		       : sig != SIGCHLD && sig != SIGURG && sig != SIGWINCH && sig != SIGCONT;
}

/* One of SET is pending and has a handler. Here even what is ignored is pending, since it is
 * blocked. */
static bool handler_due(uint64_t set)
{
	uint64_t pending = 0;

	nvs_sys4(SYS_rt_sigpending, &pending, sizeof(pending), 0, 0);
	for (pending &= set; pending; pending &= pending - 1)
		if (handler_in_kernel(__builtin_ctzll(pending) + 1) > 1)
			return true;
	return false;
}

/*
 * The program is not to notice that a signal came. A call that it interrupted goes on by that
 * (preload/hooks/waits.c); not where a handler of the program's is about to run as well.
 */
static void count_kept(const ucontext_t *uc)
{
	uint64_t open = ~(*(const uint64_t *)(const void *)&uc->uc_sigmask | NVS_SIGVIEW_SIGNALS);

	open &= ~nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS);
	if (uc->uc_mcontext.gregs[REG_RAX] == -EINTR && !handler_due(open))
		counts.kept++;
}

/* Sent by somebody, and not for this thread now. */
static void keep(int sig, const siginfo_t *info, bool process)
{
	nvs_sigkeep_add(sig, info, process);
	if (process)
		nvs_sigthreads_offer(sig, 0);
}

/* A nudge to look at what is pending for the process. True: here it is, in INFO. */
static bool nudged(int sig, siginfo_t *info, bool blocked)
{
	if (!blocked)
		return nvs_sigkeep_take_shared(NVS_SIGBIT(sig), info);
	/* Here nothing waits: a handler jumped out of what did. */
	nvs_sigthreads_wait(0);
	nvs_sigthreads_offer(sig, nvs_sys_gettid());
	return false;
}

static void forward(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct sigaction action = nvs_sigaction_of_program(sig);
	bool blocked = nvs_sigview_blocked_with(*mask_of(uc)) & NVS_SIGBIT(sig);
	bool fault = info->si_code > 0; /* else it was sent by somebody */
	bool to_thread = !fault && nvs_sigthreads_to_thread(info);

	if (!fault && nvs_sigthreads_is_nudge(info) && !nudged(sig, info, blocked))
		return;
	/* In the middle of a trap, on its stack, is no place for a handler of the program that may
	 * jump away. */
	if (!fault && (blocked || nvs_in_trap()))
		keep(sig, info, blocked && !to_thread);
	else if (!fault && action.sa_handler == SIG_IGN)
		return;
	else if (blocked || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
		die(sig, info);
	else
		run_handler(sig, info, uc, &action);
}

void nvs_on_signal(int sig, siginfo_t *info, void *ucontext)
{
	uint32_t handled = counts.handled;
	bool sent = info->si_code <= 0;

	if (!run_trap(sig, info, ucontext)) {
		forward(sig, info, ucontext);
		/* Last, since other signals come meanwhile. */
		if (sent && counts.handled == handled)
			count_kept(ucontext);
	}
	if (!nvs_in_trap())
		nvs_sigview_deliver(*mask_of(ucontext));
}

/* What the kernel would have done with the program's own action for SIG, which stands in for one of
 * ours. */
static void forward_own(int sig, siginfo_t *info, void *ucontext)
{
	struct sigaction action = nvs_sigaction_of_program(sig);

	if (action.sa_handler == SIG_DFL)
		die(sig, info);
	else if (action.sa_handler != SIG_IGN)
		run_handler(sig, info, ucontext, &action);
}

/* What it stands for and is not blocked here is taken by the way; the rest stays for who has it
 * blocked. */
void nvs_on_token(int sig, siginfo_t *info, void *ucontext)
{
	uint64_t *mask = (uint64_t *)(void *)&((ucontext_t *)ucontext)->uc_sigmask;
	int slot = sig == nvs_sigtoken_stand_in(1), saved = errno;
	uint64_t bit = NVS_SIGBIT(slot ? SIGTRAP : SIGSEGV);

	if (!nvs_sigtoken_is((uint64_t)info->si_code, (uintptr_t)info->si_value.sival_ptr)) {
		forward_own(sig, info, ucontext);
		return;
	}
	count_kept(ucontext);
	if (nvs_sigview_blocked_with(*mask) & bit) {
		*mask = nvs_sigview_token_came(*mask);
		nvs_sigkeep_sync();
	} else if (!nvs_in_trap()) {
		nvs_sigview_deliver(*mask);
	}
	errno = saved;
}

void nvs_on_masked(int sig, siginfo_t *info, void *ucontext)
{
	struct sigaction action = nvs_sigaction_of_program(sig);

	run_masked(sig, info, ucontext, &action);
	if (!nvs_in_trap())
		nvs_sigview_deliver(*mask_of(ucontext));
}

struct nvs_sigcounts nvs_signals_counts(void)
{
	return counts;
}

bool nvs_signals_unnoticed(struct nvs_sigcounts *before)
{
	if (counts.kept == before->kept || counts.handled != before->handled)
		return false;
	*before = counts;
	return true;
}

void nvs_signals_count_kept(const void *ucontext)
{
	count_kept(ucontext);
}
