/* SPDX-License-Identifier: MIT */
/*
 * Doorbell mappings. Each one gets a writable alias when it is mapped, while its fd is still open,
 * and is armed (write-protected) while there is a session. Also releases aliases and makes the
 * pages writable for the program again.
 */
#include <errno.h>
#include <sys/mman.h>
#include "preload/rm/rm.h"

int nvs_doorbell_prot(int prot)
{
	return prot & PROT_WRITE ? (prot & ~PROT_WRITE) | PROT_READ : prot;
}

uintptr_t nvs_doorbell_map_alias(size_t size, int fd)
{
	void *p = nvs_next()->mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		p = nvs_next()->mmap(NULL, size, PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 0;
	madvise(p, size, MADV_DONTFORK);
	return (uintptr_t)p;
}

void nvs_doorbell_enable(struct nvs_cpu_map *m)
{
	struct nvs_rm *rm = nvs_rm();

	if (!rm->handles_faults || m->armed || !m->alias || m->hidden)
		return;
	m->armed = true;
	rm->dirty = rm->arming = true;
}

/* Called after the view is published: the trap must know the page before the page refuses stores.
 *  */
static bool guard_doorbell(struct nvs_cpu_map *m)
{
	if (!nvs_map_is_doorbell(m) || !m->armed || m->guarded || m->hidden)
		return true;
	m->guarded = !nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start,
					   nvs_doorbell_prot(m->prot));
	if (m->guarded)
		return true;
	m->armed = false;
	nvs_rm()->dirty = true;
	nvs_record_cpu_map(m);
	return false;
}

static bool guard_all(struct nvs_rm *rm)
{
	struct nvs_cpu_map *m;
	bool all = true;

	NVS_SPANS_ALL(&rm->cpu, m)
	all &= guard_doorbell(m);
	return all;
}

void nvs_doorbells_enable_all(void)
{
	struct nvs_cpu_map *m;
	int err = errno;

	NVS_SPANS_ALL(&nvs_rm()->cpu, m)
	if (nvs_map_is_doorbell(m))
		nvs_doorbell_enable(m);
	errno = err;
}

/* A doorbell whose object is being freed is hidden and neither armed nor aliased; one that is being
 * moved or reprotected keeps its alias. */
uint64_t nvs_doorbells_armed_gpus(void)
{
	uint64_t seen = 0, unseen = 0;
	const struct nvs_cpu_map *m;

	NVS_SPANS_ALL(&nvs_rm()->cpu, m)
	{
		if (!nvs_map_is_doorbell(m) || m->gpu >= NVS_MAX_GPUS)
			continue;
		if (m->armed)
			seen |= 1ull << m->gpu;
		else if (!m->hidden && m->prot & PROT_WRITE)
			unseen |= 1ull << m->gpu;
	}
	return seen & ~unseen;
}

/* ---- addresses that stay mapped ---- */

bool nvs_maps_is_dead(uint64_t start, uint64_t end)
{
	const struct nvs_address_spans *dead = &nvs_rm()->dead;
	const struct nvs_address_span *span;

	NVS_SPANS_EACH(dead, span, start, end)
	if (span->start == start && span->end == end)
		return true;
	return false;
}

/* Addresses are reused, so the list grows only by addresses that are not in it yet. */
void nvs_maps_add_dead(uint64_t start, uint64_t end)
{
	struct nvs_address_span *span = nvs_maps_is_dead(start, end) ? NULL
								     : nvs_alloc(sizeof(*span));

	if (!span)
		return;
	*span = (struct nvs_address_span){start, end};
	if (nvs_spans_add(&nvs_rm()->dead, span))
		nvs_free(span, sizeof(*span));
}

/* ---- retired aliases ---- */

struct nvs_retired_alias {
	uintptr_t start, end;
	struct nvs_retired_alias *next;
};

static void unmap_retired(struct nvs_rm *rm)
{
	struct nvs_retired_alias *r;

	while ((r = rm->aliases)) {
		rm->aliases = r->next;
		if (rm->stale)
			nvs_maps_add_dead(r->start, r->end);
		else
			nvs_rm_unmap(r->start, r->end - r->start);
		nvs_free(r, sizeof(*r));
	}
}

void nvs_doorbell_drop_alias(struct nvs_cpu_map *m)
{
	struct nvs_retired_alias *r = m->alias ? nvs_alloc(sizeof(*r)) : NULL;

	if (r) { /* else out of memory: the alias stays mapped */
		*r = (struct nvs_retired_alias){m->alias, m->alias + (m->at.end - m->at.start),
						nvs_rm()->aliases};
		nvs_rm()->aliases = r;
	}
	m->alias = 0;
	m->armed = m->guarded = false;
}

bool nvs_doorbells_finish(bool shown)
{
	struct nvs_rm *rm = nvs_rm();

	unmap_retired(rm);
	if (!rm->arming || !shown)
		return true;
	rm->arming = false;
	return guard_all(rm);
}

/*
 * The call that should have freed the object failed, and the alias is already gone: the page stays
 * writable and unarmed, and the trace records that. If another call is changing these addresses,
 * this function is called again when that call ends.
 */
void nvs_doorbell_leave_open(struct nvs_cpu_map *m)
{
	m->released = false;
	if (m->transit)
		return;
	nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start, m->prot);
	m->hidden = false;
	nvs_record_cpu_map(m);
}

/*
 * The page stays in the program's address space, but the kernel may now give the register behind it
 * to another object. So our alias is dropped first, and the program's page gets its own protection
 * back.
 */
void nvs_doorbell_release(struct nvs_cpu_map *m)
{
	if (!nvs_map_is_doorbell(m) || m->released)
		return;
	m->released = true;
	if (m->armed && !m->transit)
		nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start, m->prot);
	m->hidden = true;
	nvs_map_changed(m);
	nvs_doorbell_drop_alias(m);
}
