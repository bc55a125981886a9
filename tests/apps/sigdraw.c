/* SPDX-License-Identifier: MIT */
/*
 * sigdraw FIRST COUNT [STEPS [paired]]: COUNT random programs with seeds from FIRST on. They set
 * actions and masks, send and await signals, fault, fork and run programs while they submit.
 * paired: every third program has a second thread that alternates with the first, which sometimes
 * shows the library's own work in a thread. Only behaviour that the kernel defines is used, so the
 * output is the same without a tool. Software GPU only.
 */
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include "sigapp.h"
#include "insns.h"

static const int signals[] = {SIGSEGV, SIGTRAP, SIGSEGV, SIGTRAP, SIGUSR1, 44, 45};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static uint32_t state;
static int level; /* how deep in forked children */
static bool paired; /* a second thread takes turns */
static _Atomic int ran; /* handlers */
static __thread sigjmp_buf out;
static __thread bool may_jump;
static __thread int depth, me; /* 0: the main thread */
static uint64_t masks[2]; /* of the two, at the end of their last turns */

static uint32_t draw(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 10) % n;
}

static int draw_signal(void)
{
	return signals[draw(SIGNALS)];
}

static sigset_t draw_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < SIGNALS; i++)
		if (draw(2))
			sigaddset(&set, signals[i]);
	return set;
}

static unsigned long long word(const sigset_t *set)
{
	unsigned long long w;

	memcpy(&w, set, sizeof(w));
	return w;
}

static unsigned long long mask_now(void)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return word(&set);
}

static unsigned long long pending_now(void)
{
	sigset_t set;

	sigpending(&set);
	return word(&set);
}

static bool is_in(unsigned long long set, int sig)
{
	return set >> (sig - 1) & 1;
}

static bool is_ours(int sig)
{
	return sig == SIGSEGV || sig == SIGTRAP;
}

/* The order among several is the kernel's only as far as all are ours or none is. */
static bool mixed(unsigned long long set)
{
	unsigned long long ours = 1ull << (SIGSEGV - 1) | 1ull << (SIGTRAP - 1);

	return (set & ours) && (set & ~ours);
}

/* ---- handlers ---- */

static void tell(int sig, const siginfo_t *info, const ucontext_t *uc)
{
	bool sent = info->si_code <= 0;

	printf("    %d in %d: code %d, %s %d, mask %llx", sig, me, info->si_code,
	       !sent || info->si_pid == getpid() ? "own" : "strange",
	       info->si_code == SI_QUEUE ? info->si_value.sival_int : 0, mask_now());
	/* In another's frame the two are told only where it blocks them. */
	if (is_ours(sig))
		printf(", before %llx", word(&uc->uc_sigmask));
	printf("\n");
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	tell(sig, info, uc);
	submit(1);
	if (info->si_code > 0 && sig == SIGSEGV)
		insn_after_fault(uc);
	else if (info->si_code > 0)
		insn_after_break(uc);
	ran++;
	if (may_jump && depth == 0 && sig != 44) {
		may_jump = false;
		siglongjmp(out, sig);
	}
}

/* ---- what is drawn ---- */

static bool has_handler(int sig)
{
	struct sigaction a;

	sigaction(sig, NULL, &a);
	return a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN;
}

/* A default action kills, which only a child may do. */
static void draw_action(void)
{
	static const int flags[] = {SA_RESTART, SA_NODEFER, SA_ONSTACK, (int)SA_RESETHAND};
	int sig = draw_signal();
	struct sigaction a = {.sa_mask = draw_set(), .sa_flags = SA_SIGINFO}, old;

	for (int i = 0; i < (level ? 4 : 3); i++)
		a.sa_flags |= draw(2) ? flags[i] : 0;
	a.sa_sigaction = on_signal;
	if (draw(4) == 0) {
		a.sa_handler = level && draw(2) ? SIG_DFL : SIG_IGN;
		a.sa_flags &= ~SA_SIGINFO;
	}
	sigaction(sig, draw(4) ? &a : NULL, &old);
	printf("  action %d: %s, %x, %llx\n", sig,
	       old.sa_handler == SIG_DFL   ? "default"
	       : old.sa_handler == SIG_IGN ? "ignored"
					   : "handler",
	       (unsigned)old.sa_flags, word(&old.sa_mask));
}

static void draw_mask(void)
{
	sigset_t set = draw_set(), old;
	int how = (int)draw(3);

	if (mixed(pending_now()))
		return;
	EXPECT(!(draw(2) ? sigprocmask : pthread_sigmask)(how, &set, &old), "mask");
	printf("  mask %d %llx: %llx\n", how, word(&set), word(&old));
}

