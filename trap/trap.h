/* SPDX-License-Identifier: MIT */
/*
 * The trap: everything that runs between a doorbell store and its completion.
 *
 * The contract, for all code in this room and whatever it calls:
 *   1. It runs in a signal handler (or, later, in a patched store site) at any point of a program
 *      that is not ours, on any thread, possibly on many at once. It is async-signal-safe: no
 *      malloc, no stdio, no locks that anybody outside the trap takes, no lazy binding, no errno
 *      left changed, no vector registers assumed.
 *   2. It never waits for something that may itself wait for the interrupted thread. A full ring
 *      is waited for only while the writer's heartbeat advances.
 *   3. It reads tables only through struct nvs_view, which is published whole and goes away only
 *      after all traps in flight have left (nvs_view_publish).
 *   4. Copy first, ring after: the store reaches the GPU only when everything it commits has been
 *      copied and committed to the ring buffer, or a gap has been counted.
 *   5. The store always reaches the GPU. Whatever fails is counted, recorded, and the program goes
 * on.
 *   6. The program's state is left as the store would have left it: registers, flags, signal mask,
 *      stack below the red zone. After a fault the work is done on a stack of our own; a patched
 * site's, which signal handlers may interrupt, on the thread's, in less room than a signal's frame
 * takes.
 *   7. A trap may be left for ever: a handler that interrupts it jumps out of it. Whatever a trap
 * holds is given back then (trap/ring/abandoned.h).
 *
 * Enforced: trap/low/poison.h, included by every file here, makes calls that break rule 1 fail to
 * compile; a test checks the undefined symbols of the room's objects.
 */
#ifndef NVSNOOP_TRAP_TRAP_H
#define NVSNOOP_TRAP_TRAP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "trap/ring/abandoned.h"

/* ---- the view: what the trap may know, published by preload ---- */

/* One armed mapping of a usermode object. */
struct nvs_doorbell {
	uintptr_t start, end; /* the write-protected mapping in the program */
	uintptr_t alias; /* writable mapping of the same pages; 0: disarmed */
	uint32_t map; /* number of its CPU_MAP record */
	uint32_t gpu; /* tokens are looked up within this GPU */
};

/* A stretch of GPU address space that the process can read. */
struct nvs_segment_map {
	uint64_t gpu_va, size;
	uintptr_t cpu;
	uint32_t vaspace; /* 0: the process-wide one of UVM, matches every channel */
	uint32_t reserved;
};

struct nvs_shadow; /* trap/copy/shadow.h */

struct nvs_channel {
	uint32_t number; /* of its CHANNEL record */
	uint32_t gpu;
	uint32_t token;
	uint32_t entries; /* of the ring; 0: not bound, its submissions become gaps */
	uint32_t vaspace;
	uint32_t flags; /* NVS_CHAN_* */
	const volatile uint64_t *ring;
	const volatile uint32_t *put; /* GP_PUT in USERD */
	struct nvs_spool_channel *state; /* lives longer than the view */
	struct nvs_shadow *shadow; /* NULL: ring and put are the real ones */
};

struct nvs_view {
	uint64_t generation; /* counts up with every publication */
	uint32_t ndoorbells, nmaps, nchannels;
	uint32_t channel_mask; /* size of the hash table minus one */
	const struct nvs_doorbell *doorbells; /* few: searched in order */
	const struct nvs_segment_map *maps; /* sorted by (vaspace, gpu_va), none over another */
	const struct nvs_channel *channels;
	const uint32_t *channel_hash; /* open addressing on nvs_channel_hash(); index + 1, 0 free */
};

static inline uint32_t nvs_channel_hash(uint32_t gpu, uint32_t token)
{
	uint32_t h = token * 0x9e3779b1u ^ gpu * 0x85ebca6bu;

	return h ^ h >> 15;
}

