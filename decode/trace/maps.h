/* SPDX-License-Identifier: MIT */
/* Live memory mappings, by address and by number. */
#ifndef NVSNOOP_DECODE_TRACE_MAPS_H
#define NVSNOOP_DECODE_TRACE_MAPS_H

#include "nvsnoop/decode.h"

struct nvs_map_node;
struct nvs_maps {
	struct nvs_map_node *root; /* treap by (vaspace, address, map) */
	struct nvs_map_node *by_number; /* uthash */
	uint32_t random;
};
int nvs_maps_add(struct nvs_maps *maps, const struct nvs_mapping *mapping);
void nvs_maps_remove(struct nvs_maps *maps, uint32_t number);
const struct nvs_mapping *nvs_maps_find(const struct nvs_maps *maps, uint32_t vaspace,
					uint64_t address);
/* Sets *BELOW to the mapping with the highest start at or below ADDRESS, and *ABOVE to the one with
 * the lowest start above it; NULL if there is none. */
void nvs_maps_neighbours(const struct nvs_maps *maps, uint32_t vaspace, uint64_t address,
			 const struct nvs_mapping **below, const struct nvs_mapping **above);
void nvs_maps_free(struct nvs_maps *maps);

#endif
