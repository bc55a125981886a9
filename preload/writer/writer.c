/* SPDX-License-Identifier: MIT */
/*
 * The writer thread: takes the records from the thread buffers at least every 100 ms and makes
 * frames of them. It takes no lock that another thread takes and does not use the program's heap,
 * so only a hung file system stops it. Its heartbeat shows that to threads that wait for space.
 */
#include "preload/base/ownthread.h"
#include "preload/live/live.h"
#include "preload/writer/keep_last_state.h"
#include "preload/writer/symbol_thread.h"
#include "preload/writer/writer.h"

#define ROUND_MS 100
#define CLOCK_NS 1000000000ull /* of calibration points, while records arrive */
#define EARLY_CLOCK_MS 10
#define IDLE_CLOCK_NS (10 * CLOCK_NS)
#define NAMES_MS 2000 /* maximum wait for names at the end */
#define NAMES_STEP_MS 100
#define SWEEP_NS 10000000ull /* of scans of the buffers' owners, while enough are free */
#define HUNG_ROUNDS 50 /* 100 ms each without a heartbeat: the writer is abandoned */

/* Writes the full frames of records older than LIMIT. */
static void write_full_frames(struct nvs_writer *w, uint64_t limit)
{
	const struct nvs_zframe *frame;

	nvs_merge_collect(w->merge, limit);
	while ((frame = nvs_merge_next(w->merge))) {
		nvs_writer_pack(w, frame);
		nvs_limit_check_size(w);
		nvs_limit_rotate_parts(w);
	}
}

/* ---- the writer's own records ---- */

void nvs_writer_put_clock(struct nvs_writer *w)
{
	struct nvs_clock_sample point = nvs_clock_read();
	struct nvs_spool *head = w->session->head;
	struct nvs_rec_clock rec;

	nvs_fill_clock(&rec, &point);
	nvs_writer_add(w, &rec.rec);
	w->last_clock = point.mono_ns;
	head->clock_ticks[1] = point.ticks;
	head->clock_mono_ns[1] = point.mono_ns;
	head->clock_real_ns[1] = point.real_ns;
}

/* Once a buffer is outside the file, part of the trace does not survive a kill. */
static void record_unsafe(struct nvs_writer *w)
{
	uint64_t room[8];

	if (w->unsafe_recorded || w->session->crash_safe)
		return;
	w->unsafe_recorded = true;
	nvs_fill_attr(room, NVS_ATTR_SPOOL, "", 0);
	nvs_writer_add(w, (const void *)room);
}

/* Writes the names found so far. */
void nvs_writer_put_names(struct nvs_writer *w)
{
	struct nvs_rec *rec;

	nvs_naming_hand_over(w->naming);
	while ((rec = nvs_naming_next_record(w->naming))) {
		rec->time = nvs_clock_now();
		nvs_writer_add(w, rec);
	}
}

/* Writes all names, unless a file system hangs. The reader's --embed may find missing ones. */
static void put_last_names(struct nvs_writer *w)
{
	bool done = !atomic_load(&w->names);

	for (int ms = 0; !done && ms < NAMES_MS; ms += NAMES_STEP_MS) {
		nvs_writer_heartbeat(w);
		nvs_watch_check_sandbox(w->session);
		done = nvs_naming_finish(w->naming, NAMES_STEP_MS);
	}
	nvs_writer_put_names(w);
}

/* Ticks cannot be converted with one point only: the second is made early, for a program that ends
 * early. */
static bool is_first_clock(const struct nvs_writer *w)
{
	return w->last_clock == w->session->start.mono_ns;
}

static uint64_t clock_interval(const struct nvs_writer *w)
{
	if (nvs_switch_is_full())
		return UINT64_MAX;
	if (is_first_clock(w))
		return EARLY_CLOCK_MS * 1000000ull;
	return w->merge->used ? CLOCK_NS : IDLE_CLOCK_NS;
}

/* This opens the page's file. */
void nvs_writer_grow_live(struct nvs_writer *w)
{
	if (!nvs_live_is_short())
		return;
	nvs_watch_check_sandbox(w->session);
	nvs_live_grow();
}

