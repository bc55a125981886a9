/* SPDX-License-Identifier: MIT */
/*
 * sigmask: masks with SIGSEGV that no call of the program sets directly: jumps, contexts,
 * returning handlers, calls with their own mask, threads and children that inherit them. After
 * each, the program submits and handles a fault. Its output is the same without a tool. Software
 * GPU only.
 */
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include "sigapp.h"

static volatile int *volatile nowhere = (volatile int *)8;
static sigjmp_buf fault_jump, call_jump;
static sigset_t segv, full, all_but_usr1, only_usr1;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (info->si_code > 0)
		siglongjmp(fault_jump, 1);
	handled++;
}

static void catch_fault(void)
{
	if (!sigsetjmp(fault_jump, 1)) {
		*nowhere = 1;
		printf("  no fault\n");
	}
}

/* The mask, a submission, and a fault where it is not blocked. */
static void check(const char *what)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	/* It stands in for SIGSEGV; whether the program blocks it too is known of its calls alone.
	 */
	sigdelset(&now, SIGSTKFLT);
	show_set(what, &now);
	submit(2);
	if (sigismember(&now, SIGSEGV))
		return;
	catch_fault();
	printf("  caught\n");
}

static void block(const sigset_t *set)
{
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

static void open_all(void)
{
	sigset_t none = set_of(0, 0, 0);

	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* ---- jumps ---- */

static void jump_out(int sig, siginfo_t *info, void *context)
{
	siglongjmp(call_jump, 1);
}

static int by_sigsuspend(void)
{
	return sigsuspend(&all_but_usr1);
}

static int by_ppoll(void)
{
	return ppoll(NULL, 0, NULL, &all_but_usr1);
}

static int by_pselect(void)
{
	return pselect(0, NULL, NULL, NULL, NULL, &all_but_usr1);
}

static int by_epoll_pwait(void)
{
	static int fd = -1;
	struct epoll_event event;

	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_pwait(fd, &event, 1, -1, &all_but_usr1);
}

static void out_of_calls(void)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} calls[] = {{"out of sigsuspend", by_sigsuspend},
		     {"out of ppoll", by_ppoll},
		     {"out of pselect", by_pselect},
		     {"out of epoll_pwait", by_epoll_pwait}};

	install(SIGUSR1, jump_out);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		block(&only_usr1);
		raise(SIGUSR1);
		if (!sigsetjmp(call_jump, 1))
			printf("%d\n", calls[i].call());
		check(calls[i].name);
		open_all();
	}
}

static void back_to_open(void)
{
	if (!sigsetjmp(call_jump, 1)) {
		block(&segv);
		siglongjmp(call_jump, 1);
	}
	check("back to open");
	if (!sigsetjmp(call_jump, 1)) {
		block(&full);
		siglongjmp(call_jump, 1);
	}
	check("back from all");
}

static void back_to_blocked(void)
{
	static volatile int back;

	block(&segv);
	if (!sigsetjmp(call_jump, 1)) {
		open_all();
		check("open meanwhile");
		siglongjmp(call_jump, 1);
	}
	check("back to blocked");
	raise(SIGSEGV);
	show_pending("  pending");
	/* It is delivered by the jump that opens it. */
	open_all();
	handled = 0;
	back = 0;
	if (!sigsetjmp(call_jump, 1)) {
		block(&segv);
		raise(SIGSEGV);
		back = handled;
		siglongjmp(call_jump, 1);
	}
	printf("  handled %d, then %d\n", back, handled);
}

/* ---- contexts ---- */

static ucontext_t main_context, coroutine, last;
static char stack[256 << 10], last_stack[256 << 10];

static void start(ucontext_t *uc, void (*fn)(void), char *at, ucontext_t *link)
{
	uc->uc_stack.ss_sp = at;
	uc->uc_stack.ss_size = sizeof(stack);
	uc->uc_link = link;
	makecontext(uc, fn, 0);
}

static void block_and_leave(void)
{
	block(&segv);
	check("blocked in it");
	swapcontext(&coroutine, &main_context);
	check("and again");
}

static void two_contexts(void)
{
	getcontext(&coroutine);
	start(&coroutine, block_and_leave, stack, &main_context);
	swapcontext(&main_context, &coroutine);
	check("back in main");
	swapcontext(&main_context, &coroutine);
	check("at its end");
}

static void in_full_mask(void)
{
	check("all blocked by the context");
}

static void at_the_end(void)
{
	check("all blocked by what follows it");
	setcontext(&main_context);
}

/* Masks that the program has written itself. */
static void made_masks(void)
{
	static volatile int times;

	getcontext(&coroutine);
	coroutine.uc_sigmask = full;
	start(&coroutine, in_full_mask, stack, &main_context);
	swapcontext(&main_context, &coroutine);
	check("back in main");
	getcontext(&last);
	last.uc_sigmask = full;
	start(&last, at_the_end, last_stack, NULL);
	getcontext(&coroutine);
	start(&coroutine, in_full_mask, stack, &last);
	coroutine.uc_sigmask = full;
	swapcontext(&main_context, &coroutine);
	check("back in main");
	times = 0;
	getcontext(&main_context);
	if (!times++) {
		main_context.uc_sigmask = full;
		setcontext(&main_context);
	}
	check("setcontext");
	open_all();
}

