/* SPDX-License-Identifier: MIT */
/* Replaces a trace's file by one with a different end. The new file has no name until it is
 * complete, so nothing is left behind if that fails. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/trace/embed.h"
#include "decode/trace/internal.h"

#define PIECE ((size_t)1 << 20)
#define TRIES 100

static int write_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int copy_by_write(int to, int from, uint64_t at, uint64_t end)
{
	uint8_t *piece = malloc(PIECE);
	int r = piece ? 0 : -ENOMEM;

	while (!r && at < end) {
		size_t size = end - at < PIECE ? (size_t)(end - at) : PIECE;

		r = nvs_spool_read(from, piece, size, at) ? write_all(to, piece, size) : -EIO;
		at += size;
	}
	free(piece);
	return r;
}

/* Shares the bytes if the file system can. */
static int copy_file(int to, int from, uint64_t end)
{
	loff_t at = 0;
	ssize_t n = 1;

	while ((uint64_t)at < end && n > 0)
		n = copy_file_range(from, &at, to, NULL, end - (uint64_t)at, 0);
	return copy_by_write(to, from, (uint64_t)at, end);
}

/* Creates a file in the folder of PATH. *NAMED is set if it had to be given a name. */
static int make_temporary(const char *path, char *name, bool *named)
{
	char folder[PATH_MAX];
	char *slash;
	int fd;

	strcpy(folder, path);
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	*named = fd < 0;
	if (fd < 0 && snprintf(name, PATH_MAX, "%s.XXXXXX", path) < PATH_MAX)
		fd = mkostemp(name, O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Only a file with a name can be renamed over another. */
static int give_name(int fd, const char *path, char *name)
{
	char self[40];
	int err = 0;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; i < TRIES; i++) {
		if (snprintf(name, PATH_MAX, "%s.%d-%d", path, getpid(), i) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (!linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW))
			return 0;
		err = -errno;
		if (err != -EEXIST)
			break;
	}
	return err;
}

/* Checks that PATH is still the file that was read. */
static bool is_unchanged(const struct nvs_trace *t, const char *path, struct stat *st)
{
	struct stat now;

	return !fstat(t->in.fd, st) && !stat(path, &now) && st->st_dev == now.st_dev &&
	       st->st_ino == now.st_ino && st->st_size == now.st_size;
}

static int write_new(struct nvs_trace *t, const char *path, uint64_t end, const void *data,
		     size_t size)
{
	char name[PATH_MAX] = "";
	struct stat st;
	bool named;
	int fd = make_temporary(path, name, &named), r;

	if (fd < 0)
		return fd;
	r = copy_file(fd, t->in.fd, end);
	if (!r)
		r = write_all(fd, data, size);
	if (!r && !is_unchanged(t, path, &st))
		r = -ESTALE;
	/* The copy of another user's file belongs to the caller. */
	if (!r && (fchown(fd, st.st_uid, st.st_gid) < 0 || fchmod(fd, st.st_mode & 07777)))
		r = fchmod(fd, st.st_mode & 0777) ? -errno : 0;
	if (!r && fsync(fd))
		r = -errno;
	if (!r && !named)
		r = give_name(fd, path, name);
	if (!r && rename(name, path))
		r = -errno;
	if (r && *name)
		unlink(name);
	close(fd);
	return r;
}

/* A recorder holds the file's lock, visible from any namespace, and does not write to a file that
 * is locked. On file systems without locks there is no protection. */
static int replace_file(struct nvs_trace *t, const char *path, uint64_t end, const void *data,
			size_t size)
{
	int r;

	if (flock(t->in.fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY;
	r = write_new(t, path, end, data, size);
	flock(t->in.fd, LOCK_UN);
	return r;
}

int nvs_replace_fail_busy(const struct nvs_trace *t, struct nvs_error *err)
{
	return nvs_fail(err, -EBUSY, "%s: still being written; add names after it has ended",
			t->path);
}

int nvs_replace_tail(struct nvs_trace *t, uint64_t end, const void *data, size_t size,
		     struct nvs_error *err)
{
	char path[PATH_MAX];
	int r = realpath(t->path, path) ? replace_file(t, path, end, data, size) : -errno;

	if (r == -EBUSY)
		return nvs_replace_fail_busy(t, err);
	return r ? nvs_fail(err, r, "%s: cannot replace the file: %s", t->path, strerror(-r)) : 0;
}
