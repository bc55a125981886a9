/* SPDX-License-Identifier: MIT */
/*
 * The writer's thread when there is no trace. It merges the records in the thread buffers as for a
 * trace and drops the frames, but remembers the state that later records refer to, as --keep-last
 * does (keep_last_state.h). On a request it repeats that state at the start of a file, writes the
 * frames to it until the window is closed, and ends it as any other trace.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "preload/base/ownthread.h"
#include "preload/live/live.h"
#include "preload/writer/keep_last_state.h"
#include "preload/writer/symbol_thread.h"
#include "preload/writer/writer.h"

#define ROUND_MS 50 /* a request is answered within 100 ms */
#define CHECK_NS 1000000000ull
#define NAMES_NS 2000000000ull /* maximum wait for names at the end of a window */
#define TRIM_NS 60000000000ull

/* ---- the request's file ---- */

/* Writes the path of the page with SUFFIX in place of its own to OUT (PATH_MAX bytes). */
static bool make_path(const char *suffix, char *out)
{
	const char *page = nvs_live_page()->file.path, *end = strrchr(page, '.');

	return snprintf(out, PATH_MAX, "%.*s%s", (int)(end - page), page, suffix) < PATH_MAX;
}

/* Returns whether the file can only be by this user. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == nvs_live_page()->head->uid &&
	       (st->st_mode & 07777) == 0600 && st->st_nlink <= 2;
}

static bool open_request(struct nvs_outfile *file)
{
	struct stat st;
	int fd;

	*file = (struct nvs_outfile){.fd = -1, .flags = O_RDWR | O_APPEND};
	if (!make_path(NVS_RECORD_SUFFIX, file->path))
		return false;
	fd = nvs_sys_open(file->path, file->flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			  0);
	if (fd < 0)
		return false;
	if (nvs_sys_fstat(fd, &st) || !is_ours(&st)) {
		nvs_sys_close(fd);
		return false;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->fd = nvs_fd_move_high(fd);
	return true;
}

/* Reads the lines written so far to TEXT. */
static bool read_request(struct nvs_outfile *file, char *text, size_t size)
{
	int fd = nvs_outfile_fd(file);
	long n = fd < 0 ? fd : nvs_syscall(SYS_pread64, fd, (long)text, (long)size - 1, 0, 0, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

__attribute__((format(printf, 2, 3))) static void answer(struct nvs_demand *d, const char *format,
							 ...)
{
	char line[NVS_RECORD_LINE];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
	line[n++] = '\n';
	nvs_outfile_append(&d->request, line, (size_t)n);
}

static void refuse(struct nvs_demand *d, const char *why)
{
	answer(d, "refused %s", why);
	nvs_outfile_close(&d->request);
}

/* Whoever asked holds a lock on the request while it waits for the trace. No file is opened: the
 * process may have no descriptors left. */
static bool is_abandoned(struct nvs_demand *d)
{
	int fd = nvs_outfile_fd(&d->request);

	if (!nvs_outfile_has_name(&d->request, d->request.path))
		return true;
	if (fd < 0 || nvs_sys_flock(fd, LOCK_SH | LOCK_NB))
		return false;
	nvs_sys_flock(fd, LOCK_UN);
	return true;
}

/* ---- what is asked for ---- */

static const char *const keys[] = {"level", "timing", "api", "backtrace", "max-size", "duration"};
#define KEYS (sizeof(keys) / sizeof(*keys))

/* Returns which key an item of an option string starts with; KEYS: none of them. */
static size_t key_of(const char *item)
{
	size_t n = strcspn(item, "=,"), k = 0;

	while (k < KEYS && (strlen(keys[k]) != n || strncmp(keys[k], item, n)))
		k++;
	return k;
}

/* Sets VALUES to the options of the window. Returns NULL, or why it cannot be so. */
static const char *read_options(const char *text, struct nvs_option_values *values)
{
	const struct nvs_option_values *own = nvs_options_own();
	static char error[160];
	bool has[KEYS + 1] = {0};

	for (const char *item = text; *item; item += strcspn(item, ","), item += *item == ',')
		has[key_of(item)] = true;
	if (has[KEYS])
		return "an option does not apply to a window";
	if (nvs_options_parse(values, text, error, sizeof(error)))
		return error;
	values->headers = has[0] ? values->headers : own->headers;
	values->timing = has[1] ? values->timing : own->timing;
	values->sample = has[1] ? values->sample : own->sample;
	values->api = has[2] ? values->api : own->api;
	values->backtrace = has[3] ? values->backtrace : own->backtrace;
	if (values->api && !own->api)
		return "the process was started with --api=off";
	if (values->backtrace && !own->backtrace)
		return "the process was started with --backtrace=off";
	if (values->timing != own->timing || values->sample != own->sample)
		return own->timing
			       ? "GPU timestamps are set up with each channel, so they can only "
				 "be as the process was started"
			       : "GPU timestamps need a process that was started with "
				 "--timing=sample";
	return NULL;
}

/* Returns NULL, or why the first line of a request is not obeyed. */
static const char *read_terms(struct nvs_demand *d, char *text)
{
	uint64_t at, submissions;
	struct nvs_clock_sample now = nvs_clock_read();
	char *end;

	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, "record ", 7))
		return "the request is not one";
	at = strtoull(text + 7, &end, 10);
	submissions = strtoull(end, &end, 10);
	if (*end++ != ' ')
		return "the request is not one";
	d->at = at > now.real_ns ? now.mono_ns + (at - now.real_ns) : now.mono_ns;
	d->submissions = submissions && submissions < NVS_RECORD_ALL ? (int64_t)submissions
								     : NVS_RECORD_ALL;
	snprintf(d->given, sizeof(d->given), "%s", strcmp(end, "-") ? end : "");
	return read_options(d->given, &d->values);
}

