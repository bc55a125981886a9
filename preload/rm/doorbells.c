/* SPDX-License-Identifier: MIT */
/*
 * Doorbells among the mappings: each gets a writable alias at once, while its fd is still there,
 * and is armed, that is write-protected, when there is a session. How they are given back.
 */
#include <errno.h>
#include <sys/mman.h>
#include "preload/rm/rm.h"

int nvs_doorbell_prot(int prot)
{
	return prot & PROT_WRITE ? (prot & ~PROT_WRITE) | PROT_READ : prot;
}

void nvs_doorbell_alias(struct nvs_cpu_map *m, int fd)
{
	size_t size = m->at.end - m->at.start;
	void *p = nvs_next()->mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		p = nvs_next()->mmap(NULL, size, PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return;
	madvise(p, size, MADV_DONTFORK);
	m->alias = (uintptr_t)p;
}

/* The view first: from the moment the page refuses stores, the trap must know it. */
void nvs_doorbell_arm(struct nvs_cpu_map *m)
{
	struct nvs_rm *rm = nvs_rm();

	if (!rm->live || m->armed || !m->alias || m->hidden)
		return;
	m->armed = true;
	rm->dirty = true;
	nvs_publish();
	if (!nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start,
				  nvs_doorbell_prot(m->prot)))
		return;
	m->armed = false;
	rm->dirty = true;
	nvs_publish();
}

void nvs_maps_arm_all(void)
{
	struct nvs_rm *rm = nvs_rm();
	int err = errno;

	for (uint32_t i = 0; i < rm->cpu.n; i++) {
		struct nvs_cpu_map *m = (struct nvs_cpu_map *)rm->cpu.at[i];

		if (nvs_map_is_doorbell(m))
			nvs_doorbell_arm(m);
	}
	errno = err;
}

void nvs_doorbell_unmap_alias(uintptr_t alias, size_t size)
{
	if (alias && nvs_rm()->stale)
		nvs_maps_left(alias, alias + size);
	else if (alias)
		nvs_next()->munmap((void *)alias, size);
}

void nvs_doorbell_drop_alias(struct nvs_cpu_map *m)
{
	nvs_doorbell_unmap_alias(m->alias, m->at.end - m->at.start);
	m->alias = 0;
	m->armed = false;
}

/* It could not be taken away after all, and its alias is gone: the trace says that it is open. */
void nvs_doorbell_give_up(struct nvs_cpu_map *m)
{
	nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start, m->prot);
	m->hidden = false;
	nvs_tell_cpu_map(m);
}

/*
 * The page stays in the program's address space, but what it shows is the kernel's to give away:
 * our alias goes first, and the program's own page is again as the program made it.
 */
void nvs_doorbell_release(struct nvs_cpu_map *m)
{
	if (!nvs_map_is_doorbell(m) || m->hidden)
		return;
	if (m->armed)
		nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start, m->prot);
	m->hidden = true;
	nvs_map_touched(m);
	nvs_publish();
	nvs_doorbell_drop_alias(m);
}
