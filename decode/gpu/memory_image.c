/* SPDX-License-Identifier: MIT */
/*
 * Pages in a hash by address, and in two lists by last use: data pages and kept pages. A page has
 * one known bit per dword; the few pages with partly written dwords have one per byte. Fills and
 * copies longer than LONG_RANGE only make bytes unknown: descriptors are not written that way, and
 * the work must stay small compared to the commands that request it.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/base/budget.h"
#include "decode/base/copy.h"
#include "decode/gpu/memory_image.h"

#define PAGE 4096u
#define LONG_RANGE (1u << 20)
#define AT_FIRST (16u << 20) /* initial allowance for fills and copies, in bytes */
#define BUCKETS 8192u
#define NEAR 1024u /* page cache, because neighbouring pages are accessed in sequence */
#define SLAB 64u

/* The members used by every lookup share a cache line; the bytes are elsewhere. */
struct page {
	uint64_t number;
	uint64_t used; /* image clock at which it moved to the head of its list */
	uint8_t *bytes; /* aligned as in GPU memory, so that copies touch few cache lines */
	uint64_t *fine; /* one bit per byte, replaces known; or NULL */
	struct page *next; /* in the bucket or in the free list */
	struct page *newer, *older;
	bool kept;
	uint64_t known[PAGE / 4 / 64]; /* one bit per dword */
} __attribute__((aligned(64)));

/* One allocation of several pages. */
struct slab {
	struct page pages[SLAB];
	uint8_t bytes[SLAB][PAGE];
	struct slab *next;
};

struct page_list {
	struct page *newest, *oldest;
	uint32_t count;
};

struct nvs_memimage {
	uint32_t limit;
	uint64_t allowed; /* bytes that may still be filled and copied */
	uint64_t clock;
	struct page *near[NEAR]; /* recently found, by number; or NULL */
	struct page_list lists[2]; /* data, kept */
	struct page *free;
	struct slab *slabs;
	struct page *buckets[BUCKETS];
};

static uint32_t find_bucket(uint64_t number)
{
	return (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 51);
}

struct nvs_memimage *nvs_memimage_new(uint32_t pages)
{
	struct nvs_memimage *image = calloc(1, sizeof(*image));

	if (image)
		image->limit = pages ? pages : 1;
	if (image)
		image->allowed = AT_FIRST;
	return image;
}

void nvs_memimage_allow(struct nvs_memimage *image, uint64_t n)
{
	image->allowed += n;
}

static void free_page(struct nvs_memimage *image, struct page *p)
{
	if (!p)
		return;
	free(p->fine);
	p->next = image->free;
	image->free = p;
}

static void add_pages(struct nvs_memimage *image)
{
	struct slab *s = aligned_alloc(_Alignof(struct slab), sizeof(*s));

	if (!s)
		return;
	s->next = image->slabs;
	image->slabs = s;
	for (uint32_t i = SLAB; i-- > 0;) {
		s->pages[i].bytes = s->bytes[i];
		s->pages[i].next = image->free;
		image->free = &s->pages[i];
	}
}

/* Returns NULL if memory is short. */
static struct page *new_page(struct nvs_memimage *image)
{
	struct page *p;

	if (!image->free)
		add_pages(image);
	p = image->free;
	if (p)
		image->free = p->next;
	return p;
}

void nvs_memimage_free(struct nvs_memimage *image)
{
	for (int i = 0; image && i < 2; i++) {
		for (struct page *p = image->lists[i].newest; p; p = p->older)
			free(p->fine);
	}
	for (struct slab *s = image ? image->slabs : NULL, *next; s; s = next) {
		next = s->next;
		free(s);
	}
	free(image);
}

static void list_remove(struct nvs_memimage *image, struct page *p)
{
	struct page_list *l = &image->lists[p->kept];

	*(p->newer ? &p->newer->older : &l->newest) = p->older;
	*(p->older ? &p->older->newer : &l->oldest) = p->newer;
	l->count--;
}

static void list_add(struct nvs_memimage *image, struct page *p)
{
	struct page_list *l = &image->lists[p->kept];

	p->used = ++image->clock;
	p->newer = NULL;
	p->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = p;
	l->newest = p;
	l->count++;
}

static void move_to_head(struct nvs_memimage *image, struct page *p)
{
	list_remove(image, p);
	list_add(image, p);
}

static struct page *search_bucket(struct nvs_memimage *image, uint64_t number)
{
	struct page *p = image->buckets[find_bucket(number)];

	while (p && p->number != number)
		p = p->next;
	if (p)
		image->near[number % NEAR] = p;
	return p;
}

