/* SPDX-License-Identifier: MIT */
/* The running session: state shared by session.c, spool.c, late.c, writer.c, firstframe.c and
 * summary.c. It is reached from the root page, so a forked child has none. */
#ifndef NVSNOOP_PRELOAD_WRITER_SESSION_H
#define NVSNOOP_PRELOAD_WRITER_SESSION_H

#include "preload/base/clock.h"
#include "preload/base/fault_text.h"
#include "preload/base/outfile.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/on_demand.h"

#define NVS_SPOOL_CHANNELS 4096u
/* Numbers of thread buffers of the usual size. Large ones are made in smaller numbers, since that
 * takes long: nvs_spool_scaled_count(). */
#define NVS_FIRST_BUFFERS 16u
#define NVS_MORE_BUFFERS 8u
#define NVS_FREE_BUFFERS 4u /* with fewer unused, more are added */
#define NVS_USUAL_BUFFER (1u << 20)
#define NVS_MIN_BUFFER (64u << 10)
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
	_Atomic int settled; /* the spool of the thread buffers is gone: the late spool takes its
				name */
	_Atomic uint64_t end; /* offset of the next record */
	struct nvs_outfile file;
	struct nvs_outfile named; /* the same file by the name of the thread buffers' spool */
};

/* Files in /proc that the writer polls: watch.c. */
enum nvs_watch { NVS_WATCH_STAT, NVS_WATCH_MAIN, NVS_WATCH_WRITER, NVS_WATCHED };

/* The trigger file (session/trigger.c): the last state read, which is not applied twice. */
struct nvs_trigger {
	struct timespec obeyed; /* time of the last change */
	uint64_t inode;
	_Atomic bool wrong; /* it had invalid contents */
};

struct nvs_recorder {
	_Atomic uint32_t state; /* enum nvs_session_state */
	int error; /* -errno, if it failed */
	uint32_t pid;
	uint8_t id[16]; /* session id, in the trace and its spools */
	struct nvs_clock_sample start;
	uint32_t clock; /* enum nvs_clock */
	char driver[64]; /* version of the driver, "": unknown yet */
	const char *unwinder; /* name of the unwinder for call sites */
	struct nvs_trigger trigger;

	struct nvs_outfile trace;
	char shown[PATH_MAX]; /* the trace's name as the user wrote it */
	bool renamed; /* the requested name was taken */

	/* spool.c */
	struct nvs_outfile spool;
	bool crash_safe; /* the thread buffers are in a file */
	struct nvs_spool *head;
	struct nvs_spool_channel *channels;
	struct nvs_spool_done *done; /* of these channels */
	uint32_t next_slot; /* where the search for a free slot starts */
	uint64_t buffer_bytes;

	/* writer.c */
	struct nvs_writer *writer;
	uint64_t unknown_calls; /* device calls with unknown numbers, for the totals */
	bool newer_driver; /* than all known releases */
	bool unknown_form; /* of a call to the driver */
	struct nvs_fault_facts fault; /* under nvs_lock */
	_Atomic bool fault_sent; /* nvs_summary_report_fault() has done its work */
	_Atomic uint32_t alone; /* no thread of the program is left */
	_Atomic uint32_t keeper_look; /* futex; 1: the keeper is to search for modules now */
	int watched[NVS_WATCHED]; /* descriptors in the writer's table, or -1 */
	unsigned long filters; /* number of seccomp filters at the start */
	struct nvs_late late;
	struct nvs_demand demand;
};

/* Returns NULL if no session was started in this process. */
static inline struct nvs_recorder *nvs_session(void)
{
	return *nvs_slot(NVS_SLOT_SESSION);
}

/* ---- spool.c ---- */

/*
 * Lays out header, channel table and the first thread buffers and hands the buffers to the trap.
 * They are in a file at PATH, or in memory if PATH is NULL or the disk is full. Returns 0 or
 * -errno.
 */
int nvs_spool_create(struct nvs_recorder *session, const char *path, bool replace);
/* Returns how many thread buffers of the session's size replace N of the usual size: between 1 and
 * N. */
uint32_t nvs_spool_scaled_count(const struct nvs_recorder *session, uint32_t n);
/* Adds N thread buffers. Returns 0 or -errno. Only for the writer once it runs. */
int nvs_spool_grow(struct nvs_recorder *session, uint32_t n);
/* Undoes nvs_spool_create() for a session that failed to start: removes the file. */
void nvs_spool_discard(struct nvs_recorder *session);

/* ---- late.c: the spool for records made after the writer has ended ---- */
void nvs_late_prepare(struct nvs_recorder *session);
int nvs_late_record(const void *record, uint32_t size);
/* The spool of the thread buffers is no longer used: its name is removed, or becomes the late
 * spool's. */
