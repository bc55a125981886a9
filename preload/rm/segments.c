/* SPDX-License-Identifier: MIT */
/*
 * Translation of GPU to CPU addresses: joins an entity's GPU mappings with its CPU mappings by the
 * object's offset, clipped to what both show. The segments are sorted, and rebuilt for one entity
 * at a time.
 */
#include <string.h>
#include <sys/mman.h>
#include "preload/rm/rm.h"

static bool is_usable(const struct nvs_cpu_map *m)
{
	return !m->hidden && m->prot != PROT_NONE && m->kind != NVS_MAP_DOORBELL;
}

static int compare_segs(const struct nvs_seg *a, const struct nvs_seg *b)
{
	if (a->vaspace != b->vaspace)
		return a->vaspace < b->vaspace ? -1 : 1;
	if (a->gpu_va != b->gpu_va)
		return a->gpu_va < b->gpu_va ? -1 : 1;
	return 0;
}

static void insert_seg(struct nvs_segs *s, const struct nvs_seg *seg)
{
	uint32_t lo = 0, hi = s->n;

	if (!NVS_GROW(s->at, s->n, s->room, 64))
		return;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare_segs(&s->at[mid], seg) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	memmove(s->at + lo + 1, s->at + lo, (s->n - lo) * sizeof(*seg));
	s->at[lo] = *seg;
	s->n++;
}

/* Removes the entity's segments. Returns true if it had any. */
static bool clear_entity(struct nvs_segs *s, uint32_t entity)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->at[i].entity == entity)
			continue;
		if (kept != i)
			s->at[kept] = s->at[i];
		kept++;
	}
	if (kept == s->n)
		return false;
	s->n = kept;
	return true;
}

/* The CPU mapping that shows byte AT of the object, else the one with the next higher offset. */
static const struct nvs_cpu_map *find_cover(const struct nvs_entity *e, int64_t at)
{
	const struct nvs_cpu_map *m, *best = NULL;

	DL_FOREACH(e->cpu, m)
	{
		int64_t first = m->offset, last = m->offset + (int64_t)(m->at.end - m->at.start);

		if (!is_usable(m) || last <= at)
			continue;
		if (first <= at)
			return m;
		if (!best || first < best->offset)
			best = m;
	}
	return best;
}

static bool join_maps(const struct nvs_entity *e, const struct nvs_gpu_map *g)
{
	struct nvs_rm *rm = nvs_rm();
	int64_t at = (int64_t)g->offset, end = at + (int64_t)(g->at.end - g->at.start);
	bool any = false;

	while (at < end) {
		const struct nvs_cpu_map *m = find_cover(e, at);
		struct nvs_seg seg;
		int64_t last;

		if (!m || m->offset >= end)
			break;
		if (m->offset > at)
			at = m->offset;
		last = m->offset + (int64_t)(m->at.end - m->at.start);
		if (last > end)
			last = end;
		seg.gpu_va = g->at.start + (uint64_t)(at - (int64_t)g->offset);
		seg.size = (uint64_t)(last - at);
		seg.cpu = (uintptr_t)(m->at.start + (uint64_t)(at - m->offset));
		seg.vaspace = g->vaspace;
		seg.entity = e->id;
		insert_seg(&rm->segs, &seg);
		at = last;
		any = true;
	}
	return any;
}

void nvs_segments_rebuild(struct nvs_entity *e)
{
	struct nvs_rm *rm = nvs_rm();
	const struct nvs_gpu_map *g;
	const struct nvs_cpu_map *m;
	bool changed = clear_entity(&rm->segs, e->id);

	DL_FOREACH(e->gpu, g)
	changed |= join_maps(e, g);
	/* Managed memory: the same address on both sides. */
	DL_FOREACH(e->cpu, m)
	{
		struct nvs_seg seg = {m->at.start, m->at.end - m->at.start, m->at.start, 0, e->id};

		if (m->kind != NVS_MAP_UVM || !is_usable(m))
			continue;
		insert_seg(&rm->segs, &seg);
		changed = true;
	}
	/* Most allocations have no CPU mapping: they change no segment, and the view stays valid.
	 *  */
	if (changed)
		rm->dirty = rm->segs_dirty = true;
}

void nvs_map_changed(struct nvs_cpu_map *m)
{
	/* Channels bind to CPU mappings (USERD) even where these form no segment. */
	nvs_rm()->dirty = true;
	if (!nvs_map_is_doorbell(m))
		nvs_segments_rebuild(m->entity);
}
