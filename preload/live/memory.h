/* SPDX-License-Identifier: MIT */
/* Tracks live memory on the GPU, from the API call that allocated it to the one that freed it. */
#ifndef NVSNOOP_PRELOAD_LIVE_MEMORY_H
#define NVSNOOP_PRELOAD_LIVE_MEMORY_H

#include "preload/live/live.h"

/* Addresses and handles of different spaces may have equal values. */
enum nvs_live_space {
	NVS_SPACE_ADDRESS,
	NVS_SPACE_ARRAY,
	NVS_SPACE_PHYSICAL,
	NVS_SPACE_EXTERNAL,
	NVS_SPACE_MAPPED, /* an address where physical memory is mapped */
};

struct nvs_live_allocation {
	uint64_t value, bytes, context;
	enum nvs_live_space space;
	enum nvs_live_kind kind;
	uint32_t gpu; /* row + 1 */
	uint32_t api, stack; /* NVS_NONE: no stack */
	uint64_t time;
};

/* Adds an allocation that succeeded. */
void nvs_live_alloc_add(struct nvs_live_page *page, const struct nvs_live_allocation *given);
void nvs_live_alloc_failed(struct nvs_live_page *page, uint32_t gpu, enum nvs_live_kind kind);
/*
 * nvs_live_free_begin() is called before a free, since another thread may get the address before
 * the call returns; nvs_live_free_end() reports the result. The token names what was found; 0:
 * nothing.
 */
uint64_t nvs_live_free_begin(struct nvs_live_page *page, enum nvs_live_space space, uint64_t value);
void nvs_live_free_end(struct nvs_live_page *page, uint64_t token, bool freed,
		       enum nvs_live_kind kind);
/* The call was not a free after all. */
void nvs_live_free_cancel(struct nvs_live_page *page, uint64_t token);
/* Physical memory stays alive while it is mapped, and may have further handles. */
void nvs_live_mapping_add(struct nvs_live_page *page, uint64_t address, uint64_t bytes,
			  uint64_t handle);
/* Removes all mappings in this range, which are contiguous. */
void nvs_live_mapping_remove(struct nvs_live_page *page, uint64_t address, uint64_t bytes);
void nvs_live_handle_retain(struct nvs_live_page *page, uint64_t handle);
/*
 * A recording window opens: writes a record of each live allocation before, and afterwards one for
 * each of these that was freed meanwhile. Allocations and frees that overlap the window are
 * recorded as calls.
 */
struct nvs_live_allocs_seen {
	struct nvs_live_alloc *rows; /* NULL: no memory, nothing was written */
	uint32_t n;
};
void nvs_live_record_allocs(struct nvs_live_allocs_seen *seen);
void nvs_live_record_freed(struct nvs_live_allocs_seen *seen);
/* Removes all allocations of a context. */
void nvs_live_free_context(struct nvs_live_page *page, uint64_t context);

#endif
