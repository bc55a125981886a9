/* SPDX-License-Identifier: MIT */
/*
 * Channels: their allocation parameters, their work submit token, and the addresses at which the
 * process has mapped the GPFIFO ring and USERD. A channel is bound as soon as both are mapped, and
 * unbound when one of the mappings goes away.
 */
#include <sys/mman.h>
#include "preload/rm/rm.h"
#include "trap/copy/shadow.h"
#include "trap/copy/gpfifo_timing.h"
#include "trap/low/guard.h"

#define USERD_GP_PUT 0x8c

static struct nvs_driver_object *find_sibling(const struct nvs_driver_object *o, uint32_t handle)
{
	return handle ? nvs_object_find(o->key.client, handle) : NULL;
}

/* A channel uses its own address space, else that of its context share, of its channel group, or of
 * the device. */
static void find_vaspace(struct nvs_channel_entry *c, const struct NV_CHANNEL_ALLOC_PARAMS *p)
{
	struct nvs_driver_object *o = c->object;
	struct nvs_driver_object *share = find_sibling(o, p->hContextShare);
	struct nvs_driver_object *space;

	c->vaspace_handle = p->hVASpace;
	if (!c->vaspace_handle && share)
		c->vaspace_handle = share->vaspace;
	if (!c->vaspace_handle && o->up && o->up->object_class == KEPLER_CHANNEL_GROUP_A)
		c->vaspace_handle = o->up->vaspace;
	space = find_sibling(o, c->vaspace_handle);
	c->vaspace = nvs_object_vaspace(space ? space : o);
}

/* Returns the handle of the memory that the parameters P name for USERD, and its offset there. */
static uint32_t read_userd(const struct nvs_abi_form *form, const uint8_t *p, uint64_t *offset)
{
	uint32_t handle = nvs_read_u32(p, nvs_abi_at(form, NVS_AT_hUserdMemory));

	*offset = handle ? nvs_read_u64(p, nvs_abi_at(form, NVS_AT_userdOffset)) : 0;
	return handle;
}

/* Reads the parameters whose offsets depend on the structure's form. */
static bool find_form(struct nvs_channel_entry *c)
{
	struct nvs_driver_object *o = c->object;

	if (c->form || o->params_length < NVS_CHANNEL_PARAMS_READ)
		return c->form;
	c->form = nvs_channel_form(o->key.client, o->params);
	if (!c->form)
		return false;
	c->userd_handle = read_userd(c->form, o->params, &c->userd_offset);
	c->engine = nvs_read_u32(o->params, nvs_abi_at(c->form, NVS_AT_engineType));
	if (!c->engine && o->up && o->up->object_class == KEPLER_CHANNEL_GROUP_A)
		c->engine = o->up->engine;
	return true;
}

static void find_userd(struct nvs_channel_entry *c)
{
	struct nvs_driver_object *o;

	if (c->userd || !find_form(c))
		return;
	/* A channel without a USERD memory object has its USERD in the mapping of the channel
	 * itself. */
	o = c->userd_handle ? nvs_object_find(c->object->key.client, c->userd_handle) : c->object;
	if (!o)
		return;
	c->userd = o->entity;
	c->userd->refs++;
}

static void read_params(struct nvs_channel_entry *c)
{
	struct nvs_driver_object *o = c->object;
	const struct NV_CHANNEL_ALLOC_PARAMS *p = (const void *)o->params;

	c->gpfifo = p->gpFifoOffset;
	c->entries = p->gpFifoEntries;
	find_vaspace(c, p);
	find_userd(c);
	if (!c->form)
		nvs_record_remark_params(NVS_REMARK_CHANNEL_FORM, o);
}

void nvs_channel_add(struct nvs_driver_object *o)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c = nvs_alloc(sizeof(*c));

	if (!c)
		return;
	c->object = o;
	c->number = rm->next_channel++;
	c->token = NVS_NONE;
	c->group = o->parent;
	o->channel = c;
	DL_APPEND(rm->channels, c);
	if (o->params_length >= NVS_CHANNEL_PARAMS_READ)
		read_params(c);
	if (!nvs_class_has_get(o->object_class))
		c->flags |= NVS_CHAN_NO_GET;
	if (!nvs_class_has_doorbell(o->object_class)) {
		c->flags |= NVS_CHAN_NO_DOORBELL;
		nvs_record_remark(NVS_REMARK_NO_DOORBELL, o->gpu, o->key.client, o->key.handle);
	}
	if (rm->live)
		c->slot = nvs_session_channel_slot(c->number);
	rm->dirty = true;
	nvs_record_channel(c);
}

