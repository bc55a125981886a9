/* SPDX-License-Identifier: MIT */
/* The program's environment: LD_PRELOAD, trace name, options and the NVTX tool. The library comes
 * first in LD_PRELOAD, but after a sanitizer's run-time library, which has to be first. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "preload/launch/launch.h"
#include "preload/base/options.h"
#include "trap/arch/cpu.h"

#define LIBRARY "libnvsnoop.so"
#define NVTX "NVTX_INJECTION64_PATH"

void nvs_launch_print(const char *format, ...)
{
	va_list list;

	fputs("nvsnoop: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

void nvs_launch_directory(char *folder, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", folder, size - 1);

	/* Without /proc, the name this program was executed by. */
	if (length < 0)
		length = snprintf(folder, size, "%s", (const char *)getauxval(AT_EXECFN));
	folder[length < (ssize_t)size ? length : 0] = 0;
	*(strrchr(folder, '/') ?: folder) = 0;
}

/* Looks next to the launcher (build directory, bundle), in ../lib/nvsnoop and Debian's folder for
 * libraries of this machine, and where it was installed. */
int nvs_launch_find_library(char *path, size_t size)
{
	static const char *const places[] = {"%s/" LIBRARY, "%s/../lib/nvsnoop/" LIBRARY,
					     "%s/../lib/" NVS_MULTIARCH "/nvsnoop/" LIBRARY,
					     NVS_LIBDIR "/" LIBRARY};
	char self[PATH_MAX], tried[PATH_MAX];

	nvs_launch_directory(self, sizeof(self));
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(tried, sizeof(tried), places[i], self);
#pragma GCC diagnostic pop
		if (access(tried, R_OK))
			continue;
		if (!realpath(tried, self) || strlen(self) >= size)
			break;
		/* The loader splits LD_PRELOAD at both characters and has no escape. */
		if (strpbrk(self, " :")) {
			nvs_launch_print("%s: LD_PRELOAD cannot have a path with a space or colon",
					 self);
			return -1;
		}
		strcpy(path, self);
		return 0;
	}
	nvs_launch_print(LIBRARY " not found next to nvsnoop or in " NVS_LIBDIR);
	return -1;
}

/* Returns the length of a preload list's first entry if it is a sanitizer's library, else 0. */
static size_t sanitizer_first(const char *list)
{
	size_t start = strspn(list, " :"), length = strcspn(list + start, " :");

	return nvs_launch_is_sanitizer(list + start, length) ? start + length : 0;
}

static int set_joined(const char *name, const char *format, ...)
{
	va_list list;
	char *value;
	int length, failed;

	va_start(list, format);
	length = vasprintf(&value, format, list);
	va_end(list);
	if (length < 0)
		return -1;
	failed = setenv(name, value, 1);
	free(value);
	return failed;
}

static int set_preload(const char *library, const char *program)
{
	const char *old = getenv("LD_PRELOAD") ?: "", *colon = *old ? ":" : "";
	size_t first = sanitizer_first(old);
	char name[256];

	if (first)
		return set_joined("LD_PRELOAD", "%.*s:%s%s", (int)first, old, library, old + first);
	if (nvs_launch_find_sanitizer(program, name, sizeof(name)))
		return set_joined("LD_PRELOAD", "%s:%s%s%s", name, library, colon, old);
	return set_joined("LD_PRELOAD", "%s%s%s", library, colon, old);
}

/* A relative name refers to the launcher's working directory, even if the program changes its own.
 * So the directory is prepended, with its percent signs doubled. */
static int set_out(const char *out)
{
	char folder[PATH_MAX], escaped[2 * PATH_MAX], *to = escaped;

	if (!strcmp(out, NVS_OUT_NONE) || *out == '/' || !getcwd(folder, sizeof(folder)))
		return setenv(NVS_ENV_OUT, out, 1);
	for (const char *from = folder; *from; from++) {
		*to++ = *from;
		if (*from == '%')
			*to++ = '%';
	}
	*to = 0;
	return set_joined(NVS_ENV_OUT, "%s/%s", strcmp(escaped, "/") ? escaped : "", out);
}

static int set_start(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return set_joined(NVS_ENV_START, "%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;

	return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A program can have one NVTX tool. An existing one is kept; an empty value means no tool. */
static int set_nvtx(const char *library)
{
	const char *other = getenv(NVTX);

	if (!other)
		return setenv(NVTX, library, 1);
	if (*other && !same_file(other, library))
		nvs_launch_print(NVTX " is %s: NVTX ranges and marks go there, not into the trace",
				 other);
	return 0;
}

int nvs_launch_set_environment(const struct nvs_launch_args *args, const char *library)
{
	const char *out = args->out ?: getenv(NVS_ENV_OUT);

	if (set_preload(library, args->program[0]) ||
	    set_out(out && *out ? out : NVS_DEFAULT_OUT) ||
	    setenv(NVS_ENV_OPTIONS, args->options, 1) || set_start() || set_nvtx(library)) {
		nvs_launch_print("cannot set the environment: %s", strerror(errno));
		return -1;
	}
	return 0;
}
