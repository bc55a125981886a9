/* SPDX-License-Identifier: MIT */
/*
 * pace: executes commands from standard input, one per line, and answers each with the number of
 * submissions so far.
 *
 *	submit N		N memsets
 *	start, stop		cuProfilerStart, cuProfilerStop
 *	prepare			makes a kernel, a graph with three launches of it, and memory
 *	launch N, graph N	N launches of these
 *	until FILE		memsets, until FILE exists
 *	close			destroys the context; the next submit makes another
 *	fork			continues in a child that has made no CUDA call; must be first
 *	child			a child that exits at once, as programs that start others make it
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

static struct {
	CUfunction add;
	CUgraphExec graph;
	CUstream stream;
} made;

static void prepare(void)
{
	CUgraph graph;

	submit(1);
	made.add = app_kernel("softgpu_add");
	CK(cuStreamCreate(&made.stream, CU_STREAM_NON_BLOCKING));
	CK(cuStreamBeginCapture_v2(made.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 3; i++)
		app_add(made.add, words, 1, made.stream);
	CK(cuStreamEndCapture(made.stream, &graph));
	CK(cuGraphInstantiateWithFlags(&made.graph, graph, 0));
	CK(cuGraphDestroy(graph));
	CK(cuGraphLaunch(made.graph, made.stream));
	app_add(made.add, words, 1, made.stream);
	CK(cuStreamSynchronize(made.stream));
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

static void exit_in_child(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		exit(0);
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && !status, "fork");
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
		else if (!strcmp(line, "close\n")) {
			CK(cuDevicePrimaryCtxRelease_v2(0));
			words = 0;
		} else if (!strcmp(line, "prepare\n"))
			prepare();
		else if (sscanf(line, "launch %llu", &n) == 1)
			for (; n; n--)
				app_add(made.add, words, 1, made.stream);
		else if (sscanf(line, "graph %llu", &n) == 1)
			for (; n; n--)
				CK(cuGraphLaunch(made.graph, made.stream));
		else if (!strcmp(line, "start\n"))
			CK(cuProfilerStart());
		else if (!strcmp(line, "stop\n"))
			CK(cuProfilerStop());
		else if (!strcmp(line, "fork\n"))
			hand_to_child();
		else if (!strcmp(line, "child\n"))
			exit_in_child();
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
