/* SPDX-License-Identifier: MIT */
/*
 * The inner interfaces of preload: who offers what to whom inside the library. One block a file.
 *
 * Everything that changes lives in memory of our own (arena.c), never in the program's heap, and is
 * gone in a forked child by itself: the root page is MADV_WIPEONFORK, the rest MADV_DONTFORK, so a
 * child finds the library as if it had just been loaded.
 */
#ifndef NVSNOOP_PRELOAD_BASE_PRELOAD_H
#define NVSNOOP_PRELOAD_BASE_PRELOAD_H

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "nvsnoop/trace.h"
#include "preload/base/next.h"
#include "preload/base/options.h"
#include "trap/trap.h"

/* ---- arena.c: memory of our own ---- */
void *nvs_alloc(size_t bytes); /* zeroed; NULL when the kernel gives no more */
void *nvs_realloc(void *p, size_t old_bytes, size_t bytes);
void nvs_free(void *p, size_t bytes);

/* ---- state.c: the library's state, and its lock ---- */
struct nvs_state; /* root page, wiped in a forked child */
struct nvs_state *nvs_state(void);
/* One word of the root page for each who needs one: NULL at first and again in a forked child. */
enum nvs_slot {
	NVS_SLOT_RM,
	NVS_SLOT_FD,
	NVS_SLOT_SESSION,
	NVS_SLOT_MODULES,
	NVS_SLOT_SIGNALS,
	NVS_SLOT_THREADS,
	NVS_SLOT_OPTIONS,
	NVS_SLOT_WRITER,
	NVS_SLOT_TIMING,
	NVS_SLOT_LIVE,
	NVS_SLOT_IMAGES,
	NVS_SLOT_COUNTING,
	NVS_SLOTS = 16
};
void **nvs_slot(enum nvs_slot which);
/* A trace has been begun. After its end as well: what comes then goes to the late spool. */
bool nvs_session_active(void);
/*
 * One lock for all tables of preload. Asynchronous signals are blocked while it is held, so that a
 * handler of the program that calls a hooked function on this thread cannot meet it locked. Not for
 * the trap. The thread that holds it may take it again; a hooked function called by it meanwhile
 * only passes on.
 *
 * What waits for it may hold any lock of the program's, its allocator's and the loader's among
 * them: whoever has it calls nothing that may allocate, ask the loader, start a thread or register
 * a handler with the C library. Nor is it held, or a signal blocked, over a call that may never
 * return, as any of the driver's: ioctl, mmap, munmap and close of a device (rm/entry.c).
 */
void nvs_lock(sigset_t *saved);
/* At the program's end, which is not to wait longer than MS for a thread that does not give it
 * back. False: it is not held. */
bool nvs_lock_within(sigset_t *saved, unsigned ms);
void nvs_unlock(const sigset_t *saved);
bool nvs_lock_mine(void);

/* ---- settings.c: NVSNOOP_OUT and NVSNOOP_OPTIONS, read once ---- */
#define NVS_RANK_DIGITS 11

/* rank.c: as a launcher of several processes has set it; "" where it has not. */
struct nvs_rank {
	const char *launcher; /* NULL: none is known, nor what follows */
	char rank[NVS_RANK_DIGITS], size[NVS_RANK_DIGITS], local[NVS_RANK_DIGITS];
	char job[256];
};
void nvs_rank_read(struct nvs_rank *r);

struct nvs_options {
	struct nvs_option_values values;
	char out[4096]; /* pattern */
	bool untraced; /* OUT is none: nothing is written but the live page */
	char folder[4096]; /* the working directory at the start, "" not known */
	char given[4096]; /* NVSNOOP_OPTIONS as it was */
	char error[160]; /* what was wrong with it (the whole string is ignored then), or "" */
	char summary[1024]; /* NVSNOOP_SUMMARY, or "" */
	char runtime_dir[2048]; /* XDG_RUNTIME_DIR, or "" */
	struct nvs_rank rank;
	uint64_t start_ns; /* from which a delay counts, CLOCK_MONOTONIC */
	uint64_t loaded_ns, loaded_tsc; /* CLOCK_MONOTONIC and the TSC of one moment */
	uint64_t stderr_dev, stderr_ino; /* of descriptor 2, 0: it was closed */
	uint64_t root_dev, root_ino; /* of "/" */
	bool disabled; /* a set-user-ID program, or what refused says: the library does nothing */
	const char *refused; /* why, to be told once; NULL */
};
const struct nvs_options *nvs_options(void);
/* As the loader knows this library; asked for in our constructor. NULL: it does not. */
const struct link_map *nvs_own_object(void);
/* False: we came by dlopen(), as what NVTX_INJECTION64_PATH names does where LD_PRELOAD does not
 * have us. Then nothing is hooked, and we may be gone at any time. */
