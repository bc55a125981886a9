/* SPDX-License-Identifier: MIT */
/* An array of segments for each allocation, each with a list of accesses. See memory_accesses.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/memory_accesses.h"
#include "decode/base/grow.h"

#define MAX_SEGMENTS 4096u /* of an allocation */
#define MAX_ACCESSES 64u /* of a segment */
#define MAX_LIST (1u << 22)

struct memory_access {
	uint32_t work, next; /* next: 1 + index; 0: the last */
	uint8_t kind;
	uint32_t pitch, width;
	uint64_t from;
};

struct segment {
	uint64_t from, to;
	uint32_t first, n; /* first: 1 + index of its latest access */
};

struct accessed_memory {
	uint64_t address, made; /* of the range, whose number may be used again */
	struct segment *segments;
	uint32_t n, room;
};

/* ---- kinds ---- */

static bool writes(enum nvs_access_kind kind)
{
	return kind == NVS_ACCESS_WRITES || kind == NVS_ACCESS_ALLOCATES ||
	       kind == NVS_ACCESS_FREES;
}

static bool only_reads(enum nvs_access_kind kind)
{
	return kind == NVS_ACCESS_READS || kind == NVS_ACCESS_LOADS;
}

static bool of_kernel(enum nvs_access_kind kind)
{
	return kind >= NVS_ACCESS_GIVEN;
}

enum nvs_race_level nvs_access_conflict(enum nvs_access_kind a, enum nvs_access_kind b)
{
	if (only_reads(a) && only_reads(b))
		return NVS_RACE_NONE;
	if (!of_kernel(a) && !of_kernel(b))
		return NVS_RACE_CERTAIN;
	if (writes(a) || writes(b))
		return NVS_RACE_LIKELY;
	/* Kernels that add to the same words may well be meant to. */
	if (a == NVS_ACCESS_ADDS && (b == NVS_ACCESS_ADDS || b == NVS_ACCESS_GIVEN))
		return NVS_RACE_POSSIBLE;
	if (a == NVS_ACCESS_STORES || b == NVS_ACCESS_STORES)
		return NVS_RACE_LIKELY;
	if (a == NVS_ACCESS_ADDS || b == NVS_ACCESS_ADDS)
		return b == NVS_ACCESS_GIVEN ? NVS_RACE_POSSIBLE : NVS_RACE_LIKELY;
	return NVS_RACE_POSSIBLE;
}

/* Returns true if whatever conflicts with OLD conflicts at least as much with NEW, which is in
 * order after it. */
static bool replaces(const struct memory_access *new, const struct memory_access *old)
{
	if (new->pitch &&
	    (new->pitch != old->pitch || new->width != old->width || new->from != old->from))
		return false;
	if (writes(new->kind) || new->kind == old->kind)
		return true;
	if (new->kind == NVS_ACCESS_STORES)
		return of_kernel(old->kind);
	return new->kind == NVS_ACCESS_READS && old->kind == NVS_ACCESS_LOADS;
}

/* Two sets of columns of the same pitch may lie beside each other. */
static bool meets(const struct memory_access *a, const struct memory_access *b)
{
	uint64_t x, y;

	if (!a->pitch || a->pitch != b->pitch)
		return true;
	x = a->from % a->pitch;
	y = b->from % a->pitch;
	return x + a->width > y && y + b->width > x;
}

/* ---- work and accesses ---- */

uint32_t nvs_accesses_work(struct nvs_accesses *a, const struct nvs_access_work *work)
{
	uint32_t index = a->spare_work - 1;
	struct nvs_access_work *w;

	if (a->spare_work) {
		w = a->works + index;
		a->spare_work = w->refs;
	} else {
		w = NVS_APPEND_OPTIONAL(a->works, a->nworks, a->works_room, 64, MAX_LIST);
		index = a->nworks - 1;
	}
	if (!w)
		return UINT32_MAX;
	*w = *work;
	w->refs = 1;
	return index;
}

/* Unused work is in a list, linked by REFS. */
void nvs_accesses_release(struct nvs_accesses *a, uint32_t work)
{
	if (work == UINT32_MAX || --a->works[work].refs)
		return;
	a->works[work].refs = a->spare_work;
	a->spare_work = work + 1;
}

static struct memory_access *take_access(struct nvs_accesses *a)
{
	struct memory_access *x;

	if (!a->spare)
		return NVS_APPEND_OPTIONAL(a->list, a->n, a->room, 256, MAX_LIST);
	x = a->list + a->spare - 1;
	a->spare = x->next;
	return x;
}

