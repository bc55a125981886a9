/* SPDX-License-Identifier: MIT */
/*
 * The live page of this process (nvsnoop/live.h): who fills what. Counting is a few additions by
 * the thread itself; rows and strings are made under nvs_lock, which happens once for each name.
 */
#ifndef NVSNOOP_PRELOAD_LIVE_LIVE_H
#define NVSNOOP_PRELOAD_LIVE_LIVE_H

#include "nvsnoop/live.h"
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
#define NVS_LIVE_HANDLES (1u << 14)
#define NVS_LIVE_ENTRIES_MAX 1024 /* numbers of entry points */

/* What the page does not show. It hangs below the root page: a forked child has none. */
struct nvs_live_page {
	struct nvs_live *head;
	uint8_t *base; /* the same, and the tables that do not grow */
	/* Those that grow, as far as they have blocks; of SLOTS the first row alone. */
	uint8_t *grown[NVS_LIVE_TABLES];
	/* Slots that were made last, from number FIRST on. */
	struct {
		uint8_t *at;
		uint32_t first;
	} newest;
	struct nvs_outfile file;
	_Atomic uint64_t mult; /* as in the clock */
	_Atomic uint32_t setting_clock;
	uint64_t first_ticks, first_ns; /* from which mult is reckoned */
	uint64_t strings; /* bytes taken */
	uint64_t ready[NVS_LIVE_TABLES]; /* rows that have blocks in the file */
	uint16_t api_rows[NVS_LIVE_ENTRIES_MAX]; /* by number; row + 1, 0: none yet */
	/* Which row a handle has, by nvs_live_kernel_at(). */
	struct {
		_Atomic uint64_t key;
		uint32_t row;
	} handle[NVS_LIVE_HANDLES];
	uint32_t name_hash[NVS_LIVE_KERNEL_ROWS]; /* of a row's name */
	uint16_t by_name[2 * NVS_LIVE_KERNEL_ROWS]; /* rows by that; 0: none */
	/* Of a row of CHANNELS, changed with it. */
	struct nvs_live_ring {
		const uint64_t *claim; /* as the trap counts submissions */
		const uint32_t
			*released; /* the release slot as the process sees it, NULL: not known */
		uint64_t full_at; /* ticks at which it was seen full last, 0: never */
		uint64_t look; /* at which its channel was there */
	} rings[NVS_LIVE_CHANNEL_ROWS];
	struct nvs_live_ledger *ledger; /* memory.c; NULL: not yet */
	void *graphs; /* preload/api/stats/graph_stats.c */
};

/* The page of this process, NULL: there is none. */
static inline struct nvs_live_page *nvs_live_page(void)
{
	return __atomic_load_n((struct nvs_live_page **)nvs_slot(NVS_SLOT_LIVE), __ATOMIC_ACQUIRE);
}

/* The same for who has seen that the thread's buffer has a slot in it. */
extern struct nvs_live_page *nvs_live_own;

/* ---- folder.c ---- */

/* Where this user's pages are, for FOLDER (PATH_MAX / 2 bytes). False: it cannot be used. */
bool nvs_live_folder(char *folder);
/* Since the boot, of a process by its number or "self"; 0: not known. */
uint64_t nvs_live_start_time(const char *process);
void nvs_live_read_boot(uint8_t boot[16]);
/* Removes the pages beside ours whose processes are no more. At the start, since a sandbox that the
 * program puts on later need not allow it. */
void nvs_live_clear_stale(void);

/* ---- page.c ---- */

struct nvs_live_facts {
	const uint8_t *session; /* 16 bytes */
	const char *host, *program, *driver;
};
/* Makes the page. 0 or -errno: without one the program is only not counted. FOLDER: where it is, or
 * was to be (PATH_MAX / 2 bytes). */
int nvs_live_begin(const struct nvs_live_facts *facts, char *folder);
/* The trace that is written as well, "": none. */
void nvs_live_trace(const char *path);
/* There is to be room for so many slots. */
void nvs_live_more_slots(uint32_t number);
/* Ten times a second: by our own thread, and by the writer, whose descriptors are its own. */
void nvs_live_beat(void);
/* More blocks are wanted; only where no sandbox forbids it by now. */
bool nvs_live_is_short(void);
void nvs_live_grow(void);
/* Under nvs_lock. */
void nvs_live_driver(const char *version);
/* Another program is about to run here; ON false: it could not. */
void nvs_live_executing(bool on);
/* The last totals stand in it. */
void nvs_live_end(void);

