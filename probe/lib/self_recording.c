/* SPDX-License-Identifier: MIT */
/* Runs this program again, with or without recording, and reads its output and trace. */
#include "probe/lib/self_recording.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "probe/probe.h"

#define ARGUMENTS_MAX 32

static void program_path(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n < 0)
		probe_die("/proc/self/exe: %s", strerror(errno));
	path[n] = 0;
}

/* The launcher is in the same folder in the build tree, in the bundle and when installed. */
static void launcher_path(char path[PATH_MAX], const char *program)
{
	const char *slash = strrchr(program, '/');
	int n = snprintf(path, PATH_MAX, "%.*s/nvsnoop", slash ? (int)(slash - program) : 0,
			 program);

	if (n >= PATH_MAX || access(path, X_OK))
		probe_die("%s: %s; the launcher must be next to nvsnoop-probe", path,
			  n >= PATH_MAX ? strerror(ENAMETOOLONG) : strerror(errno));
}

static void make_folder(struct probe_child_run *r)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(r->folder, sizeof(r->folder), "%s/nvsnoop-probe.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(r->folder))
		probe_die("%s: %s", r->folder, strerror(errno));
	snprintf(r->path, sizeof(r->path), "%s/trace.zst", r->folder);
}

/* Escapes %, which the launcher would expand. */
static void escape_percent(char *to, const char *from)
{
	for (; *from; from++) {
		if (*from == '%')
			*to++ = '%';
		*to++ = *from;
	}
	*to = 0;
}

static char *read_pipe(int fd)
{
	FILE *f = fdopen(fd, "r");
	char *text = NULL;
	size_t n;

	if (f)
		text = probe_read_all(f, SIZE_MAX, &n);
	if (!f || ferror(f))
		probe_die("pipe: %s", strerror(errno));
	fclose(f);
	return text;
}

static void wait_for(struct probe_child_run *r, pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			probe_die("wait: %s", strerror(errno));
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	probe_child_free(r);
	if (WIFSIGNALED(status))
		probe_die("the child run was killed by signal %d", WTERMSIG(status));
	probe_die("the child run failed; see its messages above");
}

void probe_run_child(struct probe_child_run *r, const char *const *arguments, bool recorded)
{
	static char program[PATH_MAX], launcher[PATH_MAX], out[2 * sizeof(r->path)];
	const char *argv[ARGUMENTS_MAX];
	int fds[2], n = 0;
	pid_t child;

	*r = (struct probe_child_run){.path = ""};
	program_path(program);
	if (recorded) {
		launcher_path(launcher, program);
		make_folder(r);
		escape_percent(out, r->path);
		argv[n++] = launcher;
		argv[n++] = "-q";
		argv[n++] = "-o";
		argv[n++] = out;
		argv[n++] = "--";
	}
	argv[n++] = program;
	for (; *arguments && n < ARGUMENTS_MAX - 1; arguments++)
		argv[n++] = *arguments;
	argv[n] = NULL;
	if (pipe(fds) || (child = fork()) < 0)
		probe_die("cannot start the child run: %s", strerror(errno));
	if (!child) {
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		execv(argv[0], (char *const *)argv);
		fprintf(stderr, "nvsnoop-probe: %s: %s\n", argv[0], strerror(errno));
		_exit(1);
	}
	close(fds[1]);
	r->text = read_pipe(fds[0]);
	wait_for(r, child);
}

void probe_child_read_trace(const struct probe_child_run *r, const struct nvs_consumer *consumer,
			    void *arg)
{
	struct nvs_trace *trace = NULL;
	struct nvs_error err = {""};
	int bad = nvs_trace_open(&trace, r->path, NULL, &err);

	if (!bad)
		bad = nvs_trace_read(trace, consumer, arg, &err);
	nvs_trace_close(trace);
	if (bad < 0)
		probe_die("cannot read the trace of the child run: %s",
			  *err.text ? err.text : strerror(-bad));
}

void probe_child_free(struct probe_child_run *r)
{
	if (*r->path) {
		unlink(r->path);
		rmdir(r->folder);
	}
	free(r->text);
	*r = (struct probe_child_run){.path = ""};
}
