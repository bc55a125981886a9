/* SPDX-License-Identifier: MIT */
/* The life of one session, and so of one trace: from the process's first channel allocation to its
 * end. Creates the files, starts trap, writer and keeper, and stops them in order. */
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

#define MAX_TRIES 100 /* for an unused name */
#define START_WAIT_MS 10000
#define LOCK_WAIT_MS 2000

/* ---- names ---- */

static int expand_name(const char *pattern, char *name)
{
	struct nvs_name_fields facts = {
		.pid = (uint32_t)nvs_sys_getpid(),
		.program = program_invocation_short_name,
		.host = "unknown",
		.variable = getenv,
	};
	struct utsname machine;

	if (!uname(&machine))
		facts.host = machine.nodename;
	return nvs_name_expand(pattern, &facts, name, PATH_MAX);
}

/* Path of the spool for the trace NAME. Returns 0 or -ENAMETOOLONG. */
static int spool_name(const char *name, char *out)
{
	const char *dir = nvs_options()->values.spool_dir;
	size_t n = strlen(dir);

	if (*dir)
		name = nvs_base_name(name);
	if (n + strlen(name) + sizeof("/.spool") > PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(out, dir);
	if (*dir)
		strcat(out, "/");
	strcat(out, name);
	strcat(out, ".spool");
	return 0;
}

/* True if this run has already written NAME: a program and the programs it starts must not
 * overwrite each other's traces. */
static bool written_by_this_run(const char *path)
{
	const char *summary = nvs_options()->summary;

	return *summary && nvs_file_contains(summary, path) > 0;
}

/* ---- start ---- */

/* Creates trace and spool under one name. Returns -EEXIST if either exists. */
static int create_files(struct nvs_recorder *session, const char *name)
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

static int create_under_free_name(struct nvs_recorder *session)
{
	char name[PATH_MAX];
	int err = expand_name(nvs_options()->out, name);

	strcpy(session->shown, nvs_options()->out);
	if (err)
		return err;
	err = -EEXIST;
	for (unsigned try = 0; err == -EEXIST && try < MAX_TRIES; try++) {
		err = nvs_name_alternative(name, session->pid, try, session->shown,
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

	if (nvs_syscall(SYS_getrandom, (long)out, (long)size, 0, 0, 0, 0) == (long)size)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	words[0] = (uint64_t)ts.tv_sec << 32 ^ (uint64_t)ts.tv_nsec;
	words[1] = (uint64_t)nvs_sys_getpid();
}

/* A debugger takes SIGTRAP: the library would get neither the single step of a store nor the
 * breakpoint used while a site is patched. */
static bool is_traced(void)
{
	char text[1024];

	nvs_sys_read_file("/proc/self/status", text, sizeof(text));
	return nvs_file_field(text, "\nTracerPid:", 0) != 0;
}

static int start_trap(struct nvs_recorder *session)
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
		.skip_calls = nvs_options()->untraced,
		.timed = nvs_options()->untraced && v->timing,
		.patch = v->patch && !v->step && !traced,
		.shadow = v->shadow,
		.paused = nvs_switch_is_used(),
		.use_ticks = nvs_clock_ticks_usable(),
	};

	session->clock = options.use_ticks ? NVS_CLOCK_TSC : NVS_CLOCK_MONOTONIC;
	return nvs_trap_init(&options);
}

/*
 * The spool's second point is the writer's first calibration. A program that is killed before it
 * has times all the same: until then the point lies on the line through the readings at load and
 * at start, as far behind the start as the load is before it.
 */
static void mark_start(struct nvs_recorder *session)
{
	const struct nvs_options *o = nvs_options();
	struct nvs_spool *head = session->head;
	struct nvs_clock_sample start = nvs_clock_read();
	uint64_t loaded = session->clock == NVS_CLOCK_TSC ? o->loaded_ticks : o->loaded_ns;

	session->start = start;
	head->clock_ticks[0] = start.ticks;
	head->clock_mono_ns[0] = start.mono_ns;
	head->clock_real_ns[0] = start.real_ns;
	head->clock_ticks[1] = start.ticks + (start.ticks - loaded);
	head->clock_mono_ns[1] = start.mono_ns + (start.mono_ns - o->loaded_ns);
	head->clock_real_ns[1] = start.real_ns + (start.mono_ns - o->loaded_ns);
}

static int start_recording(struct nvs_recorder *session)
{
	int err = nvs_signals_install();

	if (err)
		return err;
	nvs_sigview_begin_main();
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
	/* Signals deferred while the unwinder was warmed up, as in a trap. */
	nvs_sigview_send_deferred();
	return 0;
}

/* Creates the live page for nvsnoop-top and other readers. Returns 0 or -errno. */
static int begin_live(const struct nvs_recorder *session, char *folder)
{
	struct utsname machine;
	const struct nvs_live_identity facts = {
		.session = session->id,
		.host = uname(&machine) ? "" : machine.nodename,
		.program = program_invocation_short_name,
		.driver = session->driver,
	};

	return nvs_live_create(&facts, folder);
}

/* Only the live page: thread buffers in memory, whose records are dropped. */
static int begin_untraced(struct nvs_recorder *session, int live, const char *folder)
{
	snprintf(session->shown, sizeof(session->shown),
		 live && *folder ? "live page in %s" : NVS_OUT_NONE, folder);
	session->trace.fd = -1;
	return live ? live : nvs_spool_create(session, NULL, false);
}

/* Size of a thread buffer. Small with --max-size, since data in the buffers is still written after
 * the limit is reached. */
static uint64_t choose_buffer_bytes(const struct nvs_option_values *values)
{
	uint64_t bytes = values->buffer_bytes;

	while (values->max_size && bytes > NVS_MIN_BUFFER && bytes > values->max_size / 16)
		bytes /= 2;
	return bytes;
}

static int begin_session(struct nvs_recorder *session)
{
	char folder[PATH_MAX / 2];
	int err, live;

	nvs_options_use(NULL, NULL);
	session->pid = (uint32_t)nvs_sys_getpid();
	session->buffer_bytes = choose_buffer_bytes(&nvs_options()->values);
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
		nvs_live_close();
		return err;
	}
	nvs_live_set_trace(session->trace.path);
	nvs_switch_begin();
	nvs_trigger_poll(session);
	err = start_recording(session);
	if (err) {
		nvs_live_close();
		nvs_outfile_unlink(&session->trace);
		nvs_spool_discard(session);
	}
	return err;
}

