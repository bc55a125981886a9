/* SPDX-License-Identifier: MIT */
/* Live ranges in a tree by address, freed ones in a circular list. A range keeps its number from
 * its allocation until it is dropped from that list. */
#include <stdlib.h>
#include "decode/analysis/memory_ranges.h"
#include "decode/base/grow.h"

#define MAX_RANGES (NVS_MAX_NUMBER - 1)

static bool add_live(struct nvs_memory_ranges *r, const struct nvs_memory_range *m, uint32_t index)
{
	struct nvs_mapping key = {.map = index, .address = m->address, .size = m->bytes};

	return !nvs_maps_add(&r->live, &key);
}

static const struct nvs_memory_range *range_of(const struct nvs_memory_ranges *r,
					       const struct nvs_mapping *m)
{
	return m ? r->list + m->map : NULL;
}

/* Returns an unused index of LIST, or UINT32_MAX. */
static uint32_t take_index(struct nvs_memory_ranges *r)
{
	if (r->nspare)
		return r->spare[--r->nspare];
	return NVS_APPEND_OPTIONAL(r->list, r->n, r->room, 64, MAX_RANGES) ? r->n - 1 : UINT32_MAX;
}

static void release_index(struct nvs_memory_ranges *r, uint32_t index)
{
	uint32_t *spare = NVS_APPEND_OPTIONAL(r->spare, r->nspare, r->spare_room, 64, MAX_RANGES);

	r->list[index].bytes = 0;
	if (spare)
		*spare = index;
}

uint32_t nvs_memory_ranges_add(struct nvs_memory_ranges *r, const struct nvs_memory_range *range)
{
	uint32_t index;

	if (!range->bytes || range->address + range->bytes < range->address)
		return 0;
	index = take_index(r);
	if (index == UINT32_MAX || !add_live(r, range, index)) {
		if (index != UINT32_MAX)
			release_index(r, index);
		r->dropped = true;
		return 0;
	}
	r->list[index] = *range;
	r->list[index].live = true;
	return index + 1;
}

void nvs_memory_ranges_end(struct nvs_memory_ranges *r, uint32_t number,
			   const struct nvs_memory_call *by)
{
	struct nvs_memory_range *m = r->list + number - 1;
	uint32_t *slot;

	nvs_maps_remove(&r->live, number - 1);
	m->live = false;
	m->freed = *by;
	if (!r->freed_order)
		r->freed_order = calloc(NVS_FREED_RANGES, sizeof(*r->freed_order));
	if (!r->freed_order) {
		release_index(r, number - 1);
		return;
	}
	slot = r->freed_order + r->nfreed % NVS_FREED_RANGES;
	if (r->nfreed >= NVS_FREED_RANGES)
		release_index(r, *slot);
	*slot = number - 1;
	r->nfreed++;
}

const struct nvs_memory_range *nvs_memory_range_at(const struct nvs_memory_ranges *r,
						   uint64_t address)
{
	return range_of(r, nvs_maps_find(&r->live, 0, address));
}

static void consider(struct nvs_memory_place *place, const struct nvs_memory_range *m,
		     uint64_t address, uint64_t time)
{
	bool live = m->live || m->freed.time > time;

	if (address - m->address < m->bytes) {
		if (live)
			place->in = m;
		else if (!place->freed || m->freed.time >= place->freed->freed.time)
			place->freed = m;
	} else if (live && m->address < address) {
		if (!place->below || m->address > place->below->address)
			place->below = m;
	} else if (live && (!place->above || m->address < place->above->address)) {
		place->above = m;
	}
}

void nvs_memory_place_find(const struct nvs_memory_ranges *r, uint64_t address, uint64_t time,
			   struct nvs_memory_place *place)
{
	*place = (struct nvs_memory_place){0};
	for (uint32_t i = 0; i < r->n; i++)
		if (r->list[i].bytes && r->list[i].made.time <= time)
			consider(place, r->list + i, address, time);
	if (place->in)
		place->freed = place->below = place->above = NULL;
}

void nvs_memory_ranges_free(struct nvs_memory_ranges *r)
{
	nvs_maps_free(&r->live);
	free(r->list);
	free(r->spare);
	free(r->freed_order);
	*r = (struct nvs_memory_ranges){0};
}
