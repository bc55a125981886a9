/* SPDX-License-Identifier: MIT */
/*
 * Mappings of device memory into the process: made by mmap of an fd that RM_MAP_MEMORY named, by
 * mmap of /dev/nvidia-uvm, or by pinning user pages. Splits, moves and drops them as the program
 * does.
 */
#include <sys/mman.h>
#include "preload/base/hash.h"
#include "preload/base/state.h"
#include "preload/rm/rm.h"

#define REGION_SHIFT 21
#define REGIONS_COUNTED 4096 /* larger mappings disable the filter */

/* ---- the filter that spares the program's other mappings the lock ---- */

static _Atomic uint16_t *filter_slot(struct nvs_state *s, uint64_t number)
{
	return &s->filter[nvs_hash(number, NVS_FILTER_BITS)];
}

static void filter_count(const struct nvs_address_span *at, int by)
{
	struct nvs_state *s = nvs_state();
	uint64_t first = at->start >> REGION_SHIFT, last = (at->end - 1) >> REGION_SHIFT;

	if (last - first >= REGIONS_COUNTED) {
		atomic_fetch_add(&s->filter_large, (uint32_t)by);
		return;
	}
	for (uint64_t r = first; r <= last; r++)
		atomic_fetch_add(filter_slot(s, r), (uint16_t)by);
}

bool nvs_maps_may_overlap(uintptr_t start, size_t size)
{
	struct nvs_state *s = nvs_state();
	uint64_t first = start >> REGION_SHIFT, last = (start + size - 1) >> REGION_SHIFT;

	if (!size || last < first)
		return false;
	if (!*nvs_slot(NVS_SLOT_RM))
		return false;
	if (atomic_load_explicit(&s->filter_large, memory_order_relaxed) || last - first > 64)
		return true;
	for (uint64_t r = first; r <= last; r++)
		if (atomic_load_explicit(filter_slot(s, r), memory_order_relaxed))
			return true;
	return false;
}

/* ---- the list of mappings ---- */

static struct nvs_cpu_map *link_map(const struct nvs_cpu_map *what)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_cpu_map *m = nvs_alloc(sizeof(*m));

	if (!m)
		return NULL;
	*m = *what;
	if (nvs_spans_add(&rm->cpu, &m->at)) {
		nvs_free(m, sizeof(*m));
		return NULL;
	}
	m->number = rm->next_cpu_map++;
	m->entity->refs++;
	if (m->from)
		m->from->refs++;
	DL_APPEND(m->entity->cpu, m);
	filter_count(&m->at, 1);
	return m;
}

void nvs_map_unlink(struct nvs_cpu_map *m)
{
	struct nvs_rm *rm = nvs_rm();

	nvs_spans_remove(&rm->cpu, &m->at);
	filter_count(&m->at, -1);
	DL_DELETE(m->entity->cpu, m);
	nvs_map_changed(m);
	nvs_shadow_drop_maps(m);
	nvs_record_cpu_unmap(m);
	nvs_rm_map_put(m->from);
	nvs_entity_put(m->entity);
	nvs_free(m, sizeof(*m));
}

/* The tail of a split armed mapping contains no doorbell register, so the program gets its own
 * protection back. Traps may use its part of the alias until the view without it is published. */
static void open_tail(struct nvs_cpu_map *m)
{
	if (m->armed)
		nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start, m->prot);
	nvs_doorbell_drop_alias(m);
	m->kind = NVS_MAP_MEMORY;
}

/* Splits mappings so that none crosses ADDRESS. */
static void split_at(uint64_t address)
{
	struct nvs_cpu_map *m;

	if (nvs_page_offset(address))
		return;
again:
	NVS_SPANS_EACH(&nvs_rm()->cpu, m, address, address + 1)
	{
		struct nvs_cpu_map part = *m, *left, *right;

		if (m->at.start == address || m->transit)
			continue;
		nvs_shadow_clear(m->at.start, m->at.end);
		part.at.end = address;
		left = link_map(&part);
		part.at.end = m->at.end;
		part.at.start = address;
		part.offset += (int64_t)(address - m->at.start);
		if (part.alias)
			part.alias += address - m->at.start;
		if (part.real) {
			part.real += address - m->at.start;
			part.spare += address - m->at.start;
		}
		right = link_map(&part);
		if (left && right)
			m->real = m->spare = 0; /* now owned by the two parts */
		nvs_map_unlink(m);
		if (right && nvs_map_is_doorbell(right))
			open_tail(right);
		if (left)
			nvs_record_cpu_map(left);
		if (right)
			nvs_record_cpu_map(right);
		goto again;
	}
}

/* ---- ranges of the program's address space that a call is about to change ---- */

