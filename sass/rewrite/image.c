/* SPDX-License-Identifier: MIT */
/* The cubin as it grows: sections laid out again, what points at them mended; and memory that is
 * given back at once. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

struct nvs_arena_piece {
	struct nvs_arena_piece *before;
	size_t size, used; /* bytes behind this */
};

#define PIECE ((size_t)1 << 20)

void *nvs_arena_get(struct nvs_arena *arena, size_t n, size_t size)
{
	struct nvs_arena_piece *piece = arena->last;
	size_t want, all;
	void *p;

	if (__builtin_mul_overflow(n, size, &want) || want > (size_t)1 << 40)
		return NULL;
	want = (want + 15) & ~(size_t)15;
	if (!piece || piece->size - piece->used < want) {
		all = sizeof(*piece) + 16 + (want > PIECE ? want : PIECE);
		piece = arena->memory->get(arena->memory->arg, all);
		if (!piece)
			return NULL;
		piece->before = arena->last;
		piece->size = all - sizeof(*piece);
		piece->used = -((uintptr_t)(piece + 1)) & 15;
		arena->last = piece;
	}
	p = (uint8_t *)(piece + 1) + piece->used;
	piece->used += want;
	return p;
}

void nvs_arena_free(struct nvs_arena *arena)
{
	while (arena->last) {
		struct nvs_arena_piece *piece = arena->last;

		arena->last = piece->before;
		arena->memory->put(arena->memory->arg, piece, sizeof(*piece) + piece->size);
	}
}

/* Sections that take no bytes of the file. */
static bool no_bytes(uint32_t type)
{
	switch (type) {
	case 8: /* SHT_NOBITS */
	case 0x70000007: /* SHT_CUDA_GLOBAL */
	case 0x70000009: /* SHT_CUDA_LOCAL */
	case 0x7000000a: /* SHT_CUDA_SHARED */
		return true;
	}
	return false;
}

int nvs_rebuild_open(struct nvs_rebuilt *r, const void *cubin, size_t size, struct nvs_arena *arena)
{
	r->data = nvs_arena_get(arena, size ? size : 1, 1);
	if (!r->data)
		return -ENOMEM;
	memcpy(r->data, cubin, size);
	r->size = size;
	int err = nvs_cubin_open(&r->cubin, r->data, size);
	if (err)
		return err;
	r->text = nvs_arena_get(arena, r->cubin.sections + 1, sizeof(*r->text));
	r->text_size = nvs_arena_get(arena, r->cubin.sections + 1, sizeof(*r->text_size));
	return r->text && r->text_size ? 0 : -ENOMEM;
}

struct place {
	uint64_t old, old_size, now, size; /* where its bytes stood and stand */
	uint32_t section, type;
};

static bool before(const struct place *a, const struct place *b)
{
	return a->old != b->old ? a->old < b->old : a->section < b->section;
}

/* Heap sort: nearly always sorted already, but a stranger's may not be. */
static void sort(struct place *p, size_t n)
{
	size_t sorted = 1, root, child;

	while (sorted < n && !before(&p[sorted], &p[sorted - 1]))
		sorted++;
	if (sorted >= n)
		return;
	for (size_t start = n / 2, end = n; end > 1;) {
		if (start)
			start--;
		else {
			struct place t = p[--end];

			p[end] = p[0];
			p[0] = t;
		}
		for (root = start; (child = 2 * root + 1) < end; root = child) {
			struct place t = p[root];

			if (child + 1 < end && before(&p[child], &p[child + 1]))
				child++;
			if (!before(&p[root], &p[child]))
				break;
			p[root] = p[child];
			p[child] = t;
		}
	}
}

#define HEADER 64u
#define SECTION 64u
#define SEGMENT 56u

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* A segment covers the sections that it covered; one that covers none of them keeps its size, and
 * begins where the section does that began there. */
static void segment(uint8_t *p, const struct nvs_rebuilt *r, const struct place *place, size_t n,
		    uint64_t headers)
{
	uint64_t offset = get64(p + 8), size = get64(p + 32), end, now_from = UINT64_MAX,
		 now_to = 0, from = UINT64_MAX, to = 0;

	if (offset == r->cubin.program_headers) {
		put64(p + 8, headers);
		return;
	}
	if (__builtin_add_overflow(offset, size, &end))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct place *s = &place[i];

		if (no_bytes(s->type) || !s->old_size || s->old < offset ||
		    s->old + s->old_size > end)
			continue;
		from = s->old < from ? s->old : from;
		to = s->old + s->old_size > to ? s->old + s->old_size : to;
		now_from = s->now < now_from ? s->now : now_from;
		now_to = s->now + s->size > now_to ? s->now + s->size : now_to;
	}
	if (to) {
		uint64_t grown = (now_to - now_from) - (to - from);

		put64(p + 8, now_from);
		put64(p + 32, size + grown);
		put64(p + 40, get64(p + 40) + grown);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (place[i].old == offset) {
			put64(p + 8, place[i].now);
			return;
		}
}

