/* SPDX-License-Identifier: MIT */
/*
 * Inside the capture: a batch of GPFIFO entries on its way into the ring buffer, and who does what
 * to it.
 */
#ifndef NVSNOOP_TRAP_COPY_BATCH_H
#define NVSNOOP_TRAP_COPY_BATCH_H

#include "trap/buffer/process.h"

/* For what most doorbells do not come by: apart from their code, which is cold when one comes. */
#define NVS_RARE __attribute__((noinline, cold))
#define NVS_PUT_MASK ((1ull << NVS_PUT_BITS) - 1)
#define NVS_MAX_ENTRIES 512u /* of one record; more become further records of the same doorbell */

struct nvs_reader {
	const struct nvs_view *view;
	const struct nvs_channel *channel;
};

/* Where the last search ended, by what is searched for; a number that is out of date does no harm.
 */
struct nvs_map_hint {
	uint32_t segment, progress;
};

struct nvs_batch_entry {
	struct nvs_gp_entry gp;
	uint64_t address; /* of its segment, 0: it has none */
};

/* One batch of entries of a submission, while it is recorded. */
struct nvs_batch {
	struct nvs_buffer *buffer;
	const struct nvs_doorbell_event *event;
	struct nvs_reader reader;
	struct nvs_map_hint hint; /* stays from doorbell to doorbell */
	uint64_t sequence;
	uint32_t thread; /* NVS_NONE: not known */
	uint32_t old_put, new_put, count;
	uint64_t bytes; /* of all segments */
	bool skipped; /* nobody asked for it: it has no record */
	/* Of NVS_MAX_ENTRIES each; NULL where the batch is only counted. */
	struct nvs_batch_entry *entries;
	uint32_t
		*reasons; /* of an entry whose state is NVS_SEG_GAP: why; 0: it could not be read */
};

static inline uint32_t nvs_entry_dwords(uint64_t entry)
{
	return (uint32_t)(entry >> 42) & 0x1fffff;
}

/* segment.c: memory behind GPU addresses. */
/* Copies BYTES from GPU address VA. 0, or the reason of a gap. */
uint32_t nvs_segment_copy(struct nvs_batch *b, uint8_t *to, uint64_t va, uint32_t bytes);
/* The dword at GPU address VA. False: it cannot be read. */
bool nvs_segment_word(struct nvs_batch *b, uint64_t va, uint32_t *word);
/* Where the process sees all of [VA, VA + BYTES), to be read guarded. NULL: not in one piece. */
const uint32_t *nvs_segment_whole(struct nvs_batch *b, uint64_t va, uint64_t bytes);
/*
 * From the end of the batch's last segment, BYTES at SEGMENT: where the channel's own progress
 * release writes.
 */
void nvs_progress_learn(const struct nvs_batch *b, const uint8_t *segment, uint32_t bytes);
void nvs_progress_read(struct nvs_batch *b, struct nvs_rec_submission *sub);

/* record.c: the batch as records, or as something left out. */
void nvs_batch_record(struct nvs_batch *b, uint16_t flags);
void nvs_batch_lose(struct nvs_batch *b, enum nvs_gap_reason reason);
void nvs_batch_skip(struct nvs_batch *b, uint16_t flags);
/* What was left out of a channel and not told yet. False: no room to tell it. */
bool nvs_tell_lost(struct nvs_buffer *buffer, struct nvs_spool_channel *state, uint64_t time);

#endif
