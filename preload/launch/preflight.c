/* SPDX-License-Identifier: MIT */
/*
 * What can be known to fail is refused before the program starts: an output, a folder for the
 * buffers or a trigger file that cannot be. What fails later is told by the library.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "preload/base/names.h"
#include "preload/base/options.h"
#include "preload/launch/launch.h"

static const char *variable(const char *name)
{
	return getenv(name);
}

/* The first %q{VARIABLE} of PATTERN that is not set, into NAME; false: all are. */
static bool unset_variable(const char *pattern, char *name, size_t size)
{
	for (const char *p = pattern; (p = strstr(p, "%q{")); p++) {
		const char *end = strchr(p, '}');
		size_t length = end ? (size_t)(end - p - 3) : 0;

		if (!end || !length || length >= size)
			return false;
		memcpy(name, p + 3, length);
		name[length] = 0;
		if (!getenv(name))
			return true;
	}
	return false;
}

/* Can a file of this name be made, or written over where it is there? NULL: yes. */
static const char *file_refused(const char *path)
{
	char folder[PATH_MAX];
	const char *base = nvs_name_base(path);
	struct stat st;

	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return "is a folder";
		if (!S_ISREG(st.st_mode))
			return "is no file to which a trace can be written";
	}
	if ((size_t)(base - path) >= sizeof(folder))
		return strerror(ENAMETOOLONG);
	memcpy(folder, path, (size_t)(base - path));
	folder[base - path] = 0;
	if (stat(*folder ? folder : ".", &st))
		return errno == ENOENT ? "its folder is not there" : strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return strerror(ENOTDIR);
	/* The spool and a name that is not taken lie beside it. */
	return access(*folder ? folder : ".", W_OK | X_OK) ? strerror(errno) : NULL;
}

/* What the output's name stood behind; for the default, the option that gives another. */
static const char *named_by(const struct nvs_launch_args *args)
{
	const char *out = getenv(NVS_ENV_OUT);

	return args->out || !out || !*out ? "-o " : NVS_ENV_OUT "=";
}

static int output_refused(const char *by, const char *pattern, const char *program)
{
	char host[256] = "", path[PATH_MAX], name[256];
	struct nvs_name_facts facts = {(uint32_t)getpid(), nvs_name_base(program), host, variable};
	const char *why;

	if (!strcmp(pattern, "-")) {
		nvs_launch_say("%s-: a trace goes to a file, beside which its buffers lie, not to "
			       "stdout",
			       by);
		return NVS_EXIT_USAGE;
	}
	gethostname(host, sizeof(host) - 1);
	switch (nvs_name_expand(pattern, &facts, path, sizeof(path))) {
	case 0:
		break;
	case -ENAMETOOLONG:
		nvs_launch_say("%s%s: %s", by, pattern, strerror(ENAMETOOLONG));
		return NVS_EXIT_USAGE;
	default:
		if (unset_variable(pattern, name, sizeof(name)))
			nvs_launch_say("%s%s: %s is not set", by, pattern, name);
		else if (*pattern && pattern[strlen(pattern) - 1] == '/')
			nvs_launch_say("%s%s: is a folder", by, pattern);
		else
			nvs_launch_say("%s%s: behind %% stands p, e, h, q{VARIABLE} or %%", by,
				       pattern);
		return NVS_EXIT_USAGE;
	}
	why = file_refused(path);
	if (why)
		nvs_launch_say("%s%s: %s", by, pattern, why);
	return why ? NVS_EXIT_ERROR : -1;
}

/* It may come later, so its folder is what must be there. */
static const char *trigger_refused(const char *path)
{
	struct stat st;

	if (!stat(path, &st))
		return S_ISDIR(st.st_mode)  ? "is a folder"
		       : access(path, R_OK) ? strerror(errno)
					    : NULL;
	return file_refused(path);
}

static const char *spool_refused(const char *folder)
{
	struct stat st;

	if (stat(folder, &st))
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return strerror(ENOTDIR);
	return access(folder, W_OK | X_OK) ? strerror(errno) : NULL;
}

bool nvs_launch_untraced(const struct nvs_launch_args *args)
{
	const char *out = args->out ?: getenv(NVS_ENV_OUT);

	return out && !strcmp(out, NVS_OUT_NONE);
}

/* What is asked for in vain where there is no trace. */
static int untraced_refused(const struct nvs_launch_args *args)
{
	const char *key = args->stat ? "stat" : nvs_option_needs_trace(&args->values);

	if (key)
		nvs_launch_say("%s" NVS_OUT_NONE ": there is no trace for --%s", named_by(args),
			       key);
	else if (!args->values.live)
		nvs_launch_say("%s" NVS_OUT_NONE ": with --live=off there is nothing to be done",
			       named_by(args));
	else
		return -1;
	return NVS_EXIT_USAGE;
}

int nvs_launch_refuse(const struct nvs_launch_args *args)
{
	const char *out = args->out ?: getenv(NVS_ENV_OUT);
	const struct nvs_option_values *values = &args->values;
	const char *why;

	if (*values->trigger && (why = trigger_refused(values->trigger))) {
		nvs_launch_say("--trigger=%s: %s", values->trigger, why);
		return NVS_EXIT_ERROR;
	}
	if (*values->spool_dir && (why = spool_refused(values->spool_dir))) {
		nvs_launch_say("--spool=%s: %s", values->spool_dir, why);
		return NVS_EXIT_ERROR;
	}
	if (nvs_launch_untraced(args))
		return untraced_refused(args);
	if (nvs_launch_stat_private(args))
		return -1;
	return output_refused(named_by(args), out && *out ? out : NVS_DEFAULT_OUT,
			      args->program[0]);
}