void nvs_writer_add_buffers(struct nvs_writer *w)
{
	uint32_t waiting = atomic_load(&nvs_writer_signal.waiting);
	uint32_t more = waiting > NVS_MORE_BUFFERS ? waiting : NVS_MORE_BUFFERS;
	uint32_t wanted = waiting + nvs_spool_scaled_count(w->session, NVS_FREE_BUFFERS);
	uint64_t now = nvs_clock_mono_ns();
	bool full = false;

	/* Records made in a signal handler need a free buffer at once: they cannot wait for one. */
	if (!waiting && now - w->swept < SWEEP_NS &&
	    (nvs_buffer_count_free() >= wanted || atomic_load(&nvs_writer_signal.full)))
		return;
	w->swept = now;
	if (nvs_buffer_sweep() < wanted) {
		nvs_watch_check_sandbox(w->session);
		full = nvs_spool_grow(w->session, nvs_spool_scaled_count(w->session, more));
	}
	atomic_store(&nvs_writer_signal.full, full);
}

void nvs_writer_run_round(struct nvs_writer *w)
{
	uint64_t limit, now;

	nvs_writer_add_buffers(w);
	limit = nvs_clock_now();
	__atomic_store_n(&w->session->head->heard, limit, __ATOMIC_RELAXED);
	write_full_frames(w, limit);
	nvs_limit_check_size(w);
	nvs_limit_record(w);
	if (!w->session->demand.ending)
		nvs_writer_put_names(w);
	record_unsafe(w);
	now = nvs_clock_mono_ns();
	if (now - w->last_clock >= clock_interval(w))
		nvs_writer_put_clock(w);
	nvs_writer_flush(w);
	nvs_limit_rotate_parts(w);
	nvs_writer_grow_live(w);
	w->frames_before = w->frames_now;
	w->frames_now = 0;
	nvs_writer_heartbeat(w);
}

/* If the file was truncated or deleted, its contents are lost although every write succeeded. */
void nvs_writer_check_file(struct nvs_writer *w)
{
	if (w->sink.error || nvs_outfile_is_complete(&w->session->trace, w->sink.file_bytes))
		return;
	w->sink.error = w->first_error = -ESTALE;
	w->lost_submissions = nvs_totals_sum(NVS_COUNT_SUBMISSIONS) -
			      w->base[NVS_COUNT_SUBMISSIONS];
}

static void beat_again(void *arg)
{
	nvs_writer_heartbeat(arg);
}

/* Writes the last frames. After a failed write they may fit, and then record what is missing. */
static void write_last_frames(struct nvs_writer *w)
{
	struct nvs_rec_end end = {.rec = {.type = NVS_REC_END, .size = sizeof(end)}};

	nvs_writer_run_round(w);
	write_full_frames(w, UINT64_MAX);
	nvs_writer_flush(w);
	nvs_packers_wait(&w->packers);
	w->sink.error = 0;
	nvs_totals_write_gap(w, NVS_GAP_WRITE, w->lost_submissions,
			     w->lost_bytes + w->merge->damaged_bytes);
	nvs_writer_put_clock(w);
	nvs_totals_write_open_calls(w);
	put_last_names(w);
	nvs_totals_write(w);
	end.rec.time = nvs_clock_now();
	nvs_writer_add(w, &end.rec);
	nvs_writer_flush(w);
	nvs_packers_finish(&w->packers);
	nvs_sink_seek_table(&w->sink);
	if (w->keep.limit && !w->sink.error)
		w->sink.file_bytes = nvs_keep_join(&w->keep, w->sink.file_bytes, beat_again, w);
	nvs_writer_check_file(w);
	/* A spool that has records which the trace lacks is kept. */
	if (!w->sink.error) {
		w->session->head->ended = 1;
		if (!nvs_session_is_confined())
			nvs_outfile_unlink(&w->session->spool);
	}
	nvs_writer_heartbeat(w);
	atomic_store(&w->done, 1);
	nvs_sys_futex_wake(&w->done);
}

/*
 * Gives the thread a descriptor table with only the two files. The program cannot see them there,
 * and closing or duplicating onto their numbers does not affect them. Returns false if the kernel
 * cannot do it; the table is shared then.
 */
