/* SPDX-License-Identifier: MIT */
/* Looks up channels in the library's resource manager tables: ring, USERD, doorbell, notifier. */
#include "probe/lib/channel_discovery.h"
#include <stdio.h>
#include "preload/base/state.h"
#include "preload/rm/rm.h"

#define USERD_BYTES 512
#define DOORBELL 0x90
#define USERMODE_TIME 0x80
#define NOTIFIER_BYTES 16

/* nvs_segment_find() needs a published view, which does not exist here because no doorbell is
 * guarded. */
static uintptr_t cpu_address_of(uint32_t vaspace, uint64_t address, uint64_t size)
{
	const struct nvs_segs *segs = &nvs_rm()->segs;

	for (uint32_t i = 0; i < segs->n; i++) {
		const struct nvs_seg *s = &segs->at[i];

		if ((!s->vaspace || s->vaspace == vaspace) && address >= s->gpu_va &&
		    address + size <= s->gpu_va + s->size)
			return s->cpu + (address - s->gpu_va);
	}
	return 0;
}

/* Returns the newest doorbell mapping: the driver uses that one (on an H200 the one on BAR1). */
static uintptr_t doorbell_of(uint32_t gpu)
{
	const struct nvs_address_spans *all = &nvs_rm()->cpu;
	const struct nvs_cpu_map *last = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct nvs_cpu_map *m = (const struct nvs_cpu_map *)all->at[i];

		if (nvs_map_is_doorbell(m) && m->gpu == gpu && m->alias &&
		    (!last || m->number > last->number))
			last = m;
	}
	return last ? last->alias : 0;
}

static const volatile uint32_t *notifier_of(const struct nvs_channel_entry *c)
{
	struct nvs_driver_object *o = nvs_object_find(
		c->object->key.client, NVS_PARAM(c->object, NV_CHANNEL_ALLOC_PARAMS, hObjectError));
	uintptr_t at = o ? nvs_entity_find_address(o->entity, 0, NOTIFIER_BYTES) : 0;

	return (const volatile uint32_t *)at;
}

static bool describe_channel(const struct nvs_channel_entry *c, struct probe_channel *out)
{
	struct nvs_driver_object *memory = nvs_object_find(c->object->key.client, c->userd_handle);
	uintptr_t ring = cpu_address_of(c->vaspace, c->gpfifo, c->entries * 8ull);
	uintptr_t userd = memory ? nvs_entity_find_address(memory->entity, (int64_t)c->userd_offset,
							   USERD_BYTES)
				 : 0;
	uintptr_t doorbell = doorbell_of(c->object->gpu);

	if (!ring || !userd || !doorbell || c->token == NVS_NONE || !c->entries)
		return false;
	*out = (struct probe_channel){
		.number = c->number,
		.gpu = c->object->gpu,
		.ring = {.gpfifo = (volatile uint64_t *)ring,
			 .userd = (volatile uint32_t *)userd,
			 .doorbell = (volatile uint32_t *)(doorbell + DOORBELL),
			 .entries = c->entries,
			 .token = c->token,
			 .object_class = c->object->object_class},
		.gpfifo = c->gpfifo,
		.notifier = notifier_of(c),
	};
	return true;
}

uint32_t probe_list_channels(struct probe_channel *channels, uint32_t max)
{
	struct nvs_channel_entry *c;
	sigset_t saved;
	uint32_t n = 0;

	nvs_lock(&saved);
	DL_FOREACH(nvs_rm()->channels, c)
	if (n < max)
		n += describe_channel(c, &channels[n]);
	nvs_unlock(&saved);
	return n;
}

const volatile uint32_t *probe_gpu_clock(uint32_t gpu)
{
	const struct nvs_address_spans *all = &nvs_rm()->cpu;
	const volatile uint32_t *found = NULL;
	sigset_t saved;

	nvs_lock(&saved);
	for (uint32_t i = 0; i < all->n && !found; i++) {
		const struct nvs_cpu_map *m = (const struct nvs_cpu_map *)all->at[i];
		const volatile uint32_t *time =
			(const volatile uint32_t *)(m->alias + USERMODE_TIME);

		/* Through BAR1 the clock reads as zero. */
		if (nvs_map_is_doorbell(m) && m->gpu == gpu && m->alias && time[1])
			found = time;
	}
	nvs_unlock(&saved);
	return found;
}

const char *probe_driver_version(void)
{
	static char version[NVS_DRIVER_BYTES];
	sigset_t saved;

	nvs_lock(&saved);
	snprintf(version, sizeof(version), "%s", nvs_rm_driver_version());
	nvs_unlock(&saved);
	return version;
}