/* Who takes what is sent to the process: the main thread if it can, as by the kernel; -1: it stays
 * pending. */
static int taker(int sig)
{
	uint64_t mask[2] = {masks[0], paired ? masks[1] : ~0ull};

	mask[me] = mask_now();
	return !is_in(mask[0], sig) ? 0 : !is_in(mask[1], sig) ? 1 : -1;
}

static void send_process(int sig, bool value)
{
	int before = ran, to = taker(sig);

	/* Of two that can the kernel takes the one that is not just in a handler, be it the
	 * library's. */
	if (paired && !is_in(masks[!me], sig) && !is_in(mask_now(), sig))
		return;
	printf("  %s %d\n", value ? "queue to the process" : "kill", sig);
	if (value)
		sigqueue(getpid(), sig, (union sigval){.sival_int = (int)draw(100)});
	else
		kill(getpid(), sig);
	/* The kernel gives it to this thread before the call returns; the library passes it from
	 * one to the other. */
	for (int i = 0; i < 10000 && to >= 0 && paired && ran == before && has_handler(sig); i++)
		usleep(100);
	/* What another thread's handler of the library puts aside is seen a moment later. */
	for (int i = 0; i < 10000 && to < 0 && paired && !is_in(pending_now(), sig); i++)
		usleep(100);
}

static void draw_send(void)
{
	int sig = draw_signal();
	pid_t pid;

	switch (draw(6)) {
	case 0:
		send_process(sig, false);
		break;
	case 1:
		send_process(sig, true);
		break;
	case 2:
		printf("  raise %d\n", sig);
		raise(sig);
		break;
	case 3:
		/* Of ours it becomes one for the process where it is blocked. */
		if (is_ours(sig))
			break;
		printf("  queue to the thread %d\n", sig);
		pthread_sigqueue(pthread_self(), sig, (union sigval){.sival_int = (int)draw(100)});
		break;
	case 4:
		printf("  bare tgkill %d\n", sig);
		syscall(SYS_tgkill, getpid(), gettid(), sig);
		break;
	case 5:
		if (paired)
			break;
		printf("  a child sends %d\n", sig);
		/* It comes when vfork() returns, and not somewhere in it. */
		pid = vfork();
		if (!pid)
			_exit(kill(getppid(), sig));
		while (waitpid(pid, NULL, 0) < 0)
			;
		break;
	}
}

static void draw_wait(void)
{
	sigset_t set = draw_set();
	struct timespec no_time = {0, 0};
	siginfo_t info;
	int sig, err;

	if (mixed(pending_now() & word(&set)))
		return;
	errno = 0;
	sig = sigtimedwait(&set, &info, &no_time);
	err = sig < 0 ? errno : 0;
	printf("  wait %llx: %d, error %d, code %d\n", word(&set), sig, err,
	       sig > 0 ? info.si_code : 0);
	if (!(pending_now() & word(&set) & mask_now()))
		return;
	EXPECT(!sigwait(&set, &sig), "sigwait");
	printf("  sigwait: %d\n", sig);
}

/* Calls with a mask of their own. */
static void draw_call(void)
{
	struct timespec no_time = {0, 0};
	sigset_t set = draw_set();
	unsigned long long due = pending_now() & ~word(&set);
	int fd, ret = 0;

	/* Of several the first alone ends the call. What is ignored and pending ends it for us. */
	if (due & (due - 1) || (is_in(due, SIGSEGV) && !has_handler(SIGSEGV)) ||
	    (is_in(due, SIGTRAP) && !has_handler(SIGTRAP)))
		return;
	errno = 0;
	switch (draw(4)) {
	case 0:
		ret = ppoll(NULL, 0, &no_time, &set);
		break;
	case 1:
		ret = pselect(0, NULL, NULL, NULL, &no_time, &set);
		break;
	case 2:
		fd = epoll_create1(EPOLL_CLOEXEC);
		errno = 0;
		ret = epoll_pwait(fd, &(struct epoll_event){0}, 1, 0, &set);
		close(fd);
		break;
	case 3:
		for (unsigned i = 0; i < SIGNALS && !ret; i++)
			if (is_in(pending_now() & ~word(&set), signals[i]) &&
			    has_handler(signals[i]))
				ret = sigsuspend(&set);
		break;
	}
	printf("  call %llx: %d, error %d\n", word(&set), ret, ret < 0 ? errno : 0);
}

