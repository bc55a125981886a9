/* SPDX-License-Identifier: MIT */
/* Recording on demand, the side that asks: nvsnoop/request.h has the protocol. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/read/process_alive.h"
#include "live/read/record_request.h"
#include "nvsnoop/request.h"

#define ANSWER_NS 5000000000ull /* a process that runs answers within 0.1 s */
#define ALIVE_NS 100000000ull
#define COPY_BYTES (1u << 20)

struct nvs_record_request {
	char base[PATH_MAX]; /* of its files, without suffix */
	char trace[PATH_MAX]; /* "": there is none yet */
	int page, file; /* descriptors of the page and the request */
	uint32_t uid;
	uint64_t dev, ino; /* of the request */
	uint64_t begun, looked; /* CLOCK_MONOTONIC: asked; last checked that the process is alive */
	bool stopped, taken;
	enum nvs_record_state state;
	struct nvs_record_result result;
	char why[256];
};

/* ---- the page ---- */

static bool read_head(const struct nvs_record_request *r, struct nvs_live *head)
{
	return pread(r->page, head, sizeof(*head), 0) == sizeof(*head) &&
	       head->magic == NVS_LIVE_MAGIC;
}

/* The process looks at the request's file when this number changes. */
static bool ring(const struct nvs_record_request *r)
{
	struct nvs_live head;

	if (!read_head(r, &head))
		return false;
	head.requests++;
	return pwrite(r->page, &head.requests, sizeof(head.requests),
		      offsetof(struct nvs_live, requests)) == sizeof(head.requests);
}

static bool is_alive(const struct nvs_record_request *r)
{
	struct nvs_machine_id here;
	struct nvs_live head;

	nvs_machine_id_read(&here);
	return read_head(r, &head) && nvs_process_alive(&here, &head, nvs_mono_ns());
}

static int open_page(struct nvs_record_request *r, const struct nvs_page *page)
{
	struct stat st;

	r->page = open(page->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r->page < 0)
		return -errno;
	return fstat(r->page, &st) || !S_ISREG(st.st_mode) || st.st_uid != page->uid ? -EPERM : 0;
}

/* ---- the request ---- */

static void make_path(const struct nvs_record_request *r, const char *suffix, char *path)
{
	snprintf(path, PATH_MAX, "%.*s%s", PATH_MAX - 32, r->base, suffix);
}

/* Removes the request that a program has left which was killed. Returns false if one is waiting for
 * the trace. */
static bool clear_stale(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool stale;

	if (fd < 0)
		return errno == ENOENT;
	stale = !flock(fd, LOCK_EX | LOCK_NB) && !unlink(path);
	close(fd);
	return stale;
}

/* Creates the request under a name of its own, and links it to the one where the process looks. */
static int create_request(struct nvs_record_request *r, const char *line)
{
	char own[PATH_MAX], path[PATH_MAX];
	ssize_t n = (ssize_t)strlen(line);
	struct stat st;
	int err = 0;

	make_path(r, NVS_RECORD_SUFFIX ".XXXXXX", own);
	make_path(r, NVS_RECORD_SUFFIX, path);
	r->file = mkostemp(own, O_APPEND | O_CLOEXEC);
	if (r->file < 0)
		return -errno;
	if (flock(r->file, LOCK_EX) || fstat(r->file, &st) ||
	    (r->uid != geteuid() && fchown(r->file, r->uid, (gid_t)-1)) ||
	    write(r->file, line, (size_t)n) != n)
		err = errno ? -errno : -EIO;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	if (!err && link(own, path)) {
		err = -errno;
		if (err == -EEXIST && clear_stale(path))
			err = link(own, path) ? -errno : 0;
	}
	unlink(own);
	return err;
}

static int write_request(struct nvs_record_request *r, const struct nvs_record_terms *terms)
{
	const char *options = terms->options && *terms->options ? terms->options : "-";
	char line[NVS_RECORD_LINE];

	if (snprintf(line, sizeof(line), "record %llu %llu %s\n", (unsigned long long)terms->at_ns,
		     (unsigned long long)terms->submissions, options) >= (int)sizeof(line) ||
	    strchr(options, '\n'))
		return -EINVAL;
	return create_request(r, line);
}

/* Returns why the process cannot be asked, or NULL. */
static const char *find_obstacle(const struct nvs_page *page)
{
	if (page->uid != geteuid() && geteuid())
		return "it belongs to another user";
	if (page->gone)
		return "it has ended";
	if (page->flags & NVS_LIVE_TRACED)
		return "it writes a trace already";
	if (!(page->flags & NVS_LIVE_RECORDS))
		return "its nvsnoop is too old for this";
	return NULL;
}