/* Unlinks the access at LINK of S. */
static void drop_access(struct nvs_accesses *a, struct segment *s, uint32_t *link)
{
	uint32_t index = *link;
	struct memory_access *x = a->list + index - 1;

	*link = x->next;
	s->n--;
	nvs_accesses_release(a, x->work);
	x->next = a->spare;
	a->spare = index;
}

static void drop_all(struct nvs_accesses *a, struct segment *s)
{
	while (s->first)
		drop_access(a, s, &s->first);
}

static bool put_access(struct nvs_accesses *a, struct segment *s, const struct memory_access *new)
{
	struct memory_access *x = take_access(a);

	if (!x) {
		a->dropped++;
		return false;
	}
	*x = *new;
	x->next = s->first;
	s->first = (uint32_t)(x - a->list) + 1;
	s->n++;
	a->works[new->work].refs++;
	return true;
}

/* Copies the accesses of FROM, in the same order. */
static void copy_accesses(struct nvs_accesses *a, struct segment *to, const struct segment *from)
{
	uint32_t list[MAX_ACCESSES], n = 0;

	to->first = to->n = 0;
	for (uint32_t i = from->first; i && n < MAX_ACCESSES; i = a->list[i - 1].next)
		list[n++] = i;
	while (n) {
		const struct memory_access x = a->list[list[--n] - 1];

		put_access(a, to, &x);
	}
}

/* ---- segments ---- */

static void clear_memory(struct nvs_accesses *a, struct accessed_memory *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		drop_all(a, m->segments + i);
	m->n = 0;
}

static bool is_equal(const struct nvs_accesses *a, const struct segment *x, const struct segment *y)
{
	uint32_t i = x->first, j = y->first;

	while (i && j) {
		const struct memory_access *p = a->list + i - 1, *q = a->list + j - 1;

		if (p->work != q->work || p->kind != q->kind || p->from != q->from ||
		    p->pitch != q->pitch)
			return false;
		i = p->next;
		j = q->next;
	}
	return i == j;
}

/* Drops what the host has waited for, then empty segments, and joins equal neighbours among the
 * segments from FIRST up to END. */
static void tidy_segments(struct nvs_accesses *a, struct accessed_memory *m, uint32_t first,
			  uint32_t end)
{
	uint32_t kept = first;

	for (uint32_t i = first; i < end; i++) {
		struct segment *s = m->segments + i;

		for (uint32_t *link = &s->first; *link;)
			if (nvs_order_is_past(a->order, &a->works[a->list[*link - 1].work].point))
				drop_access(a, s, link);
			else
				link = &a->list[*link - 1].next;
		if (!s->first)
			continue;
		if (kept > first && m->segments[kept - 1].to == s->from &&
		    is_equal(a, m->segments + kept - 1, s)) {
			m->segments[kept - 1].to = s->to;
			drop_all(a, s);
			continue;
		}
		m->segments[kept++] = *s;
	}
	if (kept == end)
		return;
	memmove(m->segments + kept, m->segments + end, (m->n - end) * sizeof(*m->segments));
	m->n -= end - kept;
}

