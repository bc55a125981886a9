/* SPDX-License-Identifier: MIT */
/*
 * The root page. All that the library knows hangs below it; the kernel hands a forked child a page
 * of zeroes in its place, which is a library that has not begun.
 */
#ifndef NVSNOOP_PRELOAD_BASE_STATE_H
#define NVSNOOP_PRELOAD_BASE_STATE_H

#include <stdatomic.h>
#include "preload/base/preload.h"

#define NVS_ARENA_CLASSES 26 /* 16, 24, 32, 48, ... 64 KiB: two sizes a power of two */
#define NVS_FILTER_SIZE 4096

struct nvs_arena {
	_Atomic uint32_t lock; /* nvs_sys_lock() */
	void *free[NVS_ARENA_CLASSES];
	uint8_t *next, *end; /* rest of the newest chunk */
};

struct nvs_state {
	_Atomic uint32_t lock; /* futex: 0 free, 1 held, 2 held and waited for */
	struct nvs_arena arena;
	void *slots[NVS_SLOTS];
	_Atomic uint32_t pid; /* whose tables these are; 0 before the library's constructor, and in
				 a child that is forked past the C library, until it opens a GPU */
	_Atomic uint32_t session_active; /* see nvs_session_active() */
	_Atomic uint32_t own_threads; /* of ours that are alive */
	_Atomic uint32_t keeper; /* futex: 1 it is to look around now */
	_Atomic uint32_t learning; /* a thread reads libcuda's exports, or has: not in a child */
	_Atomic uint32_t device_seen; /* a device call has been made: mmap looks at its fd */
	/* How many tracked mappings touch each 2 MiB region (hashed), and how many are too large to
	 * say. */
	_Atomic uint32_t filter_large;
	_Atomic uint16_t filter[NVS_FILTER_SIZE];
};

/*
 * True in a vfork() child, which runs in our memory with an fd table of its own: what it closes or
 * maps there is nobody's here.
 */
bool nvs_state_borrowed(void);

/*
 * mappings.c: false means for certain that [start, start + size) meets no tracked mapping. No lock.
 */
bool nvs_maps_may_overlap(uintptr_t start, size_t size);

#endif