/* ---- slots.c ---- */

/* Slot NUMBER of those that nvs_live_more_slots() made last; NULL: no room for it. */
struct nvs_live_slot *nvs_live_slot(uint32_t number);
/* Takes them from threads that are gone, and counts in slot 0 what was rung for without one. */
void nvs_live_look_at_slots(struct nvs_live_page *page);

/* ---- rows.c; under no lock but their own ---- */

/* A table's next row, or NULL: it is full, which is counted. Under nvs_lock. */
void *nvs_live_row(struct nvs_live_page *page, enum nvs_live_table_number which, uint32_t *number);
void nvs_live_row_done(struct nvs_live_page *page, enum nvs_live_table_number which);
void *nvs_live_table(const struct nvs_live_page *page, enum nvs_live_table_number which);
/* Under nvs_lock. 0: no room. */
uint32_t nvs_live_string(struct nvs_live_page *page, const char *text, size_t length);

uint32_t nvs_live_api_new(struct nvs_live_page *page, uint32_t number, const char *name,
			  const char *group);
/* The row of entry point NUMBER. */
static inline uint32_t nvs_live_api_row(struct nvs_live_page *page, uint32_t number,
					const char *name, const char *group)
{
	uint16_t row = __atomic_load_n(&page->api_rows[number], __ATOMIC_ACQUIRE);

	return __builtin_expect(row != 0, 1) ? row - 1u
					     : nvs_live_api_new(page, number, name, group);
}
/* A call that failed. */
void nvs_live_failed(struct nvs_live_page *page, uint32_t api, uint32_t result);

struct nvs_live_kernel_facts {
	const char *name; /* NULL: not known */
	uint32_t registers, shared, local, max_threads;
};
/* KEY is new: it means this function from now on. Its row. */
uint32_t nvs_live_kernel_new(struct nvs_live_page *page, uint64_t key, uint64_t function,
			     const struct nvs_live_kernel_facts *facts);
static inline uint32_t nvs_live_kernel_at(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 50);
}
/* The row of KEY, 0: not known, or none. *KNOWN: it is one of these. */
uint32_t nvs_live_kernel_find(struct nvs_live_page *page, uint64_t key, bool *known);
static inline uint32_t nvs_live_kernel(struct nvs_live_page *page, uint64_t key, bool *known)
{
	uint32_t at = nvs_live_kernel_at(key);

	*known = true;
	if (__builtin_expect(
		    atomic_load_explicit(&page->handle[at].key, memory_order_acquire) == key, 1))
		return page->handle[at].row;
	return nvs_live_kernel_find(page, key, known);
}

/* GPU with this UUID: its row + 1, 0: no room. Learns what is given of it (NAME NULL, NVS_NONE). */
uint32_t nvs_live_gpu(struct nvs_live_page *page, const uint8_t uuid[16], uint32_t instance,
		      uint32_t ordinal, const char *name);

/* ---- stall.c ---- */

/* Why a call took so long, counted. Of these the caller knows what MODULE, MEMORY and COPY say. */
struct nvs_live_long {
	uint64_t begin, ns; /* begin in ticks */
	uint32_t row; /* of APIS */
	bool module, memory, copy;
};
#define NVS_LIVE_LONG_NS 100000u /* less is no matter */
void nvs_live_stall(struct nvs_live_page *page, struct nvs_live_slot *slot,
		    const struct nvs_live_long *call);
/* So much of a ring is full: a driver keeps some of it. */
static inline bool nvs_live_is_full(uint64_t used, uint32_t entries)
{
	return entries && used >= entries - entries / 8;
}

/* ---- lock.c ---- */

/* False: it is not to be had. */
bool nvs_live_lock(_Atomic uint32_t *lock);
void nvs_live_unlock(_Atomic uint32_t *lock);

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

/* A call that is over. */
static inline void nvs_live_call(struct nvs_live_slot *slot, uint32_t row, uint64_t ns)
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
