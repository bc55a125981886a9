/* SPDX-License-Identifier: MIT */
/* Determines the recorded part of the run: its windows, and its part files if only the last ones
 * were kept. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "decode/base/digits.h"
#include "decode/trace/internal.h"

typedef unsigned long long ull; /* for printing */

static const char *cause_name(uint32_t cause, bool opens)
{
	static const char *const names[] = {
		[NVS_WINDOW_START] = "the start",	  [NVS_WINDOW_DELAY] = "--delay",
		[NVS_WINDOW_DURATION] = "--duration",	  [NVS_WINDOW_TRIGGER] = "--trigger",
		[NVS_WINDOW_PROFILER] = "cuProfilerStop", [NVS_WINDOW_SIZE] = "--max-size",
		[NVS_WINDOW_DEMAND] = "nvsnoop-record",
	};

	if (opens && cause == NVS_WINDOW_PROFILER)
		return "cuProfilerStart";
	return cause < sizeof(names) / sizeof(*names) ? names[cause] : "an unknown cause";
}

static void close_window(struct nvs_recorded_window *p, uint64_t time, uint32_t cause)
{
	p->open = false;
	p->last = time;
	p->last_cause = cause;
}

void nvs_recorded_window_add(struct nvs_trace *t, const struct nvs_rec_window *rec)
{
	struct nvs_recorded_window *p = &t->part;

	/* With --keep-last alone nothing records the beginning: recording was on until now. */
	if (!p->known && !rec->submissions && rec->cause == NVS_WINDOW_SIZE) {
		p->windows = 1;
		p->first = t->session.first_time;
		p->first_cause = NVS_WINDOW_START;
		close_window(p, rec->rec.time, rec->cause);
	}
	p->known = true;
	if (p->open)
		close_window(p, rec->rec.time, rec->cause);
	if (!rec->submissions)
		return;
	if (!p->windows++) {
		p->first = rec->rec.time;
		p->first_cause = rec->cause;
	}
	p->open = true;
	p->limited = rec->submissions != INT64_MAX;
}

/* ---- parts ---- */

/* Reads the first frame of a part file. Returns false unless it belongs to this session. *BEFORE is
 * the number of the preceding part, 0: none. */
static bool read_part(const struct nvs_trace *t, int fd, uint64_t *before)
{
	const uint8_t *session = t->session.header.session;
	struct nvs_input in;
	struct nvs_error err;
	char path[32];
	bool same = false;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	*before = 0;
	if (!nvs_input_open(&in, path, &err) && nvs_input_frame(&in, &err) > 0) {
		size_t pos = 0;

		for (int i = 0; i < 3 && in.frame_size - pos >= sizeof(struct nvs_rec); i++) {
			const struct nvs_rec *rec = (const void *)(in.frame + pos);

			if (nvs_record_check(rec, in.frame_size - pos))
				break;
			if (i == 1 && rec->type == NVS_REC_HEADER)
				same = !memcmp(((const struct nvs_rec_header *)rec)->session,
					       session, 16);
			if (i == 2 && rec->type == NVS_REC_PART)
				*before = ((const struct nvs_rec_part *)rec)->before;
			pos += rec->size;
		}
	}
	nvs_input_close(&in);
	return same;
}

