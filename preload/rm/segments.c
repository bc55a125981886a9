/* SPDX-License-Identifier: MIT */
/*
 * GPU address to CPU address: the join of an entity's GPU mappings with its CPU mappings, byte of
 * the object for byte of the object, clipped to what both show. Kept sorted, and renewed one entity
 * at a time.
 */
#include <string.h>
#include <sys/mman.h>
#include "preload/rm/rm.h"

static bool usable(const struct nvs_cpu_map *m)
{
	return !m->hidden && m->prot != PROT_NONE && m->kind != NVS_MAP_DOORBELL;
}

static int compare(const struct nvs_seg *a, const struct nvs_seg *b)
{
	if (a->vaspace != b->vaspace)
		return a->vaspace < b->vaspace ? -1 : 1;
	if (a->gpu_va != b->gpu_va)
		return a->gpu_va < b->gpu_va ? -1 : 1;
	return 0;
}

static void insert(struct nvs_segs *s, const struct nvs_seg *seg)
{
	uint32_t lo = 0, hi = s->n;

	if (s->n == s->room) {
		uint32_t room = s->room ? s->room * 2 : 64;
		void *at = nvs_realloc(s->at, s->room * sizeof(*s->at), room * sizeof(*s->at));

		if (!at)
			return;
		s->at = at;
		s->room = room;
	}
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare(&s->at[mid], seg) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	memmove(s->at + lo + 1, s->at + lo, (s->n - lo) * sizeof(*seg));
	s->at[lo] = *seg;
	s->n++;
}

/* Drops the entity's segments; true if it had any. */
static bool clear(struct nvs_segs *s, uint32_t entity)
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

/*
 * The CPU mapping that shows byte AT of the object, or else the one that begins soonest behind it.
 */
static const struct nvs_cpu_map *cover(const struct nvs_entity *e, int64_t at)
{
	const struct nvs_cpu_map *m, *best = NULL;

	DL_FOREACH(e->cpu, m)
	{
		int64_t first = m->offset, last = m->offset + (int64_t)(m->at.end - m->at.start);

		if (!usable(m) || last <= at)
			continue;
		if (first <= at)
			return m;
		if (!best || first < best->offset)
			best = m;
	}
	return best;
}

static bool join(const struct nvs_entity *e, const struct nvs_gpu_map *g)
{
	struct nvs_rm *rm = nvs_rm();
	int64_t at = (int64_t)g->offset, end = at + (int64_t)(g->at.end - g->at.start);
	bool any = false;

	while (at < end) {
		const struct nvs_cpu_map *m = cover(e, at);
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
		insert(&rm->segs, &seg);
		at = last;
		any = true;
	}
	return any;
}

void nvs_segs_update(struct nvs_entity *e)
{
	struct nvs_rm *rm = nvs_rm();
	const struct nvs_gpu_map *g;
	const struct nvs_cpu_map *m;
	bool changed = clear(&rm->segs, e->id);

	DL_FOREACH(e->gpu, g)
	changed |= join(e, g);
	/* Managed memory: the same address on both sides. */
	DL_FOREACH(e->cpu, m)
	{
		struct nvs_seg seg = {m->at.start, m->at.end - m->at.start, m->at.start, 0, e->id};

		if (m->kind != NVS_MAP_UVM || !usable(m))
			continue;
		insert(&rm->segs, &seg);
		changed = true;
	}
	/* What the process does not see changes nothing that the trap is told: most allocations. */
	if (changed)
		rm->dirty = rm->segs_dirty = true;
}

void nvs_map_touched(struct nvs_cpu_map *m)
{
	/* Channels may bind to CPU mappings alone (USERD), whether segments come of them or not. */
	nvs_rm()->dirty = true;
	if (!nvs_map_is_doorbell(m))
		nvs_segs_update(m->entity);
}