static bool detach_files(struct nvs_writer *w)
{
	int low = w->session->trace.fd,
	    high = w->session->spool.fd >= 0 ? w->session->spool.fd : low;

	if (low > high) {
		low = w->session->spool.fd;
		high = w->session->trace.fd;
	}
	/* The program's files must be closed in it: a pipe would never end otherwise. */
	if (low <= 0 || nvs_syscall(SYS_close_range, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0) ||
	    nvs_syscall(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0))
		return false;
	nvs_syscall(SYS_close_range, 0, low - 1, 0, 0, 0, 0);
	if (low + 1 < high)
		nvs_syscall(SYS_close_range, low + 1, high - 1, 0, 0, 0, 0);
	nvs_syscall(SYS_close_range, high + 1, UINT32_MAX, 0, 0, 0, 0);
	return true;
}

/* Paths keep their meaning if the program changes its root. The working directory is released, so
 * that the program can unmount it: all paths used are absolute. */
void nvs_writer_own_root(void)
{
	if (!nvs_syscall(SYS_unshare, CLONE_FS, 0, 0, 0, 0, 0))
		nvs_syscall(SYS_chdir, (long)"/", 0, 0, 0, 0, 0);
}

/* Called first on each of the writer's threads. Returns true if it has its own descriptor table. */
static bool detach_thread(struct nvs_writer *w)
{
	nvs_writer_own_root();
	return detach_files(w);
}

/* Called next: the program, which waits for it, may install a sandbox after this. */
static bool report_detached(struct nvs_writer *w, bool own)
{
	atomic_fetch_add(own ? &w->detached : &w->attached, 1);
	nvs_sys_futex_wake(&w->detached);
	return own;
}

static void begin_packer(void *arg)
{
	report_detached(arg, detach_thread(arg));
}

static void run_naming(void *arg)
{
	struct nvs_writer *w = arg;

	nvs_naming_run(w->naming, report_detached(w, detach_thread(w)));
}

/* A request is answered by a check that started after it. */
void nvs_writer_answer_checks(struct nvs_writer *w)
{
	uint32_t asked = atomic_load(&w->asked);

	nvs_watch_check_sandbox(w->session);
	if (atomic_exchange(&w->looked, asked) != asked)
		nvs_sys_futex_wake(&w->looked);
}

static bool is_asked(const struct nvs_writer *w)
{
	return atomic_load(&w->asked) != atomic_load(&w->looked);
}

void nvs_writer_await_round(struct nvs_writer *w, unsigned ms)
{
	if (!is_asked(w) && !atomic_exchange(&nvs_writer_signal.wake, 0))
		nvs_sys_futex_wait(&nvs_writer_signal.wake, 0, ms);
	atomic_store(&nvs_writer_signal.wake, 0);
	if (is_asked(w))
		nvs_writer_answer_checks(w);
}

static void run_writer(void *arg)
{
	struct nvs_writer *w = arg;
	unsigned rounds = 0;
	bool own = detach_thread(w);

	nvs_watch_begin(w->session, own);
	report_detached(w, own);
	while (!atomic_load(&w->finishing)) {
		nvs_writer_await_round(w, is_first_clock(w) ? EARLY_CLOCK_MS : ROUND_MS);
		if (atomic_load(&w->finishing))
			break;
		nvs_writer_run_round(w);
		/*
		 * A buffer stays full until its frame is in the file, and each of its records has
		 * woken the writer again meanwhile. Another round now would make a small frame, and
		 * every frame starts without any context for compression.
		 */
		atomic_store(&nvs_writer_signal.wake, 0);
		if (++rounds % 4)
			continue;
		nvs_writer_answer_checks(w);
		nvs_watch_check_threads(w->session);
	}
	write_last_frames(w);
}

/* Closes the files in the program's table once all of the writer's threads have their own. */
static void hand_over_files(struct nvs_writer *w, int trace, int spool)
{
	uint32_t threads = 1 + w->packers.running + atomic_load(&w->names), own = 0;

	for (int i = 0; i < 100 && own < threads && !atomic_load(&w->attached); i++) {
		nvs_sys_futex_wait(&w->detached, own, 10);
		own = atomic_load(&w->detached);
	}
	if (own < threads)
		return;
	nvs_sys_close(trace);
	if (spool >= 0)
		nvs_sys_close(spool);
}

/* The first frame is written before the program continues, so that an unwritable file is noticed
 * now. */
