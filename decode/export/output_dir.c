/* SPDX-License-Identifier: MIT */
/* The output directory of -o, and files in it. */
#include "decode/export/output_dir.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/report/core/report.h"

static int print_errno(const char *path)
{
	int error = errno;
	char safe[PATH_MAX];

	fprintf(stderr, "nvsnoop-report: %s: %s\n",
		nvs_escape(safe, sizeof(safe), path, strlen(path)), strerror(error));
	return -EIO;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

int nvs_output_dir_run(struct nvs_run *run, int (*one)(struct nvs_run *run))
{
	const char *path = run->options->print.output;
	int r;

	if (mkdir(path, 0777))
		return print_errno(path);
	r = one(run);
	/* It did not exist before, so it is ours to remove. */
	if (r < 0)
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return r;
}

FILE *nvs_output_dir_file(const struct nvs_run *run, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", run->options->print.output, name), fd;
	FILE *file;

	if (n >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		print_errno(name);
		return NULL;
	}
	for (char *p = path + strlen(run->options->print.output) + 1; (p = strchr(p, '/'));
	     *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST) {
			print_errno(path);
			return NULL;
		}
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!file)
		print_errno(path);
	return file;
}

int nvs_output_dir_close(const struct nvs_run *run, FILE *file)
{
	bool wrong = file && ferror(file);

	return file && (fclose(file) || wrong) ? print_errno(run->options->print.output) : 0;
}