static int open_part(const struct nvs_trace *t, uint64_t number)
{
	char *path;
	struct stat st;
	int fd;

	if (asprintf(&path, "%s.%llu", t->path, (ull)number) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	free(path);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool nvs_recorded_window_add_files(struct nvs_trace *t, uint64_t before)
{
	bool any = false;

	while (before) {
		int fd = open_part(t, before);
		uint64_t next;

		if (fd < 0)
			break;
		if (!read_part(t, fd, &next) || !nvs_input_prepend(&t->in, fd)) {
			close(fd);
			break;
		}
		any = true;
		/* Numbers must decrease, so that files cannot form a cycle. */
		before = next < before ? next : 0;
	}
	return any;
}

void nvs_recorded_window_set_cut(struct nvs_trace *t, const struct nvs_rec_part *rec)
{
	if (!t->part.cut.rec.size)
		memcpy(&t->part.cut, rec, sizeof(t->part.cut));
}

/* ---- formatting ---- */

static void format_time(const struct nvs_trace *t, char *text, size_t room, uint64_t ticks)
{
	int64_t ns;

	if (nvs_clock_since_start(t, ticks, &ns))
		snprintf(text, room, "%.3f s", (double)ns / 1e9);
	else
		snprintf(text, room, "-");
}

/* With --keep-last, which excludes --max-size, recording stops when a new part cannot be created.
 */
static const char *last_cause(const struct nvs_trace *t)
{
	const char *options = t->session.attr[NVS_ATTR_OPTIONS];

	if (t->part.last_cause == NVS_WINDOW_SIZE && options && strstr(options, "keep-last"))
		return "no further part";
	return cause_name(t->part.last_cause, false);
}

static void format_windows(struct nvs_trace *t)
{
	struct nvs_recorded_window *p = &t->part;
	char from[32], to[64] = "the end", count[48] = "";

	format_time(t, from, sizeof(from), p->first);
	if (!p->open) {
		format_time(t, to, sizeof(to) - 32, p->last);
		snprintf(to + strlen(to), 32, " (%s)", last_cause(t));
	} else if (p->limited) {
		snprintf(to, sizeof(to), "the submission limit of --trigger");
	}
	if (p->windows > 1)
		snprintf(count, sizeof(count), "in %llu windows, ", (ull)p->windows);
	snprintf(p->text, sizeof(p->text), "%sfrom %s (%s) to %s", count, from,
		 cause_name(p->first_cause, true), to);
}

/* "50 MiB" */
static void format_size(char *text, size_t room, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;

	while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, room, "%llu %s", (ull)bytes, units[unit]);
}

static void format_day_time(const struct nvs_trace *t, char *text, size_t room, uint64_t ticks)
{
	uint64_t ns;
	struct tm tm;
	time_t s;

	snprintf(text, room, "-");
	if (!nvs_clock_real(t, ticks, &ns))
		return;
	s = (time_t)(ns / 1000000000);
	if (gmtime_r(&s, &tm))
		strftime(text, room, "%H:%M:%S", &tm);
}

/* "the last 50 MiB, from 12:03:10 to 12:05:44 of a run of 154.000 s; 1,234 submissions before that
 * were not kept" */
static void format_kept(struct nvs_trace *t)
{
	struct nvs_recorded_window *p = &t->part;
	const struct nvs_session *s = &t->session;
	char size[32], from[32], to[32], run[32], before[32];

	format_size(size, sizeof(size), p->cut.limit);
	format_day_time(t, from, sizeof(from), p->cut.rec.time);
	format_day_time(t, to, sizeof(to), s->last_time);
	format_time(t, run, sizeof(run), s->last_time);
	snprintf(before, sizeof(before), "%llu", (ull)p->cut.submissions);
	nvs_group_digits(before, sizeof(before));
	snprintf(p->text, sizeof(p->text),
		 "the last %s, from %s to %s UTC, of a run of %s; %s submission%s before that "
		 "%s not kept",
		 size, from, to, run, before, p->cut.submissions == 1 ? "" : "s",
		 p->cut.submissions == 1 ? "was" : "were");
}

void nvs_recorded_window_finish(struct nvs_trace *t)
{
	struct nvs_recorded_window *p = &t->part;

	p->text[0] = '\0';
	if (p->cut.rec.size) {
		format_kept(t);
		nvs_trace_add_finding(t, NVS_FINDING_NOTE, "%s", p->text);
		return;
	}
	if (p->known && p->windows)
		format_windows(t);
	else if (nvs_trace_never_on(t))
		snprintf(p->text, sizeof(p->text),
			 "nothing, since recording was never switched on");
	if (p->text[0])
		nvs_trace_add_finding(t, NVS_FINDING_NOTE, "recorded: %s", p->text);
}

bool nvs_trace_never_on(const struct nvs_trace *t)
{
	return t->part.known && !t->part.windows && !t->part.cut.rec.size;
}

bool nvs_trace_goes_on(const struct nvs_trace *t)
{
	return t->goes_on;
}

const char *nvs_trace_part(const struct nvs_trace *t)
{
	return t->part.text[0] ? t->part.text : NULL;
}
