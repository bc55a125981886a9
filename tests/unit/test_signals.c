/* SPDX-License-Identifier: MIT */
/* The program's view of its signals. */
/* LINK: preload */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "insns.h"
#include "preload/signals/sigactions.h"
#include "preload/base/state.h"
#include "tests/unit/sigcases.h"

/* ---- cases ---- */

static sigjmp_buf jump;

static void jump_out(int sig, siginfo_t *info, void *uc)
{
	tell("fault code:%d at:%ld ", info->si_code, (long)((char *)info->si_addr - forbidden));
	tell_mask("in");
	siglongjmp(jump, 1);
}

/* A runtime that recovers from its own faults, again and again. */
static void case_recover(void)
{
	install(SIGSEGV, jump_out, 0, SIGUSR1);
	for (int i = 0; i < 5; i++)
		if (!sigsetjmp(jump, 1))
			fault();
	tell_mask("after");
}

static void case_recover_deeper(void)
{
	volatile int i = 0;
	char *volatile room = NULL;

	install(SIGSEGV, jump_out, 0, 0);
	for (i = 0; i < 4; i++) {
		if (!sigsetjmp(jump, 1)) {
			/* Ever deeper on the stack. */
			room = __builtin_alloca(4096);
			room[0] = 1;
			fault();
		}
	}
	tell_mask("after");
}

static void open_page(int sig, siginfo_t *info, void *uc)
{
	tell("open ");
	mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
	errno = 77;
}

static void case_return(void)
{
	install(SIGSEGV, open_page, 0, 0);
	errno = 5;
	fault();
	tell("errno:%d value:%d ", errno, *forbidden);
	tell_mask("after");
}

static void case_nested_kills(void)
{
	install(SIGSEGV, fault_again, 0, 0);
	fault();
}

static _Atomic int depth;

static void fault_thrice(int sig, siginfo_t *info, void *uc)
{
	tell("depth:%d ", atomic_fetch_add(&depth, 1));
	tell_mask("in");
	if (depth < 3)
		fault();
	mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}

static void case_nodefer(void)
{
	install(SIGSEGV, fault_thrice, SA_NODEFER, 0);
	fault();
	tell_mask("after");
}

static void case_resethand(void)
{
	struct sigaction a;

	install(SIGSEGV, note, (int)SA_RESETHAND, 0);
	raise(SIGSEGV);
	sigaction(SIGSEGV, NULL, &a);
	tell("handler:%d flags:%x ", a.sa_handler == SIG_DFL, a.sa_flags);
	fault();
}

static void case_default(void)
{
	fault();
}

static void case_ignored_fault(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	tell("ignored ");
	fault();
}

