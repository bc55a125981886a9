/* SPDX-License-Identifier: MIT */
/*
 * A file of ours inside a program that may close, reuse or never expect our file descriptors: kept
 * at a high number, and looked at before each use, so that nothing is ever written into a file of
 * the program.
 */
#ifndef NVSNOOP_PRELOAD_BASE_OUTFILE_H
#define NVSNOOP_PRELOAD_BASE_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_outfile {
	int fd; /* -1: not open */
	int flags; /* to open it again: O_WRONLY | O_APPEND, or O_RDWR */
	uint64_t dev, ino;
	char path[PATH_MAX]; /* absolute */
};

/* PATH as seen from FOLDER ("": the working directory). 0 or -errno. OUT has room for PATH_MAX
 * bytes. */
int nvs_path_absolute(const char *folder, const char *path, char *out);

/*
 * Creates PATH (made absolute), which must not exist, for this user alone, and locks it: a file
 * that is locked is in use by a session. With REPLACE, a regular file of that name that is not in
 * use goes first. 0 or -errno; -EEXIST: the name is taken.
 */
int nvs_outfile_create(struct nvs_outfile *file, const char *path, int flags, bool replace);
/*
 * The descriptor, made sure to be this file's; opened again by its path if the program has closed
 * it. -errno: the file is out of reach. Async-signal-safe.
 */
int nvs_outfile_fd(struct nvs_outfile *file);
/* Writes all of it at the end of the file. 0 or -errno. */
int nvs_outfile_append(struct nvs_outfile *file, const void *data, size_t size);
/* False: it has no name any more, or not so many bytes. */
bool nvs_outfile_holds(struct nvs_outfile *file, uint64_t bytes);
/* PATH is a name of this file. Async-signal-safe, as the next. */
bool nvs_outfile_named(const struct nvs_outfile *file, const char *path);
/* Removes the name if it is still this file's. */
void nvs_outfile_unlink(struct nvs_outfile *file);
void nvs_outfile_close(struct nvs_outfile *file);

/* Blocks for [FROM, TO), so that no later store can meet a full disk. 0 or -errno. */
int nvs_file_allocate(int fd, uint64_t from, uint64_t to);

/*
 * Moves FD out of the way of programs that count on low numbers; the new one, FD if that cannot be.
 */
int nvs_fd_high(int fd);

#endif
