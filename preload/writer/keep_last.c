/* SPDX-License-Identifier: MIT */
/* The part files of --keep-last: create, rename, delete, join. After a kill at any point the
 * remaining parts can be followed back from the trace's name. */
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/keep_last.h"
#include "trap/low/sys.h"

#define PARTS 8 /* the approximate number of parts kept */
#define MAX_TRIES 1000 /* to find a free name */
#define COPY_BYTES (256u << 10)

/* This thread's descriptor of the newest part, and the generation of that part. */
static __thread struct nvs_keep_file mine;
static __thread uint32_t mine_generation;

void nvs_keep_init(struct nvs_keep *keep, struct nvs_outfile *trace, uint64_t limit)
{
	*keep = (struct nvs_keep){
		.limit = limit,
		.trace = trace,
		.first = {trace->fd, trace->dev, trace->ino},
	};
}

bool nvs_keep_is_due(const struct nvs_keep *keep, uint64_t bytes)
{
	/* If the repeated state is large, at least half of a part is still new. */
	return bytes >= keep->limit / PARTS && bytes >= 2 * keep->head;
}

/* ---- files and names ---- */

static bool is_named(const char *path, uint64_t dev, uint64_t ino)
{
	struct nvs_outfile file = {.dev = dev, .ino = ino};

	return nvs_outfile_has_name(&file, path);
}

/* The program may have closed the descriptor and reused its number. */
static void close_file(struct nvs_keep_file *file)
{
	if (nvs_fd_is_file(file->fd, file->dev, file->ino))
		nvs_sys_close(file->fd);
	file->fd = -1;
}

static int open_file(const char *path, int flags, uint64_t dev, uint64_t ino)
{
	int fd = nvs_sys_open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	if (nvs_fd_is_file(fd, dev, ino))
		return nvs_fd_move_high(fd);
	nvs_sys_close(fd);
	return -ESTALE;
}

static struct nvs_keep_file get_newest(const struct nvs_keep *keep)
{
	return (struct nvs_keep_file){keep->trace->fd, keep->trace->dev, keep->trace->ino};
}

static void set_newest(struct nvs_keep *keep, const struct nvs_keep_file *file)
{
	keep->trace->fd = file->fd;
	keep->trace->dev = file->dev;
	keep->trace->ino = file->ino;
}

void nvs_keep_use_own_fd(struct nvs_keep *keep)
{
	uint32_t generation = atomic_load(&keep->generation);

	if (keep->making)
		return;
	if (mine_generation != generation) {
		struct nvs_keep_file old = mine_generation ? mine : keep->first;
		const struct nvs_outfile *trace = keep->trace;

		close_file(&old);
		mine = (struct nvs_keep_file){
			open_file(trace->path, trace->flags, trace->dev, trace->ino), trace->dev,
			trace->ino};
		mine_generation = generation;
	}
	if (generation)
		keep->trace->fd = mine.fd;
}

/* Writes the trace's path plus SUFFIX to PATH. Returns false if it is too long. */
static bool append_suffix(const struct nvs_keep *keep, const char *suffix, char *path)
{
	size_t n = strlen(keep->trace->path);

	if (n + strlen(suffix) >= PATH_MAX)
		return false;
	memcpy(path, keep->trace->path, n);
	strcpy(path + n, suffix);
	return true;
}

static bool closed_path(const struct nvs_keep *keep, uint64_t name, char *path)
{
	char suffix[24];

	snprintf(suffix, sizeof(suffix), ".%llu", (unsigned long long)name);
	return append_suffix(keep, suffix, path);
}

/* Writes the path of the next part: .new, .new.1 and so on. */
static bool next_path(const struct nvs_keep *keep, char *path)
{
	char suffix[24];

	snprintf(suffix, sizeof(suffix), keep->next ? ".new.%u" : ".new", keep->next);
	return append_suffix(keep, suffix, path);
}

static bool is_free(const char *path)
{
	struct stat st;

	return nvs_sys_lstat(path, &st) == -ENOENT;
}

/*
 * Links the newest part to a second name, which it keeps. An existing file of that name belongs to
 * another process, as does a file that has the trace's name by now. If the file system has no
 * links, the part is renamed later.
 */
