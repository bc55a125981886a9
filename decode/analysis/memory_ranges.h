/* SPDX-License-Identifier: MIT */
/*
 * The program's allocations by address: live ones, and those freed last. Finds what an address, or
 *a word of a launch's parameters, belongs to. Filled by allocations.c:
 *
 *	nvs_allocs_begin(&allocs, source);
 *	allocs.ranges = &ranges;		(zeroed)
 *
 * and then follows the calls, so that a look-up in op() gives the state at that submission. Memory
 *is bounded: the oldest freed ranges are dropped, and live ones are not kept if memory is short.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_MEMORY_RANGES_H
#define NVSNOOP_DECODE_ANALYSIS_MEMORY_RANGES_H

#include "decode/calls/calls.h"
#include "decode/trace/maps.h"

#define NVS_FREED_RANGES 16384u /* kept after their free */

/* A call that allocated or freed. */
struct nvs_memory_call {
	const struct nvs_call_api *api; /* NULL: unknown, or before the trace */
	uint64_t time; /* ticks when it returned */
	uint32_t thread, stack; /* stack NVS_NONE: unknown */
};

struct nvs_memory_range {
	uint64_t address, bytes; /* bytes 0: an unused place of nvs_memory_ranges.list */
	uint32_t kind; /* enum nvs_alloc_kind; VIEW: mapped memory of another API */
	bool live;
	struct nvs_memory_call made, freed; /* freed.time 0: live */
};

struct nvs_memory_ranges {
	struct nvs_maps live; /* its numbers are indices of LIST */
	struct nvs_memory_range *list;
	uint32_t n, room;
	uint32_t *spare; /* unused indices of LIST */
	uint32_t nspare, spare_room;
	uint32_t *freed_order; /* the latest NVS_FREED_RANGES freed ones, circular */
	uint64_t nfreed;
	bool dropped; /* a live range was not kept, for lack of memory */
};

/* Where an address is. IN and FREED contain it, BELOW and ABOVE are the nearest live ranges that do
 * not. NULL: there is none. */
struct nvs_memory_place {
	const struct nvs_memory_range *in; /* live */
	const struct nvs_memory_range *freed; /* if IN is NULL: the one freed last */
	const struct nvs_memory_range *below, *above; /* if IN is NULL */
};

/* Adds a live range. Returns its number for nvs_memory_ranges_end(), 0 if it is not kept. */
uint32_t nvs_memory_ranges_add(struct nvs_memory_ranges *r, const struct nvs_memory_range *range);
/* BY: the call that freed it. */
void nvs_memory_ranges_end(struct nvs_memory_ranges *r, uint32_t number,
			   const struct nvs_memory_call *by);
void nvs_memory_ranges_free(struct nvs_memory_ranges *r);

/* The live range that contains ADDRESS, or NULL. Pointers to ranges are valid until the next
 * range is added. */
const struct nvs_memory_range *nvs_memory_range_at(const struct nvs_memory_ranges *r,
						   uint64_t address);
/* As it was at TIME, in ticks; UINT64_MAX: now. Takes time linear in the ranges. */
void nvs_memory_place_find(const struct nvs_memory_ranges *r, uint64_t address, uint64_t time,
			   struct nvs_memory_place *place);

#endif