void nvs_channel_set_token(struct nvs_driver_object *o, uint32_t token)
{
	struct nvs_channel_entry *c = o->channel;

	if (!c || c->token == token)
		return;
	c->token = token;
	nvs_rm()->dirty = true;
	nvs_record_channel(c);
}

bool nvs_channel_read_notification(const struct nvs_channel_entry *c, uint32_t type,
				   struct NvNotification *n)
{
	struct nvs_driver_object *memory = find_sibling(
		c->object, NVS_PARAM(c->object, NV_CHANNEL_ALLOC_PARAMS, hObjectError));
	uintptr_t seen = memory ? nvs_entity_find_address(memory->entity,
							  (int64_t)(type * sizeof(*n)), sizeof(*n))
				: 0;

	return seen && nvs_copy_program(n, (const void *)seen, sizeof(*n)) &&
	       n->status == NV_CHANNELGPFIFO_NOTIFICATION_STATUS_WRITTEN;
}

/*
 * The kernel requests the token for UVM in the same way as a driver does. Each request writes the
 * token to the channel's notifier, so a driver that registers its channel with UVM need not request
 * the token itself (driver 580 does not after a checkpoint).
 */
void nvs_channel_read_token(struct nvs_channel_entry *c)
{
	struct NvNotification n;

	if (c->token == NVS_NONE &&
	    nvs_channel_read_notification(c, NV_CHANNELGPFIFO_NOTIFICATION_TYPE_WORK_SUBMIT_TOKEN,
					  &n))
		nvs_channel_set_token(c->object, n.info32);
}

/* A driver that never requests a token may take it from the notifier too, once the kernel has
 * written it there. */
void nvs_channels_read_tokens(void)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	nvs_channel_read_token(c);
}

static const volatile uint64_t *find_ring(const struct nvs_channel_entry *c,
					  const struct nvs_segment_map *maps, uint32_t n)
{
	const struct nvs_segment_map *m;

	if (!c->entries || c->entries > 1u << NVS_PUT_BITS)
		return NULL;
	m = nvs_segment_find(maps, n, c->vaspace, c->gpfifo);
	if (!m || m->size - (c->gpfifo - m->gpu_va) < c->entries * 8ull)
		return NULL;
	return (const volatile uint64_t *)(m->cpu + (c->gpfifo - m->gpu_va));
}

uintptr_t nvs_entity_find_address(const struct nvs_entity *e, int64_t offset, int64_t size)
{
	const struct nvs_cpu_map *m;

	DL_FOREACH(e->cpu, m)
	{
		int64_t end = m->offset + (int64_t)(m->at.end - m->at.start);

		if (m->hidden || m->prot == PROT_NONE || m->kind == NVS_MAP_DOORBELL)
			continue;
		if (offset >= m->offset && offset + size <= end)
			return m->at.start + (uint64_t)(offset - m->offset);
	}
	return 0;
}

static const volatile uint32_t *find_put(struct nvs_channel_entry *c)
{
	find_userd(c);
	if (!c->userd)
		return NULL;
	return (const volatile uint32_t *)nvs_entity_find_address(
		c->userd, (int64_t)c->userd_offset + USERD_GP_PUT, 4);
}

uintptr_t nvs_channel_predict_userd(uint32_t client, const void *params)
{
	uint8_t p[NVS_CHANNEL_PARAMS_READ];
	const struct nvs_abi_form *form;
	struct nvs_driver_object *o;
	uint64_t offset;

	if (!nvs_rm()->channels || !params || !nvs_copy_program(p, params, sizeof(p)))
		return 0;
	form = nvs_channel_form(client, p);
	o = form ? nvs_object_find(client, read_userd(form, p, &offset)) : NULL;
	return o ? nvs_entity_find_address(o->entity, (int64_t)offset, NVS_USERD_BYTES) : 0;
}

