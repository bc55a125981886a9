/* SPDX-License-Identifier: MIT */
/*
 * Ring buffers: one a thread, filled by it with records and drained by the writer. Threads for
 * which there is none of their own, since there are too many or memory is short, share some: each
 * borrows one for a record, or a doorbell, at a time.
 */
#ifndef NVSNOOP_TRAP_BUFFER_H
#define NVSNOOP_TRAP_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/live.h"
#include "nvsnoop/trace.h"

#define NVS_MAX_BUFFERS 1024
#define NVS_SHARED_EVERY 16u /* one buffer in so many has no owner for longer than a record */

/* In the order of enum nvs_live_count: they may lie in the live page. */
enum nvs_counter {
	NVS_COUNT_SUBMISSIONS,
	NVS_COUNT_ENTRIES,
	NVS_COUNT_SEGMENTS,
	NVS_COUNT_BYTES,
	NVS_COUNT_FAST,
	NVS_COUNT_GAPS,
	NVS_COUNT_LOST_SUBMISSIONS,
	NVS_COUNT_LOST_BYTES,
	NVS_COUNT_ORPHANS,
	NVS_COUNT_WAITS,
	NVS_COUNT_WAIT_NS,
	NVS_COUNT_STEPPED,
	NVS_COUNT_FOREIGN,
	NVS_COUNT_SKIPPED,
	NVS_COUNT_SKIPPED_BYTES,
	NVS_COUNT_SKIPPED_ENTRIES,
	NVS_COUNT_LOST_ENTRIES,
	NVS_COUNT_DOORBELLS,
	NVS_COUNT_MAX
};

/*
 * The code that a trap, or a record outside of one, has interrupted or runs in: by it is told
 * whether the thread has jumped out of that work since (trap/buffer/abandoned.h).
 */
struct nvs_activity {
	uintptr_t sp; /* stack pointer there; 0: not known, never told as abandoned */
	const volatile uint64_t *mark; /* a word in the work's own frame, NULL: none... */
	uint64_t token; /* ...and what stands there while it runs */
};

struct nvs_calls;

/*
 * One ring buffer: its shared head in the spool and its data mapped twice in a row. What a doorbell
 * touches fills the first lines, and none of them is another thread's.
 */
struct nvs_buffer {
	struct nvs_spool_ring *shared;
	uint8_t *data;
	uint64_t bytes; /* power of two */
	uint64_t cached_tail; /* owner's last look at shared->tail */
	uint64_t last_time; /* of its last record: times never go back within a buffer */
	uint64_t warm; /* lines of the buffer up to here have been asked for */
	_Atomic uint64_t epoch; /* of the trap in flight, 0: none */
	uint8_t *stack_top; /* the trap's own stack */
	struct stackcache *known; /* stacks that it has seen; NULL: it keeps none */
	struct nvs_activity activity; /* of that trap; owner's */
	uint32_t busy; /* owner is between reserve and commit */
	uint32_t late; /* the record between them goes to late() */
	uint64_t *counters; /* by enum nvs_counter, summed by the writer: its own, or in the live
			       page */
	struct nvs_live_slot *live; /* of the live page, NULL: none */
	_Atomic uint64_t overdue; /* an epoch that was waited for too long, and is no more */
	/* Of its owner, whose end takes them away: for who asks the kernel to read there */
	const struct nvs_calls *calls;
	uint64_t own[NVS_COUNT_MAX];
} __attribute__((aligned(64)));

/* By anybody, at any time. */
static inline uint64_t nvs_count_of(const struct nvs_buffer *buffer, enum nvs_counter counter)
{
	return __atomic_load_n(&buffer->counters[counter], __ATOMIC_RELAXED);
}

#define NVS_KNOWN_STACKS_BYTES                                             \
	(512u << 10) /* of address space: a page of it is used when needed \
		      */

/*
 * Makes BUFFER number shared->ring usable: called by preload for each buffer it has laid into the
 * spool. data is mapped twice in a row, touched; stack_top has 64 KiB below it; KNOWN has
 * NVS_KNOWN_STACKS_BYTES of zeros, of this process alone.
 */
