/* SPDX-License-Identifier: MIT */
/*
 * One trace, from the first channel allocation of the process to its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "preload/api/intercept/api.h"
#include "preload/base/clock.h"
#include "preload/base/names.h"
#include "preload/base/options.h"
#include "preload/base/outfile.h"
#include "preload/base/ownthread.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "preload/modules/modules.h"
#include "preload/session/poll_thread.h"
#include "preload/session/timestamp_memory.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"

#define MAX_TRIES 100 /* at a free name */
#define START_WAIT_MS 10000
#define LOCK_WAIT_MS 2000

/* ---- names ---- */

static const char *variable(const char *name)
{
	return getenv(name);
}

static int expand(const char *pattern, char *name)
{
	struct nvs_name_facts facts = {
		.pid = (uint32_t)nvs_sys_getpid(),
		.program = program_invocation_short_name,
		.host = "unknown",
		.variable = variable,
	};
	struct utsname machine;

	if (!uname(&machine))
		facts.host = machine.nodename;
	return nvs_name_expand(pattern, &facts, name, PATH_MAX);
}

/* Where the spool of the trace at NAME goes. 0 or -ENAMETOOLONG. */
static int spool_name(const char *name, char *out)
{
	const char *dir = nvs_options()->values.spool_dir;
	size_t n = strlen(dir);

	if (*dir)
		name = nvs_name_base(name);
	if (n + strlen(name) + sizeof("/.spool") > PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(out, dir);
	if (*dir)
		strcat(out, "/");
	strcat(out, name);
	strcat(out, ".spool");
	return 0;
}

/*
 * Whether this run has already written NAME: a program that starts others must not have their
 * traces, or they its, overwritten by one another.
 */
static bool written_by_this_run(const char *path)
{
	const char *summary = nvs_options()->summary;
	char text[4096 + 1];
	long n, offset = 0;
	bool found = false;
	int fd;

	if (!*summary)
		return false;
	fd = nvs_sys_open(summary, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while (!found &&
	       (n = nvs_sys(SYS_pread64, fd, (long)text, sizeof(text) - 1, offset, 0, 0)) > 0) {
		text[n] = '\0';
		found = strstr(text, path) != NULL;
		/* Overlapping reads, so that no path is cut in two. */
		if (n < (long)sizeof(text) - 1)
			break;
		offset += n > 2048 ? n - 2048 : n;
	}
	nvs_sys_close(fd);
	return found;
}

/* ---- start ---- */

/* Trace and spool under one name. -EEXIST: one of them is taken. */
static int create_files(struct nvs_session *session, const char *name)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	bool replace = v->overwrite && !written_by_this_run(name);
	char trace[PATH_MAX], spool[PATH_MAX], relative[PATH_MAX];
	int err = nvs_path_absolute(nvs_options()->folder, name, trace);

	if (!err)
		err = spool_name(trace, relative);
	if (!err)
		err = nvs_path_absolute(nvs_options()->folder, relative, spool);
	if (!err)
		err = nvs_outfile_create(&session->trace, trace, O_WRONLY | O_APPEND, replace);
	if (err)
		return err;
	err = nvs_spool_create(session, v->spool ? spool : NULL, replace);
	if (err) {
		nvs_outfile_unlink(&session->trace);
		nvs_outfile_close(&session->trace);
	}
	return err;
}

static int create_under_free_name(struct nvs_session *session)
{
	char name[PATH_MAX];
	int err = expand(nvs_options()->out, name);

	strcpy(session->shown, nvs_options()->out);
	if (err)
		return err;
	err = -EEXIST;
	for (unsigned try = 0; err == -EEXIST && try < MAX_TRIES; try++) {
		err = nvs_name_other(name, session->pid, try, session->shown,
				     sizeof(session->shown));
		if (!err)
			err = create_files(session, session->shown);
		session->renamed = try > 0;
	}
	return err;
}

static void fill_random(void *out, size_t size)
{
	uint64_t *words = out;
	struct timespec ts;

	if (nvs_sys(SYS_getrandom, (long)out, (long)size, 0, 0, 0, 0) == (long)size)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	words[0] = (uint64_t)ts.tv_sec << 32 ^ (uint64_t)ts.tv_nsec;
	words[1] = (uint64_t)nvs_sys_getpid();
}

/*
 * A debugger keeps SIGTRAP for itself: neither would the step of a store come to us, nor the
 * breakpoint that stands in a site while it is patched.
 */
static bool is_traced(void)
{
	char text[1024];
	const char *line;

	nvs_sys_read_file("/proc/self/status", text, sizeof(text));
	line = strstr(text, "TracerPid:");
	return line && strtoul(line + sizeof("TracerPid:") - 1, NULL, 10) != 0;
}

static int start_trap(struct nvs_session *session)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	bool traced = is_traced();
	struct nvs_trap_options options = {
		.mode = v->step && !traced ? NVS_TRAP_STEP : NVS_TRAP_EMULATE,
		.backtrace = v->backtrace,
		.drop = v->drop,
		.level = nvs_options()->untraced ? NVS_LEVEL_NONE
			 : v->headers		 ? NVS_LEVEL_HEADERS
						 : NVS_LEVEL_FULL,
		.patch = v->patch && !v->step && !traced,
		.shadow = v->shadow,
		.paused = nvs_switch_used(),
		.use_tsc = nvs_clock_tsc_usable(),
	};

	session->clock = options.use_tsc ? NVS_CLOCK_TSC : NVS_CLOCK_MONOTONIC;
	return nvs_trap_init(&options);
}

