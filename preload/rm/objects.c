/* SPDX-License-Identifier: MIT */
/* The tree of resource-manager objects, built from the program's calls. A duplicate is a separate
 * object that shares the entity of its source, and so its mappings. */
#include <string.h>
#include "preload/rm/rm.h"

/* Extracts the address space, engine or GPU that the allocation parameters name. */
static void read_params(struct nvs_driver_object *o)
{
	switch (o->object_class) {
	case NV01_DEVICE_0:
		o->gpu = NVS_PARAM(o, NV0080_ALLOC_PARAMETERS, deviceId);
		break;
	case FERMI_CONTEXT_SHARE_A:
		o->vaspace = NVS_PARAM(o, NV_CTXSHARE_ALLOCATION_PARAMETERS, hVASpace);
		break;
	case KEPLER_CHANNEL_GROUP_A:
		o->vaspace = NVS_PARAM(o, NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS, hVASpace);
		o->engine = NVS_PARAM(o, NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS, engineType);
		break;
	case NV50_MEMORY_VIRTUAL:
		o->vaspace = NVS_PARAM(o, NV_MEMORY_ALLOCATION_PARAMS, hVASpace);
		break;
	case NV01_MEMORY_VIRTUAL:
		o->vaspace = NVS_PARAM(o, NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS, hVASpace);
		break;
	case NV01_MEMORY_SYSTEM:
	case NV01_MEMORY_SYSTEM_OS_DESCRIPTOR:
		o->system = true;
		break;
	}
}

/* Copies the parameters up to the first page that cannot be read: in an unknown release they may be
 * shorter than LENGTH. Returns the number of bytes. */
static uint32_t copy_params(uint8_t *to, const uint8_t *from, uint32_t length)
{
	uint64_t to_page_end = nvs_page_bytes() - nvs_page_offset((uintptr_t)from);

	if (nvs_copy_program(to, from, length))
		return length;
	return to_page_end < length && nvs_copy_program(to, from, to_page_end)
		       ? (uint32_t)to_page_end
		       : 0;
}

static bool init_object(struct nvs_driver_object *o, const void *params, uint32_t length,
			struct nvs_entity *shared)
{
	uint8_t copy[NVS_MAX_PARAMS];

	if (shared) {
		shared->refs++;
		o->entity = shared;
	} else if (!(o->entity = nvs_entity_new())) {
		return false;
	}
	length = length ? copy_params(copy, params, length) : 0;
	o->params = length ? nvs_alloc(length) : NULL;
	if (!o->params)
		return true;
	memcpy(o->params, copy, length);
	o->params_length = length;
	return true;
}

static struct nvs_driver_object *insert_object(uint32_t client, uint32_t parent, uint32_t handle,
					       uint32_t object_class, const void *params,
					       uint32_t length, struct nvs_entity *shared)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_driver_object *o = nvs_object_find(client, handle);

	if (shared)
		shared->refs++; /* nvs_object_destroy() below may drop the last other reference */
	if (o)
		nvs_object_destroy(o);
	o = nvs_alloc(sizeof(*o));
	if (o) {
		o->key.client = client;
		o->key.handle = handle;
		o->parent = parent;
		o->born = rm->calls;
		o->object_class = object_class;
		o->up = client == handle ? NULL : nvs_object_find(client, parent);
		if (!o->up && client != handle)
			o->up = nvs_object_find(client, client);
		o->gpu = o->up ? o->up->gpu : NVS_NONE;
		if (!init_object(o, params, length, shared)) {
			nvs_free(o, sizeof(*o));
			o = NULL;
		}
	}
	nvs_entity_put(shared);
	if (!o)
		return NULL;
	if (o->up)
		DL_APPEND(o->up->children, o);
	HASH_ADD(hh, rm->objects, key, sizeof(o->key), o);
	return o;
}

struct nvs_driver_object *nvs_object_add(uint32_t client, uint32_t parent, uint32_t handle,
					 uint32_t object_class, const void *params, uint32_t length)
{
	struct nvs_driver_object *o = insert_object(client, parent, handle, object_class, params,
						    length, NULL);

	if (!o)
		return NULL;
	read_params(o);
	nvs_record_object(o);
	return o;
}

