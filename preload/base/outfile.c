/* SPDX-License-Identifier: MIT */
/* Files that the library keeps open inside a program that may close, reuse or not expect its file
 * descriptors. outfile.h documents the interface. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include "preload/base/outfile.h"
#include "preload/base/sys.h"

#define HIGH_FD 16384
#define MAX_TRIES 100 /* while other processes create and remove the same name */

int nvs_fd_move_high(int fd)
{
	struct rlimit limit;
	long top = HIGH_FD, high;

	if (!nvs_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0) &&
	    limit.rlim_cur < HIGH_FD)
		top = (long)limit.rlim_cur;
	high = top > 128 ? nvs_sys_fcntl(fd, F_DUPFD_CLOEXEC, top - 32) : -EMFILE;
	if (high < 0)
		return fd;
	nvs_sys_close(fd);
	return (int)high;
}

int nvs_path_absolute(const char *folder, const char *path, char *out)
{
	long n = 0;

	if (*path != '/') {
		if (*folder && strlen(folder) < PATH_MAX)
			n = (long)strlen(strcpy(out, folder)) + 1;
		else
			n = nvs_syscall(SYS_getcwd, (long)out, PATH_MAX, 0, 0, 0, 0);
		if (n < 0)
			return (int)n;
		if (*out != '/')
			return -ENOENT;
		n--; /* the terminating NUL */
		if (n + 1 >= PATH_MAX)
			return -ENAMETOOLONG;
		if (n > 1)
			out[n++] = '/';
	}
	if ((size_t)n + strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(out + n, path);
	return 0;
}

int nvs_file_allocate(int fd, uint64_t from, uint64_t to)
{
	static const char zeroes[1 << 16];
	long ret;

	if (nvs_sys_over_limit(to))
		return -EFBIG;
	do
		ret = nvs_syscall(SYS_fallocate, fd, 0, from, to - from, 0, 0);
	while (ret == -EINTR);
	if (ret != -EOPNOTSUPP && ret != -ENOSYS)
		return (int)ret;
	while (from < to) {
		uint64_t left = to - from;

		ret = nvs_sys_pwrite(fd, zeroes, left < sizeof(zeroes) ? left : sizeof(zeroes),
				     from);
		if (ret == -EINTR)
			continue;
		if (ret <= 0)
			return ret ? (int)ret : -ENOSPC;
		from += (uint64_t)ret;
	}
	return 0;
}

bool nvs_folder_search(const char *folder, bool (*see)(const char *name, void *arg), void *arg)
{
	int fd = nvs_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	_Alignas(struct dirent64) char entries[4096];
	bool found = false;
	long n;

	while (fd >= 0 && !found &&
	       (n = nvs_sys4(SYS_getdents64, fd, entries, sizeof(entries), 0)) > 0)
		for (long at = 0; at < n && !found;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			found = see(entry->d_name, arg);
			at += entry->d_reclen;
		}
	if (fd >= 0)
		nvs_sys_close(fd);
	return found;
}

int nvs_file_contains(const char *path, const char *what)
{
	int fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC, 0), found = 0;
	char text[4096 + 1];
	long n, offset = 0;

	if (fd < 0)
		return fd;
	/* The reads overlap, so that no path of up to 2 KiB is cut in two. */
	while (!found &&
	       (n = nvs_syscall(SYS_pread64, fd, (long)text, sizeof(text) - 1, offset, 0, 0)) > 0) {
		text[n] = '\0';
		found = strstr(text, what) != NULL;
		offset += n > 2048 ? n - 2048 : n;
	}
	nvs_sys_close(fd);
	return found;
}