static void mark_start(struct nvs_session *session)
{
	session->start = nvs_clock_read();
	for (int i = 0; i < 2; i++) {
		session->head->clock_ticks[i] = session->start.ticks;
		session->head->clock_mono_ns[i] = session->start.mono_ns;
		session->head->clock_real_ns[i] = session->start.real_ns;
	}
}

static int start_recording(struct nvs_session *session)
{
	int err = nvs_signals_install();

	if (err)
		return err;
	nvs_sigview_main_begins();
	nvs_late_prepare(session);
	nvs_writer_signal.heartbeat = &session->head->heartbeat;
	nvs_writer_signal.may_patch = nvs_sites_may_patch;
	nvs_writer_signal.late = nvs_late_record;
	atomic_store(&nvs_writer_signal.ended, 0);
	mark_start(session);
	err = nvs_writer_start(session);
	if (err)
		return err;
	nvs_keeper_start(session);
	/* What came while the unwinder was warmed was put aside, as in any trap. */
	nvs_sigview_deliver_now();
	return 0;
}

/* For who looks on while the program runs. 0 or -errno. */
static int begin_live(const struct nvs_session *session, char *folder)
{
	struct utsname machine;
	const struct nvs_live_facts facts = {
		.session = session->id,
		.host = uname(&machine) ? "" : machine.nodename,
		.program = program_invocation_short_name,
		.driver = session->driver,
	};

	return nvs_live_begin(&facts, folder);
}

/* Nothing but the page: buffers in memory, whose records go nowhere. */
static int begin_untraced(struct nvs_session *session, int live, const char *folder)
{
	snprintf(session->shown, sizeof(session->shown),
		 live && *folder ? "live page in %s" : NVS_OUT_NONE, folder);
	session->trace.fd = -1;
	return live ? live : nvs_spool_create(session, NULL, false);
}

/*
 * A thread's buffer. With --max-size it is small against that, since what the buffers hold when the
 * size is reached still comes into the trace.
 */
static uint64_t choose_ring_bytes(const struct nvs_option_values *values)
{
	uint64_t bytes = values->ring_bytes;

	while (values->max_size && bytes > NVS_MIN_RING && bytes > values->max_size / 16)
		bytes /= 2;
	return bytes;
}

static int begin(struct nvs_session *session)
{
	char folder[PATH_MAX / 2];
	int err, live;

	session->pid = (uint32_t)nvs_sys_getpid();
	session->ring_bytes = choose_ring_bytes(&nvs_options()->values);
	session->unwinder = nvs_unwinder_name();
	fill_random(session->id, sizeof(session->id));
	err = start_trap(session);
	if (err)
		return err;
	live = begin_live(session, folder);
	nvs_api_name_open();
	err = nvs_options()->untraced ? begin_untraced(session, live, folder)
				      : create_under_free_name(session);
	if (err) {
		nvs_live_end();
		return err;
	}
	nvs_live_trace(session->trace.path);
	nvs_switch_begin();
	nvs_trigger_look(session);
	err = start_recording(session);
	if (err) {
		nvs_live_end();
		nvs_outfile_unlink(&session->trace);
		nvs_spool_discard(session);
	}
	return err;
}