int nvs_record_request_start(struct nvs_record_request **request, const struct nvs_page *page,
			     const struct nvs_record_terms *terms, char *why, size_t size)
{
	const char *obstacle = find_obstacle(page);
	struct nvs_record_request *r;
	int err;

	*request = NULL;
	if (obstacle) {
		snprintf(why, size, "%s", obstacle);
		return -EPERM;
	}
	r = calloc(1, sizeof(*r));
	if (!r || strlen(page->path) >= PATH_MAX - 32) {
		free(r);
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	r->file = -1;
	r->uid = page->uid;
	snprintf(r->base, sizeof(r->base), "%.*s",
		 (int)(strlen(page->path) - strlen(NVS_LIVE_SUFFIX)), page->path);
	err = open_page(r, page);
	if (!err)
		err = write_request(r, terms);
	r->begun = r->looked = nvs_mono_ns();
	if (!err && !ring(r))
		err = -EIO;
	if (err) {
		snprintf(why, size, "%s",
			 err == -EEXIST ? "it is being recorded for somebody else"
					: strerror(-err));
		if (err == -EEXIST && r->file >= 0) {
			close(r->file);
			r->file = -1;
		}
		nvs_record_request_close(r);
		return err;
	}
	*request = r;
	return 0;
}

/* ---- answers ---- */

static void read_done(struct nvs_record_request *r, const char *text)
{
	struct nvs_record_result *d = &r->result;
	unsigned long long n[8] = {0};

	if (sscanf(text, "done %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3],
		   &n[4], &n[5], &n[6], &n[7]) != 8)
		return;
	d->submissions = n[0];
	d->gaps = n[1];
	d->skipped = n[2];
	d->bytes = n[3];
	d->lost_submissions = n[4];
	d->error = (int)n[5];
	d->full = n[6];
	d->close_ns = n[7];
	r->state = NVS_RECORD_WRITTEN;
}

static void read_line(struct nvs_record_request *r, const char *line)
{
	if (!strncmp(line, "refused ", 8)) {
		r->state = NVS_RECORD_REFUSED;
		snprintf(r->why, sizeof(r->why), "%s", line + 8);
	} else if (!strcmp(line, "ready")) {
		r->state = NVS_RECORD_READY;
		make_path(r, NVS_RECORD_SUFFIX NVS_RECORD_TRACE, r->trace);
	} else if (!strncmp(line, "open ", 5)) {
		r->state = NVS_RECORD_OPEN;
		r->result.open_ns = strtoull(line + 5, NULL, 10);
	} else if (!strncmp(line, "done ", 5)) {
		read_done(r, line);
	}
}

/* Reads whole lines only. */
static void read_answers(struct nvs_record_request *r)
{
	char text[4 * NVS_RECORD_LINE], *line = text, *end;
	ssize_t n = pread(r->file, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_line(r, line);
	}
}

static void die(struct nvs_record_request *r, const char *why)
{
	r->state = NVS_RECORD_DIED;
	snprintf(r->why, sizeof(r->why), "%s", why);
}

static bool has_finished(const struct nvs_record_request *r)
{
	return r->state >= NVS_RECORD_WRITTEN;
}

enum nvs_record_state nvs_record_request_poll(struct nvs_record_request *r)
{
	uint64_t now = nvs_mono_ns();
	bool alive = true;

	if (has_finished(r))
		return r->state;
	if (now - r->looked >= ALIVE_NS) {
		r->looked = now;
		alive = is_alive(r);
	}
	read_answers(r);
	if (!has_finished(r) && !alive)
		die(r, "it ended before the trace was whole");
	else if (r->state == NVS_RECORD_ASKED && now - r->begun >= ANSWER_NS)
		die(r, "it does not answer: it is stopped, or in a sandbox");
	return r->state;
}

void nvs_record_request_stop(struct nvs_record_request *r)
{
	static const char stop[] = "stop\n";

	if (r->stopped || has_finished(r))
		return;
	r->stopped = write(r->file, stop, sizeof(stop) - 1) == sizeof(stop) - 1 && ring(r);
}

const char *nvs_record_request_why(const struct nvs_record_request *r)
{
	return r->why;
}

const struct nvs_record_result *nvs_record_request_result(const struct nvs_record_request *r)
{
	return r->state == NVS_RECORD_WRITTEN ? &r->result : NULL;
}

const char *nvs_record_request_trace(const struct nvs_record_request *r)
{
	return r->taken ? "" : r->trace;
}

/* ---- the trace ---- */

static int copy_data(int from, int to)
{
	char *room = malloc(COPY_BYTES);
	ssize_t n = -1;

	errno = ENOMEM;
	while (room && (n = read(from, room, COPY_BYTES)) > 0)
		for (ssize_t at = 0, put; at < n; at += put) {
			put = write(to, room + at, (size_t)(n - at));
			if (put <= 0) {
				free(room);
				return put ? -errno : -EIO;
			}
		}
	free(room);
	return n < 0 ? -errno : 0;
}

/* Returns a descriptor of the trace, which only the process's user may have made. */
static int open_trace(const struct nvs_record_request *r)
{
	int fd = open(r->trace, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == r->uid)
		return fd;
	close(fd);
	return -EPERM;
}

/* On the same file system the name moves, otherwise the data. */
int nvs_record_request_take(struct nvs_record_request *r, const char *file)
{
	int from, to, err;

	if (!*nvs_record_request_trace(r))
		return -ENOENT;
	from = open_trace(r);
	if (from < 0)
		return from;
	if (r->uid == geteuid() && !link(r->trace, file)) {
		close(from);
		r->taken = true;
		return unlink(r->trace) ? -errno : 0;
	}
	to = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	err = to < 0 ? -errno : copy_data(from, to);
	if (to >= 0 && close(to) && !err)
		err = -errno;
	if (to >= 0 && err)
		unlink(file);
	close(from);
	if (!err) {
		r->taken = true;
		unlink(r->trace);
	}
	return err;
}

static bool is_ours(const struct nvs_record_request *r, const char *path)
{
	struct stat st;

	return !lstat(path, &st) && st.st_ino == r->ino && st.st_dev == r->dev;
}

/* The process that records has the trace open: it notices that nobody waits for it any more, and
 * removes both files. */
void nvs_record_request_close(struct nvs_record_request *r)
{
	char path[PATH_MAX];

	if (!r)
		return;
	if (r->file >= 0 && (has_finished(r) || !is_alive(r))) {
		if (*r->trace && !r->taken)
			unlink(r->trace);
		make_path(r, NVS_RECORD_SUFFIX, path);
		if (is_ours(r, path))
			unlink(path);
	} else if (r->file >= 0) {
		nvs_record_request_stop(r);
	}
	if (r->file >= 0)
		close(r->file);
	if (r->page >= 0)
		close(r->page);
	free(r);
}
