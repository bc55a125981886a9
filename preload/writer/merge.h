/* SPDX-License-Identifier: MIT */
/*
 * Merges the rings into frames: records in order of time, no record across frames, and for each
 * frame which stretch of which ring it holds.
 *
 * Frames are pulled out of it: of a round all that are full, then what is left. The puller packs
 * and writes each, in order, and then commits it.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_MERGE_H
#define NVSNOOP_PRELOAD_WRITER_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "trap/trap.h"

/* What stands in one frame, or was seen since the start. */
struct nvs_merge_counts {
	uint64_t records;
	uint64_t submissions;
	uint64_t submission_bytes; /* of their records */
	uint64_t stacks;
	uint32_t threads, channels; /* highest number + 1 */
};

/* One that was pulled: SIZE bytes at DATA, whose first record is its FRAME record. With no records
 * in it it is not to be written, but to be committed. */
struct nvs_frame {
	const void *data;
	size_t size;
	struct nvs_merge_counts counts;
	uint8_t *memory; /* room for a FRAME record, then for capacity bytes of records */
};

#define NVS_FRAME_BYTES (1u << 20) /* of records in one, about */
#define NVS_MERGE_FRAMES 3u

struct nvs_merge {
	void (*see)(void *arg, const struct nvs_rec *rec); /* each record of modules and stacks */
	void *arg;
	struct nvs_frame frames[NVS_MERGE_FRAMES];
	uint32_t nframes, filling; /* those that there is memory for; the one that is filled */
	size_t capacity, used, frame_bytes;
	uint64_t number; /* of the next one that is written */
	uint64_t limit; /* of this round: what is younger stays */
	/* Ticks: since then nothing is recorded any more, and what describes it is left out */
	uint64_t full;
	uint64_t first_time; /* of the frame's first record */
	struct nvs_merge_counts all; /* of all that were pulled */
	struct nvs_ledger *ledger; /* sees each record; NULL: nobody */
	bool code; /* the frame being filled is one of bytes of code */
	bool again; /* frames tell again what was told before (NVS_FRAME_AGAIN) */
	uint64_t damaged_bytes; /* of rings, thrown away: something wrote over them */
	uint32_t ntouched, nheap;
	uint32_t touched[NVS_MAX_BUFFERS]; /* rings with something in this frame */
	struct nvs_merge_ring {
		uint64_t from; /* of this frame */
		uint64_t pos; /* taken so far */
		uint64_t head; /* as seen at the start of the round */
		bool known, in_frame;
	} rings[NVS_MAX_BUFFERS];
	struct nvs_merge_head {
		uint64_t time;
		uint32_t ring;
	} heap[NVS_MAX_BUFFERS];
};

/* A new one, for rings of RING_BYTES, whose first frame has number NUMBER; NULL: no memory. */
struct nvs_merge *nvs_merge_new(uint64_t ring_bytes, uint64_t number);
void nvs_merge_free(struct nvs_merge *merge);
/*
 * Begins a round, of every record older than LIMIT. The caller has taken LIMIT from nvs_now()
 * before: whoever has seen a record that is taken now had its own younger than that one.
 */
void nvs_merge_collect(struct nvs_merge *merge, uint64_t limit);
/*
 * The round's next full frame; NULL: there is none. It stays as it is until merge->nframes - 1 more
 * were pulled.
 */
const struct nvs_frame *nvs_merge_next(struct nvs_merge *merge);
/* What there is besides full frames; NULL: nothing. */
const struct nvs_frame *nvs_merge_rest(struct nvs_merge *merge);
/* A record of the writer's own. False: nvs_merge_rest() is to be pulled first. */
bool nvs_merge_put(struct nvs_merge *merge, const struct nvs_rec *rec);
/* The frames that follow tell again what is known, and the first of them how far the rings have
 * come; until it is told otherwise. Only while nothing is in the next frame. */
void nvs_merge_again(struct nvs_merge *merge, bool again);
/* Gives the rings the room of what FRAME holds. In the order of frames, on any thread. */
void nvs_merge_commit(const struct nvs_frame *frame);

#endif
