/* SPDX-License-Identifier: MIT */
/*
 * pace: executes commands from standard input, one per line, and answers each with the number of
 * submissions so far.
 *
 *	submit N		N memsets
 *	start, stop		cuProfilerStart, cuProfilerStop
 *	until FILE		memsets, until FILE exists
 *	fork			continues in a child that has made no CUDA call; must be first
 *	kill			kills itself with SIGKILL
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app.h"

static CUdeviceptr words;
static unsigned long long submissions;

static void submit(unsigned long long n)
{
	if (!words) {
		app_context(0);
		CK(cuMemAlloc_v2(&words, 64));
	}
	for (; n; n--, submissions++)
		CK(cuMemsetD32Async(words, (unsigned)submissions, 4, NULL));
}

/* The parent waits for its child, and ends as it did. */
static void hand_to_child(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		return;
	EXPECT(child > 0 && waitpid(child, &status, 0) == child, "fork");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

int main(void)
{
	char line[4096], word[4096];
	unsigned long long n;

	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "submit %llu", &n) == 1)
			submit(n);
		else if (sscanf(line, "until %4095s", word) == 1)
			while (access(word, F_OK))
				submit(1);
		else if (!strcmp(line, "start\n"))
			CK(cuProfilerStart());
		else if (!strcmp(line, "stop\n"))
			CK(cuProfilerStop());
		else if (!strcmp(line, "fork\n"))
			hand_to_child();
		else if (!strcmp(line, "kill\n"))
			raise(SIGKILL);
		else
			EXPECT(0, "%s", line);
		printf("%llu\n", submissions);
		fflush(stdout);
	}
	if (words)
		CK(cuCtxSynchronize());
	puts("pace ok");
	return 0;
}