static inline const struct nvs_segment_map *
nvs_segment_in(const struct nvs_segment_map *maps, uint32_t n, uint32_t vaspace, uint64_t va)
{
	const struct nvs_segment_map *m;
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		m = &maps[mid];
		if (m->vaspace < vaspace || (m->vaspace == vaspace && m->gpu_va <= va))
			lo = mid + 1;
		else
			hi = mid;
	}
	m = lo ? &maps[lo - 1] : NULL;
	return m && m->vaspace == vaspace && va - m->gpu_va < m->size ? m : NULL;
}

/* Of a view's N maps the one that holds VA in VASPACE, or in the process-wide space; NULL: none. */
static inline const struct nvs_segment_map *
nvs_segment_find(const struct nvs_segment_map *maps, uint32_t n, uint32_t vaspace, uint64_t va)
{
	const struct nvs_segment_map *m = nvs_segment_in(maps, n, vaspace, va);

	return m || !vaspace ? m : nvs_segment_in(maps, n, 0, va);
}

/*
 * Puts VIEW in place of the published one, waits until no trap can still be reading the old one and
 * returns it. NULL the first time, and where a trap does not end within a second (a signal handler
 * of the program has interrupted it and waits, or has jumped out of it): the old one must stay
 * then. One caller at a time. Never call it from inside the trap.
 */
struct nvs_view *nvs_view_publish(struct nvs_view *view);
const struct nvs_view *nvs_view_get(void);

/* ---- options and start ---- */

enum nvs_trap_mode { NVS_TRAP_EMULATE, NVS_TRAP_STEP };

/* How much of a submission is recorded. */
enum nvs_level {
	NVS_LEVEL_FULL,
	NVS_LEVEL_HEADERS, /* entries and sizes, no segments */
	NVS_LEVEL_COUNTS, /* how many and how large, by channel, when the channel ends */
};

struct nvs_trap_options {
	enum nvs_trap_mode mode;
	enum nvs_level level;
	bool patch; /* understood store sites are reached by a jump instead of a fault */
	bool shadow; /* GPFIFO and USERD in ordinary memory */
	bool paused; /* nothing is recorded until nvs_trap_record() says so */
	bool backtrace;
	bool drop; /* a full ring drops at once instead of waiting */
	bool use_tsc; /* clock: TSC ticks, else nanoseconds of CLOCK_MONOTONIC */
};

/*
 * Once for a process, before the first doorbell is armed: remembers the options, makes the stack
 * table and the pages for relocated stores. 0 or -errno.
 */
int nvs_trap_init(const struct nvs_trap_options *options);

/*
 * Records the next N submissions, then none; NVS_RECORD_ALL: from now on all; 0: none from now on.
 */
#define NVS_RECORD_ALL INT64_MAX
void nvs_trap_record(int64_t submissions);

/*
 * From the SIGSEGV and SIGTRAP handlers. True: it was ours and is done, return from the handler.
 * False: it is the program's, untouched.
 */
bool nvs_trap_segv(siginfo_t *info, void *ucontext);
bool nvs_trap_sigtrap(siginfo_t *info, void *ucontext);

/* Ticks of the session's clock, for every record. */
uint64_t nvs_now(void);

/*
 * True on a thread that is in the trap: dl_iterate_phdr is answered from the module snapshot then.
 */
bool nvs_in_trap(void);

/* ---- rings ---- */

#define NVS_MAX_RINGS 1024

enum nvs_counter {
	NVS_COUNT_SUBMISSIONS,
	NVS_COUNT_ENTRIES,
	NVS_COUNT_SEGMENTS,
	NVS_COUNT_BYTES,
	NVS_COUNT_GAPS,
	NVS_COUNT_LOST_SUBMISSIONS,
	NVS_COUNT_LOST_BYTES,
	NVS_COUNT_ORPHANS,
	NVS_COUNT_WAITS,
	NVS_COUNT_WAIT_NS,
	NVS_COUNT_STEPPED,
	NVS_COUNT_FOREIGN,
	NVS_COUNT_FAST,
	NVS_COUNT_SKIPPED,
	NVS_COUNT_SKIPPED_BYTES,
	NVS_COUNT_MAX
};