void nvs_late_take_name(struct nvs_recorder *session);

/* ---- firstframe.c ---- */

/* Adds the contents of the first frame to MERGE: HEADER, attributes of the process, a CLOCK point.
 * Returns 0 or -ENOMEM. */
struct nvs_merge;
int nvs_first_frame(const struct nvs_recorder *session, struct nvs_merge *merge);
/* Records an ATTR in the thread buffer. */
void nvs_record_attr(uint32_t key, const char *value, size_t length);
/* Writes the same record to OUT, which has LENGTH + 32 bytes. Returns its size. */
uint32_t nvs_fill_attr(void *out, uint32_t key, const char *value, size_t length);
void nvs_fill_clock(struct nvs_rec_clock *rec, const struct nvs_clock_sample *point);

/* ---- watch.c ---- */

/* Called by the writer, as are the next two. OWN_TABLE: it has a descriptor table of its own. */
void nvs_watch_begin(struct nvs_recorder *session, bool own_table);
/* Checks whether the program has installed a sandbox. */
void nvs_watch_check_sandbox(struct nvs_recorder *session);
/* Checks whether a thread of the program is left. */
void nvs_watch_check_threads(struct nvs_recorder *session);
/* Ends the process if no thread of the program is left, as its last thread would. Called on a
 * thread that has the program's descriptors, which exit() needs for flushing. */
void nvs_end_with_last_thread(struct nvs_recorder *session);

/* ---- switch.c: whether submissions are recorded ---- */

/* Returns true if an option restricts recording to a part of the run. */
bool nvs_switch_is_used(void);
/* Requests recording, with SUBMISSIONS as for nvs_trap_record(). Before the session starts, for its
 * start. */
void nvs_switch_request(int64_t submissions, enum nvs_window_cause cause);
/* Applies delay and duration. Returns after how many ms to call again, at most MOST_MS. */
unsigned nvs_switch_update(unsigned most_ms);
/* nvs_switch_begin() passes the current state to the trap when it has started; nvs_switch_record()
 * records it once the session is active. */
void nvs_switch_begin(void);
void nvs_switch_record(void);
/* Called by the writer, which then records it: recording in this trace is over. */
void nvs_switch_set_full(void);
bool nvs_switch_is_full(void);

/* ---- inflight.c ---- */

/* Iterates over the calls that have not returned at the trace's end. AT starts zeroed. */
struct nvs_open_call_cursor {
	uint32_t buffer, call;
};
struct nvs_open_call_record {
	struct nvs_rec_call_begin rec;
	struct nvs_call_begin_site site;
	uint64_t args[NVS_SITE_ARGS];
};
bool nvs_open_call_next(struct nvs_open_call_cursor *at, struct nvs_open_call_record *rec);

/* ---- writer.c ---- */

int nvs_writer_start(struct nvs_recorder *session);
/* Has the writer check for a sandbox now, and waits. Returns false if it does not answer. */
bool nvs_writer_check_sandbox(struct nvs_recorder *session);
/* Drains the thread buffers for the last time and writes totals and end. Returns false if the
 * writer makes no progress; it is abandoned then. */
bool nvs_writer_finish(struct nvs_recorder *session);

struct nvs_outcome {
	uint64_t submissions, gaps;
	uint64_t skipped; /* submissions that were only counted, by the user's choice */
	uint64_t lost_submissions, lost_bytes; /* not written */
	uint64_t bytes; /* of the trace */
	int error; /* -errno of the first failed write; 0: none */
	bool hangs; /* the writer was abandoned */
	bool full; /* the size limit was reached */
	int stuck; /* -errno: the limit was reached since no further part could be created; 0: it
		      was not */
	bool cut; /* only the last submissions were kept */
};
void nvs_writer_outcome(struct nvs_recorder *session, struct nvs_outcome *outcome);

/* ---- summary.c ---- */

/* Reports to the launcher that a trace has been started. */
void nvs_summary_report_start(const struct nvs_recorder *session);
/* Reports a fault of the GPU to the launcher when it is seen: the program may be killed. */
void nvs_summary_report_fault(struct nvs_recorder *session);
/* Prints the closing line, or sends it to the launcher. A wrong option string is reported in it. */
void nvs_summary_report_end(struct nvs_recorder *session);
/* Prints once why the library does nothing in this process, if it refuses to. */
void nvs_summary_report_refusal(void);
/* Prints, or has the launcher print, that the program used the GPU and the library saw nothing of
 * it. */
void nvs_summary_report_bypass(void);

#endif