static int write_first(struct nvs_writer *w)
{
	int err = nvs_first_frame(w->session, w->merge);

	nvs_writer_flush(w);
	return err ? err : w->first_error;
}

static int make_parts(struct nvs_writer *w)
{
	w->merge = nvs_merge_new(w->session->buffer_bytes, 0);
	if (!w->merge)
		return -ENOMEM;
	w->sink.file = &w->session->trace;
	nvs_keep_init(&w->keep, w->sink.file, nvs_options()->values.keep_last);
	if (w->keep.limit) {
		w->sink.no_table = true;
		w->merge->ledger = nvs_keep_state_new();
		if (!w->merge->ledger)
			return -ENOMEM;
	}
	w->packers =
		(struct nvs_packers){.begin = begin_packer, .commit = nvs_writer_commit, .arg = w};
	w->naming = nvs_naming_new(w->session);
	if (w->naming) {
		w->merge->see = nvs_naming_add_record;
		w->merge->arg = w->naming;
	}
	return nvs_packers_init(&w->packers, w->merge->frame_bytes);
}

int nvs_writer_start(struct nvs_recorder *session)
{
	struct nvs_writer *w = nvs_alloc(sizeof(*w));
	int err, trace = session->trace.fd, spool = session->spool.fd;

	if (!w)
		return -ENOMEM;
	w->session = session;
	if (nvs_options()->untraced) {
		session->writer = w;
		err = nvs_own_thread_start("nvsnoop", NVS_OWN_STACK, nvs_untraced_run, w);
		/* Until it has counted the existing sandbox filters. */
		for (int i = 0; !err && i < 100 && !atomic_load(&w->detached); i++)
			nvs_sys_futex_wait(&w->detached, 0, 10);
		return err;
	}
	w->unsafe_recorded = !session->crash_safe; /* recorded in the header */
	w->last_clock = session->start.mono_ns;
	session->writer = w;
	err = make_parts(w);
	if (!err)
		err = write_first(w);
	if (!err) {
		nvs_packers_start(&w->packers, w->merge->nframes - 1);
		err = nvs_own_thread_start("nvsnoop", NVS_OWN_STACK, run_writer, w);
	}
	if (!err)
		w->names = w->naming &&
			   !nvs_own_thread_start("nvsnoop-names", NVS_OWN_STACK, run_naming, w);
	if (!err) {
		hand_over_files(w, trace, spool);
	} else {
		nvs_packers_finish(&w->packers);
		session->writer = NULL;
		nvs_packers_free(&w->packers);
		nvs_sink_free(&w->sink);
		nvs_merge_free(w->merge);
		if (!w->packers.running)
			nvs_free(w, sizeof(*w));
	}
	return err;
}

/* Waits for the writer's last round while its heartbeat advances. */
static bool wait_for_end(struct nvs_writer *w)
{
	uint64_t seen = 0;

	for (int still = 0; still < HUNG_ROUNDS; still++) {
		uint64_t now = __atomic_load_n(&w->session->head->heartbeat, __ATOMIC_ACQUIRE);

		if (atomic_load(&w->done))
			return true;
		if (now != seen)
			still = 0;
		seen = now;
		nvs_sys_futex_wait(&w->done, 0, 100);
	}
	return atomic_load(&w->done);
}

bool nvs_writer_check_sandbox(struct nvs_recorder *session)
{
	struct nvs_writer *w = session->writer;
	uint32_t mine = atomic_fetch_add(&w->asked, 1) + 1, looked;

	atomic_store(&nvs_writer_signal.wake, 1);
	nvs_sys_futex_wake(&nvs_writer_signal.wake);
	for (int i = 0; i < 5; i++) {
		looked = atomic_load(&w->looked);
		if ((int32_t)(looked - mine) >= 0)
			return true;
		nvs_sys_futex_wait(&w->looked, looked, 100);
	}
	return (int32_t)(atomic_load(&w->looked) - mine) >= 0;
}

bool nvs_writer_finish(struct nvs_recorder *session)
{
	struct nvs_writer *w = session->writer;

	atomic_store(&w->finishing, 1);
	atomic_store(&nvs_writer_signal.wake, 1);
	nvs_sys_futex_wake(&nvs_writer_signal.wake);
	return wait_for_end(w);
}
