/* SPDX-License-Identifier: MIT */
/*
 * Faults of the GPU. When a channel is torn down by an error, the kernel driver writes the
 * channel's error notifier; when a wait has failed, the user-space driver asks for the error states
 * of the SMs. Nothing here runs on the way of a launch: notifiers are read after a call that
 * failed, by the keeper, and at a channel's end.
 */
#include "preload/rm/rm.h"

/* ---- memory ---- */

#define PAGE 4096
#define BLOCK (2u << 20) /* bytes around a slot that are looked at */
#define MAX_PAGES 64 /* recorded of them */

enum { KEPT_CALL = 1, KEPT_FAULT = 2 }; /* nvs_channel_entry.memory_kept */

static bool is_host_memory(uintptr_t at)
{
	const struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, at, at + 1)
	return m->object_class == NV01_MEMORY_SYSTEM || m->kind == NVS_MAP_UVM;
	return false;
}

/* What the process sees of the memory around the channel's progress slot. NULL: unknown, or not
 * host memory, from which reading would take long. */
static const struct nvs_seg *find_slot_memory(const struct nvs_channel_entry *c)
{
	const struct nvs_segs *all = &nvs_rm()->segs;
	uint64_t va = c->slot ? __atomic_load_n(&c->slot->progress_address, __ATOMIC_ACQUIRE) : 0;

	for (uint32_t i = 0; va && i < all->n; i++) {
		const struct nvs_seg *s = &all->at[i];

		if ((s->vaspace == c->vaspace || !s->vaspace) && va - s->gpu_va < s->size)
			return is_host_memory(s->cpu) ? s : NULL;
	}
	return NULL;
}

static bool is_zero(const uint64_t *words, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && !words[i])
		i++;
	return i == n;
}

struct memory_page {
	struct nvs_rec_fault_memory rec;
	uint64_t words[PAGE / 8];
};

static void record_memory(const struct nvs_channel_entry *c, const struct nvs_seg *m,
			  struct memory_page *page)
{
	uint64_t block = c->slot->progress_address & ~(uint64_t)(BLOCK - 1);
	uint64_t at = block > m->gpu_va ? block : m->gpu_va;
	uint64_t end = m->gpu_va + m->size;
	uint32_t n = 0;

	for (; at < end && at < block + BLOCK && n < MAX_PAGES; at += PAGE) {
		if (!nvs_copy_program(page->words, (const void *)(m->cpu + (at - m->gpu_va)),
				      PAGE) ||
		    is_zero(page->words, PAGE / 8))
			continue;
		page->rec.rec = (struct nvs_rec){NVS_REC_FAULT_MEMORY, 0, sizeof(*page), 0};
		page->rec.channel = c->number;
		page->rec.bytes = PAGE;
		page->rec.address = at;
		nvs_record_write(&page->rec.rec);
		n++;
	}
}

/* Records the memory around the channel's slot, unless that was done for this reason, or a better
 * one. */
static void keep_memory(const struct nvs_channel_entry *c, uint8_t why)
{
	const struct nvs_seg *m = c->memory_kept < why ? find_slot_memory(c) : NULL;
	struct memory_page *page = m ? nvs_alloc(sizeof(*page)) : NULL;
	struct nvs_channel_entry *other;

	if (!page)
		return;
	record_memory(c, m, page);
	nvs_free(page, sizeof(*page));
	DL_FOREACH(nvs_rm()->channels, other)
	{
		if (find_slot_memory(other) == m)
			other->memory_kept = why;
	}
}

/* ---- notifiers ---- */

/* All channels of a group end together; a channel in no group is one by itself. */
static bool is_first_of_group(const struct nvs_channel_entry *c)
{
	const struct nvs_driver_object *up = c->object->up;
	const struct nvs_driver_object *o;

	if (!up || up->object_class != KEPLER_CHANNEL_GROUP_A)
		return true;
	DL_FOREACH(up->children, o)
	{
		if (o->channel && o->channel != c && o->channel->faulted)
			return false;
	}
	return true;
}

