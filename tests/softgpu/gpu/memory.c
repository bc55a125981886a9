/* SPDX-License-Identifier: MIT */
/* Memory objects and GPU page tables. An object is a memfd that the GPU maps itself, so the GPU is
 * not affected when the program moves, protects or unmaps its own mappings. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "gpu.h"

struct sg_memory *sg_memory_new(const char *name, uint64_t size)
{
	struct sg_memory *m = calloc(1, sizeof(*m));
	uint64_t page = getauxval(AT_PAGESZ);

	size = (size + 4095) & ~4095ull;
	m->refs = 1;
	m->size = size;
	/*
	 * One page longer than the object, so that a tool that searches /proc/self/maps for unknown
	 * doorbells does not mistake the GPU's mapping for one: a real GPU has no mapping in the
	 * process. Where qemu-user makes pages larger, it cuts mappings at the end of their file.
	 */
	m->fd = sg_memfd(name, page == 4096 ? size : size + page);
	if (m->fd >= 0)
		m->map = sg_mmap(NULL, size + page, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_NORESERVE, m->fd, 0);
	if (m->fd < 0 || m->map == MAP_FAILED) {
		if (m->fd >= 0)
			sg_close(m->fd);
		free(m);
		return NULL;
	}
	return m;
}

/* A real driver pins pages, which stay pinned whatever the program maps over them; here they are
 * moved into an object first. */
struct sg_memory *sg_memory_pin(uint64_t at, uint64_t size)
{
	uint64_t start = at & ~4095ull, end = (at + size + 4095) & ~4095ull;
	struct sg_memory *m = NULL;

	/* Pinning fails where nothing is mapped. */
	if (!sg_sys(SYS_msync, (long)start, (long)(end - start), MS_ASYNC, 0, 0, 0))
		m = sg_memory_new("pinned", end - start);
	if (!m)
		return NULL;
	memcpy(m->map, (void *)start, end - start);
	if (sg_mmap((void *)start, end - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    m->fd, 0) == MAP_FAILED) {
		sg_memory_put(m);
		return NULL;
	}
	return m;
}

struct sg_memory *sg_memory_get(struct sg_memory *m)
{
	if (m)
		__atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
	return m;
}

void sg_memory_put(struct sg_memory *m)
{
	if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL))
		return;
	sg_munmap(m->map, m->size + getauxval(AT_PAGESZ));
	sg_close(m->fd);
	free(m);
}

/* ---- page tables ---- */

struct sg_vaspace *sg_vaspace_new(void)
{
	struct sg_vaspace *v = calloc(1, sizeof(*v));

	v->refs = 1;
	return v;
}

void sg_vaspace_put(struct sg_vaspace *v)
{
	if (!v || --v->refs)
		return;
	sg_uvm_unregister(v);
	for (uint32_t i = 0; i < v->count; i++)
		sg_memory_put(v->pte[i].memory);
	free(v->pte);
	free(v);
}

/* Index of the first entry that ends after VA. */
static uint32_t first_behind(const struct sg_vaspace *v, uint64_t va)
{
	uint32_t lo = 0, hi = v->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (v->pte[mid].va + v->pte[mid].size <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert(struct sg_vaspace *v, uint32_t i, struct sg_pte pte)
{
	if (v->count == v->room) {
		v->room = v->room ? v->room * 2 : 64;
		v->pte = realloc(v->pte, v->room * sizeof(*v->pte));
	}
	memmove(v->pte + i + 1, v->pte + i, (v->count - i) * sizeof(*v->pte));
	v->pte[i] = pte;
	v->count++;
}

void sg_vaspace_unmap(struct sg_vaspace *v, uint64_t va, uint64_t size)
{
	uint64_t end = va + size;
	uint32_t i = first_behind(v, va);

	v->generation++;
	while (i < v->count && v->pte[i].va < end) {
		struct sg_pte *p = &v->pte[i], behind = *p;
		uint64_t pend = p->va + p->size;

		if (pend > end) {
			behind.offset += end - p->va;
			behind.va = end;
			behind.size = pend - end;
			behind.memory = sg_memory_get(p->memory);
			insert(v, i + 1, behind);
			p = &v->pte[i];
		}
		if (p->va < va) {
			p->size = va - p->va;
			i++;
			continue;
		}
		sg_memory_put(p->memory);
		v->count--;
		memmove(p, p + 1, (v->count - i) * sizeof(*p));
	}
}

int sg_vaspace_map(struct sg_vaspace *v, uint64_t va, uint64_t size, struct sg_memory *m,
		   uint64_t offset)
{
	if (!size || offset > m->size || size > ((m->size - offset + 0x1fffff) & ~0x1fffffull))
		return NV_ERR_INVALID_LIMIT;
	if (size > m->size - offset)
		size = m->size - offset;
	sg_vaspace_unmap(v, va, size);
	insert(v, first_behind(v, va),
	       (struct sg_pte){
		       .va = va, .size = size, .offset = offset, .memory = sg_memory_get(m)});
	return NV_OK;
}

uint8_t *sg_vaspace_find(struct sg_vaspace *v, uint64_t va, uint64_t *left)
{
	uint32_t i = v ? first_behind(v, va) : 0;

	if (!v || i == v->count || v->pte[i].va > va)
		return NULL;
	*left = v->pte[i].va + v->pte[i].size - va;
	return v->pte[i].memory->map + v->pte[i].offset + (va - v->pte[i].va);
}
