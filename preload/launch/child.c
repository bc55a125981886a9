/* SPDX-License-Identifier: MIT */
/*
 * Runs the program and stays out of its way: signals sent to the launcher go to it, those of the
 * terminal reach it by themselves, and the launcher ends as it ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "preload/launch/launch.h"

static const int passed_on[] = {SIGHUP,	 SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,	SIGUSR2, SIGALRM,
				SIGCONT, SIGWINCH, SIGIO,   SIGPWR,  SIGVTALRM, SIGPROF};

/* In the child: runs the program, or tells errno through FD. */
static _Noreturn void start_program(char **program, int fd, const sigset_t *mask, bool chld_ignored)
{
	ssize_t n;

	if (chld_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(program[0], program);
	n = write(fd, &errno, sizeof(errno));
	(void)n;
	_exit(NVS_EXIT_ERROR);
}

/*
 * A stop typed at the terminal has stopped us with the program, and `fg` goes on with both. One
 * that was sent to the program alone stops us too, so that the shell sees it.
 */
static void follow_stop(pid_t child, int status)
{
	if (WSTOPSIG(status) == SIGSTOP)
		return;
	raise(SIGSTOP);
	kill(child, SIGCONT);
}

/* Waits for the end of CHILD, passing on what is in SET. */
static int wait_for(pid_t child, const sigset_t *set)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(set, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			/* What the kernel sends comes from the terminal, to the whole group. */
			if (info.si_code != SI_KERNEL)
				kill(child, info.si_signo);
			continue;
		}
		while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
			if (!WIFSTOPPED(status))
				return status;
			follow_stop(child, status);
		}
	}
}

int nvs_launch_run(char **program, int *status)
{
	struct sigaction old_chld, chld = {.sa_handler = SIG_DFL};
	sigset_t set, mask;
	int pipefd[2], error = 0;
	pid_t child;

	if (pipe2(pipefd, O_CLOEXEC))
		return -errno;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		sigaddset(&set, passed_on[i]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &mask);
	/* Ignored, as some parents leave it, it would take the child's status from us. */
	sigaction(SIGCHLD, &chld, &old_chld);
	child = fork();
	if (child == 0)
		start_program(program, pipefd[1], &mask, old_chld.sa_handler == SIG_IGN);
	if (child < 0)
		error = errno;
	close(pipefd[1]);
	if (child > 0) {
		ssize_t n = read(pipefd[0], &error, sizeof(error));

		if (n != sizeof(error))
			error = 0;
		*status = wait_for(child, &set);
	}
	close(pipefd[0]);
	return -error;
}

void nvs_launch_end_as(int status)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	if (!WIFSIGNALED(status))
		exit(WEXITSTATUS(status));
	/* Our own core file would lie over the program's. */
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	exit(128 + WTERMSIG(status));
}