/* quick_exit() runs no destructors. Registered once; a forked child inherits it. */
static void end_at_quick_exit(void)
{
	static _Atomic int done;

	if (!atomic_exchange(&done, 1))
		at_quick_exit(nvs_session_finish);
}

/* Under one lock: writes the records of everything known so far, and from then on changes are
 * recorded as they happen. */
static void activate_session(struct nvs_recorder *session)
{
	NVS_LOCK_SCOPE();
	atomic_store(&session->state, NVS_SESSION_ACTIVE);
	atomic_store(&nvs_state()->session_active, 1);
	if (strcmp(session->driver, nvs_rm_driver_version()))
		nvs_record_attr(NVS_ATTR_DRIVER, nvs_rm_driver_version(),
				strlen(nvs_rm_driver_version()));
	nvs_rm_replay();
	nvs_switch_record();
}

static void start_session(struct nvs_recorder *session)
{
	sigset_t saved;

	nvs_lock(&saved);
	strcpy(session->driver, nvs_rm_driver_version());
	nvs_unlock(&saved);
	if (nvs_options()->untraced && nvs_options()->values.timing)
		nvs_timing_sink_new = nvs_channel_gpu_sink_new;
	session->error = begin_session(session);
	if (session->error) {
		atomic_store(&session->state, NVS_SESSION_FAILED);
	} else {
		nvs_summary_report_start(session);
		end_at_quick_exit();
		activate_session(session);
		nvs_timing_start();
		nvs_api_call_failed = nvs_rm_call_failed;
		nvs_api_session_started();
	}
	nvs_sys_futex_wake(&session->state);
}

/* The wait is limited: a handler may have left the start by a longjmp, or its thread may have been
 * cancelled. */
static void wait_for_start(struct nvs_recorder *session)
{
	for (int i = 0;
	     i < START_WAIT_MS / 100 && atomic_load(&session->state) == NVS_SESSION_STARTING; i++)
		nvs_sys_futex_wait(&session->state, NVS_SESSION_STARTING, 100);
}

void nvs_session_start(void)
{
	/* The start may recurse: it may call the program's allocator, which may do anything. */
	static __thread bool starting;
	struct nvs_recorder *session = nvs_session();
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
		start_session(session);
		starting = false;
	} else {
		nvs_free(session, sizeof(*session));
		wait_for_start(none);
	}
	errno = saved;
}

/* The unwinder stays loaded in a forked child. */
void nvs_session_prepare(void)
{
	static _Atomic int prepared;
	int saved = errno;

	if (atomic_load(&prepared) || nvs_options()->disabled || atomic_exchange(&prepared, 1))
		return;
	nvs_unwinder_load();
	nvs_snapshot_start();
	nvs_api_start();
	errno = saved;
}

/* ---- finish ---- */

static void finish_session(struct nvs_recorder *session)
{
	sigset_t saved;
	bool ended;

	nvs_timing_stop();
	nvs_api_abandon_left();
	nvs_keeper_scan_now(session);
	nvs_writer_check_sandbox(session);
	if (nvs_lock_timed(&saved, LOCK_WAIT_MS)) {
		nvs_rm_final_records(!nvs_session_is_confined());
		nvs_sites_record();
		session->unknown_calls = nvs_rm_unknown_calls();
		session->newer_driver = nvs_rm_release_is_newer();
		session->unknown_form = nvs_rm_met_unknown_form();
		nvs_unlock(&saved);
	}
	/* From here on records go to the late spool; those in progress still reach the writer. */
	atomic_store(&nvs_writer_signal.ended, 1);
	nvs_poll_thread_wake();
	nvs_wait_for_traps();
	ended = nvs_writer_finish(session);
	if (ended && session->head->ended)
		nvs_late_take_name(session);
	nvs_live_close();
}

void nvs_session_finish(void)
{
	struct nvs_recorder *session = nvs_session();
	uint32_t active = NVS_SESSION_ACTIVE;
	int saved = errno;

	if (!session || session->pid != (uint32_t)nvs_sys_getpid())
		return;
	if (atomic_compare_exchange_strong(&session->state, &active, NVS_SESSION_ENDED)) {
		finish_session(session);
		nvs_summary_report_end(session);
	} else if (active == NVS_SESSION_FAILED && session->error) {
		nvs_summary_report_end(session);
		session->error = 0;
	}
	errno = saved;
}
