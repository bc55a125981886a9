/* SPDX-License-Identifier: MIT */
/* The writer's state, shared by writer.c, frames.c, limit.c, totals.c and on_demand.c. */
#ifndef NVSNOOP_PRELOAD_WRITER_WRITER_H
#define NVSNOOP_PRELOAD_WRITER_WRITER_H

#include "preload/writer/keep_last.h"
#include "preload/writer/merge.h"
#include "preload/writer/packer.h"
#include "preload/writer/session.h"
#include "preload/writer/trace_file.h"

struct nvs_writer {
	struct nvs_recorder *session;
	struct nvs_merge *merge;
	struct nvs_packers packers;
	struct nvs_naming *naming;
	_Atomic uint32_t names; /* 1: the naming thread runs */
	struct nvs_sink sink; /* used by the packers while one has a frame */
	struct nvs_keep keep; /* likewise; --keep-last */
	int part_error; /* -errno of the last part that could not be started */
	uint64_t retry_at; /* size of the newest part at which to try again to start the next */
	uint32_t frames_now, frames_before; /* in this round, and in the previous one */
	uint64_t swept; /* mono_ns of the last scan of the buffers' owners */
	uint64_t last_clock; /* mono_ns of the last calibration point */
	bool unsafe_recorded, full_pending;
	uint64_t full_at; /* ticks */
	uint64_t lost_submissions, lost_bytes; /* not written */
	uint64_t gaps; /* GAP records made by the writer */
	uint64_t base[NVS_COUNT_MAX]; /* counts at the start of the trace, if others came before */
	bool dropping; /* no trace is being written: frames are dropped */
	int first_error;
	_Atomic uint32_t detached; /* futex: number of threads with their own descriptor table */
	_Atomic uint32_t attached; /* number of those that share the program's */
	_Atomic uint32_t finishing, done; /* futexes */
	_Atomic uint32_t asked; /* number of requests to check for a sandbox at once */
	_Atomic uint32_t looked; /* futex: number of the last request that was answered */
};

static inline void nvs_writer_heartbeat(struct nvs_writer *w)
{
	__atomic_fetch_add(&w->session->head->heartbeat, 1, __ATOMIC_RELEASE);
}

/* ---- writer.c ---- */

/* Checks for sandboxes: on request, and from time to time. */
void nvs_writer_answer_checks(struct nvs_writer *w);
/* Waits at most MS for the next round, less if there is something to do, and answers requests. */
void nvs_writer_await_round(struct nvs_writer *w, unsigned ms);
/* Called first on a thread of the writer: gives it its own root directory and releases the working
 * directory. */
void nvs_writer_own_root(void);
void nvs_writer_add_buffers(struct nvs_writer *w); /* adds thread buffers if threads need them */
void nvs_writer_grow_live(struct nvs_writer *w);

/* ---- frames.c ---- */

/* The commit callback of struct nvs_packers: FRAME is in the file, or is lost. */
void nvs_writer_commit(void *arg, const struct nvs_zframe *frame, const void *packed, ssize_t size);
void nvs_writer_pack(struct nvs_writer *w, const struct nvs_zframe *frame);
/* nvs_writer_add() adds a record of the writer; nvs_writer_flush() packs the frame being filled. */
void nvs_writer_add(struct nvs_writer *w, const struct nvs_rec *rec);
void nvs_writer_flush(struct nvs_writer *w);

/* For on_demand.c. Takes the records made so far; adds a calibration point; adds the names found so
 * far; checks that the file still has what was written. */
void nvs_writer_run_round(struct nvs_writer *w);
void nvs_writer_put_clock(struct nvs_writer *w);
void nvs_writer_put_names(struct nvs_writer *w);
void nvs_writer_check_file(struct nvs_writer *w);

/* ---- totals.c: counts made by the library ---- */

uint64_t nvs_totals_sum(enum nvs_counter which);
/* Write a GAP without a channel, if anything was lost; the calls in flight; and TOTALS. */
void nvs_totals_write_gap(struct nvs_writer *w, uint32_t reason, uint64_t submissions,
			  uint64_t bytes);
void nvs_totals_write_open_calls(struct nvs_writer *w);
void nvs_totals_write(struct nvs_writer *w);

/* ---- limit.c: the size of the trace ---- */

/* --max-size: nvs_limit_check_size() checks whether it is reached; nvs_limit_record() records it,
 * between two frames. */
void nvs_limit_check_size(struct nvs_writer *w);
void nvs_limit_record(struct nvs_writer *w);
/* --keep-last: ends a part and deletes the oldest if necessary. Between two frames. */
void nvs_limit_rotate_parts(struct nvs_writer *w);

#endif