void nvs_maps_split(uint64_t start, uint64_t end)
{
	nvs_shadow_clear(start, end);
	split_at(start);
	split_at(end);
}

void nvs_maps_withdraw(uint64_t start, uint64_t end, bool with_aliases, uint64_t call)
{
	struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, start, end)
	{
		if (m->transit)
			continue;
		m->transit = call;
		m->hidden = true;
		nvs_map_changed(m);
		if (with_aliases)
			nvs_doorbell_drop_alias(m);
	}
}

static void leave_transit(struct nvs_cpu_map *m)
{
	m->transit = 0;
	m->hidden = m->released;
	nvs_map_changed(m);
}

void nvs_maps_restore(uint64_t start, uint64_t end, uint64_t call)
{
	struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, start, end)
	{
		if (m->transit != call)
			continue;
		leave_transit(m);
		if (nvs_map_is_doorbell(m) && !m->alias && !m->hidden)
			nvs_doorbell_leave_open(m);
	}
}

void nvs_maps_drop(uint64_t start, uint64_t end)
{
	struct nvs_cpu_map *m;

again:
	NVS_SPANS_EACH(&nvs_rm()->cpu, m, start, end)
	{
		if (!m->transit)
			continue;
		nvs_map_unlink(m);
		goto again;
	}
}

/* ---- new mappings ---- */

/* True if the object, of unknown class, is mapped as a usermode object is: below a subdevice, 64
 * KiB of a GPU's node from its first byte. */
static bool looks_like_doorbell(const struct nvs_rm_map *from, size_t size, int prot)
{
	const struct nvs_driver_object *o = from->object;

	return from->on_gpu_node && !nvs_class_is_memory(o->object_class) &&
	       !nvs_abi_knows_class(o->object_class) && !from->offset &&
	       size == NVS_DOORBELL_BYTES && prot & PROT_WRITE;
}

/* The mapping's offset is the object's byte at its first address; the part of pLinearAddress below
 * a page precedes the object. */
static struct nvs_cpu_map describe_rm(struct nvs_rm_map *from, const void *p, size_t size, int prot,
				      off_t offset)
{
	const struct nvs_driver_object *o = from->object;
	struct nvs_cpu_map map = {
		.at = {(uintptr_t)p, (uintptr_t)p + nvs_page_up(size)},
		.kind = NVS_MAP_MEMORY,
		.client = o->key.client,
		.handle = o->key.handle,
		.object_class = o->object_class,
		.gpu = o->gpu,
		.prot = prot,
		.offset = (int64_t)from->offset - (int64_t)nvs_page_offset(from->linear) + offset,
		.entity = o->entity,
		.from = from,
	};

	/* The register is in the object's first page; the trap counts from the mapping's start. */
	if ((nvs_class_is_usermode(o->object_class) || looks_like_doorbell(from, size, prot)) &&
	    map.offset <= 0)
		map.kind = NVS_MAP_DOORBELL;
	return map;
}

void nvs_maps_make_extra(size_t size, int prot, int fd, off_t offset, struct nvs_extra_maps *more)
{
	bool doorbell = false, rings = false;
	struct nvs_rm_map *from;
	sigset_t saved;

	*more = (struct nvs_extra_maps){0};
	nvs_shadow_query_power();
	nvs_lock(&saved);
	from = nvs_fd_map(fd);
	if (from && from->object) {
		struct nvs_cpu_map map = describe_rm(from, NULL, size, prot, offset);

		doorbell = nvs_map_is_doorbell(&map) && !map.offset;
		rings = !doorbell && !offset && nvs_shadow_is_possible(&map, fd);
	}
	nvs_unlock(&saved);
	size = nvs_page_up(size);
	if (doorbell)
		more->alias = nvs_doorbell_map_alias(size, fd);
	else if (rings)
		nvs_shadow_map_extra(size, fd, more);
}

static void free_extra_maps(const struct nvs_extra_maps *more, size_t size)
{
	nvs_rm_unmap(more->alias, size);
	nvs_rm_unmap(more->real, size);
	nvs_rm_unmap(more->spare, size);
}