int nvs_rebuild(struct nvs_rebuilt *r, struct nvs_arena *arena,
		const struct nvs_sass_memory *memory, uint8_t **out, size_t *out_size,
		size_t *out_bytes)
{
	const struct nvs_cubin *c = &r->cubin;
	struct place *place = nvs_arena_get(arena, c->sections + 1, sizeof(*place));
	size_t n = 0, room = r->size + 4096, at = HEADER, old = HEADER;
	uint64_t sections = c->section_headers, headers;
	struct nvs_cubin_section s;
	uint8_t *p;

	if (!place)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->sections; i++) {
		if (!nvs_cubin_section(c, i, &s) || !s.type)
			continue;
		place[n++] = (struct place){.old = s.offset,
					    .old_size = no_bytes(s.type) ? 0 : s.size,
					    .section = i,
					    .type = s.type};
		if (r->text[i])
			room += r->text_size[i] + 4096;
		else if (s.align <= 4096)
			room += s.align; /* at most as much is put before it */
	}
	sort(place, n);
	p = memory->get(memory->arg, room);
	if (!p)
		return -ENOMEM;
	memcpy(p, r->data, HEADER);
	for (size_t i = 0; i < n; i++) {
		struct place *q = &place[i];
		size_t gap, align;

		if (!nvs_cubin_section(c, q->section, &s))
			goto broken;
		align = s.align && s.align <= 4096 ? s.align : 1;
		/* Sections that overlap, or that stand before where the last one ended, are not
		 * what ptxas makes. */
		if (!no_bytes(q->type) &&
		    (q->old < old || q->old > r->size || q->old_size > r->size - q->old))
			goto broken;
		gap = q->old > old && q->old <= r->size ? q->old - old : 0;
		q->now = at + gap;
		if (q->old % align == 0)
			q->now = (q->now + align - 1) / align * align;
		if (no_bytes(q->type))
			continue;
		q->size = r->text[q->section] ? r->text_size[q->section] : q->old_size;
		if (q->now + q->size > room)
			goto broken;
		memcpy(p + at, r->data + old, gap);
		memset(p + at + gap, 0, q->now - at - gap);
		memcpy(p + q->now, r->text[q->section] ? r->text[q->section] : r->data + q->old,
		       q->size);
		at = q->now + q->size;
		old = q->old + q->old_size;
	}
	/* Headers stand behind the sections, those of segments last. */
	headers = c->segments ? c->program_headers : sections + (uint64_t)c->sections * SECTION;
	if (sections < old || sections > r->size ||
	    headers < sections + (uint64_t)c->sections * SECTION ||
	    at + (sections - old) + 8 + (uint64_t)c->sections * SECTION +
			    (uint64_t)c->segments * SEGMENT >
		    room)
		goto broken;
	memcpy(p + at, r->data + old, sections - old);
	at += sections - old;
	if (sections % 8 == 0)
		while (at % 8)
			p[at++] = 0;
	put64(p + 0x28, at);
	memcpy(p + at, r->data + sections, (size_t)c->sections * SECTION);
	for (size_t i = 0; i < n; i++) {
		put64(p + at + (size_t)place[i].section * SECTION + 0x18, place[i].now);
		if (r->text[place[i].section])
			put64(p + at + (size_t)place[i].section * SECTION + 0x20, place[i].size);
	}
	at += (size_t)c->sections * SECTION;
	if (c->segments) {
		put64(p + 0x20, at);
		memcpy(p + at, r->data + headers, (size_t)c->segments * SEGMENT);
		for (uint32_t i = 0; i < c->segments; i++)
			segment(p + at + (size_t)i * SEGMENT, r, place, n, at);
		at += (size_t)c->segments * SEGMENT;
	}
	*out = p;
	*out_size = at;
	*out_bytes = room;
	return 0;
broken:
	memory->put(memory->arg, p, room);
	return -EBADMSG;
}
