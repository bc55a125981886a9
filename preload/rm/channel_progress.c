/* SPDX-License-Identifier: MIT */
/*
 * Reads how far the GPU has come with each channel, from the slot to which the channel's
 * submissions release their progress number. A submission records the progress of earlier ones, but
 * nothing after the last submissions records theirs, and a hang report needs exactly those.
 */
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "trap/copy/shadow.h"

bool nvs_channel_read_progress(const struct nvs_channel_entry *c, struct nvs_channel_done *done)
{
	const struct nvs_view *view = nvs_view_get();
	uint64_t va = c->slot ? __atomic_load_n(&c->slot->progress_address, __ATOMIC_ACQUIRE) : 0;
	const struct nvs_segment_map *m =
		view && va ? nvs_segment_find(view->maps, view->nmaps, c->vaspace, va) : NULL;
	const volatile uint64_t *at;

	*done = (struct nvs_channel_done){0};
	if (!m || va % 8 || m->gpu_va + m->size - va < 16)
		return false;
	at = (const volatile uint64_t *)(m->cpu + (va - m->gpu_va));
	/* Also runs on our own thread, where no handler catches a fault. */
	if (!nvs_sys_readable(at) || !nvs_sys_readable(at + 1))
		return false;
	done->value[0] = at[0];
	done->value[1] = at[1];
	done->address = va;
	return true;
}

/* GP_GET as the program sees it. NVS_NONE without a shadow, where a read might go over PCIe. */
static uint32_t read_shadow_get(const struct nvs_channel_entry *c)
{
	const volatile uint32_t *seen = c->put;

	return c->shadow && seen && nvs_class_has_get(c->object->object_class)
		       ? seen[NVS_USERD_GP_GET - (int)NVS_USERD_GP_PUT]
		       : NVS_NONE;
}

void nvs_channels_spool_progress(void)
{
	const struct nvs_channel_entry *c;

	/* An outdated view may contain mappings that no longer exist. */
	if (nvs_rm()->dirty || nvs_rm()->segs_dirty)
		return;
	DL_FOREACH(nvs_rm()->channels, c)
	{
		struct nvs_channel_done done;
		struct nvs_spool_done now;

		if (!c->slot || c->hidden || !nvs_channel_read_progress(c, &done))
			continue;
		now = (struct nvs_spool_done){done.address,
					      {done.value[0], done.value[1]},
					      nvs_clock_now(),
					      c->number,
					      read_shadow_get(c)};
		nvs_session_channel_done(c->slot, &now);
	}
}