static const char *find_obstacle(struct nvs_writer *w)
{
	if (nvs_session_is_confined())
		return "the process is in a sandbox, which may not allow it to create a file";
	if (!w->merge || !w->merge->ledger || nvs_keep_state_is_damaged(w->merge->ledger))
		return "the process ran out of memory, so that its state is not known";
	return NULL;
}

static void take_request(struct nvs_writer *w)
{
	struct nvs_demand *d = &w->session->demand;
	char text[NVS_RECORD_LINE];
	const char *why;

	nvs_watch_check_sandbox(w->session);
	if (nvs_session_is_confined() || !open_request(&d->request))
		return;
	if (!read_request(&d->request, text, sizeof(text))) {
		nvs_outfile_close(&d->request);
		return;
	}
	why = find_obstacle(w);
	if (!why)
		why = read_terms(d, text);
	if (why) {
		refuse(d, why);
		return;
	}
	atomic_store(&d->stop, 0);
	atomic_store(&d->opened, 0);
	atomic_store(&d->closed, 0);
	d->told_open = false;
	d->checked = nvs_clock_mono_ns();
	atomic_store(&d->step, NVS_DEMAND_PREPARE);
	nvs_poll_thread_wake();
}

/* ---- the trace ---- */

static bool is_in_flight(const struct nvs_rec_call_begin *call)
{
	struct nvs_open_call_cursor at = {0};
	struct nvs_open_call_record open;

	while (nvs_open_call_next(&at, &open))
		if (open.rec.thread == call->thread && open.rec.number == call->number)
			return true;
	return false;
}

/* Calls that submitted in an earlier window may have returned since. */
static void repeat_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_writer *w = arg;

	if (rec->type == NVS_REC_CALL_BEGIN && !is_in_flight((const void *)rec))
		return;
	if (w->naming && !w->merge->see)
		nvs_naming_add_record(w->naming, rec);
	nvs_writer_add(w, rec);
}

