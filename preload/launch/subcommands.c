/* SPDX-License-Identifier: MIT */
/*
 * Subcommands: `nvsnoop report ...` runs nvsnoop-report, likewise probe, top and record, from the
 * launcher's directory or PATH. A trace or a misspelled subcommand in place of a program gives a
 * hint. nvsnoop-report also adds names to an unfinished trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "include/distance.h"
#include "preload/launch/launch.h"

#define EMBED_CPU_S 60 /* a trace of many gigabytes is left as it is */

static const char *const sisters[] = {"report", "probe", "top", "record"};

/* Searches the launcher's directory, then PATH. */
static bool find_program(const char *sister, char *path, size_t size)
{
	char folder[PATH_MAX];
	const char *in = getenv("PATH");
	int length = 0;

	nvs_launch_directory(folder, sizeof(folder));
	if (snprintf(path, size, "%s/nvsnoop-%s", folder, sister) < (int)size &&
	    !access(path, X_OK))
		return true;
	for (; in; in += length, in = *in ? in + 1 : NULL) {
		length = (int)strcspn(in, ":");
		if (snprintf(path, size, "%.*s/nvsnoop-%s", length ? length : 1, length ? in : ".",
			     sister) < (int)size &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

bool nvs_launch_subcommand_exists(const char *sister)
{
	char path[PATH_MAX], folder[PATH_MAX];

	if (find_program(sister, path, sizeof(path)))
		return true;
	nvs_launch_directory(folder, sizeof(folder));
	nvs_launch_print("nvsnoop-%s not found in %s or in PATH", sister, folder);
	return false;
}

void nvs_launch_subcommand_name(char *name, size_t size, const char *argv0, const char *sister)
{
	const char *slash = strrchr(argv0, '/');

	snprintf(name, size, "%.*snvsnoop-%s", slash ? (int)(slash - argv0 + 1) : 0, argv0, sister);
}

void nvs_launch_exec(const char *sister, char **argv)
{
	char path[PATH_MAX];

	if (find_program(sister, path, sizeof(path)))
		execv(path, argv);
}

int nvs_launch_subcommand(char **argv)
{
	char name[PATH_MAX], *word = argv[1];

	for (size_t i = 0; word && i < sizeof(sisters) / sizeof(*sisters); i++) {
		if (strcmp(word, sisters[i]))
			continue;
		if (!nvs_launch_subcommand_exists(word))
			return NVS_EXIT_ERROR;
		nvs_launch_subcommand_name(name, sizeof(name), argv[0], word);
		argv[1] = name;
		nvs_launch_exec(sisters[i], argv + 1);
		nvs_launch_print("cannot run nvsnoop-%s: %s", sisters[i], strerror(errno));
		return NVS_EXIT_ERROR;
	}
	return -1;
}

/* Runs nvsnoop-report without the library in LD_PRELOAD and without the launcher's signal mask. */
static _Noreturn void run_embed(char *trace)
{
	static char name[] = "nvsnoop-report", option[] = "--embed", end[] = "--";
	char *argv[] = {name, option, end, trace, NULL};
	struct rlimit most = {EMBED_CPU_S, EMBED_CPU_S};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_CPU, &most);
	unsetenv("LD_PRELOAD");
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	nvs_launch_exec("report", argv);
	_exit(1);
}

void nvs_launch_embed_names(char *trace)
{
	pid_t child = fork();

	if (!child)
		run_embed(trace);
	if (child > 0)
		waitpid(child, NULL, 0);
}

static bool is_trace(const char *name)
{
	static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned char head[4] = {0};
	FILE *file = fopen(name, "re");

	if (!file)
		return false;
	if (fread(head, 1, sizeof(head), file) != sizeof(head))
		head[0] = 0;
	fclose(file);
	return !memcmp(head, zstd, sizeof(zstd));
}

/* Subcommands of other tools and their equivalents. */
static const char *const words[][2] = {
	{"stats", "nvsnoop report TRACE"},	 {"stat", "nvsnoop --stat program"},
	{"profile", "nvsnoop -o TRACE program"}, {"trace", "nvsnoop -o TRACE program"},
	{"launch", "nvsnoop -o TRACE program"},
};

void nvs_launch_print_hint(const char *program)
{
	if (is_trace(program)) {
		fprintf(stderr, "It is a trace: nvsnoop report %s\n", program);
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(program, words[i][0])) {
			fprintf(stderr, "Did you mean '%s'?\n", words[i][1]);
			return;
		}
	/* A path always means a file. */
	if (strchr(program, '/'))
		return;
	for (size_t i = 0; i < sizeof(sisters) / sizeof(*sisters); i++)
		if (nvs_edit_distance(program, strlen(program), sisters[i], strlen(sisters[i])) <=
		    2) {
			fprintf(stderr, "Did you mean 'nvsnoop %s'?\n", sisters[i]);
			return;
		}
}
