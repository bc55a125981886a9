/* SPDX-License-Identifier: MIT */
/*
 * The final check at exit: every writable mapping of a GPU device node in /proc/self/maps must be
 * one of our aliases or known not to be a doorbell. Finds doorbell mappings that the hooked ioctls
 * did not reveal.
 */
#include "preload/base/proc_maps.h"
#include "preload/rm/rm.h"

/* True for "/dev/nvidia" followed by digits, also under memfd_create's name for it. */
static bool is_gpu_node(const char *path)
{
	size_t digits;

	if (!strncmp(path, "/memfd:", 7))
		path += 7;
	if (strncmp(path, "/dev/nvidia", 11))
		return false;
	digits = strspn(path + 11, "0123456789");
	return digits && (!path[11 + digits] || path[11 + digits] == ' ');
}

static bool line_is_within(const struct nvs_maps_line *l, uintptr_t start, uint64_t size)
{
	return start && l->start >= start && l->end <= start + size;
}

/* True for our own mappings: the alias of a doorbell, or the extra mappings of ring memory. */
static bool is_ours(const struct nvs_rm *rm, const struct nvs_maps_line *l)
{
	const struct nvs_cpu_map *m;

	NVS_SPANS_ALL(&rm->cpu, m)
	{
		uint64_t size = m->at.end - m->at.start;

		if (line_is_within(l, m->alias, size) || line_is_within(l, m->real, size) ||
		    line_is_within(l, m->spare, size))
			return true;
	}
	return false;
}

/* True if the object's class is unknown and the mapping has a doorbell's size. */
static bool may_be_doorbell(const struct nvs_cpu_map *m)
{
	return m->kind == NVS_MAP_MEMORY && m->at.end - m->at.start == NVS_DOORBELL_BYTES &&
	       !nvs_class_is_memory(m->object_class);
}

/* True if a store through this mapping could ring a GPU unseen. */
static bool may_ring_unseen(struct nvs_rm *rm, const struct nvs_maps_line *l)
{
	const struct nvs_cpu_map *m;

	if (!l->writable || !is_gpu_node(l->path) || is_ours(rm, l))
		return false;
	NVS_SPANS_EACH(&rm->cpu, m, l->start, l->end)
	{
		return nvs_map_is_doorbell(m) || may_be_doorbell(m);
	}
	/* An unknown mapping of a doorbell's size may be one, unless it was left after its object
	 * was freed. */
	return l->end - l->start == NVS_DOORBELL_BYTES && !nvs_maps_is_dead(l->start, l->end);
}

struct maps_check {
	struct nvs_rm *rm;
	uint64_t found;
};

static void check_line(void *arg, const struct nvs_maps_line *l)
{
	struct maps_check *check = arg;

	if (!may_ring_unseen(check->rm, l))
		return;
	nvs_record_check_result(NVS_CHECK_UNARMED, 0, l->start, l->end);
	check->found++;
}

void nvs_maps_check(void)
{
	struct maps_check check = {.rm = nvs_rm()};

	if (nvs_maps_read(check_line, &check))
		nvs_record_check_result(NVS_CHECK_MAPS, check.found, 0, 0);
}
