/* SPDX-License-Identifier: MIT */
/* Starts nvsnoop-report as a child process. */
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>
#include "live/read/report_child.h"

int nvs_report_start(pid_t *pid, char **argv, int out, int errors)
{
	static const char name[] = "nvsnoop-report";
	extern char **environ;
	char path[PATH_MAX + sizeof(name)], *slash;
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t broken_pipe, none;
	int r;

	signal(SIGCHLD, SIG_DFL); /* inherited as ignored, it hides how the report ends */
	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, name);
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE); /* ignored by this program */
	r = posix_spawnattr_init(&attributes);
	if (r)
		return r;
	r = posix_spawn_file_actions_init(&files);
	if (!r && out >= 0)
		r = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	if (!r && errors >= 0)
		r = posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
	sigemptyset(&none); /* the interactive view blocks some */
	posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	if (!r)
		r = posix_spawn(pid, path, &files, &attributes, argv, environ);
	if (r)
		r = posix_spawnp(pid, name, &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return r;
}
