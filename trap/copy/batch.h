/* SPDX-License-Identifier: MIT */
/* Shared by the files of the capture: a batch of GPFIFO entries that is being recorded, and the
 * functions that work on it. */
#ifndef NVSNOOP_TRAP_COPY_BATCH_H
#define NVSNOOP_TRAP_COPY_BATCH_H

#include "trap/buffer/process.h"

/* For code that most doorbells do not reach: kept apart from their code, which is cold in the
 * cache. */
#define NVS_RARE __attribute__((noinline, cold))
#define NVS_PUT_MASK ((1ull << NVS_PUT_BITS) - 1)
/* of one record; more entries become further records of the same doorbell */
#define NVS_MAX_ENTRIES 512u

struct nvs_channel_view {
	const struct nvs_view *view;
	const struct nvs_channel *channel;
};

/* Where the last search of each kind ended; an outdated index does no harm. */
struct nvs_map_hint {
	uint32_t segment, progress;
};

struct nvs_batch_entry {
	struct nvs_gp_entry gp;
	uint64_t address; /* of its segment, 0: there is none */
};

/* A batch of entries of a submission while it is being recorded. */
struct nvs_batch {
	struct nvs_buffer *buffer;
	const struct nvs_doorbell_event *event;
	struct nvs_channel_view reader;
	struct nvs_map_hint hint; /* kept from doorbell to doorbell */
	uint64_t sequence;
	uint32_t thread; /* NVS_NONE: unknown */
	uint32_t old_put, new_put, count;
	uint64_t bytes; /* of all segments */
	bool skipped; /* not selected for recording: it has no record */
	/* The segments of all entries of NVS_SEG_HERE in the record, one after the other, until the
	 * thread records something else; NULL: not there */
	const uint8_t *copy;
	/* NVS_MAX_ENTRIES elements each; NULL if the batch is only counted. */
	struct nvs_batch_entry *entries;
	/* gap reason of each entry whose state is NVS_SEG_GAP; 0: the entry could not be
	 * read */
	uint32_t *reasons;
};

static inline uint32_t nvs_entry_dwords(uint64_t entry)
{
	return (uint32_t)(entry >> 42) & 0x1fffff;
}

/* segment.c: reads memory by GPU address. */
/* Copies BYTES from GPU address VA. Returns 0 or a gap reason. */
uint32_t nvs_segment_copy(struct nvs_batch *b, uint8_t *to, uint64_t va, uint32_t bytes);
/* Reads the dword at GPU address VA. Returns false if it cannot be read. */
bool nvs_segment_word(struct nvs_batch *b, uint64_t va, uint32_t *word);
/* Returns the CPU address of [VA, VA + BYTES), to be read guarded. Returns NULL if the range is not
 * within one mapping. */
const uint32_t *nvs_segment_whole(struct nvs_batch *b, uint64_t va, uint64_t bytes);
/* Finds the address to which the channel's progress release writes, from the end of the batch's
 * last segment, BYTES at SEGMENT. */
void nvs_progress_find_slot(const struct nvs_batch *b, const uint8_t *segment, uint32_t bytes);
void nvs_progress_read(struct nvs_batch *b, struct nvs_rec_submission *sub);

/* record.c: writes the batch as records, or counts it as lost or skipped. */
void nvs_batch_record(struct nvs_batch *b, uint16_t flags);
void nvs_batch_drop(struct nvs_batch *b, enum nvs_gap_reason reason);
void nvs_batch_skip(struct nvs_batch *b, uint16_t flags);
/* Writes a GAP record for the submissions of a channel that have no record yet. Returns false if
 * the buffer is full. */
bool nvs_record_gap(struct nvs_buffer *buffer, struct nvs_spool_channel *state, uint64_t time);

#endif
