/* SPDX-License-Identifier: MIT */
/* The live page of this process (nvsnoop/live.h). A thread counts with a few additions; rows and
 * strings are created under nvs_lock, once for each name. */
#ifndef NVSNOOP_PRELOAD_LIVE_LIVE_H
#define NVSNOOP_PRELOAD_LIVE_LIVE_H

#include "nvsnoop/live.h"
#include "preload/base/hash.h"
#include "preload/base/outfile.h"
#include "preload/base/preload.h"
#include "trap/buffer/process.h"

#define NVS_LIVE_SLOT_ROWS (NVS_MAX_BUFFERS + 1)
#define NVS_LIVE_API_ROWS 128
#define NVS_LIVE_KERNEL_ROWS 2048
#define NVS_LIVE_SITE_COUNT 512
#define NVS_LIVE_ALLOC_ROWS 65536
#define NVS_LIVE_GPU_ROWS 32
#define NVS_LIVE_CHANNEL_ROWS 1024
#define NVS_LIVE_HANDLE_BITS 14
#define NVS_LIVE_HANDLES (1u << NVS_LIVE_HANDLE_BITS)
#define NVS_LIVE_ENTRIES_MAX 1024 /* maximum of entry point numbers */

/* The private part of the page. It is reached from the root page: a forked child has none. */
struct nvs_live_page {
	struct nvs_live *head;
	uint8_t *base; /* head, and the tables that do not grow */
	/* The tables that grow, as far as they have blocks; of SLOTS only the first row. */
	uint8_t *grown[NVS_LIVE_TABLES];
	/* The slots that were added last, from number FIRST. */
	struct {
		uint8_t *at;
		uint32_t first;
	} newest;
	struct nvs_outfile file;
	_Atomic uint64_t mult; /* as in the clock */
	_Atomic uint32_t setting_clock;
	uint64_t first_ticks, first_ns; /* start of the interval from which mult is computed */
	uint64_t strings; /* bytes used */
	uint64_t ready[NVS_LIVE_TABLES]; /* rows that have blocks in the file */
	uint16_t api_rows[NVS_LIVE_ENTRIES_MAX]; /* by number; row + 1, 0: none yet */
	/* Row of each handle, hashed by nvs_hash(). */
	struct nvs_live_handle {
		_Atomic uint64_t key;
		_Atomic uint64_t row; /* nvs_live_row_of() the same key */
	} handle[NVS_LIVE_HANDLES];
	uint32_t name_hash[NVS_LIVE_KERNEL_ROWS]; /* of a row's name */
	uint16_t by_name[2 * NVS_LIVE_KERNEL_ROWS]; /* rows by name_hash; 0: none */
	/* Parallel to the rows of CHANNELS, and changed with them. */
	struct nvs_live_ring {
		const uint64_t *claim; /* the trap's count of submissions */
		const uint32_t *released; /* the release slot in this process; NULL: unknown */
		uint64_t full_at; /* ticks when it was last seen full; 0: never */
		uint64_t look; /* time of the last poll that found the channel */
	} rings[NVS_LIVE_CHANNEL_ROWS];
	struct nvs_live_memory_state *ledger; /* memory.c; NULL: not yet */
	void *graphs; /* preload/api/stats/graph_stats.c */
};

/* Returns the page of this process, or NULL. */
static inline struct nvs_live_page *nvs_live_page(void)
{
	return __atomic_load_n((struct nvs_live_page **)nvs_slot(NVS_SLOT_LIVE), __ATOMIC_ACQUIRE);
}

/* The same page, for code that has found a live slot in the thread's buffer. */
extern struct nvs_live_page *nvs_live_own;

/* ---- folder.c ---- */

/* Writes the directory of this user's pages to FOLDER (PATH_MAX / 2 bytes). Returns false if none
 * can be used. */
bool nvs_live_find_directory(char *folder);
/* Returns the start time of a process (its number, or "self") since boot, 0 if it is unknown. */
uint64_t nvs_live_start_time(const char *process);
void nvs_live_read_boot(uint8_t boot[16]);
/* Removes the pages in our directory whose processes have ended. Called at the start, since a
 * sandbox that the program installs later may not allow it. */
