/* SPDX-License-Identifier: MIT */
/*
 * Structures whose fields moved between releases although the call's size stayed the same. The form
 * is found by checking which one gives plausible field values. The release number alone is not
 * enough, since a newer release may move the fields again.
 */
#include "preload/rm/rm.h"
#include "trap/copy/shadow.h"

#define SUBDEVICES 8
#define UNMOVED sizeof(struct NV_CHANNEL_ALLOC_PARAMS)

static const struct nvs_channel_form channel_forms[] = {
	{0, 32, 64, 128},
	{NVS_RELEASE(610, 43, 2), 36, 72, 136}, /* has hHandleVASpace at offset 32 */
};
#define NFORMS (sizeof(channel_forms) / sizeof(channel_forms[0]))

static bool all_zero(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i])
			return false;
	return true;
}

/* True for 0 and for an address space of CLIENT. */
static bool may_be_vaspace(uint32_t client, uint32_t handle)
{
	const struct nvs_driver_object *o = handle ? nvs_object_find(client, handle) : NULL;

	return !handle || (o && o->object_class == FERMI_VASPACE_A);
}

/* Size of a memory object in bytes; 0 if unknown. */
static uint64_t memory_size(const struct nvs_driver_object *o)
{
	switch (o->object_class) {
	case NV01_MEMORY_SYSTEM:
	case NV01_MEMORY_LOCAL_PRIVILEGED:
	case NV01_MEMORY_LOCAL_USER:
		return NVS_PARAM(o, NV_MEMORY_ALLOCATION_PARAMS, size);
	}
	return 0;
}

static bool is_userd(uint32_t client, uint32_t handle, uint64_t offset)
{
	const struct nvs_driver_object *o = nvs_object_find(client, handle);
	uint64_t size = o ? memory_size(o) : 0;

	return o && nvs_class_is_memory(o->object_class) && offset % NVS_USERD_BYTES == 0 &&
	       (!size || (size >= NVS_USERD_BYTES && offset <= size - NVS_USERD_BYTES));
}

/* Only one subdevice, the program's GPU, has a USERD. */
static bool fits_form(const struct nvs_channel_form *f, uint32_t client, const uint8_t *p)
{
	for (uint32_t at = UNMOVED; at < f->userd_memory; at += 4)
		if (!may_be_vaspace(client, nvs_read_u32(p, at)))
			return false;
	return is_userd(client, nvs_read_u32(p, f->userd_memory),
			nvs_read_u64(p, f->userd_offset)) &&
	       all_zero(p + f->userd_memory + 4, (SUBDEVICES - 1) * 4) &&
	       all_zero(p + f->userd_offset + 8, (SUBDEVICES - 1) * 8);
}

static const struct nvs_channel_form *form_of_release(void)
{
	uint32_t i = NFORMS - 1;

	while (channel_forms[i].since > nvs_rm_release())
		i--;
	return &channel_forms[i];
}

const struct nvs_channel_form *nvs_channel_form(uint32_t client, const uint8_t *p)
{
	const struct nvs_channel_form *found = NULL;

	/* The parameters name no USERD: of the fields that moved only the engine matters. */
	if (may_be_vaspace(client, nvs_read_u32(p, UNMOVED)) &&
	    all_zero(p + UNMOVED + 4, SUBDEVICES * 4))
		return form_of_release();
	for (uint32_t i = 0; i < NFORMS; i++) {
		if (!fits_form(&channel_forms[i], client, p))
			continue;
		if (found)
			return NULL;
		found = &channel_forms[i];
	}
	return found;
}
