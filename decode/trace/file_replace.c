/* SPDX-License-Identifier: MIT */
/*
 * A trace's file is replaced by one with another end. The new one has no name until it is whole, so
 * that nothing is left of it where that fails.
 */
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

static int copy_by_hand(int to, int from, uint64_t at, uint64_t end)
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

/* File systems that can share the bytes do. */
static int copy(int to, int from, uint64_t end)
{
	loff_t at = 0;
	ssize_t n = 1;

	while ((uint64_t)at < end && n > 0)
		n = copy_file_range(from, &at, to, NULL, end - (uint64_t)at, 0);
	return copy_by_hand(to, from, (uint64_t)at, end);
}

/* In the folder of PATH; NAMED where it has had to be given a name. */
static int make(const char *path, char *name, bool *named)
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

/* Only a file that has a name can take another's. */
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

/* What stands at PATH is still what was read. */
static bool unchanged(const struct nvs_trace *t, const char *path, struct stat *st)
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
	int fd = make(path, name, &named), r;

	if (fd < 0)
		return fd;
	r = copy(fd, t->in.fd, end);
	if (!r)
		r = write_all(fd, data, size);
	if (!r && !unchanged(t, path, &st))
		r = -ESTALE;
	/* Of another owner's file a copy is one's own. */
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

/*
 * Who records holds the file's lock, in whatever namespace; who comes to record leaves a locked
 * file alone. A file system without locks is as before.
 */
static int replace(struct nvs_trace *t, const char *path, uint64_t end, const void *data,
		   size_t size)
{
	int r;

	if (flock(t->in.fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY;
	r = write_new(t, path, end, data, size);
	flock(t->in.fd, LOCK_UN);
	return r;
}

int nvs_replace_busy(const struct nvs_trace *t, struct nvs_error *err)
{
	return nvs_fail(err, -EBUSY, "%s: is still being written; names go in once that has ended",
			t->path);
}

int nvs_replace_tail(struct nvs_trace *t, uint64_t end, const void *data, size_t size,
		     struct nvs_error *err)
{
	char path[PATH_MAX];
	int r = realpath(t->path, path) ? replace(t, path, end, data, size) : -errno;

	if (r == -EBUSY)
		return nvs_replace_busy(t, err);
	return r ? nvs_fail(err, r, "%s: cannot be replaced by one with names: %s", t->path,
			    strerror(-r))
		 : 0;
}