void nvs_channel_find_fault(struct nvs_channel_entry *c, enum nvs_fault_seen seen)
{
	static const uint32_t type = NV_CHANNELGPFIFO_NOTIFICATION_TYPE_ERROR;
	struct nvs_channel_done done;
	struct nvs_rec_fault r = {
		.rec = {.type = NVS_REC_FAULT, .size = sizeof(r)},
		.channel = c->number,
		.seen = seen,
	};
	struct NvNotification n;

	/* The status is written last: what was read with it may be older, so it is read again. */
	if (!nvs_rm()->live || c->faulted || !nvs_channel_read_notification(c, type, &n) ||
	    !nvs_channel_read_notification(c, type, &n))
		return;
	c->faulted = true;
	nvs_channel_read_progress(c, &done);
	r.number = n.info32;
	r.info16 = n.info16;
	r.status = n.status;
	r.gpu_ns = (uint64_t)n.timeStamp[0] << 32 | n.timeStamp[1];
	r.progress = done.address;
	r.value[0] = done.value[0];
	r.value[1] = done.value[1];
	nvs_record_write(&r.rec);
	nvs_session_note_fault(r.number, c->number, is_first_of_group(c));
	keep_memory(c, KEPT_FAULT);
}

void nvs_channels_find_faults(enum nvs_fault_seen seen)
{
	struct nvs_channel_entry *c;

	/* An outdated view may contain mappings that no longer exist. */
	if (nvs_rm()->dirty || nvs_rm()->segs_dirty)
		return;
	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->hidden)
			nvs_channel_find_fault(c, seen);
	}
}

/* An assertion of a kernel makes calls fail, and writes no notifier. */
static void keep_memory_without_fault(void)
{
	const struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (c->faulted)
			return;
	}
	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->hidden)
			keep_memory(c, KEPT_CALL);
	}
}

void nvs_rm_call_failed(uint32_t result)
{
	NVS_RM_LOCK_SCOPE();
	if (!nvs_rm() || !nvs_rm()->live || nvs_rm()->dirty || nvs_rm()->segs_dirty)
		return;
	nvs_channels_find_faults(NVS_FAULT_CALL);
	keep_memory_without_fault();
	nvs_session_note_error(result);
}

/* ---- error states ---- */

static bool has_error(const struct NV83DE_SM_ERROR_STATE_REGISTERS *s)
{
	return s->hwwGlobalEsr || s->hwwWarpEsr || s->hwwCgaEsr || s->hwwEsrAddr ||
	       s->hwwWarpEsrPc64;
}

void nvs_record_sm_errors(uint32_t client,
			  const struct NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS *p)
{
	const struct nvs_driver_object *o = nvs_object_find(client, p->hTargetChannel);
	uint32_t asked = p->numSMsToRead < NV83DE_CTRL_DEBUG_MAX_SMS_PER_CALL
				 ? p->numSMsToRead
				 : NV83DE_CTRL_DEBUG_MAX_SMS_PER_CALL;
	uint32_t room = sizeof(struct nvs_rec_sm_error) + asked * sizeof(struct nvs_sm_error);
	struct nvs_rec_sm_error *r = nvs_rm()->live ? nvs_alloc(room) : NULL;

	if (!r)
		return;
	r->gpu = o ? o->gpu : NVS_NONE;
	r->channel = o && o->channel ? o->channel->number : NVS_NONE;
	r->mmu_info = p->mmuFaultInfo;
	r->mmu_valid = p->mmuFault.valid;
	r->mmu_fault = p->mmuFault.faultInfo;
	r->asked = asked;
	r->first = p->startingSM;
	for (uint32_t i = 0; i < asked; i++) {
		const struct NV83DE_SM_ERROR_STATE_REGISTERS *s = &p->smErrorStateArray[i];

		if (has_error(s))
			r->sms[r->nsms++] = (struct nvs_sm_error){
				p->startingSM + i, s->hwwGlobalEsr, s->hwwWarpEsr,
				s->hwwCgaEsr,	   s->hwwEsrAddr,   s->hwwWarpEsrPc64};
	}
	r->rec.type = NVS_REC_SM_ERROR;
	r->rec.size = (uint32_t)(sizeof(*r) + r->nsms * sizeof(r->sms[0]));
	nvs_record_write(&r->rec);
	nvs_free(r, room);
}