static int find_name(struct nvs_keep *keep)
{
	char path[PATH_MAX];

	if (!nvs_outfile_has_name(keep->trace, keep->trace->path))
		return -ESTALE;
	keep->name = keep->n ? keep->closed[keep->n - 1].name : keep->name;
	for (int i = 0; i < MAX_TRIES; i++) {
		long err;

		if (!closed_path(keep, ++keep->name, path))
			return -ENAMETOOLONG;
		err = nvs_syscall(SYS_linkat, AT_FDCWD, (long)keep->trace->path, AT_FDCWD,
				  (long)path, 0, 0);
		keep->linked = !err;
		if (!err || (err != -EEXIST && is_free(path)))
			return 0;
	}
	return -EEXIST;
}

/* ---- the next part ---- */

/* Creates the next part under a free name; an existing file belongs to another process. */
static int create_next(struct nvs_keep *keep, struct nvs_outfile *next)
{
	char path[PATH_MAX];
	int err = -EEXIST;

	for (keep->next = 0; err == -EEXIST && keep->next < MAX_TRIES; keep->next++) {
		if (!next_path(keep, path))
			return -ENAMETOOLONG;
		err = nvs_outfile_create(next, path, keep->trace->flags, false);
		if (!err)
			return 0;
	}
	return err;
}

int nvs_keep_begin(struct nvs_keep *keep)
{
	struct nvs_outfile *next;
	int err;

	if (keep->n == NVS_KEEP_PARTS || nvs_session_is_confined())
		return -ENOSPC;
	next = nvs_alloc(sizeof(*next));
	if (!next)
		return -ENOMEM;
	err = create_next(keep, next);
	if (!err && (err = find_name(keep))) {
		nvs_outfile_unlink(next);
		nvs_outfile_close(next);
	}
	if (!err) {
		keep->making = true;
		keep->was = get_newest(keep);
		set_newest(keep, &(struct nvs_keep_file){next->fd, next->dev, next->ino});
	}
	nvs_free(next, sizeof(*next));
	return err;
}

void nvs_keep_cancel(struct nvs_keep *keep)
{
	struct nvs_keep_file next = get_newest(keep);
	char path[PATH_MAX];

	if (next_path(keep, path) && is_named(path, next.dev, next.ino))
		nvs_sys_unlink(path);
	close_file(&next);
	set_newest(keep, &keep->was);
	keep->making = false;
	if (!closed_path(keep, keep->name, path) || !is_named(path, keep->was.dev, keep->was.ino))
		return;
	if (!keep->linked)
		nvs_sys_rename(path, keep->trace->path, RENAME_NOREPLACE);
	else if (is_named(keep->trace->path, keep->was.dev, keep->was.ino))
		nvs_sys_unlink(path);
}

int nvs_keep_commit(struct nvs_keep *keep, uint64_t bytes, uint64_t head)
{
	char path[PATH_MAX], closed[PATH_MAX];
	int err = 0;

	if (!next_path(keep, path) || !closed_path(keep, keep->name, closed))
		return -ENAMETOOLONG;
	if (!is_named(keep->trace->path, keep->was.dev, keep->was.ino))
		return -ESTALE;
	if (!keep->linked)
		err = nvs_sys_rename(keep->trace->path, closed, RENAME_NOREPLACE);
	if (!err)
		err = nvs_sys_rename(path, keep->trace->path, keep->linked ? 0 : RENAME_NOREPLACE);
	if (err)
		return err;
	keep->closed[keep->n++] = (struct nvs_keep_part){
		.name = keep->name,
		.bytes = bytes,
		.head = keep->head,
		.dev = keep->was.dev,
		.ino = keep->was.ino,
	};
	keep->closed_bytes += bytes;
	keep->head = head;
	keep->number++;
	keep->making = false;
	close_file(&keep->was);
	mine = get_newest(keep);
	mine_generation = atomic_fetch_add(&keep->generation, 1) + 1;
	return 0;
}

static void remove_oldest(struct nvs_keep *keep)
{
	keep->closed_bytes -= keep->closed[0].bytes;
	memmove(keep->closed, keep->closed + 1, --keep->n * sizeof(*keep->closed));
}

/* Truncates it as well: another thread of the library may have it open, and its blocks are freed
 * now. */
