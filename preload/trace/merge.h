/* SPDX-License-Identifier: MIT */
/*
 * Merges the rings into frames: records in order of time, no record across frames, and for each
 * frame which stretch of which ring it holds.
 */
#ifndef NVSNOOP_PRELOAD_TRACE_MERGE_H
#define NVSNOOP_PRELOAD_TRACE_MERGE_H

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

/*
 * Writes a frame of SIZE bytes, whose first record is its FRAME record. The rings' tails are
 * advanced when it returns, come of it what may; after nvs_merge_overlap(), when
 * nvs_merge_written() is called.
 */
typedef void (*nvs_merge_write)(void *arg, const void *frame, size_t size,
				const struct nvs_merge_counts *counts);

#define NVS_MERGE_SPARES 2u

struct nvs_merge {
	nvs_merge_write write;
	void *arg;
	void (*settle)(void *arg); /* see nvs_merge_overlap() */
	uint8_t *buffer; /* room for a FRAME record, then for capacity bytes of records */
	uint8_t *spares[NVS_MERGE_SPARES]; /* the frames before, being written; the oldest first */
	uint32_t nspares;
	size_t capacity, used, buffer_size;
	uint64_t frames; /* number of the next one */
	uint64_t first_time; /* of the frame's first record */
	struct nvs_merge_counts in_frame, all;
	uint64_t damaged_bytes; /* of rings, thrown away: something wrote over them */
	uint32_t ntouched, nheap;
	uint32_t touched[NVS_MAX_BUFFERS]; /* rings with something in this frame */
	struct nvs_merge_ring {
		uint64_t from; /* of this frame */
		uint64_t pos; /* taken so far */
		uint64_t head; /* as seen at the start of the round */
		bool known, in_frame;
	} rings[NVS_MAX_BUFFERS];
	struct nvs_merge_next {
		uint64_t time;
		uint32_t ring;
	} heap[NVS_MAX_BUFFERS];
};

/* A new one, for rings of RING_BYTES, whose first frame has number FRAME; NULL: no memory. */
struct nvs_merge *nvs_merge_new(uint64_t ring_bytes, uint64_t frame, nvs_merge_write write,
				void *arg);
void nvs_merge_free(struct nvs_merge *merge);
/*
 * From here on write() may return before the frame is written. A frame stays as it is until write()
 * has returned N times more (N at most NVS_MERGE_SPARES), or SETTLE has, which waits until all is
 * written. 0 or -ENOMEM: all stays as it was.
 */
int nvs_merge_overlap(struct nvs_merge *merge, uint32_t n, void (*settle)(void *arg));
/* FRAME is written: gives the rings their room back. On any thread. */
void nvs_merge_written(const void *frame);
/*
 * Takes every record older than LIMIT out of the rings, writing frames as they fill. The caller has
 * taken LIMIT from nvs_now() before: whoever has seen a record that is taken now had its own
 * younger than that one.
 */
void nvs_merge_drain(struct nvs_merge *merge, uint64_t limit);
/* A record of the writer's own. */
void nvs_merge_put(struct nvs_merge *merge, const struct nvs_rec *rec);
/* Writes what there is, and gives the rings their room back. */
void nvs_merge_flush(struct nvs_merge *merge);

#endif
