/* SPDX-License-Identifier: MIT */
/*
 * Thread buffers: each is filled with records by one thread and drained by the writer. Threads
 * without their own buffer, because there are too many or memory is short, share some buffers and
 * borrow one for each record or doorbell.
 */
#ifndef NVSNOOP_TRAP_BUFFER_H
#define NVSNOOP_TRAP_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/live.h"
#include "nvsnoop/trace.h"

#define NVS_MAX_BUFFERS 1024
/* one buffer of so many is shared: borrowed for one record at a time */
#define NVS_SHARED_EVERY 16u

/* In the order of enum nvs_live_count: the counters may be in the live page. */
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

/* The code that a trap, or a record written outside of a trap, has interrupted or runs in. It shows
 * whether the thread has since jumped out of that work (trap/buffer/abandoned.h). */
struct nvs_activity {
	uintptr_t sp; /* stack pointer there; 0: unknown, never considered abandoned */
	const volatile uint64_t *mark; /* a word in the work's own stack frame, NULL: none */
	uint64_t token; /* value of *mark while the work runs */
};

struct nvs_open_calls;

/* One thread buffer: its shared head in the spool, and its data mapped twice in succession. The
 * first cache lines hold the fields that a doorbell uses; no other thread writes to them. */
struct nvs_buffer {
	struct nvs_spool_buffer *shared;
	uint8_t *data;
	uint64_t bytes; /* power of two */
	uint64_t cached_tail; /* shared->tail as the owner last read it */
	uint64_t last_time; /* time of the last record: times never decrease within a buffer */
	uint64_t warm; /* cache lines up to this position have been prefetched */
	_Atomic uint64_t epoch; /* epoch of the trap in flight, 0: none */
	uint8_t *stack_top; /* the trap's own stack */
	struct stackcache *known; /* known stacks, NULL: none are kept */
	struct nvs_activity activity; /* of that trap; used by the owner only */
	uint32_t busy; /* the owner is between reserve and commit */
	uint32_t late; /* the record between them is written by late() */
	/* indexed by enum nvs_counter, summed by the writer: own[], or in the live page */
	uint64_t *counters;
	struct nvs_live_slot *live; /* in the live page, NULL: none */
	_Atomic uint64_t overdue; /* an epoch that was waited for too long and never ended */
	/* Calls of the owner, in its TLS: they disappear when it ends, so read them through the
	 * kernel. */
	const struct nvs_open_calls *calls;
	uint64_t own[NVS_COUNT_MAX];
} __attribute__((aligned(64)));

/* May be called by any thread at any time. */
static inline uint64_t nvs_count_of(const struct nvs_buffer *buffer, enum nvs_counter counter)
{
	return __atomic_load_n(&buffer->counters[counter], __ATOMIC_RELAXED);
}

#define NVS_KNOWN_STACKS_BYTES \
	(512u << 10) /* address space; a page is allocated when it is first touched */

/*
 * Adds the buffer with number shared->ring. Preload calls it for each buffer it has created in the
 * spool. DATA is mapped twice in succession and touched; below STACK_TOP are 64 KiB; KNOWN has
 * NVS_KNOWN_STACKS_BYTES of zeros, private to this process.
 */
int nvs_buffer_add(struct nvs_spool_buffer *shared, uint8_t *data, uint64_t bytes,
		   uint8_t *stack_top, void *known);
/* Called before nvs_buffer_add(): the next buffer uses SLOT, exclusively, for its counters. */
void nvs_buffer_set_slot(struct nvs_live_slot *slot);
uint32_t nvs_buffer_count(void);
struct nvs_buffer *nvs_buffer_at(uint32_t number);
/* Frees the buffers whose owner has died. Returns the number of buffers that a thread could claim.
 * Called by the writer. */
uint32_t nvs_buffer_sweep(void);
/* The same number without checking owners; lower if a thread jumped out while claiming a buffer. */
uint32_t nvs_buffer_count_free(void);

/*
 * Returns the calling thread's buffer. Claims one and writes the THREAD record if the thread has
 * none. Returns NULL if no buffer is free; the thread may still borrow one. May be called inside
 * and outside the trap.
 */
struct nvs_buffer *nvs_buffer_own(void);

/* The size limit of a record: several records fit into BUFFER, and each into a frame that every
 * reader accepts. */
static inline uint32_t nvs_buffer_max_record(const struct nvs_buffer *buffer)
{
	return buffer->bytes / 4 < NVS_LARGEST_RECORD ? (uint32_t)(buffer->bytes / 4)
						      : NVS_LARGEST_RECORD;
}
/*
 * Reserves space for a record of SIZE bytes (a multiple of 8, at most nvs_buffer_max_record()).
 * Returns NULL if the buffer stays full: how long is waited depends on the options; with WAIT
 * false, not at all. Fill in the record, then commit.
 */
void *nvs_buffer_reserve(struct nvs_buffer *buffer, uint32_t size, bool wait);
void nvs_buffer_commit(struct nvs_buffer *buffer, uint32_t size);

/*
 * Writes one record, whose head and payload are in REC (size in rec->size; the time is filled in
 * here). For records written outside the doorbell's trap. Returns 0, or -ENOBUFS if the record was
 * dropped.
 */
int nvs_record_write(struct nvs_rec *rec);

/*
 * Waits until every thread that is now between the start and the end of a trap (or of
 * nvs_record_write) has left it: afterwards, all threads see what was published before the call.
 * Waits at most 1 s.
 */
void nvs_wait_for_traps(void);

/* Writes a GAP record for what was lost on a channel and not recorded yet; call it before the
 * channel's CHANNEL_GONE. Used when the doorbell itself had no buffer space for a GAP record. */
void nvs_channel_record_lost(struct nvs_spool_channel *state);

/*
 * At the end of the session: records the entries that channel NUMBER has in its GPFIFO after the
 * last doorbell seen, as a submission with NVS_SUB_UNCERTAIN. The channel's thread may still ring
 * the doorbell, which then commits nothing new, or never ring it; the GPU takes the entries that
 * GP_PUT shows whenever it reads it. Not for a channel with a shadow: there the GPU sees only
 * entries whose doorbell was rung.
 */
void nvs_capture_unrung(uint32_t number);

/* Signals between the writer and the buffers: the writer's heartbeat, and requests to drain them.
 *  */
struct nvs_writer_signal {
	uint64_t *heartbeat; /* in the spool; accessed atomically */
	_Atomic uint32_t wake; /* futex: set to 1 and woken when a buffer is half full */
	/* 1: the program has entered a sandbox; only system calls the program itself makes are
	 * safe */
	_Atomic uint32_t confined;
	_Atomic uint32_t waiting; /* number of threads that wait for their own buffer */
	_Atomic uint32_t full; /* 1: more buffers were needed and could not be created */
	_Atomic uint32_t ended; /* 1: buffers are no longer drained; records go to late() */
	/* called before code is changed, outside the trap; false: not now. NULL: always allowed */
	bool (*may_patch)(void);
	/* futex: a store site waits to be patched; NULL: there is no patcher */
	_Atomic uint32_t *seen;
	/* Appends a record to the late spool; async-signal-safe. */
	int (*late)(const void *record, uint32_t size);
};
extern struct nvs_writer_signal nvs_writer_signal;

#endif
