/* SPDX-License-Identifier: MIT */
/*
 * The latest accesses of each byte of the program's allocations, and the pairs among them that
 * nothing orders. An access is kept until later ones that are in order with it say as much, or
 * until the host has waited for it. Memory is bounded: what does not fit is counted and not
 * checked.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_MEMORY_ACCESSES_H
#define NVSNOOP_DECODE_ANALYSIS_MEMORY_ACCESSES_H

#include "decode/analysis/memory_ranges.h"
#include "decode/analysis/stream_order.h"

/* What work does with memory. Of a kernel that is given a pointer, the bytes that it touches are
 * not known: only the first one counts. */
enum nvs_access_kind {
	NVS_ACCESS_READS, /* a copy */
	NVS_ACCESS_WRITES, /* a copy or a memset */
	NVS_ACCESS_ALLOCATES, /* stream-ordered */
	NVS_ACCESS_FREES,
	NVS_ACCESS_GIVEN, /* a kernel has a pointer to it */
	NVS_ACCESS_LOADS, /* a kernel that only reads, by its code */
	NVS_ACCESS_STORES, /* a kernel that writes, by its code */
	NVS_ACCESS_ADDS, /* a kernel that writes only atomically, by its code */
	NVS_ACCESS_KINDS,
};

enum nvs_race_level { NVS_RACE_NONE, NVS_RACE_POSSIBLE, NVS_RACE_LIKELY, NVS_RACE_CERTAIN };

/* How far two accesses of the same byte conflict if nothing orders them. */
enum nvs_race_level nvs_access_conflict(enum nvs_access_kind a, enum nvs_access_kind b);

/* Work of a stream: one for all its accesses. Unused ones are reused. */
struct nvs_access_work {
	struct nvs_order_point point;
	uint64_t stream; /* its handle */
	uint64_t submission, sequence, time; /* the latest that moves or runs something; ticks */
	uint32_t channel; /* NVS_NONE: unknown, as the submission */
	uint32_t thread, site; /* numbers */
	uint64_t context; /* of its stream */
	uint32_t refs;
	bool selected, non_blocking;
};

/* A byte range, or columns of lines: WIDTH bytes every PITCH bytes from FROM on, if PITCH is not 0.
 */
struct nvs_access_range {
	uint64_t from, to;
	uint32_t pitch, width;
};

struct nvs_access_conflict {
	const struct nvs_access_work *first, *second;
	enum nvs_access_kind first_kind, second_kind;
	enum nvs_work_order order; /* not ORDERED */
	uint64_t address; /* where they meet */
	const struct nvs_memory_range *memory;
};

struct nvs_accesses {
	const struct nvs_stream_order *order;
	const struct nvs_memory_ranges *ranges;
	int (*conflict)(void *arg, const struct nvs_access_conflict *conflict);
	void *arg;
	struct accessed_memory **memory; /* by index in RANGES */
	uint32_t nmemory;
	struct memory_access *list;
	uint32_t n, room, spare; /* spare: 1 + first unused one */
	struct nvs_access_work *works;
	uint32_t nworks, works_room, spare_work;
	uint64_t dropped; /* accesses that were forgotten for lack of memory */
};

/* Returns the number of new work, or UINT32_MAX if memory is short. Release it when its accesses
 * have been added. Pointers to work are valid until the next one is made. */
uint32_t nvs_accesses_work(struct nvs_accesses *a, const struct nvs_access_work *work);
void nvs_accesses_release(struct nvs_accesses *a, uint32_t work);
/* Adds an access to memory that is in one live range, cut to it, by the latest work of S. Returns
 * 0, or what the callback returned. */
int nvs_accesses_add(struct nvs_accesses *a, const struct nvs_ordered_stream *s, uint32_t work,
		     enum nvs_access_kind kind, const struct nvs_access_range *range);
void nvs_accesses_free(struct nvs_accesses *a);

#endif
