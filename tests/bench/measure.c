/* SPDX-License-Identifier: MIT */
/*
 * measure TIMES COMMAND...: runs a command several times without its output, and prints the
 * minimum CPU time and the minimum elapsed time in seconds, and the maximum memory in KB. This is
 * a separate program because a child's peak memory starts at that of its parent.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static void start(char **argv)
{
	int out = open("/dev/null", O_WRONLY);

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(*argv, argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	double cpu = 1e9, wall = 1e9;
	long memory = 0;

	for (int i = argc > 2 ? atoi(argv[1]) : 0; i > 0; i--) {
		double begin = now(), c, w;
		struct rusage use;
		int status;
		pid_t pid = fork();

		if (!pid)
			start(argv + 2);
		if (wait4(pid, &status, 0, &use) < 0 || status) {
			fprintf(stderr, "%s: status %d\n", argv[2], status);
			return 1;
		}
		w = now() - begin;
		c = seconds(&use.ru_utime) + seconds(&use.ru_stime);
		cpu = c < cpu ? c : cpu;
		wall = w < wall ? w : wall;
		memory = use.ru_maxrss > memory ? use.ru_maxrss : memory;
	}
	printf("%.4f %.4f %ld\n", cpu, wall, memory);
	return 0;
}
