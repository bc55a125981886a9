/* SPDX-License-Identifier: MIT */
/*
 * Cases of signals. Each runs three times, in separate processes: with only the C library, with
 * our handlers installed before, and with ours installed only when it blocks one of the two
 * signals. The output must be the same. Without a doorbell every fault is the program's.
 */
#ifndef NVSNOOP_TEST_SIGCASES_H
#define NVSNOOP_TEST_SIGCASES_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "insns.h"
#include "preload/base/state.h"
#include "preload/signals/sigactions.h"
#include "tests/unit/sigcalls.h"

static int passed, failed;

/* ---- what a case tells: words into a pipe ---- */

static int out;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	char text[200];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (write(out, text, (size_t)n) != n)
		abort();
}

static const char *mask_text(const sigset_t *set)
{
	static __thread char text[40];
	uint64_t word;

	memcpy(&word, set, 8);
	snprintf(text, sizeof(text), "%llx", (unsigned long long)word);
	return text;
}

static void tell_mask(const char *what)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	tell("%s:%s ", what, mask_text(&now));
}

static sigset_t set_of(int a, int b)
{
	sigset_t set;

	sigemptyset(&set);
	if (a)
		sigaddset(&set, a);
	if (b)
		sigaddset(&set, b);
	return set;
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *), int flags, int masked)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	a.sa_mask = set_of(masked, 0);
	sigaction(sig, &a, NULL);
}

static char *forbidden; /* a page that faults */

static void fault(void)
{
	*(volatile char *)forbidden = 1;
}

/* ---- handlers ---- */

static void note(int sig, siginfo_t *info, void *uc)
{
	tell("got:%d code:%d ", sig, info->si_code);
	if (sig == SIGTRAP && info->si_code > 0)
		insn_after_break(uc);
}

static void fault_again(int sig, siginfo_t *info, void *uc)
{
	tell("again ");
	fault();
}

/* A handler that faults itself: blocked, so it kills. */
static void plain(int sig)
{
	tell("plain:%d ", sig);
}

/* What was set is what is seen. */
static void tell_action(int sig)
{
	struct sigaction a;

	sigaction(sig, NULL, &a);
	tell("%d: dfl:%d ign:%d flags:%x mask:%s restorer:%d ", sig, a.sa_handler == SIG_DFL,
	     a.sa_handler == SIG_IGN, a.sa_flags, mask_text(&a.sa_mask), a.sa_restorer != NULL);
}

/* ---- with and without ---- */

enum mode { WITHOUT, BEFORE, LATER };

static void run(void (*act)(void), enum mode mode, char *text, size_t size, int *status)
{
	struct rlimit no_core = {0, 0};
	size_t used = 0;
	ssize_t n;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		abort();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		out = fds[1];
		setrlimit(RLIMIT_CORE, &no_core);
		forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		nvs_state()->pid = (uint32_t)getpid();
		choose(mode != WITHOUT);
		if (mode == BEFORE && nvs_signals_install())
			abort();
		act();
		_exit(0);
	}
	close(fds[1]);
	while (used < size - 1 && (n = read(fds[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(fds[0]);
	waitpid(pid, status, 0);
}

static void compare(const char *name, void (*act)(void))
{
	static char without[20000], with[20000];
	int status_without, status_with;

	run(act, WITHOUT, without, sizeof(without), &status_without);
	for (enum mode mode = BEFORE; mode <= LATER; mode++) {
		run(act, mode, with, sizeof(with), &status_with);
		if (!strcmp(without, with) && status_without == status_with &&
		    (*without || status_with)) {
			passed++;
			continue;
		}
		failed++;
		printf("%s, %s:\n  without (%x): %.600s\n  with    (%x): %.600s\n", name,
		       mode == BEFORE ? "before" : "later", status_without, without, status_with,
		       with);
	}
}

#endif