/* The counts of the trace are those from here on. What the state has seen is not in it. */
static void begin_counts(struct nvs_writer *w)
{
	const struct nvs_rec_part *seen = nvs_keep_state_counts(w->merge->ledger);

	for (unsigned i = 0; i < NVS_COUNT_MAX; i++)
		w->base[i] = nvs_totals_sum((enum nvs_counter)i);
	w->base[NVS_COUNT_SUBMISSIONS] = seen->submissions;
	w->base[NVS_COUNT_ENTRIES] = seen->entries;
	w->base[NVS_COUNT_SEGMENTS] = seen->segments;
	w->base[NVS_COUNT_BYTES] = seen->bytes;
	w->base[NVS_COUNT_GAPS] = seen->gaps;
	w->base[NVS_COUNT_LOST_SUBMISSIONS] = seen->lost_submissions;
	w->base[NVS_COUNT_LOST_BYTES] = seen->lost_bytes;
	w->base[NVS_COUNT_ORPHANS] = seen->orphans;
	w->gaps = w->lost_submissions = w->lost_bytes = 0;
	w->merge->damaged_bytes = 0;
}

static void write_state(struct nvs_writer *w)
{
	struct nvs_rec_part none = {.rec.size = 0};

	w->merge->number = 0;
	nvs_merge_set_again(w->merge, true);
	if (nvs_first_frame(w->session, w->merge))
		w->first_error = -ENOMEM;
	nvs_keep_state_write(w->merge->ledger, &none, repeat_record, w);
	nvs_writer_flush(w);
	nvs_merge_set_again(w->merge, false);
	if (w->naming)
		w->merge->see = nvs_naming_add_record;
	w->merge->arg = w->naming;
}

static int create_trace(struct nvs_writer *w)
{
	char path[PATH_MAX];

	/* The memory for packing is kept for later windows. */
	if (!w->packers.largest) {
		w->packers = (struct nvs_packers){.commit = nvs_writer_commit, .arg = w};
		if (nvs_packers_init(&w->packers, w->merge->frame_bytes)) {
			w->packers.largest = 0;
			return -ENOMEM;
		}
	}
	w->sink.file = &w->session->trace;
	w->first_error = 0;
	return make_path(NVS_RECORD_SUFFIX NVS_RECORD_TRACE, path)
		       ? nvs_outfile_create(&w->session->trace, path, O_WRONLY | O_APPEND, true)
		       : -ENAMETOOLONG;
}

/* The size of this trace must not count for the next one's limit. */
static void close_trace(struct nvs_writer *w)
{
	nvs_sink_free(&w->sink);
	nvs_outfile_close(&w->session->trace);
	w->session->trace.path[0] = '\0';
	w->session->demand.writing = w->session->demand.ending = false;
	w->dropping = true;
}

static void begin_trace(struct nvs_writer *w)
{
	struct nvs_demand *d = &w->session->demand;
	int err;

	nvs_writer_run_round(w);
	/* Not in the middle of a submission of an earlier window. */
	if (!nvs_keep_state_is_complete(w->merge->ledger) &&
	    nvs_clock_mono_ns() - d->checked < CHECK_NS)
		return;
	nvs_watch_check_sandbox(w->session);
	err = nvs_session_is_confined() ? -EPERM : create_trace(w);
	if (!err) {
		d->writing = true;
		w->dropping = false;
		begin_counts(w);
		write_state(w);
		err = w->first_error;
	}
	if (!err) {
		answer(d, "ready");
		atomic_store(&d->step, NVS_DEMAND_OPEN);
	} else {
		if (d->writing)
			nvs_outfile_unlink(&w->session->trace);
		close_trace(w);
		answer(d, "refused the trace cannot be created: %s", strerror(-err));
		nvs_outfile_close(&d->request);
		atomic_store(&d->step, NVS_DEMAND_END);
	}
	nvs_poll_thread_wake();
}

/* The window is closed: the last of its records are taken. The program goes on, and its records
 * from here on only change the state. */