void nvs_live_clear_stale(void);

/* ---- page.c ---- */

struct nvs_live_identity {
	const uint8_t *session; /* 16 bytes */
	const char *host, *program, *driver;
};
/* Creates the page. Returns 0 or -errno; without a page the program is not counted. FOLDER
 * (PATH_MAX / 2 bytes) gets its directory, also on failure. */
int nvs_live_create(const struct nvs_live_identity *facts, char *folder);
/* Path of the trace that is also written; "": none. */
void nvs_live_set_trace(const char *path);
/* Allocates blocks for NUMBER slots. */
void nvs_live_add_slots(uint32_t number);
/* Called ten times a second, by the library's thread and by the writer, which has its own
 * descriptors. */
void nvs_live_heartbeat(void);
/* Returns true if more blocks are needed; only if no sandbox forbids it. */
bool nvs_live_is_short(void);
void nvs_live_grow(void);
/* Under nvs_lock. */
void nvs_live_set_driver(const char *version);
/* The process is about to exec; ON false: it failed. */
void nvs_live_set_executing(bool on);
/* Publishes the last totals. */
void nvs_live_close(void);

/* ---- slots.c ---- */

/* Returns slot NUMBER of those that the last nvs_live_add_slots() added; NULL if there is none. */
struct nvs_live_slot *nvs_live_slot(uint32_t number);
/* Removes slots from threads that have ended, and counts doorbells of threads without a slot in
 * slot 0. */
void nvs_live_scan_slots(struct nvs_live_page *page);

/* ---- rows.c; take their own locks ---- */

/* Returns a table's next row; NULL if it is full, which is counted. Under nvs_lock. */
void *nvs_live_row_new(struct nvs_live_page *page, enum nvs_live_table_number which,
		       uint32_t *number);
void nvs_live_row_done(struct nvs_live_page *page, enum nvs_live_table_number which);
void *nvs_live_table(const struct nvs_live_page *page, enum nvs_live_table_number which);
/* Under nvs_lock. Returns 0 if the table is full. */
uint32_t nvs_live_string_new(struct nvs_live_page *page, const char *text, size_t length);

uint32_t nvs_live_api_new(struct nvs_live_page *page, uint32_t number, const char *name,
			  const char *group);
/* Returns the row of entry point NUMBER. */
static inline uint32_t nvs_live_api_row(struct nvs_live_page *page, uint32_t number,
					const char *name, const char *group)
{
	uint16_t row = __atomic_load_n(&page->api_rows[number], __ATOMIC_ACQUIRE);

	return __builtin_expect(row != 0, 1) ? row - 1u
					     : nvs_live_api_new(page, number, name, group);
}
/* Counts a failed call. */
void nvs_live_count_failure(struct nvs_live_page *page, uint32_t api, uint32_t result);

/* Counts a fault of the GPU that ended CHANNEL and its group, seen at TIME (ticks). Under nvs_lock.
 */
void nvs_live_count_fault(struct nvs_live_page *page, uint32_t number, uint32_t channel,
			  uint64_t time);

struct nvs_live_kernel_info {
	const char *name; /* NULL: unknown */
	uint32_t registers, shared, local, max_threads;
};
/* Adds KEY, which means this function from now on. Returns its row. */
uint32_t nvs_live_kernel_new(struct nvs_live_page *page, uint64_t key, uint64_t function,
			     const struct nvs_live_kernel_info *facts);
/* Returns the row of KEY; 0 if it is unknown or has none. *KNOWN is set to whether KEY is known. */
uint32_t nvs_live_kernel_find(struct nvs_live_page *page, uint64_t key, bool *known);
/* The upper bits of keys begin anew: no key is known any more. */
void nvs_live_forget_kernels(struct nvs_live_page *page);
_Static_assert(NVS_LIVE_KERNEL_ROWS <= 65536, "a row has 16 bits");
/* A row, below the lower 48 bits of the key that has it. */
static inline uint64_t nvs_live_row_of(uint64_t key, uint32_t row)
{
	return key << 16 | row;
}
/* Sets ROW if KEY is in this place. The key is read again because the place may get another key,
 * and that key's row, in between. If it got KEY back since, the row still is the other key's. The
 * upper bits of a key count up, so no key comes back after one that differs in these alone. */
