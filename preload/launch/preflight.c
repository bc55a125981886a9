/* SPDX-License-Identifier: MIT */
/* Checks before the program starts: output, spool directory and trigger file must be usable. Later
 * failures are reported by the library. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "nvsnoop/spool.h"
#include "preload/base/names.h"
#include "preload/base/options.h"
#include "decode/cli/options.h"
#include "preload/launch/launch.h"

/* Stores in NAME the first %q{VARIABLE} of PATTERN that is not set. Returns false if all are. */
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

/* Returns why no file can be created in FOLDER, or NULL. */
static const char *check_folder(const char *folder)
{
	struct stat st;

	if (stat(folder, &st))
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return strerror(ENOTDIR);
	return access(folder, W_OK | X_OK) ? strerror(errno) : NULL;
}

/* Returns why no file of this name can be created or overwritten, or NULL. */
static const char *check_file(const char *path)
{
	char folder[PATH_MAX];
	const char *base = nvs_base_name(path);
	struct stat st;

	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return "is a directory";
		if (!S_ISREG(st.st_mode))
			return "is not a regular file";
	}
	if ((size_t)(base - path) >= sizeof(folder))
		return strerror(ENAMETOOLONG);
	memcpy(folder, path, (size_t)(base - path));
	folder[base - path] = 0;
	if (*folder && stat(folder, &st) && errno == ENOENT)
		return "its directory does not exist";
	/* The spool and alternative names are in the same directory. */
	return check_folder(*folder ? folder : ".");
}

/* Returns how the output's name was given; for the default, the option that changes it. */
static const char *named_by(const struct nvs_launch_args *args)
{
	const char *out = getenv(NVS_ENV_OUT);

	return args->out || !out || !*out ? "-o " : NVS_ENV_OUT "=";
}

/* A spool holds the records of a session that was killed: its trace is not complete without it. */
static bool is_spool(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	uint64_t magic = 0;
	bool is = fd >= 0 && read(fd, &magic, sizeof(magic)) == sizeof(magic) &&
		  magic == NVS_SPOOL_MAGIC;

	if (fd >= 0)
		close(fd);
	return is;
}

static int check_output(const char *by, const char *pattern, const char *program, bool overwrite)
{
	char host[256] = "", path[PATH_MAX], name[256];
	struct nvs_name_fields facts = {(uint32_t)getpid(), nvs_base_name(program), host, getenv};
	const char *why;

	if (!strcmp(pattern, "-"))
		return nvs_usage_error("%s-: a trace cannot be written to stdout, only to a file",
				       by);
	gethostname(host, sizeof(host) - 1);
	switch (nvs_name_expand(pattern, &facts, path, sizeof(path))) {
	case 0:
		break;
	case -ENAMETOOLONG:
		return nvs_usage_error("%s%s: %s", by, pattern, strerror(ENAMETOOLONG));
	default:
		if (unset_variable(pattern, name, sizeof(name)))
			return nvs_usage_error("%s%s: %s is not set", by, pattern, name);
		if (*pattern && pattern[strlen(pattern) - 1] == '/')
			return nvs_usage_error("%s%s: is a directory", by, pattern);
		return nvs_usage_error("%s%s: %% must be followed by p, e, h, q{VARIABLE} or %%",
				       by, pattern);
	}
	why = check_file(path);
	if (!why && overwrite && is_spool(path))
		why = "is the spool of a trace, which --overwrite does not replace";
	if (why)
		nvs_launch_print("%s%s: %s", by, pattern, why);
	return why ? NVS_EXIT_ERROR : -1;
}

/* The trigger file may be created later: only its directory must exist. */
static const char *check_trigger(const char *path)
{
	struct stat st;

	if (!stat(path, &st))
		return S_ISDIR(st.st_mode)  ? "is a directory"
		       : access(path, R_OK) ? strerror(errno)
					    : NULL;
	return check_file(path);
}

bool nvs_launch_is_untraced(const struct nvs_launch_args *args)
{
	const char *out = args->out ?: getenv(NVS_ENV_OUT);

	return out && !strcmp(out, NVS_OUT_NONE);
}

/* Rejects options that need a trace. */
static int check_untraced(const struct nvs_launch_args *args)
{
	const char *key = args->stat ? "stat" : nvs_option_needs_trace(&args->values);

	if (key)
		return nvs_usage_error("%s" NVS_OUT_NONE ": --%s needs a trace", named_by(args),
				       key);
	if (!args->values.live)
		return nvs_usage_error("%s" NVS_OUT_NONE ": nothing to do with --live=off",
				       named_by(args));
	return -1;
}

int nvs_launch_preflight(const struct nvs_launch_args *args)
{
	const char *out = args->out ?: getenv(NVS_ENV_OUT);
	const struct nvs_option_values *values = &args->values;
	const char *why;

	if (*values->trigger && (why = check_trigger(values->trigger))) {
		nvs_launch_print("--trigger=%s: %s", values->trigger, why);
		return NVS_EXIT_ERROR;
	}
	if (*values->spool_dir && (why = check_folder(values->spool_dir))) {
		nvs_launch_print("--spool=%s: %s", values->spool_dir, why);
		return NVS_EXIT_ERROR;
	}
	if (nvs_launch_is_untraced(args))
		return check_untraced(args);
	if (nvs_launch_stat_is_private(args))
		return -1;
	return check_output(named_by(args), out && *out ? out : NVS_DEFAULT_OUT, args->program[0],
			    values->overwrite);
}
