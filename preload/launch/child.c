/* SPDX-License-Identifier: MIT */
/* Runs the program: forwards signals sent to the launcher (the terminal's reach it directly) and
 * ends as the program ended. */
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

/* In the child: runs the program, or writes errno to FD. */
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

/* A stop from the terminal has stopped the launcher too, and `fg` continues both. A SIGSTOP sent
 * only to the program stops the launcher as well, so that the shell notices. */
static void follow_stop(pid_t child, int status)
{
	if (WSTOPSIG(status) == SIGSTOP)
		return;
	raise(SIGSTOP);
	kill(child, SIGCONT);
}

/* Waits for the end of CHILD and forwards the signals in SET. */
static int wait_for(pid_t child, const sigset_t *set)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(set, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			/* The kernel sends the terminal's signals to the whole process group. */
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
	/* If the parent left SIGCHLD ignored, the child's status would be lost. */
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
	/* A core file of the launcher would overwrite the program's. */
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	exit(128 + WTERMSIG(status));
}