/* The first segment that ends after ADDRESS. */
static uint32_t find_segment(const struct accessed_memory *m, uint64_t address)
{
	uint32_t from = 0, to = m->n;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (m->segments[middle].to <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct segment *insert_segment(struct accessed_memory *m, uint32_t at, uint64_t from,
				      uint64_t to)
{
	if (!NVS_APPEND_OPTIONAL(m->segments, m->n, m->room, 4, 2 * MAX_SEGMENTS))
		return NULL;
	memmove(m->segments + at + 1, m->segments + at, (m->n - 1 - at) * sizeof(*m->segments));
	m->segments[at] = (struct segment){from, to, 0, 0};
	return m->segments + at;
}

/* Makes a segment end at ADDRESS. Returns false if memory is short. */
static bool split_segment(struct nvs_accesses *a, struct accessed_memory *m, uint64_t address)
{
	uint32_t i = find_segment(m, address);
	struct segment *s;

	if (i == m->n || m->segments[i].from >= address)
		return true;
	s = insert_segment(m, i, m->segments[i].from, address);
	if (!s)
		return false;
	s[1].from = address;
	copy_accesses(a, s, s + 1);
	return true;
}

/* Makes the segments from *FIRST up to *END cover exactly FROM to TO. */
static bool cover_range(struct nvs_accesses *a, struct accessed_memory *m, uint64_t from,
			uint64_t to, uint32_t *first, uint32_t *end)
{
	uint32_t i;

	if (m->n >= MAX_SEGMENTS)
		tidy_segments(a, m, 0, m->n);
	if (m->n >= MAX_SEGMENTS * 3 / 4) {
		a->dropped += m->n;
		clear_memory(a, m);
	}
	if (!split_segment(a, m, from) || !split_segment(a, m, to))
		return false;
	i = *first = find_segment(m, from);
	while (from < to) {
		uint64_t next = i < m->n && m->segments[i].from < to ? m->segments[i].from : to;

		if (from < next && !insert_segment(m, i, from, next))
			return false;
		from = m->segments[i++].to;
	}
	*end = i;
	return true;
}

/* ---- adding ---- */

static int compare_accesses(struct nvs_accesses *a, const struct nvs_ordered_stream *s,
			    const struct memory_access *old, const struct memory_access *new,
			    uint64_t at, const struct nvs_memory_range *memory, bool *ordered)
{
	struct nvs_access_conflict c = {
		.first = a->works + old->work,
		.second = a->works + new->work,
		.first_kind = old->kind,
		.second_kind = new->kind,
		.address = at,
		.memory = memory,
	};

	*ordered = true;
	if (old->work == new->work)
		return 0;
	c.order = nvs_order_of(a->order, s, &c.first->point);
	*ordered = c.order == NVS_ORDERED;
	if (*ordered || !meets(old, new) || !nvs_access_conflict(old->kind, new->kind))
		return 0;
	return a->conflict(a->arg, &c);
}

static int add_to_segment(struct nvs_accesses *a, const struct nvs_ordered_stream *stream,
			  struct segment *s, const struct memory_access *new,
			  const struct nvs_memory_range *memory)
{
	uint32_t *link = &s->first;
	int r = 0;

	while (*link && !r) {
		struct memory_access *old = a->list + *link - 1;
		bool ordered;

		if (nvs_order_is_past(a->order, &a->works[old->work].point)) {
			drop_access(a, s, link);
			continue;
		}
		r = compare_accesses(a, stream, old, new, s->from, memory, &ordered);
		if (ordered && replaces(new, old))
			drop_access(a, s, link);
		else
			link = &old->next;
	}
	if (s->n >= MAX_ACCESSES) {
		for (link = &s->first; a->list[*link - 1].next;)
			link = &a->list[*link - 1].next;
		drop_access(a, s, link);
		a->dropped++;
	}
	put_access(a, s, new);
	return r;
}

/* Returns what is known of RANGE, nothing if its memory was freed and allocated again since. NULL
 * if memory is short. */
static struct accessed_memory *get_memory(struct nvs_accesses *a,
					  const struct nvs_memory_range *range)
{
	uint32_t index = (uint32_t)(range - a->ranges->list);
	struct accessed_memory *m;

	if (index >= a->nmemory) {
		uint32_t n = index + index / 2 + 16;
		struct accessed_memory **more = realloc(a->memory, n * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + a->nmemory, 0, (n - a->nmemory) * sizeof(*more));
		a->memory = more;
		a->nmemory = n;
	}
	m = a->memory[index];
	if (!m)
		m = a->memory[index] = calloc(1, sizeof(*m));
	if (m && (m->address != range->address || m->made != range->made.time)) {
		clear_memory(a, m);
		m->address = range->address;
		m->made = range->made.time;
	}
	return m;
}

int nvs_accesses_add(struct nvs_accesses *a, const struct nvs_ordered_stream *s, uint32_t work,
		     enum nvs_access_kind kind, const struct nvs_access_range *range)
{
	const struct nvs_memory_range *memory = nvs_memory_range_at(a->ranges, range->from);
	struct memory_access new = {.work = work,
				    .kind = (uint8_t)kind,
				    .pitch = range->pitch,
				    .width = range->width,
				    .from = range->from};
	struct accessed_memory *m;
	uint32_t first, end;
	uint64_t to;
	int r = 0;

	if (!memory || range->to <= range->from)
		return 0;
	to = memory->address + memory->bytes;
	to = range->to < to ? range->to : to;
	m = get_memory(a, memory);
	if (!m || !cover_range(a, m, range->from, to, &first, &end)) {
		a->dropped++;
		return 0;
	}
	for (uint32_t i = first; i < end && !r; i++)
		r = add_to_segment(a, s, m->segments + i, &new, memory);
	if (end - first > 1)
		tidy_segments(a, m, first, end);
	return r;
}

void nvs_accesses_free(struct nvs_accesses *a)
{
	for (uint32_t i = 0; i < a->nmemory; i++)
		if (a->memory[i]) {
			free(a->memory[i]->segments);
			free(a->memory[i]);
		}
	free(a->memory);
	free(a->list);
	free(a->works);
}