/* Destructors do not run there. Once; a forked child keeps it. */
static void end_at_quick_exit(void)
{
	static _Atomic int done;

	if (!atomic_exchange(&done, 1))
		at_quick_exit(nvs_session_finish);
}

/*
 * From here on what changes is told as it comes: what is known by now is told under the same lock.
 */
static void activate(struct nvs_session *session)
{
	sigset_t saved;

	nvs_lock(&saved);
	atomic_store(&session->state, NVS_SESSION_ACTIVE);
	atomic_store(&nvs_state()->session_active, 1);
	if (strcmp(session->driver, nvs_rm_driver_version()))
		nvs_record_attr(NVS_ATTR_DRIVER, nvs_rm_driver_version(),
				strlen(nvs_rm_driver_version()));
	nvs_rm_replay();
	nvs_switch_tell();
	nvs_unlock(&saved);
}

static void start(struct nvs_session *session)
{
	sigset_t saved;

	nvs_lock(&saved);
	strcpy(session->driver, nvs_rm_driver_version());
	nvs_unlock(&saved);
	session->error = begin(session);
	if (session->error) {
		atomic_store(&session->state, NVS_SESSION_FAILED);
	} else {
		nvs_summary_started(session);
		end_at_quick_exit();
		activate(session);
		nvs_timing_start(session);
		nvs_api_session_started();
	}
	nvs_sys_futex_wake(&session->state);
}

/* Not for ever: a handler may have jumped out of the start, or its thread been cancelled in it. */
static void wait_for_start(struct nvs_session *session)
{
	for (int i = 0;
	     i < START_WAIT_MS / 100 && atomic_load(&session->state) == NVS_SESSION_STARTING; i++)
		nvs_sys_futex_wait(&session->state, NVS_SESSION_STARTING, 100);
}

void nvs_session_start(void)
{
	/* What the start calls may come back here: the program's allocator may, which may do
	 * anything. */
	static __thread bool starting;
	struct nvs_session *session = nvs_session();
	void *none = NULL;
	int saved = errno;

	if (starting || nvs_options()->disabled)
		return;
	if (session) {
		wait_for_start(session);
		errno = saved;
		return;
	}
	session = nvs_alloc(sizeof(*session));
	if (!session)
		return;
	if (__atomic_compare_exchange_n(nvs_slot(NVS_SLOT_SESSION), &none, session, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		starting = true;
		start(session);
		starting = false;
	} else {
		nvs_free(session, sizeof(*session));
		wait_for_start(none);
	}
	errno = saved;
}

/* In a forked child too the unwinder stays loaded. */
void nvs_session_prepare(void)
{
	static _Atomic int prepared;
	int saved = errno;

	if (atomic_load(&prepared) || nvs_options()->disabled || atomic_exchange(&prepared, 1))
		return;
	nvs_unwinder_load();
	nvs_api_start();
	errno = saved;
}

/* ---- finish ---- */

static void finish(struct nvs_session *session)
{
	sigset_t saved;
	bool ended;

	nvs_timing_stop();
	nvs_api_forget_left();
	nvs_keeper_look(session);
	nvs_writer_look(session);
	if (nvs_lock_within(&saved, LOCK_WAIT_MS)) {
		nvs_rm_final_records(!nvs_session_confined());
		nvs_sites_tell();
		session->unknown_calls = nvs_rm_unknown_calls();
		session->newer_driver = nvs_rm_release_is_newer();
		nvs_unlock(&saved);
	}
	/* From here on records go to the late spool; those under way get through to the writer. */
	atomic_store(&nvs_writer_signal.ended, 1);
	nvs_keeper_wake();
	nvs_quiesce();
	ended = nvs_writer_finish(session);
	if (ended && session->head->ended)
		nvs_late_settle(session);
	nvs_live_end();
}

void nvs_session_finish(void)
{
	struct nvs_session *session = nvs_session();
	uint32_t active = NVS_SESSION_ACTIVE;
	int saved = errno;

	if (!session || session->pid != (uint32_t)nvs_sys_getpid())
		return;
	if (atomic_compare_exchange_strong(&session->state, &active, NVS_SESSION_ENDED)) {
		finish(session);
		nvs_summary_ended(session);
	} else if (active == NVS_SESSION_FAILED && session->error) {
		nvs_summary_ended(session);
		session->error = 0;
	}
	errno = saved;
}