/* One ring buffer: its shared head in the spool and its data mapped twice in a row. */
struct nvs_ring {
	struct nvs_spool_ring *shared;
	uint8_t *data;
	uint64_t bytes; /* power of two */
	uint64_t cached_tail; /* owner's last look at shared->tail */
	uint64_t last_time; /* of its last record: times never go back within a ring */
	uint64_t warm; /* lines of the buffer up to here have been asked for */
	_Atomic uint64_t epoch; /* of the trap in flight, 0: none */
	_Atomic uint64_t overdue; /* such an epoch that was waited for too long, and is no more */
	struct nvs_flight flight; /* of that trap; owner's */
	uint32_t busy; /* owner is between reserve and commit */
	uint32_t late; /* the record between them goes to late() */
	uint8_t *stack_top; /* the trap's own stack */
	uint64_t counters[NVS_COUNT_MAX]; /* enum nvs_counter, summed by the writer */
};

/* By anybody, at any time. */
static inline uint64_t nvs_count_of(const struct nvs_ring *ring, enum nvs_counter counter)
{
	return __atomic_load_n(&ring->counters[counter], __ATOMIC_RELAXED);
}

/*
 * Makes RING number shared->ring usable: called by preload for each ring it has laid into the
 * spool. data is mapped twice in a row, touched; stack_top has 64 KiB below it.
 */
int nvs_ring_add(struct nvs_spool_ring *shared, uint8_t *data, uint64_t bytes, uint8_t *stack_top);
uint32_t nvs_ring_count(void);
struct nvs_ring *nvs_ring_at(uint32_t number);
/* Rings without a living owner; gives back those whose owner has died. For the writer. */
uint32_t nvs_ring_sweep(void);

/*
 * The calling thread's ring, claimed if it has none (its THREAD record is written then). NULL: none
 * free. Usable in the trap and outside.
 */
struct nvs_ring *nvs_ring_mine(void);

/*
 * Room for a record of SIZE bytes (multiple of 8, at most bytes / 4) in RING, or NULL when the ring
 * stays full (by the options, and always at once where wait is false). Fill it in, then commit.
 */
void *nvs_ring_reserve(struct nvs_ring *ring, uint32_t size, bool wait);
void nvs_ring_commit(struct nvs_ring *ring, uint32_t size);

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

/* The writer's side of waiting: how rings learn that it lives, and it learns that one fills up. */
struct nvs_writer_signal {
	uint64_t *heartbeat; /* in the spool; atomic accesses */
	_Atomic uint32_t wake; /* futex: set to 1 and woken when a ring is half full */
	_Atomic uint32_t confined; /* 1: the program has put on a sandbox since; only what it does
				      itself is safe */
	_Atomic uint32_t ended; /* 1: rings are drained no more; records go to late() */
	bool (*may_patch)(void); /* asked before code is changed; not in the trap. NULL: it may */
	_Atomic uint32_t *seen; /* futex: a store site waits to be patched; NULL: nobody patches */
	/* Appends a record to the late spool; async-signal-safe. */
	int (*late)(const void *record, uint32_t size);
};
extern struct nvs_writer_signal nvs_writer_signal;

/* ---- call sites ---- */

/* Loaded modules as the unwinder sees them inside the trap. */
struct dl_phdr_info;
struct nvs_module_view {
	uint32_t nmodules;
	uint64_t adds, subs; /* dlpi_adds, dlpi_subs at the time */
	const struct dl_phdr_info *modules;
};

/* The unwinder: unw_backtrace of libunwind, glibc's backtrace, or NULL for none. */
typedef int (*nvs_backtrace_fn)(void **pcs, int max);
void nvs_callsite_set(nvs_backtrace_fn fn);
/* Same rules as nvs_view_publish. */
struct nvs_module_view *nvs_modules_publish(struct nvs_module_view *modules);
/* dl_iterate_phdr inside the trap. */
int nvs_modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);
/*
 * Takes one backtrace on this thread so that its caches and TLS exist; call outside the trap, where
 * neither a signal handler nor a cancellation can end it in the middle: the next list of modules
 * waits for it.
 */
void nvs_callsite_warm(void);

#endif
