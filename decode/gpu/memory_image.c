/* SPDX-License-Identifier: MIT */
/*
 * Pages in a hash by address, each with a bit per known dword, in two lists by last use: data, and
 * kept pages. Few are written in part of a dword; these have a bit per byte instead. Fills and
 * copies longer than LONG_RANGE only forget: descriptors do not come that way, and the work has to
 * stay small beside the dwords that ask for it.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/base/budget.h"
#include "decode/base/copy.h"
#include "decode/gpu/memory_image.h"

#define PAGE 4096u
#define LONG_RANGE (1u << 20)
#define AT_FIRST (16u << 20) /* bytes that may be filled and copied in any case */
#define BUCKETS 8192u
#define NEAR 1024u /* pages found without a search: neighbours are asked for in turn */
#define SLAB 64u

/* What is asked each time is in one line of the cache, and the bytes are elsewhere. */
struct page {
	uint64_t number;
	uint64_t used; /* when it was put at the head of its list, by the image's clock */
	uint8_t *bytes; /* aligned as in the GPU's memory: copies then touch as few lines */
	uint64_t *fine; /* bytes, known not being looked at then; or NULL */
	struct page *next; /* in the bucket, or of those that are free */
	struct page *newer, *older;
	bool kept;
	uint64_t known[PAGE / 4 / 64]; /* dwords */
} __attribute__((aligned(64)));

/* Memory of several pages. */
struct slab {
	struct page pages[SLAB];
	uint8_t bytes[SLAB][PAGE];
	struct slab *next;
};

struct list {
	struct page *newest, *oldest;
	uint32_t count;
};

struct nvs_memimage {
	uint32_t limit;
	uint64_t allowed; /* bytes that may be filled and copied yet */
	uint64_t clock;
	struct page *near[NEAR]; /* found lately, by number; or NULL */
	struct list lists[2]; /* data, kept */
	struct page *free;
	struct slab *slabs;
	struct page *buckets[BUCKETS];
};

static uint32_t bucket(uint64_t number)
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

static void page_free(struct nvs_memimage *image, struct page *p)
{
	if (!p)
		return;
	free(p->fine);
	p->next = image->free;
	image->free = p;
}

static void more_pages(struct nvs_memimage *image)
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

/* NULL: no memory. */
static struct page *page_new(struct nvs_memimage *image)
{
	struct page *p;

	if (!image->free)
		more_pages(image);
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
	struct list *l = &image->lists[p->kept];

	*(p->newer ? &p->newer->older : &l->newest) = p->older;
	*(p->older ? &p->older->newer : &l->oldest) = p->newer;
	l->count--;
}

static void list_add(struct nvs_memimage *image, struct page *p)
{
	struct list *l = &image->lists[p->kept];

	p->used = ++image->clock;
	p->newer = NULL;
	p->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = p;
	l->newest = p;
	l->count++;
}

static void touch(struct nvs_memimage *image, struct page *p)
{
	list_remove(image, p);
	list_add(image, p);
}

static struct page *search(struct nvs_memimage *image, uint64_t number)
{
	struct page *p = image->buckets[bucket(number)];

	while (p && p->number != number)
		p = p->next;
	if (p)
		image->near[number % NEAR] = p;
	return p;
}

static inline struct page *find(struct nvs_memimage *image, uint64_t number)
{
	struct page *p = image->near[number % NEAR];

	if (!p || p->number != number)
		p = search(image, number);
	/* Near the head of its list already: which of those is the newest does not matter. */
	if (p && image->clock - p->used > image->limit / 2)
		touch(image, p);
	return p;
}

static void unhash(struct nvs_memimage *image, struct page *p)
{
	struct page **at = &image->buckets[bucket(p->number)];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (image->near[p->number % NEAR] == p)
		image->near[p->number % NEAR] = NULL;
}

/* The oldest page of a full list, taken out of everything; NULL: the list has room. A graph has as
 * many descriptors as it has kernels: those may have more while there is memory, but not the last
 * quarter of it. */
static struct page *recycle(struct nvs_memimage *image, bool kept)
{
	struct list *l = &image->lists[kept];
	struct page *p = l->oldest;

	if (l->count < image->limit || (kept && nvs_budget_left() > nvs_budget_whole() / 4))
		return NULL;
	list_remove(image, p);
	unhash(image, p);
	return p;
}

static struct page *find_or_add(struct nvs_memimage *image, uint64_t number)
{
	struct page *p = find(image, number);

	if (p)
		return p;
	p = recycle(image, false);
	if (p)
		free(p->fine);
	else
		p = page_new(image);
	if (!p)
		return NULL; /* the bytes stay unknown */
	p->fine = NULL;
	p->number = number;
	p->kept = false;
	memset(p->known, 0, sizeof(p->known));
	p->next = image->buckets[bucket(number)];
	image->buckets[bucket(number)] = p;
	list_add(image, p);
	image->near[number % NEAR] = p;
	return p;
}

