/* SPDX-License-Identifier: MIT */
/*
 * Files that the library keeps open inside a program that may close, reuse or not expect its file
 * descriptors. A descriptor is moved to a high number and its inode is checked before each use, so
 * that the library never writes into a file of the program.
 */
#ifndef NVSNOOP_PRELOAD_BASE_OUTFILE_H
#define NVSNOOP_PRELOAD_BASE_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_outfile {
	int fd; /* -1: not open */
	int flags; /* to reopen it: O_WRONLY | O_APPEND, or O_RDWR */
	uint64_t dev, ino;
	char path[PATH_MAX]; /* absolute */
};

/* Writes the absolute form of PATH, relative to FOLDER ("": the working directory), to OUT
 * (PATH_MAX bytes). Returns 0 or -errno. */
int nvs_path_absolute(const char *folder, const char *path, char *out);

/*
 * Creates PATH (made absolute) with mode 0600 and locks it; a locked file is in use by a session.
 * PATH must not exist. With REPLACE, an existing regular file that is not in use is removed first.
 * Returns 0 or -errno; -EEXIST if the name is taken.
 */
int nvs_outfile_create(struct nvs_outfile *file, const char *path, int flags, bool replace);
/* Returns the descriptor after checking that it still refers to this file. Reopens the path if the
 * program has closed it. Returns -errno if the file cannot be reached. Async-signal-safe. */
int nvs_outfile_fd(struct nvs_outfile *file);
/* Appends all SIZE bytes. Returns 0 or -errno. */
int nvs_outfile_append(struct nvs_outfile *file, const void *data, size_t size);
/* Returns false if the file has no name any more or is shorter than BYTES. */
bool nvs_outfile_is_complete(struct nvs_outfile *file, uint64_t bytes);
/* Returns true if PATH is a name of this file. Async-signal-safe, as is nvs_outfile_unlink(). */
bool nvs_outfile_has_name(const struct nvs_outfile *file, const char *path);
/* Removes the name if it still refers to this file. */
void nvs_outfile_unlink(struct nvs_outfile *file);
void nvs_outfile_close(struct nvs_outfile *file);

/* Allocates blocks for [FROM, TO), so that a later store cannot fail for a full disk. Returns 0 or
 * -errno. */
int nvs_file_allocate(int fd, uint64_t from, uint64_t to);

/* Calls SEE for each name in FOLDER until it returns true. Returns true then. */
bool nvs_folder_search(const char *folder, bool (*see)(const char *name, void *arg), void *arg);
/* Returns 1 if the file has TEXT in it, 0 if not, or -errno if it cannot be opened. */
int nvs_file_contains(const char *path, const char *text);
/* Returns the number after NAME in the text of a file, UNKNOWN if the name is not in it. */
unsigned long nvs_file_field(const char *text, const char *name, unsigned long unknown);

/* Moves FD to a high number, for programs that expect low numbers to be free. Returns the new
 * number, or FD if that fails. */
int nvs_fd_move_high(int fd);
bool nvs_fd_is_file(int fd, uint64_t dev, uint64_t ino);

#endif
