/* SPDX-License-Identifier: MIT */
/*
 * The cost of a mask change in a process with many threads, in system calls; and signals that are
 * sent while the library works, whose handlers may jump away: they are delivered when it is done.
 */
/* LINK: preload */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/signals/signals.h"
#include "tests/unit/expect.h"

/* ---- held back ---- */

static volatile int handled, under_lock;
static sigjmp_buf out;

static void jump_away(int sig)
{
	handled++;
	under_lock += nvs_lock_mine();
	siglongjmp(out, 1);
}

static void test_lock(int sig)
{
	static volatile int during;
	sigset_t saved, mask;

	signal(sig, jump_away);
	handled = during = 0;
	nvs_lock(&saved);
	if (!sigsetjmp(out, 0)) {
		raise(sig);
		during = handled + 1;
		nvs_unlock(&saved);
	}
	EXPECT_EQ(during, 1);
	EXPECT_EQ(handled, 1);
	EXPECT_EQ(under_lock, 0);
	EXPECT(!nvs_lock_mine());
	/* What the handler's own mask left blocked. */
	sigemptyset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	signal(sig, SIG_DFL);
}

/* As in any part that must not be left in the middle. */
static void test_section(void)
{
	static volatile int during;
	uint64_t saved;

	signal(SIGSEGV, jump_away);
	handled = during = 0;
	saved = nvs_sys_block_async();
	if (!sigsetjmp(out, 0)) {
		kill(getpid(), SIGSEGV);
		during = handled + 1;
		nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	}
	EXPECT_EQ(during, 1);
	EXPECT_EQ(handled, 1);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	signal(SIGSEGV, SIG_DFL);
}

/* ---- counted ---- */

#define THREADS 1030
#define CHANGES 100

static pthread_barrier_t parked;

static void *park(void *arg)
{
	pthread_barrier_wait(&parked);
	for (;;)
		pause();
	return NULL;
}

/* Between the two getppid(): pairs of changes, in a process whose other threads block all. */
static void change_masks(void)
{
	sigset_t all, old, segv;
	pthread_attr_t attr;
	pthread_t t;

	sigfillset(&all);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&parked, NULL, THREADS + 1);
	pthread_attr_setsigmask_np(&attr, &all);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t, &attr, park, NULL))
			_exit(2);
	pthread_barrier_wait(&parked);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	raise(SIGSTOP);
	syscall(SYS_getppid);
	for (int i = 0; i < CHANGES / 4; i++) {
		pthread_sigmask(SIG_SETMASK, &all, &old);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		pthread_sigmask(SIG_BLOCK, &segv, NULL);
		pthread_sigmask(SIG_UNBLOCK, &segv, NULL);
	}
	syscall(SYS_getppid);
	_exit(0);
}

/* Of the thread PID, in and behind the part between; -1: none was seen. */
static int count_calls(pid_t pid, int *status)
{
	struct __ptrace_syscall_info info;
	int marks = 0, calls = -1;

	while (!ptrace(PTRACE_SYSCALL, pid, NULL, NULL) && waitpid(pid, status, __WALL) == pid &&
	       WIFSTOPPED(*status)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == SYS_getppid)
			marks++;
		if (marks == 1)
			calls++;
	}
	return marks == 2 ? calls : -1;
}

static void test_many_threads(void)
{
	int status, calls;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		change_masks();
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) {
		EXPECT_EQ(WEXITSTATUS(status), 77); /* nothing may be traced here */
		return;
	}
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	calls = count_calls(pid, &status);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
	EXPECT_EQ(calls, CHANGES);
}

int main(void)
{
	EXPECT_EQ(nvs_signals_install(), 0);
	test_lock(SIGSEGV);
	test_lock(SIGTRAP);
	test_lock(SIGFPE);
	test_section();
	test_many_threads();
	return expect_done();
}
