/* SPDX-License-Identifier: MIT */
/* The root page, from which all state of the library is reached. In a forked child the kernel
 * replaces it by a page of zeroes, which is a library that has not started. */
#ifndef NVSNOOP_PRELOAD_BASE_STATE_H
#define NVSNOOP_PRELOAD_BASE_STATE_H

#include <stdatomic.h>
#include "preload/base/preload.h"

#define NVS_ARENA_CLASSES 26 /* 16, 24, 32, 48, ... 64 KiB: two sizes a power of two */
#define NVS_FILTER_BITS 12
#define NVS_FILTER_SIZE (1u << NVS_FILTER_BITS)

struct nvs_state_arena {
	_Atomic uint32_t lock; /* nvs_sys_lock() */
	void *free[NVS_ARENA_CLASSES];
	uint8_t *next, *end; /* unused rest of the newest chunk */
};

struct nvs_state {
	_Atomic uint32_t lock; /* futex: 0 free, 1 held, 2 held and waited for */
	struct nvs_state_arena arena;
	void *slots[NVS_SLOTS];
	_Atomic uint32_t pid; /* the process that owns this page; 0 before the constructor, and in a
				 child forked without the C library until it opens a GPU */
	_Atomic uint32_t session_active; /* see nvs_session_is_active() */
	_Atomic uint32_t own_threads; /* how many are alive */
	_Atomic uint32_t keeper; /* futex; 1: the keeper is to poll now */
	_Atomic uint32_t learning; /* a thread is reading libcuda's exports; not in a child */
	_Atomic uint32_t device_seen; /* a device call has been made: mmap checks its fd */
	/* Number of tracked mappings that touch each 2 MiB region (hashed), and of those too large
	 * for it. */
	_Atomic uint32_t filter_large;
	_Atomic uint16_t filter[NVS_FILTER_SIZE];
};

/* Returns true in a vfork() child, which shares our memory but has its own fd table and signal
 * actions: what it closes, maps or sets does not concern this process. */
bool nvs_state_is_borrowed(void);

/* mappings.c: false means that [start, start + size) certainly overlaps no tracked mapping. Takes
 * no lock. */
bool nvs_maps_may_overlap(uintptr_t start, size_t size);

#endif
