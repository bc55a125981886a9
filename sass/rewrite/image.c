/* SPDX-License-Identifier: MIT */
/* Rebuilds the cubin with larger sections: lays the sections out again and adjusts the headers.
 * Also the arena allocator. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

struct nvs_arena_piece {
	struct nvs_arena_piece *before;
	size_t size, used; /* bytes after this header */
};

#define PIECE ((size_t)1 << 20)

void *nvs_arena_get(struct nvs_rewrite_arena *arena, size_t n, size_t size)
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

void nvs_arena_free(struct nvs_rewrite_arena *arena)
{
	while (arena->last) {
		struct nvs_arena_piece *piece = arena->last;

		arena->last = piece->before;
		arena->memory->put(arena->memory->arg, piece, sizeof(*piece) + piece->size);
	}
}

/* Section types that occupy no bytes in the file. */
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

int nvs_rebuild_open(struct nvs_rebuilt *r, const void *cubin, size_t size,
		     struct nvs_rewrite_arena *arena)
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

struct moved_section {
	uint64_t old, old_size, now, size; /* offset and size in the old and the new file */
	uint32_t section, type;
};

static bool is_before(const struct moved_section *a, const struct moved_section *b)
{
	return a->old != b->old ? a->old < b->old : a->section < b->section;
}

/* Heap sort: sections are nearly always sorted already, but in a malicious cubin they may not be.
 *  */
static void sort_places(struct moved_section *p, size_t n)
{
	size_t sorted = 1, root, child;

	while (sorted < n && !is_before(&p[sorted], &p[sorted - 1]))
		sorted++;
	if (sorted >= n)
		return;
	for (size_t start = n / 2, end = n; end > 1;) {
		if (start)
			start--;
		else {
			struct moved_section t = p[--end];

			p[end] = p[0];
			p[0] = t;
		}
		for (root = start; (child = 2 * root + 1) < end; root = child) {
			struct moved_section t = p[root];

			if (child + 1 < end && is_before(&p[child], &p[child + 1]))
				child++;
			if (!is_before(&p[root], &p[child]))
				break;
			p[root] = p[child];
			p[child] = t;
		}
	}
}

#define HEADER 64u
#define SECTION 64u
#define SEGMENT 56u

static void write_u64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Adjusts a program header so that the segment covers the same sections. A segment without sections
 * keeps its size and moves with the section that began at the same offset. */
static void adjust_segment(uint8_t *p, const struct nvs_rebuilt *r,
			   const struct moved_section *place, size_t n, uint64_t headers)
{
	uint64_t offset = nvs_elf_u64(p + 8), size = nvs_elf_u64(p + 32), end,
		 now_from = UINT64_MAX, now_to = 0, from = UINT64_MAX, to = 0;

	if (offset == r->cubin.program_headers) {
		write_u64(p + 8, headers);
		return;
	}
	if (__builtin_add_overflow(offset, size, &end))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct moved_section *s = &place[i];

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

		write_u64(p + 8, now_from);
		write_u64(p + 32, size + grown);
		write_u64(p + 40, nvs_elf_u64(p + 40) + grown);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (place[i].old == offset) {
			write_u64(p + 8, place[i].now);
			return;
		}
}

int nvs_rebuild_cubin(struct nvs_rebuilt *r, struct nvs_rewrite_arena *arena,
		      const struct nvs_sass_memory *memory, uint8_t **out, size_t *out_size,
		      size_t *out_bytes)
{
	const struct nvs_cubin *c = &r->cubin;
	struct moved_section *place = nvs_arena_get(arena, c->sections + 1, sizeof(*place));
	size_t n = 0, room = r->size + 4096, at = HEADER, old = HEADER;
	uint64_t sections = c->section_headers, headers;
	struct nvs_cubin_section s;
	uint8_t *p;

	if (!place)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->sections; i++) {
		if (!nvs_cubin_section(c, i, &s) || !s.type)
			continue;
		place[n++] = (struct moved_section){.old = s.offset,
						    .old_size = no_bytes(s.type) ? 0 : s.size,
						    .section = i,
						    .type = s.type};
		if (r->text[i])
			room += r->text_size[i] + 4096;
		else if (s.align <= 4096)
			room += s.align; /* maximum of padding before it */
	}
	sort_places(place, n);
	p = memory->get(memory->arg, room);
	if (!p)
		return -ENOMEM;
	memcpy(p, r->data, HEADER);
	for (size_t i = 0; i < n; i++) {
		struct moved_section *q = &place[i];
		size_t gap, align;

		if (!nvs_cubin_section(c, q->section, &s))
			goto broken;
		align = s.align && s.align <= 4096 ? s.align : 1;
		/* Sections that overlap or go backwards are not produced by ptxas. */
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
	/* The headers are after the sections, program headers last. */
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
	write_u64(p + 0x28, at);
	memcpy(p + at, r->data + sections, (size_t)c->sections * SECTION);
	for (size_t i = 0; i < n; i++) {
		write_u64(p + at + (size_t)place[i].section * SECTION + 0x18, place[i].now);
		if (r->text[place[i].section])
			write_u64(p + at + (size_t)place[i].section * SECTION + 0x20,
				  place[i].size);
	}
	at += (size_t)c->sections * SECTION;
	if (c->segments) {
		write_u64(p + 0x20, at);
		memcpy(p + at, r->data + headers, (size_t)c->segments * SEGMENT);
		for (uint32_t i = 0; i < c->segments; i++)
			adjust_segment(p + at + (size_t)i * SEGMENT, r, place, n, at);
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
