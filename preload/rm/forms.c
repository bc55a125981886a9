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
static bool fits_form(const struct nvs_abi_form *f, uint32_t client, const uint8_t *p)
{
	uint32_t memory = nvs_abi_at(f, NVS_AT_hUserdMemory);
	uint32_t offset = nvs_abi_at(f, NVS_AT_userdOffset);

	/* Since 610.43.02 hHandleVASpace is before it. */
	for (uint32_t at = UNMOVED; at < memory; at += 4)
		if (!may_be_vaspace(client, nvs_read_u32(p, at)))
			return false;
	return is_userd(client, nvs_read_u32(p, memory), nvs_read_u64(p, offset)) &&
	       nvs_all_zero(p + memory + 4, (SUBDEVICES - 1) * 4) &&
	       nvs_all_zero(p + offset + 8, (SUBDEVICES - 1) * 8);
}

static bool is_same_form(const struct nvs_abi_form *a, const struct nvs_abi_form *b)
{
	return !memcmp(a->at, b->at, sizeof(a->at));
}

const struct nvs_abi_form *nvs_channel_form(uint32_t client, const uint8_t *p)
{
	const struct nvs_abi_structure *s = &nvs_abi_NV_CHANNEL_ALLOC_PARAMS;
	const struct nvs_abi_form *found = NULL;

	/* The parameters name no USERD: of the fields that moved only the engine matters. */
	if (may_be_vaspace(client, nvs_read_u32(p, UNMOVED)) &&
	    nvs_all_zero(p + UNMOVED + 4, SUBDEVICES * 4))
		return nvs_abi_form(s, nvs_rm_release());
	for (uint32_t i = 0; i < s->n; i++) {
		if ((found && is_same_form(found, &s->forms[i])) ||
		    !fits_form(&s->forms[i], client, p))
			continue;
		if (found)
			return NULL;
		found = &s->forms[i];
	}
	return found;
}

/* True if the tail of these parameters, which is after the attributes of 36 bytes for each GPU,
 * names a client of this process and memory of it. */
static bool fits_map(const struct nvs_abi_form *f, const uint8_t *p)
{
	uint32_t at = nvs_abi_at(f, NVS_AT_gpuAttributesCount);
	struct UVM_MAP_EXTERNAL_ALLOCATION_TAIL tail;

	return nvs_copy_program(&tail, p + at, sizeof(tail)) && tail.gpuAttributesCount &&
	       tail.gpuAttributesCount <=
		       (at - sizeof(struct UVM_MAP_EXTERNAL_ALLOCATION_PARAMS)) / 36 &&
	       tail.hMemory && nvs_object_find(tail.hClient, tail.hClient);
}

const struct nvs_abi_form *nvs_uvm_map_form(const uint8_t *p)
{
	const struct nvs_abi_structure *s = &nvs_abi_UVM_MAP_EXTERNAL_ALLOCATION_PARAMS;
	const struct nvs_abi_form *found = NULL;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!fits_map(&s->forms[i], p))
			continue;
		if (found)
			return NULL;
		found = &s->forms[i];
	}
	return found;
}

const struct nvs_abi_form *nvs_uvm_free_form(const uint8_t *p, uint64_t length)
{
	const struct nvs_abi_structure *s = &nvs_abi_UVM_FREE_PARAMS;
	const struct nvs_abi_form *f = nvs_abi_form(s, nvs_rm_release());
	uint64_t given;

	if (!length || !nvs_copy_program(&given, p + 8, sizeof(given)))
		return f;
	for (uint32_t i = 0; i < s->n; i++)
		if (!!s->forms[i].at[NVS_AT_length] == (given == length))
			f = &s->forms[i];
	return f;
}