/* Bits [from % 64, 64), and bits [0, last % 64], of a word. */
static inline uint64_t first_bits(uint32_t from)
{
	return ~0ull << from % 64;
}

static inline uint64_t last_bits(uint32_t last)
{
	return ~0ull >> (63 - last % 64);
}

/* Bits FROM to LAST. */
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

/* Part of a dword is to be known, or unknown. Without memory for that none of it is. */
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

/* Bytes [from, to), of which there is at least one. */
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

/* The part of [address, address + n) in its first page. */
static uint32_t part(uint64_t address, uint64_t n)
{
	uint32_t room = PAGE - (uint32_t)(address % PAGE);

	return n < room ? (uint32_t)n : room;
}

void nvs_memimage_write(struct nvs_memimage *image, uint64_t address, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n) {
		uint32_t at = (uint32_t)(address % PAGE), m = part(address, n);
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

void nvs_memimage_keep(struct nvs_memimage *image, uint64_t address, size_t n)
{
	for (uint32_t m; n; address += m, n -= m) {
		struct page *p = find(image, address / PAGE);

		m = part(address, n);
		if (!p || p->kept)
			continue;
		page_free(image, recycle(image, true));
		list_remove(image, p);
		p->kept = true;
		list_add(image, p);
	}
}

static void forget_all_in(struct nvs_memimage *image, uint64_t address, uint64_t n)
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

void nvs_memimage_forget(struct nvs_memimage *image, uint64_t address, uint64_t n)
{
	if (address + n < address)
		n = UINT64_MAX - address;
	/* A long range has more pages than there are. */
	if (n / PAGE > (uint64_t)image->lists[0].count + image->lists[1].count) {
		forget_all_in(image, address, n);
		return;
	}
	for (uint32_t m; n; address += m, n -= m) {
		struct page *p = find(image, address / PAGE);

		m = part(address, n);
		if (p)
			set_known(p, (uint32_t)(address % PAGE), (uint32_t)(address % PAGE) + m,
				  false);
	}
}

void nvs_memimage_fill(struct nvs_memimage *image, uint64_t address, const void *element,
		       size_t size, uint64_t n)
{
	uint8_t chunk[512];
	size_t whole = sizeof(chunk) / size * size;

	if (n > LONG_RANGE || n > image->allowed || size > sizeof(chunk)) {
		nvs_memimage_forget(image, address, n);
		return;
	}
	image->allowed -= n;
	for (size_t i = 0; i < whole; i += size)
		memcpy(chunk + i, element, size);
	for (size_t m; n; address += m, n -= m) {
		m = n < whole ? (size_t)n : whole;
		nvs_memimage_write(image, address, chunk, m);
	}
}

void nvs_memimage_copy(struct nvs_memimage *image, uint64_t dst, uint64_t src, uint64_t n)
{
	uint8_t chunk[256];

	if (n > LONG_RANGE) {
		nvs_memimage_forget(image, dst, n);
		return;
	}
	while (n) {
		/* Pieces that lie in one page of the source each. */
		uint32_t m = part(src, n < sizeof(chunk) ? n : sizeof(chunk));
		struct page *p = find(image, src / PAGE);
		uint32_t at = (uint32_t)(src % PAGE);

		if (!p) {
			m = part(src, n);
			nvs_memimage_forget(image, dst, m);
		} else if (m <= image->allowed && all_known(p, at, at + m)) {
			memcpy(chunk, p->bytes + at, m);
			nvs_memimage_write(image, dst, chunk, m);
			image->allowed -= m;
		} else {
			nvs_memimage_forget(image, dst, m);
		}
		src += m;
		dst += m;
		n -= m;
	}
}

const void *nvs_memimage_peek(struct nvs_memimage *image, uint64_t address, size_t n)
{
	uint32_t at = (uint32_t)(address % PAGE);
	struct page *p = at + n <= PAGE ? find(image, address / PAGE) : NULL;
	return p && n && all_known(p, at, at + (uint32_t)n) ? p->bytes + at : NULL;
}

bool nvs_memimage_read(struct nvs_memimage *image, uint64_t address, void *bytes, size_t n)
{
	uint8_t *to = bytes;

	while (n) {
		uint32_t at = (uint32_t)(address % PAGE), m = part(address, n);
		struct page *p = find(image, address / PAGE);

		if (!p || !all_known(p, at, at + m))
			return false;
		memcpy(to, p->bytes + at, m);
		address += m;
		to += m;
		n -= m;
	}
	return true;
}
