/* SPDX-License-Identifier: MIT */
/* Reads memory by GPU address: segments, and the slot that shows a channel's progress. */
#include "trap/copy/batch.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

static uint32_t min_u32(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* The map at *HINT, if it is in the channel's own address space, is the one a search would find. */
static const struct nvs_segment_map *find_map(const struct nvs_channel_view *r, uint64_t va,
					      uint32_t *hint)
{
	const struct nvs_view *view = r->view;
	const struct nvs_segment_map *map = &view->maps[*hint];

	if (*hint < view->nmaps && va - map->gpu_va < map->size &&
	    map->vaspace == r->channel->vaspace)
		return map;
	map = nvs_segment_find(view->maps, view->nmaps, r->channel->vaspace, va);
	if (map)
		*hint = (uint32_t)(map - view->maps);
	return map;
}

uint32_t nvs_segment_copy(struct nvs_batch *b, uint8_t *to, uint64_t va, uint32_t bytes)
{
	while (bytes) {
		const struct nvs_segment_map *map = find_map(&b->reader, va, &b->hint.segment);
		uint32_t part;

		if (!map)
			return NVS_GAP_UNMAPPED;
		part = min_u32(bytes, map->size - (va - map->gpu_va));
		if (nvs_copy_guarded(to, (const void *)(map->cpu + (va - map->gpu_va)), part))
			return NVS_GAP_FAULT;
		to += part;
		va += part;
		bytes -= part;
	}
	return 0;
}

bool nvs_segment_word(struct nvs_batch *b, uint64_t va, uint32_t *word)
{
	const struct nvs_segment_map *map = find_map(&b->reader, va, &b->hint.segment);

	if (!map || va - map->gpu_va + 4 > map->size)
		return false;
	return nvs_load32_guarded((const uint32_t *)(map->cpu + (va - map->gpu_va)), word);
}

const uint32_t *nvs_segment_whole(struct nvs_batch *b, uint64_t va, uint64_t bytes)
{
	const struct nvs_segment_map *map = find_map(&b->reader, va, &b->hint.segment);

	return map && va - map->gpu_va + bytes <= map->size
		       ? (const uint32_t *)(map->cpu + (va - map->gpu_va))
		       : NULL;
}

/* The progress release is at the end of a submission: SET_REPORT_SEMAPHORE_A..D (compute, 3D), or
 * SET_SEMAPHORE_A, _B, _PAYLOAD and LAUNCH_DMA (copy). */
void nvs_progress_find_slot(const struct nvs_batch *b, const uint8_t *segment, uint32_t bytes)
{
	struct nvs_spool_channel *state = b->reader.channel->state;
	const uint32_t *w = (const uint32_t *)(const void *)(segment + (bytes & ~3u));

	if (bytes >= 5 * 4 && (w[-5] & 0xffff1fff) == 0x200406c0)
		state->progress_address = (uint64_t)(w[-4] & 0x1ffff) << 32 | w[-3];
	else if (bytes >= 6 * 4 && (w[-6] & 0xffff1fff) == 0x20030090 &&
		 (w[-2] & 0xffff1fff) == 0x200100c0)
		state->progress_address = (uint64_t)(w[-5] & 0x1ffff) << 32 | w[-4];
}

void nvs_progress_read(struct nvs_batch *b, struct nvs_rec_submission *sub)
{
	uint64_t va = b->reader.channel->state->progress_address;
	const struct nvs_segment_map *map;

	sub->progress_address = va;
	sub->progress[0] = sub->progress[1] = 0;
	if (!va)
		return;
	map = find_map(&b->reader, va, &b->hint.progress);
	if (!map || va - map->gpu_va + 16 > map->size)
		return;
	va = map->cpu + (va - map->gpu_va);
	nvs_tls.progress = va;
	nvs_load64_guarded((const uint64_t *)va, &sub->progress[0]);
	nvs_load64_guarded((const uint64_t *)(va + 8), &sub->progress[1]);
}
