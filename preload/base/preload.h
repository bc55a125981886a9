/* SPDX-License-Identifier: MIT */
/*
 * The internal interfaces between the modules of preload, one block per file.
 *
 * All mutable data is in the library's own memory (arena.c), never in the program's heap. It
 * vanishes in a forked child: the root page is MADV_WIPEONFORK, the rest MADV_DONTFORK. A child
 * thus finds the library as it was just after loading.
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
#include "preload/base/workload.h"
#include "trap/trap.h"

/* ---- arena.c: the library's own memory ---- */
void *nvs_alloc(size_t bytes); /* zeroed; NULL if the kernel has no memory */
void *nvs_realloc(void *p, size_t old_bytes, size_t bytes);
void nvs_free(void *p, size_t bytes);
/* Returns true if the array LIST of ROOM elements, of which N are used, has room for another one. A
 * full array is doubled, from FIRST elements on; without memory it stays as it is. */
#define NVS_GROW(list, n, room, first)                                                     \
	({                                                                                 \
		__typeof__(room) more_ = (room) ? 2 * (room) : (first);                    \
		void *grown_ = (n) == (room) ? nvs_realloc(list, (room) * sizeof(*(list)), \
							   more_ * sizeof(*(list)))        \
					     : NULL;                                       \
		if (grown_) {                                                              \
			(list) = grown_;                                                   \
			(room) = more_;                                                    \
		}                                                                          \
		(n) < (room);                                                              \
	})

/* ---- state.c: the library's state and its lock ---- */
struct nvs_state; /* root page, wiped in a forked child */
struct nvs_state *nvs_state(void);
/* One pointer in the root page for each module that needs one; NULL at first and again in a forked
 * child. */
enum nvs_slot {
	NVS_SLOT_RM,
	NVS_SLOT_FD,
	NVS_SLOT_SESSION,
	NVS_SLOT_MODULES,
	NVS_SLOT_SIGNALS,
	NVS_SLOT_TIMING,
	NVS_SLOT_LIVE,
	NVS_SLOT_IMAGES,
	NVS_SLOT_COUNTING,
	NVS_SLOT_NOTED_CODE,
	NVS_SLOT_SNAPSHOT,
	NVS_SLOT_SNAPSHOT_KERNELS,
	NVS_SLOT_SNAPSHOT_MEMORY,
	NVS_SLOTS = 16
};
void **nvs_slot(enum nvs_slot which);
/* Returns true once a trace has been started, also after its end. Records made after the end go to
 * the late spool. */
bool nvs_session_is_active(void);
/*
 * The lock for all tables of preload. It is recursive. Asynchronous signals are blocked while it is
 * held, so that a handler of the program that calls a hooked function on this thread cannot meet it
 * locked. Hooked functions that are called under it pass the call on. The trap does not take it.
 * A thread that waits for the lock may hold any lock of the program, including those of the
 * allocator and the loader. The holder must therefore not allocate, call the loader, start a thread
 * or register a handler with the C library. It must not hold the lock, or block a signal, over a
 * call that may never return, as any call of the driver: ioctl, mmap, munmap and close of a device
 * (rm/entry.c).
 */
void nvs_lock(sigset_t *saved);
/* Like nvs_lock(), with a timeout in ms, for the program's end. Returns false if it timed out. */
bool nvs_lock_timed(sigset_t *saved, unsigned ms);
void nvs_unlock(const sigset_t *saved);
bool nvs_lock_is_mine(void);
/* Holds the lock until the enclosing block ends. */
#define NVS_LOCK_SCOPE()                                           \
	sigset_t lock_scope_ __attribute__((cleanup(nvs_unlock))); \
	nvs_lock(&lock_scope_)

/* ---- settings.c: NVSNOOP_OUT and NVSNOOP_OPTIONS, read once ---- */
#define NVS_RANK_DIGITS 11

/* rank.c: set by the launcher of a parallel job; "" if unknown */
struct nvs_rank {
	const char *launcher; /* NULL: unknown, as are the fields below */
	char rank[NVS_RANK_DIGITS], size[NVS_RANK_DIGITS], local[NVS_RANK_DIGITS];
	char job[256];
};
void nvs_rank_read(struct nvs_rank *r);

struct nvs_options {
	struct nvs_option_values values;
	char out[4096]; /* pattern */
	bool untraced; /* out is "none": only the live page is written */
	char folder[4096]; /* the working directory at the start; "": unknown */
	char given[4096]; /* NVSNOOP_OPTIONS, unparsed */
	char error[160]; /* why it is invalid (it is ignored as a whole then), or "" */
	char summary[1024]; /* NVSNOOP_SUMMARY, or "" */
	char runtime_dir[2048]; /* XDG_RUNTIME_DIR, or "" */
	struct nvs_rank rank;
	struct nvs_workload workload; /* from the environment */
	uint64_t start_ns; /* start of a delay, CLOCK_MONOTONIC */
	uint64_t loaded_ns, loaded_ticks; /* CLOCK_MONOTONIC and nvs_ticks(), read together */
	uint64_t stderr_dev, stderr_ino; /* of descriptor 2; 0: it was closed */
	uint64_t root_dev, root_ino; /* of "/" */
	bool disabled; /* the library does nothing: a set-user-ID program, or see refused */
	const char *refused; /* why, to be printed once; NULL */
};
const struct nvs_options *nvs_options(void);
/* Replaces the options that apply to a recording window, and the text that they were given as.
 * NULL: those of the process again. While nothing is recorded. */