int nvs_buffer_add(struct nvs_spool_ring *shared, uint8_t *data, uint64_t bytes, uint8_t *stack_top,
		   void *known);
/* Ahead of that: the next buffer counts in SLOT, which is its alone. */
void nvs_buffer_counts_in(struct nvs_live_slot *slot);
uint32_t nvs_buffer_count(void);
struct nvs_buffer *nvs_buffer_at(uint32_t number);
/*
 * Gives back those whose owner has died; how many a thread could have for its own. For the writer.
 */
uint32_t nvs_buffer_sweep(void);
/* As many as that without asking after owners; where a thread was left midway, fewer. */
uint32_t nvs_buffer_unused(void);

/*
 * The calling thread's buffer, claimed if it has none (its THREAD record is written then). NULL:
 * none free; it may still borrow one. Usable in the trap and outside.
 */
struct nvs_buffer *nvs_buffer_mine(void);

/* No record is larger: several fit into BUFFER, and each into a frame that every reader takes. */
static inline uint32_t nvs_buffer_largest(const struct nvs_buffer *buffer)
{
	return buffer->bytes / 4 < NVS_LARGEST_RECORD ? (uint32_t)(buffer->bytes / 4)
						      : NVS_LARGEST_RECORD;
}
/*
 * Room for a record of SIZE bytes (multiple of 8, at most nvs_buffer_largest()) in BUFFER, or NULL
 * when the buffer stays full (by the options, and always at once where wait is false). Fill it in,
 * then commit.
 */
void *nvs_buffer_reserve(struct nvs_buffer *buffer, uint32_t size, bool wait);
void nvs_buffer_commit(struct nvs_buffer *buffer, uint32_t size);

/*
 * Writes one record whose head and payload stand in REC (size in rec->size; time is filled in
 * here). For everything outside the doorbell. 0, or -ENOBUFS when it had to be given up.
 */
int nvs_record(struct nvs_rec *rec);

/*
 * Waits until every thread that is now between the start of a trap (or of nvs_record) and its end
 * has left: what was published before the call is all that anybody sees after it. For at most 1 s.
 */
void nvs_quiesce(void);

/*
 * Tells by a GAP record what was lost on a channel and not told yet; before its CHANNEL_GONE. The
 * fallback when a doorbell itself had no room to say so.
 */
void nvs_channel_flush(struct nvs_spool_channel *state);

/*
 * At the end: records what channel NUMBER has in its GPFIFO behind the last doorbell seen, as a
 * submission that is NVS_SUB_UNCERTAIN. Its thread may still ring, which commits nothing new then,
 * or never, but the GPU takes what GP_PUT shows whenever it looks. Not for a channel with a shadow:
 * there the GPU sees of it what has been rung for, and nothing else.
 */
void nvs_channel_rest(uint32_t number);

/* The writer's side of waiting: how buffers learn that it lives, and it learns that one fills up.
 */
struct nvs_writer_signal {
	uint64_t *heartbeat; /* in the spool; atomic accesses */
	_Atomic uint32_t wake; /* futex: set to 1 and woken when a buffer is half full */
	_Atomic uint32_t confined; /* 1: the program has put on a sandbox since; only what it does
				      itself is safe */
	_Atomic uint32_t waiting; /* threads that wait for a buffer of their own */
	_Atomic uint32_t full; /* 1: more buffers were wanted, and could not be made */
	_Atomic uint32_t ended; /* 1: buffers are drained no more; records go to late() */
	bool (*may_patch)(void); /* asked before code is changed; not in the trap. False: not now;
				    NULL: it may */
	_Atomic uint32_t *seen; /* futex: a store site waits to be patched; NULL: nobody patches */
	/* Appends a record to the late spool; async-signal-safe. */
	int (*late)(const void *record, uint32_t size);
};
extern struct nvs_writer_signal nvs_writer_signal;

#endif