struct nvs_driver_object *nvs_object_dup(struct nvs_driver_object *source, uint32_t client,
					 uint32_t parent, uint32_t handle)
{
	uint32_t object_class = source->object_class, gpu = source->gpu;
	uint32_t source_client = source->key.client, source_handle = source->key.handle;
	uint32_t vaspace = source->vaspace;
	bool system = source->system;
	struct nvs_driver_object *o;

	if (client == source_client && handle == source_handle)
		return source;
	o = insert_object(client, parent, handle, object_class, source->params,
			  source->params_length, source->entity);
	if (!o)
		return NULL;
	o->source_client = source_client;
	o->source_handle = source_handle;
	o->gpu = gpu;
	o->system = system;
	o->vaspace = client == source_client ? vaspace : 0;
	nvs_record_object(o);
	return o;
}

/* Hides the channels first, so that no trap uses them while objects below them change. */
static bool hide_channels(struct nvs_driver_object *o)
{
	bool changed = false;
	struct nvs_driver_object *child;

	DL_FOREACH(o->children, child)
	changed |= hide_channels(child);
	if (o->channel && !o->channel->hidden) {
		o->channel->hidden = true;
		o->channel->final_put_read = false;
		nvs_rm()->leaving_channels = true;
		changed = true;
	}
	return changed;
}

static void withdraw_maps(struct nvs_driver_object *o)
{
	struct nvs_driver_object *child;

	DL_FOREACH(o->children, child)
	withdraw_maps(child);
	nvs_maps_withdraw_object(o);
}

void nvs_object_withdraw(struct nvs_driver_object *o)
{
	if (hide_channels(o))
		nvs_rm()->dirty = true;
	withdraw_maps(o);
}

static void restore_tree(struct nvs_driver_object *o)
{
	struct nvs_driver_object *child;

	if (o->leaving)
		return;
	DL_FOREACH(o->children, child)
	restore_tree(child);
	if (o->channel) {
		o->channel->hidden = false;
		o->channel->final_put_read = false;
	}
	nvs_maps_restore_object(o);
}

/* Does nothing while another call in progress may still free the object or one of its parents. */
void nvs_object_restore(struct nvs_driver_object *o)
{
	for (const struct nvs_driver_object *up = o->up; up; up = up->up)
		if (up->leaving)
			return;
	restore_tree(o);
	nvs_rm()->dirty = true;
}

static void destroy_tree(struct nvs_driver_object *o)
{
	struct nvs_rm *rm = nvs_rm();

	while (o->children)
		destroy_tree(o->children);
	if (o->channel)
		nvs_channel_remove(o->channel);
	nvs_gpu_maps_drop_object(o);
	nvs_maps_drop_object(o);
	nvs_record_object_freed(o);
	if (o->up)
		DL_DELETE(o->up->children, o);
	HASH_DELETE(hh, rm->objects, o);
	nvs_entity_put(o->entity);
	nvs_free(o->params, o->params_length);
	nvs_free(o, sizeof(*o));
}

/* An object that was freed unseen was not withdrawn before the call, so it is withdrawn and
 * published here. */
void nvs_object_destroy(struct nvs_driver_object *o)
{
	nvs_object_withdraw(o);
	nvs_publish_view();
	destroy_tree(o);
}

static bool is_client_of_file(const struct nvs_driver_object *o, uint32_t file)
{
	return nvs_class_is_root(o->object_class) && o->file == file && !o->up;
}

void nvs_objects_file_closing(uint32_t file)
{
	struct nvs_driver_object *o, *next;

	HASH_ITER(hh, nvs_rm()->objects, o, next)
		if (is_client_of_file(o, file))
			nvs_object_withdraw(o);
}

void nvs_objects_file_closed(uint32_t file)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_driver_object *o, *next;

	/* A client's objects follow it in the hash: start over after each client that was
	 * destroyed. */
again:
	HASH_ITER(hh, rm->objects, o, next) {
		if (is_client_of_file(o, file)) {
			nvs_object_destroy(o);
			goto again;
		}
	}
}