void nvs_options_use(const struct nvs_option_values *values, const char *given);
/* Returns the options as the process was started. */
const struct nvs_option_values *nvs_options_own(void);
/* Returns the loader's entry of this library, or NULL; first called in the constructor. */
const struct link_map *nvs_own_object(void);
/* Returns false if the library was loaded by dlopen(), for example through NVTX_INJECTION64_PATH
 * without LD_PRELOAD. Nothing is hooked then, and the library may be unloaded at any time. */
bool nvs_is_preloaded(void);

/* ---- session.c: one trace, from the first channel allocation to the end ---- */
/*
 * Called before the first channel is allocated. Creates the trace and the spool, starts the writer,
 * then records everything known so far (nvs_rm_replay). Not under nvs_lock: starting threads may
 * wait for the program's allocator. A second call does nothing; a concurrent call waits. It never
 * fails towards the program: without a trace the hooks only pass calls on.
 */
void nvs_session_start(void);
/*
 * Asks the loader what is needed, since no hook may: a thread may be in dlopen(), in a constructor
 * that waits for the caller. Called in the library's constructor, or at the first device that an
 * earlier constructor opens. Works once; further calls are cheap.
 */
void nvs_session_prepare(void);
/* Returns true if the program has installed a sandbox since; no file may be opened then. */
static inline bool nvs_session_is_confined(void)
{
	return atomic_load(&nvs_writer_signal.confined);
}
/* Drains the buffers, writes totals and seek table, prints the closing line. Called at exit; a
 * second call does nothing. */
void nvs_session_finish(void);
/* At exit: there is no session although the program has used the GPU. Prints a line about it. */
void nvs_session_report_bypass(void);
/* Returns the ticks of the session's clock in a ns, and when it started, which seeds what is drawn
 * at random. */
double nvs_session_clock_rate(uint64_t *start);
/* Returns an entry of the spool's channel table for channel NUMBER with put 0, or NULL if the table
 * is full. */
struct nvs_spool_channel *nvs_session_channel_slot(uint32_t number);
void nvs_session_channel_free(struct nvs_spool_channel *slot);
/* Publishes in the spool how far the GPU is on this channel. Under nvs_lock. */
void nvs_session_channel_done(const struct nvs_spool_channel *slot,
			      const struct nvs_spool_done *now);

/* fault_notes.c; under the lock. An error of this number ended CHANNEL; FIRST: of its group. */
void nvs_session_note_fault(uint32_t number, uint32_t channel, bool first);
/* A call returned RESULT, an error of a kernel. */
void nvs_session_note_error(uint32_t result);

/* ---- rm.c, uvm.c, objects.c, mappings.c, channels.c: state learned from device calls ---- */
/* Returns true if the ioctl about to be made allocates a channel. Not under the lock. */
bool nvs_rm_makes_channel(unsigned request, void *arg);
#define NVS_DRIVER_BYTES 64
/* Returns the driver's version, "" until a call has reported it. Under the lock. */
const char *nvs_rm_driver_version(void);
/* Counts and records that the program has replaced our signal handlers. */
void nvs_rm_handlers_replaced(void);
/* Returns the number of device calls with an unknown number so far, for the totals. */
uint64_t nvs_rm_unknown_calls(void);
bool nvs_rm_release_is_newer(void); /* than all known ones */
bool nvs_rm_met_unknown_form(void); /* of a call or a channel's parameters */
/* Records all live GPUs, objects, mappings and channels in the order of their creation. */
void nvs_rm_replay(void);
/* At the end: records the last GP_PUT of every live channel, the check of /proc/self/maps and the
 * counts of unknown calls. */
void nvs_rm_final_records(bool look_at_maps);

/* replay.c: a recording window begins: records for each channel that its submissions so far are not
 * in the trace. A window ends: records how far each channel is. Nothing is being recorded at these
 * moments, and all earlier traps have ended. */
void nvs_rm_begin_chains(void);
void nvs_rm_end_chains(void);

/* faults.c: called when a call returned RESULT, an error that a fault of the GPU may have caused.
 * Takes the lock. */
void nvs_rm_call_failed(uint32_t result);

/* timing.c: gives memory at CPU, which GPU sees at ADDRESS, to the timestamps of its channels. */
#define NVS_TIMING_POOL_BYTES (2u << 20)
void nvs_rm_timing_add_memory(uint32_t gpu, void *cpu, uint64_t address);
/* Returns timestamp memory that is not mapped to a GPU any more, for reuse, or NULL. */
void *nvs_rm_timing_take_spare(void);
/* Returns true if a channel of GPU has no timestamp memory yet. */
bool nvs_rm_timing_needs_memory(uint32_t gpu);
/* Returns the number of the GPU with this UUID, or NVS_NONE. */
uint32_t nvs_rm_gpu_by_uuid(const uint8_t uuid[16]);
/* Returns what takes the times of a channel of GPU, of a copy engine if COPIES
 * (trap/copy/gpfifo_timing.h). NULL: times are only recorded. Set before the first channel. */
struct nvs_timing_sink;
extern struct nvs_timing_sink *(*nvs_timing_sink_new)(uint32_t gpu, bool copies);
/* Forwards delayed entries; with READ, also collects the timestamps that are available. Returns
 * true if entries are still delayed. */
bool nvs_rm_timing_poll(bool read);
/* Records the clock of every GPU together with the session's. */
bool nvs_rm_timing_read_clocks(void);

/* publish.c: copies to the shadows what the GPU wrote to USERD. The keeper calls it ten times a
 * second. */
void nvs_shadow_refresh(void);

#endif
