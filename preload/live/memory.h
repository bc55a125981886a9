/* SPDX-License-Identifier: MIT */
/*
 * Tracks live memory on the GPU, from the API call that allocated it to the one that freed it.
 */
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

struct nvs_live_given {
	uint64_t value, bytes, context;
	enum nvs_live_space space;
	enum nvs_live_kind kind;
	uint32_t gpu; /* row + 1 */
	uint32_t api, stack; /* NVS_NONE: no stack */
	uint64_t time;
};

/* Adds an allocation that succeeded. */
void nvs_live_give(struct nvs_live_page *page, const struct nvs_live_given *given);
void nvs_live_give_failed(struct nvs_live_page *page, uint32_t gpu, enum nvs_live_kind kind);
/*
 * nvs_live_take() is called before a free, since another thread may get the address before the call
 * returns; nvs_live_taken() reports the result. The token names what was found; 0: nothing.
 */
uint64_t nvs_live_take(struct nvs_live_page *page, enum nvs_live_space space, uint64_t value);
void nvs_live_taken(struct nvs_live_page *page, uint64_t token, bool freed,
		    enum nvs_live_kind kind);
/* The call was not a free after all. */
void nvs_live_put_back(struct nvs_live_page *page, uint64_t token);
/*
 * Physical memory is mapped at an address, stays alive while it is, and may have further handles.
 */
void nvs_live_map(struct nvs_live_page *page, uint64_t address, uint64_t bytes, uint64_t handle);
/* Removes all mappings in this range, which are contiguous. */
void nvs_live_unmap(struct nvs_live_page *page, uint64_t address, uint64_t bytes);
void nvs_live_retain(struct nvs_live_page *page, uint64_t handle);
/* Removes all allocations of a context; CONTEXT 0: all of the GPU. */
void nvs_live_context_gone(struct nvs_live_page *page, uint64_t context, uint32_t gpu);

#endif
