/* SPDX-License-Identifier: MIT */
/*
 * The writer's inside: writer.c, and what it stands on.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_WRITER_H
#define NVSNOOP_PRELOAD_WRITER_WRITER_H

#include "preload/writer/keep_last.h"
#include "preload/writer/merge.h"
#include "preload/writer/packer.h"
#include "preload/writer/session.h"
#include "preload/writer/trace_file.h"

struct nvs_writer {
	struct nvs_session *session;
	struct nvs_merge *merge;
	struct nvs_packers packers;
	struct nvs_naming *naming;
	_Atomic uint32_t names; /* 1: its thread runs */
	struct nvs_sink sink; /* the packers' while one has a frame */
	struct nvs_keep keep; /* likewise; --keep-last */
	int part_error; /* -errno of the latest part that could not be begun */
	uint64_t retry_at; /* bytes of the newest part: another could not be begun before */
	uint32_t frames_now, frames_before; /* of this round, and of the one before */
	uint64_t swept; /* mono_ns of the last look at the buffers' owners */
	uint64_t last_clock; /* mono_ns of the last calibration point */
	bool unsafe_told, tell_full;
	uint64_t lost_submissions, lost_bytes; /* that could not be written */
	uint64_t gaps; /* GAP records of the writer's own */
	int first_error;
	_Atomic uint32_t detached; /* futex: threads that have files of their own */
	_Atomic uint32_t attached; /* and that share the program's */
	_Atomic uint32_t finishing, done; /* futexes */
	_Atomic uint32_t asked; /* how often it was to look at a sandbox at once, */
	_Atomic uint32_t looked; /* futex: and which of these has its answer */
};

static inline void nvs_writer_beat(struct nvs_writer *w)
{
	__atomic_fetch_add(&w->session->head->heartbeat, 1, __ATOMIC_RELEASE);
}

static inline bool nvs_writer_is_asked(const struct nvs_writer *w)
{
	return atomic_load(&w->asked) != atomic_load(&w->looked);
}

/* ---- writer.c ---- */

/* At sandboxes, for who has asked and from time to time. */
void nvs_writer_look_around(struct nvs_writer *w);
/* First on a thread of the writer's: a root directory of its own, and the working directory let go.
 */
void nvs_writer_own_root(void);
void nvs_writer_grow(struct nvs_writer *w); /* more rings where threads need them */
void nvs_writer_grow_live(struct nvs_writer *w);

/* ---- frames.c ---- */

/* The end of each FRAME, as struct nvs_packers has it: it stands in the file, or is lost. */
void nvs_writer_commit(void *arg, const struct nvs_frame *frame, const void *packed, ssize_t size);
void nvs_writer_pack(struct nvs_writer *w, const struct nvs_frame *frame);
/* A record of the writer's own; and what is left in the frame that is being filled. */
void nvs_writer_put(struct nvs_writer *w, const struct nvs_rec *rec);
void nvs_writer_flush(struct nvs_writer *w);

/* ---- untraced.c: where there is no trace, what the writer does instead ---- */
void nvs_untraced_run(void *writer);

/* ---- totals.c: what the library counted itself ---- */

uint64_t nvs_totals_of(enum nvs_counter which);
/* A GAP that belongs to no channel, if anything was lost; the calls in flight; and TOTALS. */
void nvs_totals_gap(struct nvs_writer *w, uint32_t reason, uint64_t submissions, uint64_t bytes);
void nvs_totals_in_flight(struct nvs_writer *w);
void nvs_totals_put(struct nvs_writer *w);

/* ---- limit.c: how large the trace becomes ---- */

/* --max-size: whether it is reached. Then told, between two frames. */
void nvs_limit_size(struct nvs_writer *w);
void nvs_limit_tell(struct nvs_writer *w);
/* --keep-last: a part ends, and the oldest goes, if that is due. Between two frames. */
void nvs_limit_parts(struct nvs_writer *w);

#endif