static inline struct page *find_page(struct nvs_memimage *image, uint64_t number)
{
	struct page *p = image->near[number % NEAR];

	if (!p || p->number != number)
		p = search_bucket(image, number);
	/* Skip if it is near the head of its list already: the order there does not matter. */
	if (p && image->clock - p->used > image->limit / 2)
		move_to_head(image, p);
	return p;
}

static void remove_from_hash(struct nvs_memimage *image, struct page *p)
{
	struct page **at = &image->buckets[find_bucket(p->number)];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (image->near[p->number % NEAR] == p)
		image->near[p->number % NEAR] = NULL;
}

/*
 * Unlinks and returns the oldest page of a full list; returns NULL if the list has room. A graph
 * has as many descriptors as kernels, so the kept list may exceed its limit while more than a
 * quarter of the memory budget is left.
 */
static struct page *take_oldest(struct nvs_memimage *image, bool kept)
{
	struct page_list *l = &image->lists[kept];
	struct page *p = l->oldest;

	if (l->count < image->limit || (kept && nvs_budget_left() > nvs_budget_total() / 4))
		return NULL;
	list_remove(image, p);
	remove_from_hash(image, p);
	return p;
}

static struct page *find_or_add(struct nvs_memimage *image, uint64_t number)
{
	struct page *p = find_page(image, number);

	if (p)
		return p;
	p = take_oldest(image, false);
	if (p)
		free(p->fine);
	else
		p = new_page(image);
	if (!p)
		return NULL; /* the bytes stay unknown */
	p->fine = NULL;
	p->number = number;
	p->kept = false;
	memset(p->known, 0, sizeof(p->known));
	p->next = image->buckets[find_bucket(number)];
	image->buckets[find_bucket(number)] = p;
	list_add(image, p);
	image->near[number % NEAR] = p;
	return p;
}

/* Bits [from % 64, 64) of a word, and bits [0, last % 64]. */
static inline uint64_t first_bits(uint32_t from)
{
	return ~0ull << from % 64;
}

static inline uint64_t last_bits(uint32_t last)
{
	return ~0ull >> (63 - last % 64);
}

/* Sets bits FROM to LAST. */
static inline void set_bits(uint64_t *words, uint32_t from, uint32_t last, bool known)
{
	uint32_t w = from / 64, end = last / 64;
	uint64_t mask = first_bits(from), all = known ? ~0ull : 0;

	for (; w < end; w++, mask = ~0ull)
		words[w] = (words[w] & ~mask) | (all & mask);
	mask &= last_bits(last);
	words[w] = (words[w] & ~mask) | (all & mask);
}

static inline bool all_bits(const uint64_t *words, uint32_t from, uint32_t last)
{
	uint32_t w = from / 64, end = last / 64;
	uint64_t mask = first_bits(from), unknown = 0;

	for (; w < end; w++, mask = ~0ull)
		unknown |= ~words[w] & mask;
	return !(unknown | (~words[w] & mask & last_bits(last)));
}

/* Marks part of a dword as known or unknown. If memory is short the whole dwords become unknown. */
static __attribute__((noinline)) void set_fine(struct page *p, uint32_t from, uint32_t to,
					       bool known)
{
	if (!p->fine) {
		p->fine = calloc(PAGE / 64, sizeof(*p->fine));
		if (!p->fine) {
			set_bits(p->known, from / 4, (to - 1) / 4, false);
			return;
		}
		for (uint32_t i = 0; i < PAGE; i += 4)
			if (all_bits(p->known, i / 4, i / 4))
				set_bits(p->fine, i, i + 3, true);
	}
	set_bits(p->fine, from, to - 1, known);
}

/* Marks bytes [from, to), at least one. */
static inline void set_known(struct page *p, uint32_t from, uint32_t to, bool known)
{
	if (p->fine || (from | to) % 4)
		set_fine(p, from, to, known);
	else
		set_bits(p->known, from / 4, to / 4 - 1, known);
}

static inline bool all_known(const struct page *p, uint32_t from, uint32_t to)
{
	return p->fine ? all_bits(p->fine, from, to - 1)
		       : all_bits(p->known, from / 4, (to - 1) / 4);
}

/* Returns how many bytes of [address, address + n) are in its first page. */
static uint32_t bytes_in_page(uint64_t address, uint64_t n)
{
	uint32_t room = PAGE - (uint32_t)(address % PAGE);

	return n < room ? (uint32_t)n : room;
}