/* ---- handlers of other signals ---- */

static void fill_mask(int sig, siginfo_t *info, void *context)
{
	submit(1);
	memcpy(&((ucontext_t *)context)->uc_sigmask, &full, sizeof(uint64_t));
}

static void all_but_segv(int sig, siginfo_t *info, void *context)
{
	fill_mask(sig, info, context);
	sigdelset(&((ucontext_t *)context)->uc_sigmask, SIGSEGV);
}

static void block_within(int sig, siginfo_t *info, void *context)
{
	block(&segv);
	submit(1);
}

static void show_restored(int sig, siginfo_t *info, void *context)
{
	unsigned long long word;

	memcpy(&word, &((ucontext_t *)context)->uc_sigmask, sizeof(word));
	printf("  to be restored: %llx\n", word);
}

static void handlers(void)
{
	struct sigaction masked = {.sa_handler = (void (*)(int))submit};

	install(SIGUSR1, fill_mask);
	raise(SIGUSR1);
	check("filled by a handler");
	open_all();
	install(SIGUSR1, all_but_segv);
	raise(SIGUSR1);
	check("all but one");
	open_all();
	install(SIGUSR1, block_within);
	raise(SIGUSR1);
	check("blocked within a handler");
	install(SIGUSR1, show_restored);
	block(&segv);
	raise(SIGUSR1);
	open_all();
	masked.sa_mask = full;
	sigaction(SIGUSR1, &masked, NULL);
	raise(SIGUSR1);
	check("after a handler with all blocked");
	sigdelset(&masked.sa_mask, SIGSEGV);
	sigaction(SIGUSR1, &masked, NULL);
	raise(SIGUSR1);
	check("after one with all but one");
}

/* ---- threads and children ---- */

static int begin_thread(void *what)
{
	check(what);
	return 0;
}

static void *begin_pthread(void *what)
{
	check(what);
	return NULL;
}

static void threads(void)
{
	pthread_attr_t attr;
	sigset_t but_segv = full;
	pthread_t p;
	thrd_t t;

	block(&full);
	thrd_create(&t, begin_thread, "C11 thread, all blocked");
	thrd_join(t, NULL);
	pthread_create(&p, NULL, begin_pthread, "thread, all blocked");
	pthread_join(p, NULL);
	open_all();
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &full);
	pthread_create(&p, &attr, begin_pthread, "all blocked by its attributes");
	pthread_join(p, NULL);
	sigdelset(&but_segv, SIGSEGV);
	pthread_attr_setsigmask_np(&attr, &but_segv);
	pthread_create(&p, &attr, begin_pthread, "all but one by its attributes");
	pthread_join(p, NULL);
	check("in main");
}

static CUdeviceptr memory;
static CUcontext cuda_context;
static sem_t called;

/* The C library calls it with all blocked, or with nothing; the driver comes first. */
static void on_timer(union sigval value)
{
	CK(cuCtxSetCurrent(cuda_context));
	CK(cuMemsetD32_v2(memory, 7, 4));
	sem_post(&called);
}

static void timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
	struct itimerspec soon = {.it_value = {0, 1000000}};
	timer_t t;

	CK(cuMemAlloc_v2(&memory, 4096));
	CK(cuCtxGetCurrent(&cuda_context));
	sem_init(&called, 0, 0);
	EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &t), "timer_create");
	timer_settime(t, 0, &soon, NULL);
	while (sem_wait(&called))
		;
	timer_delete(t);
	CK(cuCtxSynchronize());
	printf("timer: %u\n", app_word(memory));
}

static void in_child_of_child(void)
{
	struct sigaction a = {.sa_handler = SIG_IGN};
	pid_t pid = vfork();

	if (!pid) {
		pthread_sigmask(SIG_BLOCK, &segv, NULL);
		sigaction(SIGSEGV, &a, NULL);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0)
		;
	check("after a vfork() child");
	sigaction(SIGSEGV, NULL, &a);
	printf("  ignored: %d\n", a.sa_handler == SIG_IGN);
}

static void children(void)
{
	int status;
	pid_t pid;

	in_child_of_child();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		in_child = true;
		in_child_of_child();
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	printf("child's end: %x\n", status);
}

/* By a bare system call: until the next call that is seen, no doorbell may be rung. */
static void bare(void)
{
	uint64_t word = 1ull << (SIGSEGV - 1), none = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &word, NULL, 8);
	check("blocked by a bare call");
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
	check("opened by a bare call");
}

int main(void)
{
	submit_begin();
	install(SIGSEGV, on_segv);
	segv = set_of(SIGSEGV, 0, 0);
	only_usr1 = set_of(SIGUSR1, 0, 0);
	sigfillset(&full);
	all_but_usr1 = full;
	sigdelset(&all_but_usr1, SIGUSR1);
	check("at first");
	out_of_calls();
	back_to_open();
	back_to_blocked();
	two_contexts();
	made_masks();
	handlers();
	threads();
	timer();
	children();
	bare();
	submit_end();
	return 0;
}
