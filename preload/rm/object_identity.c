/* SPDX-License-Identifier: MIT */
/* Handle lookup: the object that a handle names, the entity that it shares with its duplicates, and
 * the GPU address space that it belongs to. */
#include "preload/rm/rm.h"

struct nvs_entity *nvs_entity_new(void)
{
	struct nvs_entity *e = nvs_alloc(sizeof(*e));

	if (e) {
		e->id = ++nvs_rm()->next_entity;
		e->refs = 1;
	}
	return e;
}

void nvs_entity_put(struct nvs_entity *e)
{
	if (e && !--e->refs)
		nvs_free(e, sizeof(*e));
}

struct nvs_driver_object *nvs_object_find(uint32_t client, uint32_t handle)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_driver_object *object = NULL;
	uint32_t key[2] = {client, handle};

	HASH_FIND(hh, rm->objects, key, sizeof(key), object);
	return object;
}

static struct nvs_driver_object *find_device(const struct nvs_driver_object *o)
{
	struct nvs_driver_object *up = (struct nvs_driver_object *)o;

	while (up && up->object_class != NV01_DEVICE_0)
		up = up->up;
	return up;
}

uint32_t nvs_object_vaspace(const struct nvs_driver_object *o)
{
	const struct nvs_driver_object *space = o, *device = find_device(o);

	if (o->object_class != FERMI_VASPACE_A)
		space = o->vaspace ? nvs_object_find(o->key.client, o->vaspace) : NULL;
	/* Index GPU_DEVICE: another handle for the device's own address space. */
	if (space && space->object_class == FERMI_VASPACE_A &&
	    NVS_PARAM(space, NV_VASPACE_ALLOCATION_PARAMETERS, index) ==
		    NV_VASPACE_ALLOCATION_INDEX_GPU_DEVICE)
		space = find_device(space);
	if (!space)
		space = device ? device : o;
	return space->entity->id;
}