static bool bind_channel(struct nvs_channel_entry *c, const struct nvs_segment_map *maps,
			 uint32_t n)
{
	const volatile uint64_t *ring = find_ring(c, maps, n);
	const volatile uint32_t *put = find_put(c);
	bool moved = c->ring != ring || c->put != put;
	uint32_t flags;

	if (moved) {
		/* This channel's shadow is at the old address, and another channel's may be at the
		 * new one. */
		nvs_shadow_clear((uintptr_t)c->ring, (uintptr_t)(c->ring + c->entries));
		nvs_shadow_clear((uintptr_t)ring, (uintptr_t)(ring + c->entries));
		nvs_shadow_clear((uintptr_t)put, (uintptr_t)(put + 1));
		c->ring = ring;
		c->put = put;
		c->shadow_tried = false;
	}
	flags = (c->flags & ~NVS_CHAN_BOUND) | (ring && put ? NVS_CHAN_BOUND : 0);
	if (c->flags == flags)
		return moved;
	c->flags = flags;
	nvs_record_channel(c);
	return true;
}

/* True if the trap finds this channel when its doorbell rings. Entries in a shadow reach the GPU
 * only through the trap, so a channel that can be rung unseen gets no shadow. */
static bool is_rung_in_sight(const struct nvs_channel_entry *c, uint64_t seen)
{
	uint32_t gpu = c->object->gpu;

	return c->token != NVS_NONE && !(c->flags & NVS_CHAN_NO_DOORBELL) && gpu < NVS_MAX_GPUS &&
	       seen >> gpu & 1;
}

static void shadow_or_not(struct nvs_channel_entry *c, uint64_t seen)
{
	bool in_sight = is_rung_in_sight(c, seen);
	uint32_t gpu = c->object->gpu;

	if (!in_sight)
		nvs_shadow_end(c);
	else if (c->flags & NVS_CHAN_BOUND)
		nvs_shadow_create(c);
	if (c->flags & NVS_CHAN_BOUND && !(c->flags & NVS_CHAN_NO_DOORBELL) && gpu < NVS_MAX_GPUS &&
	    !nvs_rm()->gpus[gpu].has_doorbell)
		nvs_record_remark(NVS_REMARK_NO_DOORBELL_PAGE, gpu, c->object->key.client,
				  c->object->key.handle);
}

bool nvs_channels_bind(const struct nvs_segment_map *maps, uint32_t n)
{
	uint64_t seen = nvs_doorbells_armed_gpus();
	struct nvs_channel_entry *c;
	bool changed = false;

	DL_FOREACH(nvs_rm()->channels, c)
	changed |= bind_channel(c, maps, n);
	DL_FOREACH(nvs_rm()->channels, c)
	shadow_or_not(c, seen);
	return changed;
}

/* Called when no trap can still use the channel: the GP_PUT in USERD is final now, if it is mapped.
 *  */
void nvs_channel_read_put(struct nvs_channel_entry *c)
{
	const volatile uint32_t *put = c->put;

	if (put && c->shadow)
		put = &c->shadow->userd[NVS_USERD_GP_PUT];
	if (c->shadow && c->shadow->timing)
		nvs_timing_drain(c);
	c->final_put_read = true;
	c->final_put_valid = put && nvs_load32_guarded(put, &c->final_put);
	if (c->final_put_valid && c->shadow && c->shadow->timing)
		c->final_put = nvs_gpfifo_translate_put(c->shadow);
	nvs_channel_read_progress(c, &c->done);
	nvs_channel_find_fault(c, NVS_FAULT_END);
	/* Read together with GP_PUT: at process exit other threads may still ring the channel. */
	c->final_claim = c->slot ? atomic_load((_Atomic uint64_t *)&c->slot->claim) : 0;
}

/* Reads a channel's last GP_PUT while its USERD still exists, through the shadow it was rung with.
 *  */
void nvs_channels_finish(void)
{
	struct nvs_channel_entry *c;

	if (!nvs_rm()->leaving_channels)
		return;
	nvs_rm()->leaving_channels = false;
	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->hidden || c->final_put_read)
			continue;
		nvs_channel_read_put(c);
		nvs_shadow_clear_due(c);
	}
}

void nvs_channel_remove(struct nvs_channel_entry *c)
{
	nvs_timing_record_untimed(c);
	nvs_record_channel_freed(c, 0);
	nvs_shadow_drop(c);
	if (c->slot && !nvs_rm()->stale)
		nvs_session_channel_free(c->slot);
	DL_DELETE(nvs_rm()->channels, c);
	c->object->channel = NULL;
	nvs_entity_put(c->userd);
	nvs_rm()->dirty = true;
	nvs_free(c, sizeof(*c));
}