static void add_rm(struct nvs_rm_map *from, void *p, size_t size, int prot, off_t offset,
		   const struct nvs_extra_maps *more)
{
	struct nvs_cpu_map map = describe_rm(from, p, size, prot, offset);
	struct nvs_cpu_map *m;

	if (nvs_map_is_doorbell(&map) && map.gpu < NVS_MAX_GPUS)
		nvs_rm()->gpus[map.gpu].has_doorbell = true;
	if (nvs_map_is_doorbell(&map) && !nvs_class_is_usermode(map.object_class))
		nvs_record_remark(NVS_REMARK_LIKELY_DOORBELL, map.gpu, map.client, map.handle);
	/* The fd may name a different object since the extra mappings were made. */
	if (nvs_map_is_doorbell(&map) ? more->real != 0 : more->alias != 0) {
		free_extra_maps(more, nvs_page_up(size));
	} else {
		map.alias = more->alias;
		map.real = more->real;
		map.spare = more->spare;
	}
	/* Writes through one mapping must be visible through the others, so a shadow is ended. */
	DL_FOREACH(map.entity->cpu, m)
	nvs_shadow_clear(m->at.start, m->at.end);
	m = link_map(&map);
	if (!m) /* out of memory: the extra mappings stay as well */
		return;
	if (nvs_map_is_doorbell(m))
		nvs_doorbell_enable(m);
	nvs_map_changed(m);
	nvs_record_cpu_map(m);
}

static void add_uvm(void *p, size_t size, int prot, int fd)
{
	struct nvs_cpu_map map = {
		.at = {(uintptr_t)p, (uintptr_t)p + nvs_page_up(size)},
		.kind = NVS_MAP_UVM,
		.gpu = NVS_NONE,
		.file = nvs_fd_file(fd),
		.prot = prot,
		.entity = nvs_entity_new(),
	};
	struct nvs_cpu_map *m = map.entity ? link_map(&map) : NULL;

	nvs_entity_put(map.entity);
	if (!m)
		return;
	nvs_map_changed(m);
	nvs_record_cpu_map(m);
}

void nvs_maps_add_new(void *p, size_t size, int prot, int fd, off_t offset,
		      const struct nvs_extra_maps *more)
{
	struct nvs_rm_map *from = nvs_fd_map(fd);

	/* The kernel reused addresses that another call has in transit, so that call has already
	 * unmapped them. */
	nvs_maps_drop((uintptr_t)p, (uintptr_t)p + nvs_page_up(size));
	if (nvs_fd_kind(fd) == NVS_FD_UVM) {
		/* The kernel accepts only mappings whose offset is their address; others are not
		 * managed memory. */
		if ((uintptr_t)p == (uint64_t)offset)
			add_uvm(p, size, prot, fd);
	} else if (from && from->object) {
		add_rm(from, p, size, prot, offset, more);
	} else {
		free_extra_maps(more, nvs_page_up(size));
	}
}

int nvs_maps_protect(uint64_t start, uint64_t end, int prot, uint64_t call)
{
	const struct nvs_next *next = nvs_next();
	uint64_t at = start;
	struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, start, end)
	{
		if (!nvs_map_is_doorbell(m) || !m->guarded || (m->transit && m->transit != call))
			continue;
		if (m->at.start > at && next->mprotect((void *)at, m->at.start - at, prot))
			return -1;
		if (next->mprotect((void *)m->at.start, m->at.end - m->at.start,
				   nvs_doorbell_prot(prot)))
			return -1;
		at = m->at.end;
	}
	return at < end ? next->mprotect((void *)at, end - at, prot) : 0;
}

void nvs_maps_finish_protect(uint64_t start, uint64_t end, int prot, uint64_t call)
{
	struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, start, end)
	{
		if (m->transit && m->transit != call)
			continue;
		if (prot >= 0)
			m->prot = prot;
		leave_transit(m);
	}
}

void nvs_maps_move(uint64_t from, uint64_t size, uint64_t to, uint64_t call)
{
	struct nvs_cpu_map *m;

again:
	NVS_SPANS_EACH(&nvs_rm()->cpu, m, from, from + size)
	{
		struct nvs_cpu_map moved = *m, *n;

		if (m->transit != call)
			continue;
		moved.at.start = m->at.start - from + to;
		moved.at.end = m->at.end - from + to;
		moved.transit = 0;
		moved.hidden = m->released;
		moved.real = moved.spare = 0; /* remain with the addresses moved away from */
		n = link_map(&moved);
		nvs_map_unlink(m);
		if (n) {
			nvs_record_cpu_map(n);
			nvs_map_changed(n);
		}
		goto again;
	}
}

void nvs_maps_add_pinned(struct nvs_driver_object *o, uint64_t address, uint64_t size)
{
	struct nvs_cpu_map map = {
		.at = {nvs_page_of(address), nvs_page_up(address + size)},
		.kind = NVS_MAP_PINNED,
		.client = o->key.client,
		.handle = o->key.handle,
		.object_class = o->object_class,
		.gpu = NVS_NONE,
		.prot = PROT_READ | PROT_WRITE,
		.offset = -(int64_t)nvs_page_offset(address),
		.entity = o->entity,
	};
	struct nvs_cpu_map *m;

	if (!address || !size || map.at.end <= map.at.start)
		return;
	m = link_map(&map);
	if (!m)
		return;
	nvs_map_changed(m);
	nvs_record_cpu_map(m);
}
