/* SPDX-License-Identifier: MIT */
/*
 * Mappings seen from their object: RM_MAP_MEMORY announces one for an fd, RM_UNMAP_MEMORY and
 * RM_FREE end it. The pages stay in the program's address space after that, but no longer show the
 * object.
 */
#include <errno.h>
#include "preload/rm/rm.h"

static bool is_made_by(const struct nvs_cpu_map *m, const struct nvs_driver_object *o)
{
	return m->client == o->key.client && m->handle == o->key.handle;
}

/* The program may go on using its pages, so they become its own again. */
static void release_map(struct nvs_cpu_map *m)
{
	nvs_shadow_clear(m->at.start, m->at.end);
	nvs_doorbell_release(m);
}

void nvs_maps_withdraw_object(struct nvs_driver_object *o)
{
	struct nvs_cpu_map *m;
	int err = errno;

	DL_FOREACH(o->entity->cpu, m)
	if (is_made_by(m, o))
		release_map(m);
	errno = err;
}

void nvs_maps_restore_object(struct nvs_driver_object *o)
{
	struct nvs_cpu_map *m;

	DL_FOREACH(o->entity->cpu, m)
	if (is_made_by(m, o) && m->released)
		nvs_doorbell_leave_open(m);
}

static void drop_map(struct nvs_cpu_map *m)
{
	if (nvs_map_is_doorbell(m))
		nvs_maps_add_dead(m->at.start, m->at.end);
	nvs_map_unlink(m);
}

void nvs_maps_drop_object(struct nvs_driver_object *o)
{
	struct nvs_cpu_map *m, *next;

	while (o->maps)
		nvs_rm_map_drop(o->maps);
	DL_FOREACH_SAFE(o->entity->cpu, m, next)
	if (is_made_by(m, o))
		drop_map(m);
}

void nvs_rm_map_add(struct nvs_driver_object *o, int fd, uint64_t offset, uint64_t length,
		    uint64_t linear)
{
	struct nvs_rm_map *map = nvs_alloc(sizeof(*map));

	if (!map)
		return;
	map->refs = 1;
	map->object = o;
	map->offset = offset;
	map->length = length;
	map->linear = linear;
	map->on_gpu_node = o->up && o->up->object_class == NV20_SUBDEVICE_0 &&
			   nvs_fd_kind(fd) == NVS_FD_GPU;
	DL_APPEND(o->maps, map);
	nvs_fd_set_map(fd, map);
}

/* LINEAR is the address that RM_MAP_MEMORY returned, the one reported to the RM since, or the start
 * of the mapping itself. */
struct nvs_rm_map *nvs_rm_map_find(struct nvs_driver_object *o, uint64_t linear)
{
	struct nvs_rm_map *map;
	struct nvs_cpu_map *m;

	DL_FOREACH(o->maps, map)
	if (map->linear == linear || (map->updated && map->updated == linear))
		return map;
	DL_FOREACH(o->entity->cpu, m)
	if (m->from && m->from->object == o && m->at.start == nvs_page_of(linear))
		return m->from;
	return NULL;
}

void nvs_rm_map_withdraw(struct nvs_rm_map *map)
{
	struct nvs_cpu_map *m;
	int err = errno;

	DL_FOREACH(map->object->entity->cpu, m)
	if (m->from == map)
		release_map(m);
	errno = err;
}

void nvs_rm_map_restore(struct nvs_rm_map *map)
{
	struct nvs_cpu_map *m;

	DL_FOREACH(map->object->entity->cpu, m)
	if (m->from == map && m->released)
		nvs_doorbell_leave_open(m);
}

void nvs_rm_map_drop(struct nvs_rm_map *map)
{
	struct nvs_driver_object *o = map->object;
	struct nvs_cpu_map *m, *next;

	DL_FOREACH_SAFE(o->entity->cpu, m, next)
	if (m->from == map)
		drop_map(m);
	DL_DELETE(o->maps, map);
	map->object = NULL;
	nvs_rm_map_put(map);
}
