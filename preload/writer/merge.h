/* SPDX-License-Identifier: MIT */
/*
 * Merges the thread buffers into frames: records in order of time, no record across frames, and for
 * each frame the range of each buffer that it holds. The caller pulls frames: first the full ones
 * of a round, then the rest. It packs and writes each in order, then commits it.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_MERGE_H
#define NVSNOOP_PRELOAD_WRITER_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "trap/trap.h"

/* Counts of one frame, or since the start. */
struct nvs_merge_counts {
	uint64_t records;
	uint64_t submissions;
	uint64_t submission_bytes; /* of their records */
	uint64_t stacks;
	uint32_t threads, channels; /* highest number + 1 */
};

/* A frame that was pulled: SIZE bytes at DATA, starting with its FRAME record. If it has no other
 * records it is committed without being written. */
struct nvs_zframe {
	const void *data;
	size_t size;
	struct nvs_merge_counts counts;
	uint8_t *memory; /* space for a FRAME record, then capacity bytes of records */
};

#define NVS_FRAME_BYTES (1u << 20) /* approximate size of the records in a frame */
#define NVS_MERGE_FRAMES 3u

struct nvs_merge {
	void (*see)(void *arg,
		    const struct nvs_rec *rec); /* called for each record of modules and stacks */
	void *arg;
	struct nvs_zframe frames[NVS_MERGE_FRAMES];
	uint32_t nframes, filling; /* how many have memory; the one being filled */
	size_t capacity, used, frame_bytes;
	uint64_t number; /* of the next frame that is written */
	uint64_t limit; /* of this round: newer records stay in the buffers */
	/* Ticks: after this nothing is recorded, and records that only describe submissions are
	 * dropped. */
	uint64_t full;
	uint64_t first_time; /* of the frame's first record */
	struct nvs_merge_counts all; /* of all frames that were pulled */
	struct nvs_keep_state *ledger; /* sees each record; may be NULL */
	bool code; /* the current frame has the bytes of code images */
	bool again; /* frames repeat known records (NVS_FRAME_AGAIN) */
	uint64_t damaged_bytes; /* of thread buffers, discarded because the program has overwritten
				   them */
	uint32_t ntouched, nheap;
	uint32_t touched[NVS_MAX_BUFFERS]; /* thread buffers with records in this frame */
	struct nvs_merge_buffer {
		uint64_t from; /* start of this frame */
		uint64_t pos; /* read so far */
		uint64_t head; /* as seen at the start of the round */
		bool known, in_frame;
	} buffers[NVS_MAX_BUFFERS];
	struct nvs_merge_head {
		uint64_t time;
		uint32_t buffer;
	} heap[NVS_MAX_BUFFERS];
};

/* Returns a new merge for thread buffers of BUFFER_BYTES, whose first frame has number NUMBER; NULL
 * without memory. */
struct nvs_merge *nvs_merge_new(uint64_t buffer_bytes, uint64_t number);
void nvs_merge_free(struct nvs_merge *merge);
/* Starts a round of all records older than LIMIT, which the caller has read from nvs_clock_now()
 * before. A thread that has seen a record taken now has made its own records before LIMIT. */
void nvs_merge_collect(struct nvs_merge *merge, uint64_t limit);
/* Returns the round's next full frame, or NULL. It stays valid until merge->nframes - 1 more were
 * pulled. */
const struct nvs_zframe *nvs_merge_next(struct nvs_merge *merge);
/* Returns the records after the last full frame, or NULL. */
const struct nvs_zframe *nvs_merge_take_rest(struct nvs_merge *merge);
/* Adds a record of the writer. Returns false if nvs_merge_take_rest() must be pulled first. */
bool nvs_merge_add(struct nvs_merge *merge, const struct nvs_rec *rec);
/* While AGAIN is set, frames repeat known records, and the first of them has the positions of the
 * thread buffers. Only while the next frame is empty. */
void nvs_merge_set_again(struct nvs_merge *merge, bool again);
/* Frees the space of FRAME in the thread buffers. In the order of frames, on any thread. */
void nvs_merge_commit(const struct nvs_zframe *frame);

#endif