static void draw_fault(void)
{
	int sig = draw(2) ? SIGSEGV : SIGTRAP;

	/* What kills is for children. */
	if ((is_in(mask_now(), sig) || !has_handler(sig)) && !level)
		return;
	printf("  fault %d\n", sig);
	fflush(stdout);
	if (sig == SIGSEGV)
		insn_fault();
	else
		insn_break();
}

static void draw_steps(int n);

static void draw_child(void)
{
	int status, steps = 5 + (int)draw(15);
	pid_t pid;

	if (level > 1 || paired)
		return;
	printf("  fork\n");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		in_child = true;
		level++;
		draw_steps(steps);
		fflush(stdout);
		_exit(7);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	printf("  child: %x\n", status);
}

/* A program that tells what it has inherited. */
static void draw_run(void)
{
	char *argv[] = {"sigdraw", "show", NULL};
	int status = 0, way = (int)draw(3);
	pid_t pid = -1;

	if (paired || draw(3))
		return;
	printf("  run\n");
	fflush(stdout);
	if (way == 0) {
		posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	} else {
		pid = way == 1 ? fork() : vfork();
		if (!pid) {
			execv("/proc/self/exe", argv);
			_exit(1);
		}
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	printf("  ran: %x\n", status);
}

static int show(void)
{
	struct sigaction a;

	printf("    shown: %llx, %llx\n", mask_now(), pending_now());
	for (int i = 4; i < (int)SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &a) && a.sa_handler == SIG_IGN)
			printf("    ignores %d\n", signals[i]);
	return 0;
}

/* One step out of which a handler may jump. */
static void draw_step(void)
{
	void (*const steps[])(void) = {draw_action, draw_mask,	draw_mask, draw_send,
				       draw_send,   draw_send,	draw_wait, draw_call,
				       draw_fault,  draw_child, draw_run};
	void (*step)(void);
	int sig = sigsetjmp(out, 1);

	if (sig) {
		printf("  jumped out of %d, mask %llx\n", sig, mask_now());
		return;
	}
	step = steps[draw(sizeof(steps) / sizeof(steps[0]))];
	/* What a call made of the mask before it sent something is not undone by a jump. */
	may_jump = draw(2) && (step == draw_send || step == draw_fault);
	step();
	may_jump = false;
	submit((int)draw(2));
}

static void draw_steps(int n)
{
	while (n--)
		draw_step();
	printf("  end: %llx, %llx\n", mask_now(), pending_now());
}

/* ---- two threads ---- */

static sem_t turns[2];
static int left;

static void wait_turn(int who)
{
	while (sem_wait(&turns[who]))
		;
}

static void *take_turns(void *arg)
{
	stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};

	me = (int)(intptr_t)arg;
	sigaltstack(&alternate, NULL);
	masks[me] = mask_now();
	for (;;) {
		wait_turn(me);
		if (left > 0) {
			printf(" thread %d\n", me);
			draw_steps(3);
		}
		masks[me] = mask_now();
		left--;
		sem_post(&turns[!me]);
		if (left < 0)
			break;
	}
	if (me)
		free(alternate.ss_sp);
	return NULL;
}

static void in_turns(int steps)
{
	pthread_t t;

	left = steps / 3;
	sem_init(&turns[0], 0, 1);
	sem_init(&turns[1], 0, 0);
	masks[1] = mask_now();
	EXPECT(!pthread_create(&t, NULL, take_turns, (void *)1), "thread");
	take_turns((void *)0);
	pthread_join(t, NULL);
}

/* ---- */

/* Begins as any other: nothing is blocked, pending or ignored. */
static void reset(void)
{
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (unsigned i = 0; i < SIGNALS; i++) {
		signal(signals[i], SIG_IGN);
		install(signals[i], on_signal);
	}
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
	int first, n, steps;

	if (argc > 1 && !strcmp(argv[1], "show"))
		return show();
	first = argc > 1 ? atoi(argv[1]) : 1;
	n = argc > 2 ? atoi(argv[2]) : 20;
	steps = argc > 3 ? atoi(argv[3]) : 60;
	submit_begin();
	sigaltstack(&alternate, NULL);
	for (int seed = first; seed < first + n; seed++) {
		printf("seed %d\n", seed);
		state = (uint32_t)seed * 2654435761u;
		paired = argc > 4 && seed % 3 == 0;
		may_jump = false;
		reset();
		if (paired)
			in_turns(steps);
		else
			draw_steps(steps);
	}
	reset();
	submit_end();
	return 0;
}