static inline bool nvs_live_handle_row(struct nvs_live_handle *handle, uint64_t key, uint32_t *row)
{
	uint64_t found;

	if (atomic_load_explicit(&handle->key, memory_order_acquire) != key)
		return false;
	found = atomic_load_explicit(&handle->row, memory_order_relaxed);
	*row = (uint16_t)found;
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&handle->key, memory_order_relaxed) == key &&
	       found == nvs_live_row_of(key, *row);
}
static inline uint32_t nvs_live_kernel(struct nvs_live_page *page, uint64_t key, bool *known)
{
	uint32_t at = nvs_hash(key, NVS_LIVE_HANDLE_BITS), row;

	*known = true;
	if (__builtin_expect(nvs_live_handle_row(&page->handle[at], key, &row), 1))
		return row;
	return nvs_live_kernel_find(page, key, known);
}

/* Returns row + 1 of the GPU with this UUID, 0 if the table is full. Stores what is given (unless
 * NAME is NULL or a number is NVS_NONE). */
uint32_t nvs_live_gpu(struct nvs_live_page *page, const uint8_t uuid[16], uint32_t instance,
		      uint32_t ordinal, const char *name);

/* ---- stall.c ---- */

/* A long API call to be counted by its reason. MODULE, MEMORY and COPY are what the caller knows of
 * it. */
struct nvs_live_slow_call {
	uint64_t begin, ns; /* begin in ticks */
	uint32_t row; /* of APIS */
	bool module, memory, copy;
};
#define NVS_LIVE_LONG_NS 100000u /* shorter calls are ignored */
void nvs_live_stall(struct nvs_live_page *page, struct nvs_live_slot *slot,
		    const struct nvs_live_slow_call *call);
/* Returns true if the ring counts as full: a driver keeps some of it free. */
static inline bool nvs_live_is_full(uint64_t used, uint32_t entries)
{
	return entries && used >= entries - entries / 8;
}

/* ---- lock.c ---- */

/* Returns false if the lock cannot be taken. */
bool nvs_live_lock(_Atomic uint32_t *lock);
void nvs_live_unlock(_Atomic uint32_t *lock);
/* Returns the structure at *AT, which begins with its lock, locked; allocates it the first time.
 * NULL without memory, or if the lock cannot be taken. */
void *nvs_live_lock_at(void **at, size_t bytes);

/* ---- counting, by the slot's owner ---- */

static inline uint64_t nvs_live_ns(struct nvs_live_page *page, uint64_t ticks)
{
	uint64_t mult = atomic_load_explicit(&page->mult, memory_order_relaxed);

	return (uint64_t)((unsigned __int128)ticks * mult >> 32);
}

static inline struct nvs_live_api_count *nvs_live_api_count(struct nvs_live_slot *slot,
							    uint32_t row)
{
	return (struct nvs_live_api_count *)(void *)(slot + 1) + row;
}

static inline struct nvs_live_kernel_count *nvs_live_kernel_count(struct nvs_live_slot *slot,
								  uint32_t row)
{
	return (struct nvs_live_kernel_count *)(void *)nvs_live_api_count(slot, NVS_LIVE_API_ROWS) +
	       row;
}

/* Counts a call that has returned. */
static inline void nvs_live_count_call(struct nvs_live_slot *slot, uint32_t row, uint64_t ns)
{
	struct nvs_live_api_count *c = nvs_live_api_count(slot, row);
	uint32_t bucket = ns >> NVS_LIVE_BUCKET_SHIFT
				  ? 64 - NVS_LIVE_BUCKET_SHIFT - (uint32_t)__builtin_clzll(ns)
				  : 0;

	if (bucket >= NVS_LIVE_BUCKETS)
		bucket = NVS_LIVE_BUCKETS - 1;
	nvs_live_add(&c->ns, ns);
	nvs_live_add(&c->buckets[bucket], 1);
}

#endif
