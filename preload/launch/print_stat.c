/* SPDX-License-Identifier: MIT */
/* --stat: prints the summary of nvsnoop-report on stderr at the program's end. Without -o the
 * traces are in a temporary directory, which is removed afterwards. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "preload/launch/launch.h"

static char folder[PATH_MAX]; /* "": none */

bool nvs_launch_stat_is_private(const struct nvs_launch_args *args)
{
	const char *out = args->out ?: getenv(NVS_ENV_OUT);

	return *folder || (args->stat && !(out && *out));
}

/* Returns the pattern of the traces' names; percent signs in the directory are doubled. */
static const char *make_pattern(void)
{
	static char text[2 * PATH_MAX];
	char *to = text;

	for (const char *from = folder; *from; from++) {
		*to++ = *from;
		if (*from == '%')
			*to++ = '%';
	}
	strcpy(to, "/%e.%p.zst");
	return text;
}

int nvs_launch_stat_open(struct nvs_launch_args *args)
{
	const char *top = getenv("TMPDIR");

	if (!nvs_launch_stat_is_private(args))
		return 0;
	top = top && *top == '/' ? top : "/tmp";
	snprintf(folder, sizeof(folder), "%s/nvsnoop-stat.XXXXXX", top);
	if (!mkdtemp(folder)) {
		nvs_launch_print("--stat: cannot create a directory in %s: %s", top,
				 strerror(errno));
		*folder = 0;
		return -1;
	}
	args->out = make_pattern();
	return 0;
}

void nvs_launch_stat_close(void)
{
	char path[PATH_MAX + NAME_MAX + 1];
	DIR *dir = *folder ? opendir(folder) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	if (*folder)
		rmdir(folder);
	*folder = 0;
}

/* Runs nvsnoop-report without the library in LD_PRELOAD and without the launcher's signal mask. */
static _Noreturn void become_report(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("LD_PRELOAD");
	dup2(STDERR_FILENO, STDOUT_FILENO);
	fputc('\n', stderr); /* separates it from the program's output */
	nvs_launch_exec("report", argv);
	nvs_launch_print("--stat: cannot run nvsnoop-report: %s", strerror(errno));
	_exit(NVS_EXIT_ERROR);
}

void nvs_launch_stat_print(const char *argv0, bool timed, char **traces, size_t n)
{
	static char summary[] = "--summary", kernels[] = "--by-kernel", no_pager[] = "--no-pager",
		    stand_in[] = "--stand-in=TRACE", end[] = "--";
	char **argv = calloc(n + 7, sizeof(*argv)), name[PATH_MAX];
	size_t at = 1;
	pid_t child;

	if (!argv || !n) {
		free(argv);
		return;
	}
	nvs_launch_subcommand_name(name, sizeof(name), argv0, "report");
	argv[0] = name;
	argv[at++] = summary;
	if (timed)
		argv[at++] = kernels;
	argv[at++] = no_pager;
	if (*folder)
		argv[at++] = stand_in;
	argv[at++] = end;
	memcpy(argv + at, traces, n * sizeof(*traces));
	child = fork();
	if (!child)
		become_report(argv);
	if (child > 0)
		waitpid(child, NULL, 0);
	free(argv);
}
