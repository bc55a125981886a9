/* SPDX-License-Identifier: MIT */
/*
 * The running session: what session.c, spool.c, late.c, writer.c, firstframe.c and summary.c share.
 * It hangs below the root page, so a forked child has none.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_SESSION_H
#define NVSNOOP_PRELOAD_WRITER_SESSION_H

#include "preload/base/clock.h"
#include "preload/base/outfile.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"

#define NVS_SPOOL_CHANNELS 4096u
/* Of the usual size; fewer of large ones, which take long to make: nvs_spool_rings(). */
#define NVS_FIRST_RINGS 16u
#define NVS_MORE_RINGS 8u
#define NVS_FREE_RINGS 4u /* with fewer, more are made */
#define NVS_USUAL_RING (1u << 20)
#define NVS_MIN_RING (64u << 10)
#define NVS_TRAP_STACK_BYTES (64u << 10)

enum nvs_session_state {
	NVS_SESSION_STARTING,
	NVS_SESSION_ACTIVE,
	NVS_SESSION_ENDED,
	NVS_SESSION_FAILED
};

enum nvs_late_state { NVS_LATE_NONE, NVS_LATE_MAKING, NVS_LATE_THERE, NVS_LATE_NEVER };

struct nvs_late {
	_Atomic uint32_t state; /* enum nvs_late_state */
	_Atomic int settled; /* the rings' spool is gone: the late one takes its name */
	_Atomic uint64_t end; /* where the next record goes */
	struct nvs_outfile file;
	struct nvs_outfile named; /* the same, by the name of the rings' spool */
};

/* What the writer looks at from time to time: confined.c. */
enum nvs_watch { NVS_WATCH_STAT, NVS_WATCH_MAIN, NVS_WATCH_WRITER, NVS_WATCHED };

/* The trigger file (session/trigger.c): what was read last, which is not obeyed twice. */
struct nvs_trigger {
	struct timespec obeyed; /* time of the last change */
	uint64_t inode;
	_Atomic bool wrong; /* it has said something that cannot be obeyed */
};

struct nvs_session {
	_Atomic uint32_t state; /* enum nvs_session_state */
	int error; /* -errno: why it failed */
	uint32_t pid;
	uint8_t id[16]; /* of the session, in the trace and its spools */
	struct nvs_clock_point start;
	uint32_t clock; /* enum nvs_clock */
	char driver[64]; /* version of the driver, "" not known yet */
	const char *unwinder; /* that takes call sites */
	struct nvs_trigger trigger;

	struct nvs_outfile trace;
	char shown[PATH_MAX]; /* the trace's name as the user wrote it */
	bool renamed; /* its name was taken */

	/* spool.c */
	struct nvs_outfile spool;
	bool crash_safe; /* the rings are in a file */
	struct nvs_spool *head;
	struct nvs_spool_channel *channels;
	struct nvs_spool_done *done; /* of these */
	uint32_t next_slot; /* where the search for a free one begins */
	uint64_t ring_bytes;

	/* writer.c */
	struct nvs_writer *writer;
	uint64_t unknown_calls; /* of the devices, for the totals */
	bool newer_driver; /* than all releases that are known */
	_Atomic uint32_t alone; /* no other ones are left */
	_Atomic uint32_t keeper_look; /* futex: 1 the keeper is to look for modules now */
	int watched[NVS_WATCHED]; /* descriptors in the writer's table, or -1 */
	unsigned long filters; /* of system calls, at the start */
	struct nvs_late late;
};

/* NULL: no session was begun in this process. */
static inline struct nvs_session *nvs_session(void)
{
	return *nvs_slot(NVS_SLOT_SESSION);
}

/* ---- spool.c ---- */

/*
 * Lays out header, channel table and the first rings, in a file at PATH (NULL or no room: in memory
 * alone) and hands the rings to the trap. 0 or -errno.
 */
int nvs_spool_create(struct nvs_session *session, const char *path, bool replace);
/* How many rings of the session's size stand for N of the usual one: N at most, one at least. */
uint32_t nvs_spool_rings(const struct nvs_session *session, uint32_t n);
/* Adds N rings. 0 or -errno. For the writer once it runs. */
int nvs_spool_grow(struct nvs_session *session, uint32_t n);
/* Undoes nvs_spool_create() for a session that could not be begun: the file goes. */
void nvs_spool_discard(struct nvs_session *session);