static void delete_part(const struct nvs_keep *keep, const struct nvs_keep_part *part)
{
	char path[PATH_MAX];
	int fd;

	if (nvs_session_is_confined() || !closed_path(keep, part->name, path))
		return;
	fd = open_file(path, O_WRONLY, part->dev, part->ino);
	if (fd < 0)
		return;
	nvs_sys_unlink(path);
	nvs_sys_ftruncate(fd, 0);
	nvs_sys_close(fd);
}

void nvs_keep_trim(struct nvs_keep *keep, uint64_t bytes)
{
	while (keep->n && keep->closed_bytes + bytes > keep->limit) {
		delete_part(keep, &keep->closed[0]);
		keep->cut = true;
		remove_oldest(keep);
	}
}

/* ---- joining the parts ---- */

struct copy {
	int from, to;
	uint8_t *room;
	void (*beat)(void *arg);
	void *arg;
};

/* Copies the data from OFFSET to the end. Returns its size or -errno. */
static int64_t copy_rest(const struct copy *c, uint64_t offset)
{
	uint64_t start = offset;

	for (;;) {
		long n = nvs_syscall(SYS_pread64, c->from, (long)c->room, COPY_BYTES, (long)offset,
				     0, 0);
		long done = 0;

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? n : (int64_t)(offset - start);
		while (done < n) {
			long put = nvs_sys_write(c->to, c->room + done, (size_t)(n - done));

			if (put <= 0 && put != -EINTR)
				return put ? put : -EIO;
			done += put > 0 ? put : 0;
		}
		offset += (uint64_t)n;
		c->beat(c->arg);
	}
}

/*
 * Appends the new data of NEXT to FIRST, which then takes NEXT's name. If this is interrupted, a
 * reader that follows the names back still finds all data, some of it twice. Returns 0 or -errno.
 */
static int append_part(const struct copy *rest, const struct nvs_keep_part *first,
		       const char *first_path, const struct nvs_keep_part *next,
		       const char *next_path)
{
	struct copy c = *rest;
	int64_t n = -EIO;
	int err;

	c.to = open_file(first_path, O_WRONLY | O_APPEND, first->dev, first->ino);
	c.from = open_file(next_path, O_RDONLY, next->dev, next->ino);
	if (c.to >= 0 && c.from >= 0 && !nvs_sys_over_limit(first->bytes + next->bytes))
		n = copy_rest(&c, next->head);
	err = n < 0 ? (int)n : n != (int64_t)(next->bytes - next->head) ? -EIO : 0;
	if (!err)
		err = nvs_sys_rename(first_path, next_path, 0);
	if (err && c.to >= 0)
		nvs_sys_ftruncate(c.to, first->bytes);
	if (c.to >= 0)
		nvs_sys_close(c.to);
	if (c.from >= 0)
		nvs_sys_close(c.from);
	return err;
}

uint64_t nvs_keep_join(struct nvs_keep *keep, uint64_t bytes, void (*beat)(void *arg), void *arg)
{
	struct copy c = {.room = nvs_alloc(COPY_BYTES), .beat = beat, .arg = arg};
	struct nvs_keep_part last = {0, bytes, keep->head, keep->trace->dev, keep->trace->ino};
	char first[PATH_MAX], next[PATH_MAX];

	while (c.room && keep->n && !nvs_session_is_confined()) {
		const struct nvs_keep_part *a = &keep->closed[0];
		struct nvs_keep_part b = keep->n > 1 ? keep->closed[1] : last;

		if (!closed_path(keep, a->name, first))
			break;
		if (keep->n > 1)
			closed_path(keep, b.name, next);
		else
			strcpy(next, keep->trace->path);
		if (append_part(&c, a, first, &b, next))
			break;
		b.bytes += a->bytes - b.head;
		b.head = a->head;
		b.dev = a->dev;
		b.ino = a->ino;
		remove_oldest(keep);
		*(keep->n ? &keep->closed[0] : &last) = b;
	}
	nvs_free(c.room, COPY_BYTES);
	if (last.ino != keep->trace->ino || last.dev != keep->trace->dev) {
		struct nvs_keep_file old = get_newest(keep);

		close_file(&old);
		set_newest(keep, &(struct nvs_keep_file){-1, last.dev, last.ino});
	}
	return last.bytes;
}