unsigned long nvs_file_field(const char *text, const char *name, unsigned long unknown)
{
	const char *at = strstr(text, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : unknown;
}

static bool is_named(const char *path, const struct stat *file)
{
	struct stat st;

	return !nvs_sys_lstat(path, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/*
 * Removes PATH if it is a regular file that no session is writing. The file is removed under its
 * lock, so a file that has appeared at PATH meanwhile is another process's: -EAGAIN. Returns
 * -EEXIST if it may not be removed, for example another user's file in a sticky directory.
 */
static int clear_away(const char *path)
{
	struct stat st;
	int fd, err;

	fd = nvs_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return -EEXIST;
	err = nvs_sys_fstat(fd, &st);
	if (!err && (!S_ISREG(st.st_mode) || nvs_sys_flock(fd, LOCK_EX | LOCK_NB)))
		err = -EEXIST;
	if (!err)
		err = is_named(path, &st) ? nvs_sys_unlink(path) : -EAGAIN;
	nvs_sys_close(fd);
	if (err == -ENOENT)
		return -EAGAIN;
	return err && err != -EAGAIN ? -EEXIST : err;
}

/* Creates PATH and locks it. Returns -EAGAIN if a process that may replace it had its lock first.
 * On a file system without locks this succeeds: the lock only protects against that race. */
static int create_locked(const char *path, int flags)
{
	int fd = nvs_sys_open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), err;
	struct stat st;

	if (fd < 0)
		return fd;
	err = nvs_sys_flock(fd, LOCK_EX | LOCK_NB);
	if (err != -EAGAIN && !nvs_sys_fstat(fd, &st) && is_named(path, &st))
		return fd;
	nvs_sys_close(fd);
	return -EAGAIN;
}

static int store_identity(struct nvs_outfile *file, int fd)
{
	struct stat st;
	int err = nvs_sys_fstat(fd, &st);

	if (err) {
		nvs_sys_close(fd);
		return err;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->fd = nvs_fd_move_high(fd);
	return 0;
}

int nvs_outfile_create(struct nvs_outfile *file, const char *path, int flags, bool replace)
{
	int fd, err;

	file->fd = -1;
	file->flags = flags;
	err = nvs_path_absolute("", path, file->path);
	if (err)
		return err;
	fd = -EAGAIN;
	for (int i = 0; fd == -EAGAIN && i < MAX_TRIES; i++) {
		err = replace ? clear_away(file->path) : 0;
		fd = err ? err : create_locked(file->path, flags);
	}
	if (fd < 0)
		return fd == -EAGAIN ? -EEXIST : fd;
	err = store_identity(file, fd);
	if (err)
		nvs_sys_unlink(file->path);
	return err;
}

bool nvs_fd_is_file(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;

	return fd >= 0 && !nvs_sys_fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
}

int nvs_outfile_fd(struct nvs_outfile *file)
{
	int fd = file->fd;

	if (nvs_fd_is_file(fd, file->dev, file->ino))
		return fd;
	/* The program has closed it. The number may be the program's now: it is not closed here. */
	file->fd = -1;
	if (!file->path[0])
		return -EBADF;
	fd = nvs_sys_open(file->path, file->flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	if (!nvs_fd_is_file(fd, file->dev, file->ino)) {
		nvs_sys_close(fd);
		return -ESTALE;
	}
	/* The lock was released with the last descriptor. */
	nvs_sys_flock(fd, LOCK_EX | LOCK_NB);
	file->fd = nvs_fd_move_high(fd);
	return file->fd;
}

/* Writes up to RLIMIT_FSIZE, but never at it: that would raise SIGXFSZ. */
static long append_some(int fd, const char *p, size_t size)
{
	struct stat st;
	long err = nvs_sys_fstat(fd, &st);

	if (!err && S_ISREG(st.st_mode) && nvs_sys_over_limit((uint64_t)st.st_size + 1))
		err = -EFBIG;
	return err ? err : nvs_sys_write(fd, p, size);
}

int nvs_outfile_append(struct nvs_outfile *file, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		int fd = nvs_outfile_fd(file);
		long n = fd < 0 ? fd : append_some(fd, p, size);

		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

bool nvs_outfile_is_complete(struct nvs_outfile *file, uint64_t bytes)
{
	struct stat st;
	int fd = nvs_outfile_fd(file);

	return fd >= 0 && !nvs_sys_fstat(fd, &st) && st.st_nlink && (uint64_t)st.st_size >= bytes;
}

bool nvs_outfile_has_name(const struct nvs_outfile *file, const char *path)
{
	struct stat own = {.st_dev = file->dev, .st_ino = file->ino};

	return path[0] && is_named(path, &own);
}

void nvs_outfile_unlink(struct nvs_outfile *file)
{
	if (nvs_outfile_has_name(file, file->path))
		nvs_sys_unlink(file->path);
}

void nvs_outfile_close(struct nvs_outfile *file)
{
	if (nvs_fd_is_file(file->fd, file->dev, file->ino))
		nvs_sys_close(file->fd);
	file->fd = -1;
}
