/* SPDX-License-Identifier: MIT */
/* Our handler of SIGSEGV, its stand-in and SIGTRAP. It calls the trap first. For a signal that is
 * not the trap's it does what the kernel would have done for the program's action. */
#include <string.h>
#include <ucontext.h>
#include "preload/base/preload.h"
#include "preload/signals/sigactions.h"
#include "preload/signals/sigview.h"
#include "preload/base/sys.h"
#include "trap/low/sys.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

/* Changes the alternate stack while pretending to run on another one: the kernel refuses to change
 * the stack in use. */
static void set_altstack(const stack_t *stack)
{
	nvs_syscall_off_stack(SYS_sigaltstack, (long)stack, 0);
}

static bool contains_address(const stack_t *stack, uintptr_t sp)
{
	return sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* Returns true if this handler runs on the program's alternate stack. */
static bool on_altstack(const ucontext_t *uc)
{
	const stack_t *stack = &uc->uc_stack;
	char here;

	return !((unsigned)stack->ss_flags & (SS_DISABLE | SS_AUTODISARM)) &&
	       contains_address(stack, (uintptr_t)&here);
}

/*
 * The trap uses its own stack and faults there by design. The kernel then sees the alternate stack
 * as free and would put the frame of such a fault over ours. So the alternate stack is disabled
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

/* Raises the signal again with the default action, at the interrupted instruction. */
static void die_of_signal(int sig, const siginfo_t *info)
{
	uint64_t bit = NVS_SIGBIT(sig);

	nvs_sigaction_set_default(sig);
	/* Blocked until this handler returns, so that a core file has the program's registers. */
	nvs_sys_sigmask(SIG_BLOCK, &bit, NULL);
	if (nvs_sys_queue_self(sig, info))
		nvs_syscall(SYS_tgkill, nvs_sys_getpid(), nvs_sys_gettid(), sig, 0, 0, 0);
}

/* Runs the program's handler; its mask is already set. UC shows the program's view of the mask to
 * be restored, which the handler may change. */
static void run_handler(int sig, siginfo_t *info, ucontext_t *uc, const struct sigaction *action)
{
	uint64_t *mask = mask_of(uc);

	*mask = nvs_sigview_to_program(*mask);
	/* The kernel passes all three to a plain handler as well. */
	action->sa_sigaction(sig, info, uc);
	*mask = nvs_sigview_to_kernel(*mask);
}

static void run_action(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct sigaction action = nvs_sigaction_of_program(sig);

	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		die_of_signal(sig, info);
		return;
	}
	if ((unsigned)action.sa_flags & SA_RESETHAND)
		nvs_sigaction_reset(sig);
	run_handler(sig, info, uc, &action);
}

/* A fault kills if the signal is blocked or ignored. In a SIGTRAP handler the kernel has blocked
 * the right signals; in our SIGSEGV handler it has blocked all. */
static void take_fault(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct sigaction action = nvs_sigaction_of_program(sig);
	uint64_t before = *mask_of(uc), during = nvs_sigset_word(&action.sa_mask), kernel;

	if (!(action.sa_flags & SA_NODEFER))
		during |= NVS_SIGBIT(sig);
	kernel = before | nvs_sigview_to_kernel(during);
	if (action.sa_handler == SIG_IGN || nvs_sigview_to_program(before) & NVS_SIGBIT(sig)) {
		die_of_signal(sig, info);
		return;
	}
	if (sig == SIGSEGV && action.sa_handler != SIG_DFL)
		nvs_sys_sigmask(SIG_SETMASK, &kernel, NULL);
	run_action(sig, info, uc);
}

/*
 * A sent SIGSEGV becomes its stand-in. The kernel delivers it when the thread unblocks it: at the
 * end of this handler, when our lock is released (which blocks it) or when the program unblocks it;
 * or it delivers it to another thread. During a trap, on the trap's stack, no handler may run that
 * could jump away, nor may one run under our lock.
 */
static void take_sent(int sig, siginfo_t *info, ucontext_t *uc)
{
	bool blocked = *mask_of(uc) & NVS_SIGBIT(NVS_STAND_IN);
	bool stood_in = nvs_sigview_restore_info(info);

	if (stood_in)
		sig = SIGSEGV;
	if (sig == SIGSEGV && blocked && !stood_in) {
		nvs_sigview_make_pending(info, true);
	} else if (sig != NVS_STAND_IN && nvs_in_trap()) {
		nvs_sigview_defer(sig, info);
	} else if (sig == SIGSEGV && !stood_in) {
		nvs_sigview_make_pending(info, false);
	} else if (sig == SIGTRAP && nvs_lock_is_mine()) {
		*mask_of(uc) |= NVS_SIGBIT(SIGTRAP);
		nvs_sys_queue_self(sig, info);
	} else {
		run_action(sig, info, uc);
	}
}

void nvs_on_signal(int sig, siginfo_t *info, void *ucontext)
{
	static const uint64_t later = NVS_SIGBIT(SIGTRAP) | NVS_SIGBIT(NVS_STAND_IN);

	if (sig == NVS_STAND_IN || !run_trap(sig, info, ucontext)) {
		if (info->si_code <= 0)
			take_sent(sig, info, ucontext);
		else
			take_fault(sig, info, ucontext);
	}
	if (!nvs_sigview_has_deferred() || nvs_in_trap())
		return;
	/* They are delivered at the same instruction as this one. */
	nvs_sys_sigmask(SIG_BLOCK, &later, NULL);
	nvs_sigview_send_deferred();
}

void nvs_on_other(int sig, siginfo_t *info, void *ucontext)
{
	struct sigaction action = nvs_sigaction_of_program(sig);

	if (action.sa_handler == SIG_DFL)
		die_of_signal(sig, info);
	else if (action.sa_handler != SIG_IGN)
		run_handler(sig, info, ucontext, &action);
}
