/* SPDX-License-Identifier: MIT */
/* Writes the file under a hidden name, which the collector ignores, and renames it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/exporter/textfile.h"

static bool write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		size -= (size_t)n;
	}
	return true;
}

/* Mode 0644: the collector runs as another user. */
static int replace_file(const char *path, const char *beside, const struct nvs_exposition *e)
{
	int fd, error;

	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	if (write_all(fd, e->text, e->size) && !close(fd)) {
		if (!rename(beside, path))
			return 0;
		fd = -1;
	}
	error = errno;
	if (fd >= 0)
		close(fd);
	unlink(beside);
	errno = error;
	return -1;
}

int nvs_textfile_write(const char *path, const struct nvs_exposition *e, char *message, size_t room)
{
	const char *name = strrchr(path, '/');
	char beside[PATH_MAX];
	struct stat st;
	int n, folder;

	if (e->failed) {
		snprintf(message, room, "not enough memory to write %s", path);
		return -1;
	}
	if (!strcmp(path, "-")) {
		if (write_all(STDOUT_FILENO, e->text, e->size))
			return 0;
		snprintf(message, room, "standard output: %s", strerror(errno));
		return -1;
	}
	/* Root may replace anything, also /dev/stdout. rename() itself refuses a directory. */
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		snprintf(message, room,
			 "cannot write %s: it exists and is not a regular file; - is standard "
			 "output",
			 path);
		return -1;
	}
	name = name ? name + 1 : path;
	folder = (int)(name - path);
	n = snprintf(beside, sizeof(beside), "%.*s.%s.%ld", folder, path, name, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(beside))
		errno = ENAMETOOLONG;
	else if (!replace_file(path, beside, e))
		return 0;
	snprintf(message, room, "cannot write %s: %s", path, strerror(errno));
	return -1;
}
