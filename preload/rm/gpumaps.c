/* SPDX-License-Identifier: MIT */
/*
 * Memory objects mapped into GPU address spaces, by UVM or by RM_MAP_MEMORY_DMA. UVM's ranges
 * outlive the handle they were made with; RM_MAP_MEMORY_DMA's mappings end with the handle of the
 * memory or of the virtual memory.
 */
#include "preload/rm/rm.h"

static struct nvs_gpu_map *link_map(const struct nvs_gpu_map *what)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_gpu_map *m = nvs_alloc(sizeof(*m));

	if (!m)
		return NULL;
	*m = *what;
	if (nvs_spans_add(&rm->gpu, &m->at)) {
		nvs_free(m, sizeof(*m));
		return NULL;
	}
	m->number = rm->next_gpu_map++;
	m->entity->refs++;
	if (m->memory)
		m->memory->uses++;
	if (m->dma)
		m->dma->uses++;
	DL_APPEND(m->entity->gpu, m);
	nvs_segments_rebuild(m->entity);
	nvs_record_gpu_map(m);
	return m;
}

static void unlink_map(struct nvs_gpu_map *m)
{
	nvs_spans_remove(&nvs_rm()->gpu, &m->at);
	DL_DELETE(m->entity->gpu, m);
	nvs_segments_rebuild(m->entity);
	nvs_record_gpu_unmap(m);
	if (m->memory)
		m->memory->uses--;
	if (m->dma)
		m->dma->uses--;
	nvs_entity_put(m->entity);
	nvs_free(m, sizeof(*m));
}

/* Removes [start, end) from M; the parts before and after it remain as separate mappings. */
static void cut_map(struct nvs_gpu_map *m, uint64_t start, uint64_t end)
{
	struct nvs_gpu_map part = *m;

	if (m->at.start < start) {
		part.at.end = start;
		link_map(&part);
		part.at.end = m->at.end;
	}
	if (m->at.end > end) {
		part.at.start = end;
		part.offset = m->offset + (end - m->at.start);
		link_map(&part);
	}
	unlink_map(m);
}

void nvs_gpu_maps_remove(uint32_t vaspace, uint64_t start, uint64_t end, uint32_t file,
			 bool one_gpu, uint64_t call)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_gpu_map *m;

	if (one_gpu) {
		/* A mapping shared by several GPUs is removed only when its last GPU unmaps it. */
		NVS_SPANS_EACH(&rm->gpu, m, start, end)
		{
			if (m->vaspace == vaspace && (!file || m->file == file) && m->gpus &&
			    m->born < call)
				m->gpus--;
		}
	}
again:
	NVS_SPANS_EACH(&rm->gpu, m, start, end)
	{
		if (m->vaspace != vaspace || (file && m->file != file) || (one_gpu && m->gpus) ||
		    m->born >= call)
			continue;
		cut_map(m, start, end);
		goto again;
	}
}

static bool same_map(const struct nvs_gpu_map *a, const struct nvs_gpu_map *b)
{
	return a->vaspace == b->vaspace && a->at.start == b->at.start && a->at.end == b->at.end &&
	       a->entity == b->entity && a->offset == b->offset;
}

void nvs_gpu_map_add(struct nvs_gpu_map *what)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_driver_object *o = nvs_object_find(what->client, what->handle);
	struct nvs_gpu_map *m;

	if (what->at.end <= what->at.start)
		return;
	what->born = rm->calls;
	what->object_class = o ? o->object_class : 0;
	what->gpu = o && !o->system ? o->gpu : NVS_NONE;
	if (o) {
		what->entity = o->entity;
		what->entity->refs++;
	} else if (!(what->entity = nvs_entity_new())) {
		return;
	}
	NVS_SPANS_EACH(&rm->gpu, m, what->at.start, what->at.end)
	{
		if (same_map(m, what)) {
			m->gpus += what->gpus;
			/* Mapped again: an unmap in progress has unmapped the earlier mapping, not
			 * this one. */
			if (what->vaspace)
				m->born = what->born;
			nvs_entity_put(what->entity);
			return;
		}
	}
	/* The kernel never maps over an existing mapping, so one that is still in the table was
	 * unmapped unseen. */
	if (what->vaspace)
		nvs_gpu_maps_remove(what->vaspace, what->at.start, what->at.end, 0, false,
				    NVS_ANY_CALL);
	else
		nvs_gpu_maps_remove(0, what->at.start, what->at.end, what->file, false,
				    NVS_ANY_CALL);
	link_map(what);
	nvs_entity_put(what->entity);
}

void nvs_gpu_maps_drop_object(struct nvs_driver_object *o)
{
	struct nvs_rm *rm = nvs_rm();
	bool space = o->object_class == FERMI_VASPACE_A && o->entity->refs == 1;

	for (uint32_t i = rm->gpu.n; i-- > 0 && (o->uses || space);) {
		struct nvs_gpu_map *m = (struct nvs_gpu_map *)rm->gpu.at[i];

		if (m->memory == o || m->dma == o || (space && m->vaspace == o->entity->id))
			unlink_map(m);
	}
}

void nvs_gpu_maps_file_closed(uint32_t file)
{
	struct nvs_rm *rm = nvs_rm();

	for (uint32_t i = rm->gpu.n; i-- > 0;) {
		struct nvs_gpu_map *m = (struct nvs_gpu_map *)rm->gpu.at[i];

		if (m->file == file)
			unlink_map(m);
	}
	for (uint32_t i = rm->ranges.n; i-- > 0;) {
		struct nvs_uvm_range *range = (struct nvs_uvm_range *)rm->ranges.at[i];

		if (range->file != file)
			continue;
		nvs_spans_remove(&rm->ranges, &range->at);
		nvs_free(range, sizeof(*range));
	}
}