/* ---- late.c: the spool for what is rung after the writer has ended ---- */
void nvs_late_prepare(struct nvs_session *session);
int nvs_late_record(const void *record, uint32_t size);
/* The rings' spool is done with: its name goes, or becomes the late spool's. */
void nvs_late_settle(struct nvs_session *session);

/* ---- firstframe.c ---- */

/*
 * What the first frame holds, to MERGE: HEADER, what is known of the process, a CLOCK point. 0 or
 * -ENOMEM.
 */
struct nvs_merge;
int nvs_first_frame(const struct nvs_session *session, struct nvs_merge *merge);
/* One ATTR record into a ring. */
void nvs_record_attr(uint32_t key, const char *value, size_t length);
/* The same at OUT, which has room for 32 bytes more than LENGTH; its size. */
uint32_t nvs_fill_attr(void *out, uint32_t key, const char *value, size_t length);
void nvs_fill_clock(struct nvs_rec_clock *rec, const struct nvs_clock_point *point);

/* ---- watch.c ---- */

/* By the writer, as the next two. OWN_TABLE: its file descriptors are its own. */
void nvs_watch_begin(struct nvs_session *session, bool own_table);
/* Whether the program has put on a sandbox since. */
void nvs_watch_sandbox(struct nvs_session *session);
/* Whether a thread of the program's is left. */
void nvs_watch_threads(struct nvs_session *session);
/* Ends the process, as its last thread would, if none is. By a thread that has the program's file
 * descriptors: what exit() writes out needs them. */
void nvs_end_with_last_thread(struct nvs_session *session);

/* ---- switch.c: what is recorded, and what is not ---- */

/* Some option says that not all of the run is. */
bool nvs_switch_used(void);
/* As nvs_trap_record() takes it, for CAUSE. Before the session begins, for when it does. */
void nvs_switch_set(int64_t submissions, enum nvs_window_cause cause);
/* What the time has brought; in how many ms to look again, at most MOST_MS. */
unsigned nvs_switch_look(unsigned most_ms);
/* The trap has begun: it is told what holds. Then, once the session is active, the trace is. */
void nvs_switch_begin(void);
void nvs_switch_tell(void);
/* By the writer, which then tells it itself: nothing is recorded in this trace any more. */
void nvs_switch_full(void);
bool nvs_switch_is_full(void);

/* ---- inflight.c ---- */

/* One after the other, calls that have not returned at the trace's end. AT begins with zeroes. */
struct nvs_inflight {
	uint32_t buffer, call;
};
struct nvs_inflight_rec {
	struct nvs_rec_call_begin rec;
	struct nvs_call_begin_site site;
	uint64_t args[NVS_SITE_ARGS];
};
bool nvs_inflight_next(struct nvs_inflight *at, struct nvs_inflight_rec *rec);

/* ---- writer.c ---- */

int nvs_writer_start(struct nvs_session *session);
/* Has it look at a sandbox now, and waits for that; false: no answer. */
bool nvs_writer_look(struct nvs_session *session);
/*
 * Drains the rings for the last time and writes totals and end. True: the writer has ended in
 * order. False: it makes no progress and was left behind.
 */
bool nvs_writer_finish(struct nvs_session *session);

struct nvs_outcome {
	uint64_t submissions, gaps;
	uint64_t skipped; /* submissions only counted: the user chose so */
	uint64_t lost_submissions, lost_bytes; /* that could not be written */
	uint64_t bytes; /* of the trace */
	int error; /* of writing, -errno; 0: none */
	bool hangs; /* the writer was left behind */
	bool full; /* no more is recorded: it has its size */
	int stuck; /* -errno: it has that since no further part could be made; 0: no such thing */
	bool cut; /* the last of it are kept */
};
void nvs_writer_outcome(struct nvs_session *session, struct nvs_outcome *outcome);

/* ---- summary.c ---- */

/* Tells the launcher that a trace has been begun. */
void nvs_summary_started(const struct nvs_session *session);
/* The closing line, or the launcher's. A wrong option string is told in it. */
void nvs_summary_ended(struct nvs_session *session);
/* Says once why the library does nothing in this process, where it refuses to. */
void nvs_summary_refused(void);
/* Says, or has the launcher say, that the program used the GPU and nothing of it was seen. */
void nvs_summary_bypassed(void);

#endif