void nvs_memimage_write(struct nvs_memimage *image, uint64_t address, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n) {
		uint32_t at = (uint32_t)(address % PAGE), m = bytes_in_page(address, n);
		struct page *p = find_or_add(image, address / PAGE);

		if (p) {
			nvs_copy(p->bytes + at, from, m);
			set_known(p, at, at + m, true);
		}
		address += m;
		from += m;
		n -= m;
	}
}

void nvs_memimage_mark_kept(struct nvs_memimage *image, uint64_t address, size_t n)
{
	for (uint32_t m; n; address += m, n -= m) {
		struct page *p = find_page(image, address / PAGE);

		m = bytes_in_page(address, n);
		if (!p || p->kept)
			continue;
		free_page(image, take_oldest(image, true));
		list_remove(image, p);
		p->kept = true;
		list_add(image, p);
	}
}

static void invalidate_range(struct nvs_memimage *image, uint64_t address, uint64_t n)
{
	for (int i = 0; i < 2; i++) {
		for (struct page *p = image->lists[i].newest; p; p = p->older) {
			uint64_t start = p->number * PAGE, end = start + PAGE;
			uint64_t from = address > start ? address : start;
			uint64_t to = address + n < end ? address + n : end;

			if (from < to)
				set_known(p, (uint32_t)(from - start), (uint32_t)(to - start),
					  false);
		}
	}
}

void nvs_memimage_invalidate(struct nvs_memimage *image, uint64_t address, uint64_t n)
{
	if (address + n < address)
		n = UINT64_MAX - address;
	/* For a long range, walk the existing pages instead. */
	if (n / PAGE > (uint64_t)image->lists[0].count + image->lists[1].count) {
		invalidate_range(image, address, n);
		return;
	}
	for (uint32_t m; n; address += m, n -= m) {
		struct page *p = find_page(image, address / PAGE);

		m = bytes_in_page(address, n);
		if (p)
			set_known(p, (uint32_t)(address % PAGE), (uint32_t)(address % PAGE) + m,
				  false);
	}
}

void nvs_memimage_fill(struct nvs_memimage *image, uint64_t address, const void *element,
		       size_t size, uint64_t n)
{
	uint8_t chunk[512];
	size_t whole, used;

	if (n > LONG_RANGE || n > image->allowed || size > sizeof(chunk)) {
		nvs_memimage_invalidate(image, address, n);
		return;
	}
	image->allowed -= n;
	/* Elements, doubled until all that is needed of CHUNK is filled. */
	whole = sizeof(chunk) / size * size;
	used = n < whole ? (size_t)n : whole;
	memcpy(chunk, element, size);
	for (size_t i = size; i < used; i *= 2)
		memcpy(chunk + i, chunk, i < used - i ? i : used - i);
	for (size_t m; n; address += m, n -= m) {
		m = n < whole ? (size_t)n : whole;
		nvs_memimage_write(image, address, chunk, m);
	}
}

void nvs_memimage_copy(struct nvs_memimage *image, uint64_t dst, uint64_t src, uint64_t n)
{
	uint8_t chunk[256];

	if (n > LONG_RANGE) {
		nvs_memimage_invalidate(image, dst, n);
		return;
	}
	while (n) {
		/* Copy pieces that are within one source page. */
		uint32_t m = bytes_in_page(src, n < sizeof(chunk) ? n : sizeof(chunk));
		struct page *p = find_page(image, src / PAGE);
		uint32_t at = (uint32_t)(src % PAGE);

		if (!p) {
			m = bytes_in_page(src, n);
			nvs_memimage_invalidate(image, dst, m);
		} else if (m <= image->allowed && all_known(p, at, at + m)) {
			memcpy(chunk, p->bytes + at, m);
			nvs_memimage_write(image, dst, chunk, m);
			image->allowed -= m;
		} else {
			nvs_memimage_invalidate(image, dst, m);
		}
		src += m;
		dst += m;
		n -= m;
	}
}

const void *nvs_memimage_peek(struct nvs_memimage *image, uint64_t address, size_t n)
{
	uint32_t at = (uint32_t)(address % PAGE);
	struct page *p = at + n <= PAGE ? find_page(image, address / PAGE) : NULL;
	return p && n && all_known(p, at, at + (uint32_t)n) ? p->bytes + at : NULL;
}

bool nvs_memimage_read(struct nvs_memimage *image, uint64_t address, void *bytes, size_t n)
{
	uint8_t *to = bytes;

	while (n) {
		uint32_t at = (uint32_t)(address % PAGE), m = bytes_in_page(address, n);
		struct page *p = find_page(image, address / PAGE);

		if (!p || !all_known(p, at, at + m))
			return false;
		memcpy(to, p->bytes + at, m);
		address += m;
		to += m;
		n -= m;
	}
	return true;
}
