/* SPDX-License-Identifier: MIT */
/* Tables that the trap may read: doorbells, channels and mapped memory, published by preload, and
 * the loaded modules. */
#ifndef NVSNOOP_TRAP_VIEW_H
#define NVSNOOP_TRAP_VIEW_H

#include <stddef.h>
#include <stdint.h>

/* An armed mapping of a usermode object. */
struct nvs_doorbell {
	uintptr_t start, end; /* the write-protected mapping in the program */
	uintptr_t alias; /* writable mapping of the same pages; 0: disarmed */
	uint32_t map; /* number of its CPU_MAP record */
	uint32_t gpu; /* tokens are looked up among this GPU's channels */
};

/* A range of GPU address space that the process can read. */
struct nvs_segment_map {
	uint64_t gpu_va, size;
	uintptr_t cpu;
	uint32_t vaspace; /* 0: UVM's address space of the whole process, matches every channel */
	uint32_t reserved;
};

struct nvs_shadow; /* trap/copy/shadow.h */

struct nvs_channel {
	uint32_t number; /* of its CHANNEL record */
	uint32_t gpu;
	uint32_t token;
	uint32_t entries; /* entries in the GPFIFO; 0: not bound, its submissions become gaps */
	uint32_t vaspace;
	uint32_t flags; /* NVS_CHAN_* */
	const volatile uint64_t *gpfifo;
	const volatile uint32_t *put; /* GP_PUT in USERD */
	struct nvs_spool_channel *state; /* outlives the view */
	struct nvs_shadow *shadow; /* NULL: gpfifo and put are the real ones */
};

struct nvs_view {
	uint64_t generation; /* incremented with every publication */
	uint32_t ndoorbells, nmaps, nchannels;
	uint32_t channel_mask; /* size of the hash table minus one */
	const struct nvs_doorbell *doorbells; /* few: linear search */
	const struct nvs_segment_map *maps; /* sorted by (vaspace, gpu_va), no overlaps */
	const struct nvs_channel *channels;
	/* open addressing by nvs_channel_hash(); holds index + 1, 0: free */
	const uint32_t *channel_hash;
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

/* Finds the map that contains VA in VASPACE or in the process-wide address space, among the N maps
 * of a view. Returns NULL if there is none. */
static inline const struct nvs_segment_map *
nvs_segment_find(const struct nvs_segment_map *maps, uint32_t n, uint32_t vaspace, uint64_t va)
{
	const struct nvs_segment_map *m = nvs_segment_in(maps, n, vaspace, va);

	return m || !vaspace ? m : nvs_segment_in(maps, n, 0, va);
}

/*
 * Publishes VIEW, waits until no trap can still be reading the previous view, and returns that one.
 * Returns NULL the first time, and if a trap does not end within a second (a signal handler of the
 * program interrupted it and waits, or jumped out of it): the previous view must not be freed then.
 * One caller at a time. Never call it inside the trap.
 */
struct nvs_view *nvs_view_publish(struct nvs_view *view);
const struct nvs_view *nvs_view_get(void);

/* Loaded modules as the unwinder sees them inside the trap. */
struct dl_phdr_info;
struct nvs_module_view {
	uint32_t nmodules;
	uint64_t adds, subs; /* dlpi_adds, dlpi_subs at the time of the snapshot */
	const struct dl_phdr_info *modules;
};

/* The rules of nvs_view_publish() apply. */
struct nvs_module_view *nvs_modules_publish(struct nvs_module_view *modules);

#endif