static void case_blocked_fault(void)
{
	sigset_t set = set_of(SIGSEGV, 0);

	install(SIGSEGV, note, 0, 0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fault();
}

static void case_sent_default(void)
{
	kill(getpid(), SIGSEGV);
}

static void case_breakpoint_default(void)
{
	insn_break();
}

static void case_breakpoint(void)
{
	install(SIGTRAP, note, 0, 0);
	insn_break();
	tell("went on ");
}

/* Single-stepping of the program's own. */
static _Atomic int steps;

static void count_step(int sig, siginfo_t *info, void *uc)
{
	ucontext_t *u = uc;

	if (++steps == 10)
		insn_end_steps(u);
}

static void case_steps(void)
{
	install(SIGTRAP, count_step, 0, 0);
	insn_steps();
	tell("steps:%d ", steps);
}

static void case_actions(void)
{
	struct sigaction a = {.sa_sigaction = note,
			      .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART},
			 old;

	tell_action(SIGSEGV);
	sigfillset(&a.sa_mask);
	sigaction(SIGSEGV, &a, &old);
	tell("old:%d ", old.sa_handler == SIG_DFL);
	tell_action(SIGSEGV);
	sigaction(SIGUSR1, &a, NULL);
	tell_action(SIGUSR1);
	a.sa_mask = set_of(SIGTRAP, SIGUSR2);
	a.sa_flags = 0;
	sigaction(SIGUSR1, &a, &old);
	tell("old mask:%s ", mask_text(&old.sa_mask));
	tell_action(SIGUSR1);
	tell("sigkill:%d ", sigaction(SIGKILL, &a, NULL));
	tell("bad:%d,%d ", sigaction(0, &a, NULL), errno);
	tell("bad:%d,%d ", sigaction(99, NULL, &old), errno);
}

/* ---- the old forms ---- */

static void case_signal(void)
{
	tell("%d ", signal(SIGSEGV, plain) == SIG_DFL);
	tell("%d ", signal(SIGSEGV, plain) == plain);
	tell_action(SIGSEGV);
	raise(SIGSEGV);
	raise(SIGSEGV);
	tell("%d ", signal(SIGUSR1, plain) == SIG_DFL);
	tell_action(SIGUSR1);
	raise(SIGUSR1);
	tell("%d %d ", signal(SIGKILL, plain) == SIG_ERR, errno);
	tell("%d ", signal(SIGSEGV, SIG_DFL) == plain);
	tell_action(SIGSEGV);
	raise(SIGSEGV);
}

static void case_sysv(void)
{
	tell("%d ", __sysv_signal(SIGTRAP, plain) == SIG_DFL);
	tell_action(SIGTRAP);
	raise(SIGTRAP);
	tell_action(SIGTRAP);
	raise(SIGTRAP);
}

static void case_sigset(void)
{
	tell("%d ", sigset(SIGSEGV, plain) == SIG_DFL);
	tell("%d ", sigset(SIGSEGV, SIG_HOLD) == plain);
	tell_mask("held");
	tell("%d ", sigset(SIGSEGV, plain) == SIG_HOLD);
	tell_mask("open");
	tell_action(SIGSEGV);
	sighold(SIGTRAP);
	tell_mask("hold");
	sigrelse(SIGTRAP);
	tell_mask("relse");
	tell("%x ", sigblock(1 << (SIGSEGV - 1) | 1));
	tell("%x ", sigsetmask(1 << (SIGTRAP - 1)));
	tell_mask("setmask");
	sigignore(SIGSEGV);
	tell_action(SIGSEGV);
}

/* ---- masks ---- */

static void case_masks(void)
{
	sigset_t a = set_of(SIGSEGV, SIGUSR1), b = set_of(SIGTRAP, 0), old, all;

	tell_mask("at first");
	sigprocmask(SIG_BLOCK, &a, &old);
	tell("old:%s ", mask_text(&old));
	tell_mask("one");
	pthread_sigmask(SIG_BLOCK, &b, &old);
	tell("old:%s ", mask_text(&old));
	tell_mask("two");
	pthread_sigmask(SIG_UNBLOCK, &a, &old);
	tell("old:%s ", mask_text(&old));
	tell_mask("three");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	tell("old:%s ", mask_text(&old));
	tell_mask("all");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	tell_mask("back");
	tell("%d %d ", sigprocmask(77, &a, NULL), errno);
	tell("%d ", pthread_sigmask(77, &a, NULL));
	tell_mask("still");
}

/* In a handler: what is blocked there is seen there, and gone behind it. */
static void change_in_handler(int sig, siginfo_t *info, void *uc)
{
	sigset_t set = set_of(SIGSEGV, 0), old;

	tell_mask("in");
	pthread_sigmask(SIG_UNBLOCK, &set, &old);
	tell("old:%s ", mask_text(&old));
	tell_mask("opened");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	tell_mask("set back");
	set = set_of(SIGTRAP, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	tell_mask("more");
	mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}

static void case_mask_in_handler(void)
{
	sigset_t set = set_of(SIGTRAP, 0);

	install(SIGSEGV, change_in_handler, 0, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fault();
	tell_mask("after");
}

/* The same, but the handler is left by a jump. */
static void change_and_jump(int sig, siginfo_t *info, void *uc)
{
	sigset_t set = set_of(SIGUSR2, 0), old;

	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	tell_mask("in");
	siglongjmp(jump, 1);
}

static void case_mask_and_jump(void)
{
	install(SIGSEGV, change_and_jump, 0, 0);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(jump, 1))
			fault();
	tell_mask("after");
}

/* A handler may change the mask that will be restored. */
static void edit_context(int sig, siginfo_t *info, void *uc)
{
	ucontext_t *u = uc;

	tell("context:%s ", mask_text(&u->uc_sigmask));
	sigaddset(&u->uc_sigmask, SIGSEGV);
	sigaddset(&u->uc_sigmask, SIGUSR2);
	sigdelset(&u->uc_sigmask, SIGTRAP);
	mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}

static void case_context(void)
{
	sigset_t set = set_of(SIGTRAP, 0);

	install(SIGSEGV, edit_context, 0, 0);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fault();
	tell_mask("after");
}

/* ---- sent while blocked ---- */

static void case_pending(void)
{
	sigset_t set = set_of(SIGSEGV, SIGTRAP), pending;

	install(SIGSEGV, note, 0, 0);
	install(SIGTRAP, note, 0, 0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGSEGV);
	raise(SIGSEGV);
	sigpending(&pending);
	tell("pending:%s ", mask_text(&pending));
	raise(SIGTRAP);
	sigpending(&pending);
	tell("pending:%s ", mask_text(&pending));
	set = set_of(SIGTRAP, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	tell("half ");
	set = set_of(SIGSEGV, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigpending(&pending);
	tell("pending:%s ", mask_text(&pending));
}

static void *ignore(void *sig)
{
	signal((int)(intptr_t)sig, SIG_IGN);
	return NULL;
}

/* What is ignored is pending no more, whoever began to ignore it. */
static void case_pending_ignored(void)
{
	sigset_t both = set_of(SIGSEGV, SIGTRAP), set;
	pthread_t t;

	install(SIGSEGV, note, 0, 0);
	sigprocmask(SIG_BLOCK, &both, NULL);
	raise(SIGSEGV);
	raise(SIGTRAP);
	pthread_create(&t, NULL, ignore, (void *)SIGSEGV);
	pthread_join(t, NULL);
	sigpending(&set);
	tell("pending:%s ", mask_text(&set));
	raise(SIGSEGV);
	install(SIGSEGV, note, 0, 0);
	sigpending(&set);
	tell("and anew:%s ", mask_text(&set));
	sigdelset(&both, SIGTRAP);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
}

static void case_wait(void)
{
	sigset_t set = set_of(SIGSEGV, SIGUSR1);
	struct timespec soon = {0, 1000000};
	siginfo_t info;
	int sig = 0;

	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGSEGV);
	tell("%d ", sigwait(&set, &sig));
	tell("sig:%d ", sig);
	kill(getpid(), SIGSEGV);
	sig = sigwaitinfo(&set, &info);
	tell("%d code:%d ", sig, info.si_code);
	raise(SIGUSR1);
	tell("%d ", sigtimedwait(&set, &info, &soon));
	tell("%d ", sigtimedwait(&set, &info, &soon));
	tell("errno:%d ", errno);
	tell_mask("after");
}

/* ---- threads and children ---- */

static void *tell_in_thread(void *arg)
{
	tell_mask(arg);
	return NULL;
}

static void case_threads(void)
{
	sigset_t set = set_of(SIGSEGV, SIGUSR1), other = set_of(SIGTRAP, SIGUSR2);
	pthread_attr_t attr;
	pthread_t t;

	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, tell_in_thread, "inherited");
	pthread_join(t, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &other);
	pthread_create(&t, &attr, tell_in_thread, "by attribute");
	pthread_join(t, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_create(&t, NULL, tell_in_thread, "open");
	pthread_join(t, NULL);
}

static void case_fork(void)
{
	sigset_t set = set_of(SIGTRAP, 0);
	int status;

	install(SIGSEGV, jump_out, 0, 0);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!fork()) {
		tell_mask("child");
		for (volatile int i = 0; i < 2; i++)
			if (!sigsetjmp(jump, 1))
				fault();
		tell_action(SIGSEGV);
		signal(SIGSEGV, SIG_DFL);
		tell_action(SIGSEGV);
		fault();
		_exit(3);
	}
	wait(&status);
	tell("status:%d ", WTERMSIG(status));
	if (!sigsetjmp(jump, 1))
		fault();
}

/* A vfork() child changes what is its own. */
static void case_vfork(void)
{
	sigset_t set = set_of(SIGSEGV, SIGUSR1), child = set_of(SIGTRAP, SIGHUP), old;
	struct sigaction a = {.sa_handler = SIG_DFL}, was;

	install(SIGSEGV, note, 0, 0);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!vfork()) {
		sigaction(SIGSEGV, &a, &was);
		pthread_sigmask(SIG_SETMASK, &child, &old);
		tell("old:%s %d ", mask_text(&old), was.sa_sigaction == note);
		_exit(0);
	}
	wait(NULL);
	tell_mask("after");
	tell_action(SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGSEGV);
}

/* ---- the alternate stack ---- */

static char *alternate;
#define ALTERNATE 65536

static void tell_stack(int sig, siginfo_t *info, void *uc)
{
	char here;
	stack_t st;

	sigaltstack(NULL, &st);
	tell("on:%d flags:%d size:%zu ", &here >= alternate && &here < alternate + ALTERNATE,
	     st.ss_flags, st.ss_size);
	mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}

static void case_altstack(void)
{
	stack_t st, now;

	alternate = mmap(NULL, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	st = (stack_t){.ss_sp = alternate, .ss_size = ALTERNATE};
	sigaltstack(&st, NULL);
	install(SIGSEGV, tell_stack, SA_ONSTACK, 0);
	fault();
	mprotect(forbidden, 4096, PROT_NONE);
	install(SIGSEGV, tell_stack, 0, 0);
	fault();
	sigaltstack(NULL, &now);
	tell("still:%d %d %zu ", now.ss_sp == alternate, now.ss_flags, now.ss_size);
}

static void leave_overflow(int sig, siginfo_t *info, void *uc)
{
	tell("overflow ");
	siglongjmp(jump, 1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static int __attribute__((noinline)) recurse(volatile char *above)
{
	volatile char room[4096];

	room[0] = above[0];
	return recurse(room) + room[0];
}
#pragma GCC diagnostic pop

/* A runtime that survives the end of its stack. */
static void *overflow(void *arg)
{
	stack_t st = {.ss_size = ALTERNATE};
	char c = 0;

	st.ss_sp = mmap(NULL, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	sigaltstack(&st, NULL);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(jump, 1))
			tell("%d ", recurse(&c));
	return NULL;
}

static void case_overflow(void)
{
	pthread_t t;

	install(SIGSEGV, leave_overflow, SA_ONSTACK, 0);
	pthread_create(&t, NULL, overflow, NULL);
	pthread_join(t, NULL);
}

static const struct {
	const char *name;
	void (*act)(void);
} cases[] = {
	{"recover", case_recover},
	{"recover deeper", case_recover_deeper},
	{"return", case_return},
	{"nested kills", case_nested_kills},
	{"nodefer", case_nodefer},
	{"resethand", case_resethand},
	{"default", case_default},
	{"ignored fault", case_ignored_fault},
	{"blocked fault", case_blocked_fault},
	{"sent default", case_sent_default},
	{"breakpoint default", case_breakpoint_default},
	{"breakpoint", case_breakpoint},
	{"steps", case_steps},
	{"actions", case_actions},
	{"signal", case_signal},
	{"sysv", case_sysv},
	{"sigset", case_sigset},
	{"masks", case_masks},
	{"mask in handler", case_mask_in_handler},
	{"mask and jump", case_mask_and_jump},
	{"context", case_context},
	{"pending", case_pending},
	{"pending, ignored", case_pending_ignored},
	{"wait", case_wait},
	{"threads", case_threads},
	{"fork", case_fork},
	{"vfork", case_vfork},
	{"altstack", case_altstack},
	{"overflow", case_overflow},
};

/* The kernel's own word: SIGSEGV is in none of a thread's masks, whatever the program believes. */
static void test_kernel_mask(void)
{
	sigset_t all, old;
	uint64_t kernel = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &kernel, 8);
	if (kernel & 1ull << (SIGSEGV - 1) || !(kernel & 1) || !(kernel & 1ull << (SIGTRAP - 1))) {
		failed++;
		printf("the kernel's mask is %llx\n", (unsigned long long)kernel);
	} else {
		passed++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* A handler put in by a raw system call is found, and becomes the program's. */
static void test_check(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} raw = {.handler = (void *)plain}, now;
	struct sigaction a;
	int status;
	bool good;

	if (fork() == 0) {
		nvs_signals_install();
		good = !nvs_signals_check();
		syscall(SYS_rt_sigaction, SIGSEGV, &raw, NULL, 8);
		good &= nvs_signals_check() && !nvs_signals_check();
		syscall(SYS_rt_sigaction, SIGSEGV, NULL, &now, 8);
		sigaction(SIGSEGV, NULL, &a);
		_exit(good && now.handler != (void *)plain && a.sa_handler == plain ? 0 : 1);
	}
	wait(&status);
	failed += status != 0;
	passed += status == 0;
}

int main(int argc, char **argv)
{
	choose(true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			compare(cases[i].name, cases[i].act);
	test_check();
	test_kernel_mask();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