bool nvs_preloaded(void);

/* ---- session.c: one trace, from the first channel allocation to the end ---- */
/*
 * Called before the first channel is allocated, not under nvs_lock: it starts threads, for which it
 * may wait for the program's allocator. Makes the trace and the spool, starts the writer, then
 * tells everything known so far (nvs_rm_replay). Called again it does nothing; on another thread
 * meanwhile, it waits. Never fails towards the program: without a trace the hooks only pass on.
 */
void nvs_session_start(void);
/*
 * What is needed of the loader, which no hook asks: a thread may be in dlopen(), in a constructor
 * that waits for the caller. By our constructor, or at the first device that a constructor ahead of
 * it opens. Once; cheap when it has been done.
 */
void nvs_session_prepare(void);
/* True: the program has put on a sandbox since, and nothing is to be opened any more. */
static inline bool nvs_session_confined(void)
{
	return atomic_load(&nvs_writer_signal.confined);
}
/* Last drain, totals, seek table, closing line. At exit; again: nothing. */
void nvs_session_finish(void);
/* At exit: there is no session, and the program has used the GPU all the same. Says so. */
void nvs_session_bypassed(void);
/* A slot of the spool's channel table for channel NUMBER, set to put 0; NULL: none left. */
struct nvs_spool_channel *nvs_session_channel_slot(uint32_t number);
void nvs_session_channel_free(struct nvs_spool_channel *slot);
/* How far the GPU is with it, for who reads the spool. Under nvs_lock. */
void nvs_session_channel_done(const struct nvs_spool_channel *slot,
			      const struct nvs_spool_done *now);

/* ---- rm.c, uvm.c, objects.c, mappings.c, channels.c: what the device calls teach ---- */
/* The call that is to be made allocates a channel. Not under the lock. */
bool nvs_rm_makes_channel(unsigned request, void *arg);
#define NVS_DRIVER_BYTES 64
/* Version of the driver, "" as long as no call has told it. Under the lock. */
const char *nvs_rm_driver_version(void);
/* Counts, and tells, that the program has put handlers of its own in place of ours. */
void nvs_rm_handlers_replaced(void);
/* Device calls of an unknown number so far, for the totals. */
uint64_t nvs_rm_unknown_calls(void);
bool nvs_rm_release_is_newer(void); /* than all that are known here */
/* Records everything alive: GPUs, objects, mappings, channels, in the order they were made. */
void nvs_rm_replay(void);
/*
 * At the end: final GP_PUT of every living channel, /proc/self/maps check, counts of unknown calls.
 */
void nvs_rm_final_records(bool look_at_maps);

/* timing.c: memory of ours at CPU, which GPU sees at ADDRESS, for the times of its channels. */
#define NVS_TIMING_POOL_BYTES (2u << 20)
void nvs_rm_timing_memory(uint32_t gpu, void *cpu, uint64_t address);
/* Such memory that no GPU sees any more, to be used again; NULL: there is none. */
void *nvs_rm_timing_spare(void);
/* True: a channel of GPU has nowhere for its times yet. */
bool nvs_rm_timing_wants(uint32_t gpu);
/* Number of the GPU with this UUID, NVS_NONE: none is known. */
uint32_t nvs_rm_gpu_by_uuid(const uint8_t uuid[16]);
/* What stayed behind goes on; READ: times that are there are read. True: something is left behind.
 */
bool nvs_rm_timing_round(bool read);
/* Records every GPU's clock beside the session's. */
bool nvs_rm_timing_clocks(void);

/* publish.c: brings over what the GPU wrote to USERD; the keeper asks for it ten times a second. */
void nvs_shadow_refresh(void);

#endif