static void take_last_records(struct nvs_writer *w)
{
	struct nvs_demand *d = &w->session->demand;

	nvs_writer_run_round(w);
	nvs_totals_write_gap(w, NVS_GAP_WRITE, w->lost_submissions,
			     w->lost_bytes + w->merge->damaged_bytes);
	nvs_writer_put_clock(w);
	nvs_totals_write_open_calls(w);
	nvs_writer_flush(w);
	d->ending = true;
	d->frame = w->merge->number;
	d->raw_bytes = w->sink.raw_bytes;
	d->deadline = nvs_clock_mono_ns() + NAMES_NS;
	w->dropping = true;
	nvs_naming_ask(w->naming);
}

static void end_trace(struct nvs_writer *w)
{
	struct nvs_rec_end end = {
		.rec = {.type = NVS_REC_END, .flags = NVS_END_GOES_ON, .size = sizeof(end)}};
	struct nvs_demand *d = &w->session->demand;
	uint64_t submissions = nvs_totals_sum(NVS_COUNT_SUBMISSIONS) -
			       w->base[NVS_COUNT_SUBMISSIONS];

	nvs_writer_flush(w);
	w->dropping = false;
	w->merge->number = d->frame;
	w->sink.error = 0;
	nvs_writer_put_names(w);
	nvs_totals_write(w);
	end.rec.time = nvs_clock_now();
	nvs_writer_add(w, &end.rec);
	nvs_writer_flush(w);
	nvs_sink_seek_table(&w->sink);
	nvs_writer_check_file(w);
	answer(d, "done %llu %llu %llu %llu %llu %d %d %llu",
	       (unsigned long long)(submissions - w->lost_submissions),
	       (unsigned long long)(nvs_totals_sum(NVS_COUNT_GAPS) + w->gaps -
				    w->base[NVS_COUNT_GAPS]),
	       (unsigned long long)(nvs_totals_sum(NVS_COUNT_SKIPPED) - w->base[NVS_COUNT_SKIPPED]),
	       (unsigned long long)w->sink.file_bytes, (unsigned long long)w->lost_submissions,
	       -w->first_error, nvs_switch_is_full(),
	       (unsigned long long)(atomic_load(&d->closed) ?: nvs_clock_read().real_ns));
	/* Nobody waits for it any more. */
	if (is_abandoned(d)) {
		nvs_outfile_unlink(&w->session->trace);
		nvs_outfile_unlink(&d->request);
	}
	close_trace(w);
	nvs_outfile_close(&d->request);
}

/* ---- rounds ---- */

static bool may_end(struct nvs_writer *w)
{
	return nvs_naming_has_answered(w->naming) ||
	       nvs_clock_mono_ns() >= w->session->demand.deadline;
}

/* The window may be closed before its time, by those who asked for it or because they are gone. */
static void look_for_stop(struct nvs_writer *w, uint64_t requests)
{
	struct nvs_demand *d = &w->session->demand;
	uint64_t now = nvs_clock_mono_ns();
	char text[2 * NVS_RECORD_LINE];
	bool stop = false;

	if (requests != d->requests)
		stop = !read_request(&d->request, text, sizeof(text)) || strstr(text, "\nstop\n");
	d->requests = requests;
	if (!stop && now - d->checked >= CHECK_NS) {
		d->checked = now;
		nvs_watch_check_sandbox(w->session);
		stop = !nvs_session_is_confined() && is_abandoned(d);
	}
	if (stop && !atomic_exchange(&d->stop, 1))
		nvs_poll_thread_wake();
}

static void answer_requests(struct nvs_writer *w)
{
	struct nvs_demand *d = &w->session->demand;
	uint64_t requests = __atomic_load_n(&nvs_live_page()->head->requests, __ATOMIC_ACQUIRE);

	switch (atomic_load(&d->step)) {
	case NVS_DEMAND_NONE:
		if (requests != d->requests)
			take_request(w);
		d->requests = requests;
		break;
	case NVS_DEMAND_PREPARED:
		begin_trace(w);
		break;
	case NVS_DEMAND_OPEN:
		if (!d->told_open && atomic_load(&d->opened)) {
			d->told_open = true;
			answer(d, "open %llu", (unsigned long long)atomic_load(&d->opened));
		}
		look_for_stop(w, requests);
		break;
	case NVS_DEMAND_CLOSED:
		if (!d->ending)
			take_last_records(w);
		if (!may_end(w))
			break;
		end_trace(w);
		atomic_store(&d->step, NVS_DEMAND_END);
		nvs_poll_thread_wake();
		break;
	}
}

