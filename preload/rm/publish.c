/* SPDX-License-Identifier: MIT */
/* Builds the trap's view from the tables and replaces the previous one (RCU style: old views are
 * freed when no trap uses them). Views share their segment array as long as no mapping changes. */
#include <string.h>
#include <sys/mman.h>
#include "preload/rm/rm.h"

struct nvs_seg_block {
	uint32_t refs, n;
	size_t bytes;
	struct nvs_segment_map maps[];
};

struct nvs_published {
	struct nvs_view view; /* first: the trap returns this address */
	size_t bytes;
	struct nvs_seg_block *block;
};

static void put_block(struct nvs_seg_block *b)
{
	if (b && !--b->refs)
		nvs_free(b, b->bytes);
}

/* Merges a segment that continues the previous one on both sides; one that only overlaps it is
 * clipped. */
static bool merge_segment(struct nvs_segment_map *last, const struct nvs_seg *s)
{
	uint64_t end = last->gpu_va + last->size;

	if (last->vaspace != s->vaspace || s->gpu_va > end ||
	    s->cpu - last->cpu != s->gpu_va - last->gpu_va)
		return false;
	if (s->gpu_va + s->size > end)
		last->size = s->gpu_va + s->size - last->gpu_va;
	return true;
}

static struct nvs_seg_block *make_block(const struct nvs_segs *segs)
{
	size_t bytes = sizeof(struct nvs_seg_block) + segs->n * sizeof(struct nvs_segment_map);
	struct nvs_seg_block *b = nvs_alloc(bytes);

	if (!b)
		return NULL;
	b->refs = 1;
	b->bytes = bytes;
	for (uint32_t i = 0; i < segs->n; i++) {
		const struct nvs_seg *s = &segs->at[i];
		struct nvs_segment_map *last = b->n ? &b->maps[b->n - 1] : NULL;
		uint64_t skip = 0;

		if (last && merge_segment(last, s))
			continue;
		if (last && last->vaspace == s->vaspace && last->gpu_va + last->size > s->gpu_va)
			skip = last->gpu_va + last->size - s->gpu_va;
		if (skip >= s->size)
			continue;
		b->maps[b->n++] = (struct nvs_segment_map){
			.gpu_va = s->gpu_va + skip,
			.size = s->size - skip,
			.cpu = s->cpu + skip,
			.vaspace = s->vaspace,
		};
	}
	return b;
}

static bool is_armed_doorbell(const struct nvs_cpu_map *m)
{
	return m->kind == NVS_MAP_DOORBELL && m->armed && !m->hidden && (m->prot & PROT_WRITE);
}

static bool is_in_view(const struct nvs_channel_entry *c)
{
	return !c->hidden && c->slot && c->token != NVS_NONE && !(c->flags & NVS_CHAN_NO_DOORBELL);
}

static uint32_t hash_size(uint32_t n)
{
	uint32_t size = 8;

	while (size < n * 2)
		size *= 2;
	return size;
}

static void add_channel(struct nvs_view *v, struct nvs_channel *channels, uint32_t *hash,
			const struct nvs_channel_entry *c)
{
	struct nvs_channel *out = &channels[v->nchannels++];
	uint32_t h = nvs_channel_hash(c->object->gpu, c->token);

	*out = (struct nvs_channel){
		.number = c->number,
		.gpu = c->object->gpu,
		.token = c->token,
		.entries = c->flags & NVS_CHAN_BOUND ? c->entries : 0,
		.vaspace = c->vaspace,
		.flags = c->flags,
		.gpfifo = c->ring,
		.put = c->put,
		.state = c->slot,
		.shadow = c->flags & NVS_CHAN_BOUND ? c->shadow : NULL,
	};
	while (hash[h & v->channel_mask])
		h++;
	hash[h & v->channel_mask] = v->nchannels;
}

static struct nvs_published *build_view(struct nvs_seg_block *block)
{
	struct nvs_rm *rm = nvs_rm();
	const struct nvs_cpu_map *m;
	struct nvs_channel_entry *c;
	uint32_t ndoorbells = 0, nchannels = 0, nhash;
	struct nvs_doorbell *doorbells;
	struct nvs_channel *channels;
	struct nvs_published *p;
	uint32_t *hash;
	size_t bytes;

	NVS_SPANS_ALL(&rm->cpu, m)
	ndoorbells += is_armed_doorbell(m);
	DL_FOREACH(rm->channels, c)
	nchannels += is_in_view(c);
	nhash = hash_size(nchannels);
	bytes = sizeof(*p) + ndoorbells * sizeof(*doorbells) + nchannels * sizeof(*channels) +
		nhash * sizeof(*hash);
	p = nvs_alloc(bytes);
	if (!p)
		return NULL;
	doorbells = (void *)(p + 1);
	channels = (void *)(doorbells + ndoorbells);
	hash = (void *)(channels + nchannels);
	p->bytes = bytes;
	p->block = block;
	p->view = (struct nvs_view){.generation = ++rm->generation,
				    .nmaps = block->n,
				    .maps = block->maps,
				    .doorbells = doorbells,
				    .channels = channels,
				    .channel_mask = nhash - 1,
				    .channel_hash = hash};
	NVS_SPANS_ALL(&rm->cpu, m)
	if (is_armed_doorbell(m))
		doorbells[p->view.ndoorbells++] =
			(struct nvs_doorbell){m->at.start, m->at.end, m->alias, m->number, m->gpu};
	DL_FOREACH(rm->channels, c)
	if (is_in_view(c))
		add_channel(&p->view, channels, hash, c);
	return p;
}

static void replace_view(struct nvs_rm *rm)
{
	struct nvs_seg_block *block;
	struct nvs_published *p, *old;

	rm->stale = rm->published != NULL;
	if (rm->segs_dirty || !rm->published) {
		block = make_block(&rm->segs);
		if (!block)
			return;
	} else {
		block = rm->published->block;
		block->refs++;
	}
	nvs_channels_bind(block->maps, block->n);
	p = build_view(block);
	if (!p) {
		put_block(block);
		return;
	}
	rm->published = p;
	rm->dirty = rm->segs_dirty = false;
	old = (struct nvs_published *)nvs_view_publish(&p->view);
	if (!old)
		return;
	rm->stale = false;
	put_block(old->block);
	nvs_free(old, old->bytes);
	nvs_shadow_free_retired();
}

/* Publishes the view, then does the work that had to wait for it: reads the last GP_PUT of channels
 * that left, releases their memory, and guards new doorbells. */
void nvs_publish_view(void)
{
	struct nvs_rm *rm = nvs_rm();
	bool shown;

	if (!rm)
		return;
	do {
		if (rm->live && rm->dirty)
			replace_view(rm);
		shown = !rm->dirty;
		nvs_channels_finish();
	} while (!nvs_doorbells_finish(shown));
}

void nvs_shadow_refresh(void)
{
	NVS_RM_LOCK_SCOPE();
	nvs_shadow_copy_userd();
	nvs_channels_read_tokens();
	nvs_publish_view();
	nvs_channels_spool_progress();
	nvs_channels_find_faults(NVS_FAULT_POLL);
}