/* The process ends. */
static void finish_request(struct nvs_writer *w)
{
	struct nvs_demand *d = &w->session->demand;

	if (d->writing && !d->ending)
		take_last_records(w);
	while (d->writing && !may_end(w)) {
		nvs_writer_heartbeat(w);
		nvs_writer_answer_checks(w);
		nvs_sleep(10000000);
	}
	if (d->writing)
		end_trace(w);
	else if (d->request.fd >= 0)
		refuse(d, "the process has ended");
}

/* Gives the thread an empty descriptor table. Sharing the program's would keep its pipes open. */
static bool detach_files(void)
{
	nvs_writer_own_root();
	if (nvs_syscall(SYS_close_range, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0) ||
	    nvs_syscall(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0))
		return false;
	nvs_syscall(SYS_close_range, 0, UINT32_MAX, 0, 0, 0, 0);
	return true;
}

static void run_naming(void *writer)
{
	struct nvs_writer *w = writer;

	nvs_naming_run(w->naming, detach_files());
}

void nvs_demand_start_naming(struct nvs_recorder *session)
{
	struct nvs_writer *w = session->writer;

	if (w->naming)
		return;
	w->naming = nvs_naming_new(session);
	/* Without the thread, and for all later windows, addresses have no names. */
	if (w->naming && nvs_own_thread_start("nvsnoop-names", NVS_OWN_STACK, run_naming, w))
		nvs_naming_give_up(w->naming);
}

/* Without memory for the state nothing can be recorded later; the rest works. */
static void prepare_writer(struct nvs_writer *w)
{
	w->dropping = w->unsafe_recorded = true;
	w->last_clock = w->session->start.mono_ns;
	w->session->demand.request.fd = -1;
	w->merge = nvs_merge_new(w->session->buffer_bytes, 0);
	if (w->merge)
		w->merge->ledger = nvs_keep_state_new();
}

static void discard_records(void)
{
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		struct nvs_spool_buffer *buffer = nvs_buffer_at(i)->shared;

		__atomic_store_n(&buffer->tail, __atomic_load_n(&buffer->head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
}

static void run_round(struct nvs_writer *w)
{
	if (w->merge) {
		nvs_writer_run_round(w);
		return;
	}
	nvs_writer_add_buffers(w);
	discard_records();
	nvs_writer_grow_live(w);
	nvs_writer_heartbeat(w);
}

void nvs_untraced_run(void *writer)
{
	struct nvs_writer *w = writer;
	uint64_t trimmed = nvs_clock_mono_ns();
	unsigned rounds = 0;

	nvs_watch_begin(w->session, detach_files());
	prepare_writer(w);
	atomic_store(&w->detached, 1);
	nvs_sys_futex_wake(&w->detached);
	while (!atomic_load(&w->finishing)) {
		nvs_writer_await_round(w, ROUND_MS);
		run_round(w);
		atomic_store(&nvs_writer_signal.wake, 0);
		if (nvs_live_page())
			answer_requests(w);
		if (w->merge && w->merge->ledger && nvs_clock_mono_ns() - trimmed >= TRIM_NS) {
			nvs_keep_state_trim(w->merge->ledger);
			trimmed = nvs_clock_mono_ns();
		}
		if (++rounds % 4)
			continue;
		nvs_writer_answer_checks(w);
		nvs_watch_check_threads(w->session);
	}
	run_round(w);
	if (nvs_live_page())
		finish_request(w);
	w->session->head->ended = 1;
	nvs_writer_heartbeat(w);
	atomic_store(&w->done, 1);
	nvs_sys_futex_wake(&w->done);
}
