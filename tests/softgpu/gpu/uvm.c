/* SPDX-License-Identifier: MIT */
/* The UVM device: external ranges, which map memory objects at GPU addresses, and semaphore pools.
 * One address space per process, enough for the tests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gpu.h"

#define U32(p, off) (*(uint32_t *)((char *)(p) + (off)))
#define U64(p, off) (*(uint64_t *)((char *)(p) + (off)))

/* Bytes of the mapping attributes in MAP_EXTERNAL_ALLOCATION and ALLOC_SEMAPHORE_POOL. */
#define GPU_BYTES (sg_form(SG_UVM_GPUS) * 36)

struct range {
	struct range *next;
	uint64_t base, length;
	struct sg_memory *pool; /* semaphore pool that the program maps through the device */
};

static struct range *ranges;
static uint64_t range_groups;
static struct {
	struct sg_vaspace
		*vaspace; /* no reference: sg_uvm_unregister() is called before it is freed */
	uint32_t minor;
} spaces[16];

void sg_uvm_unregister(struct sg_vaspace *v)
{
	for (int i = 0; i < 16; i++)
		if (spaces[i].vaspace == v)
			spaces[i].vaspace = NULL;
}

static uint32_t register_vaspace(void *a)
{
	struct sg_object *o = sg_object_find(U32(a, 20), U32(a, 24));

	if (!o || !o->vaspace || o->minor >= SG_MAX_GPUS)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	for (int i = 0; i < 16; i++) {
		if (!spaces[i].vaspace) {
			spaces[i].vaspace = o->vaspace;
			spaces[i].minor = o->minor;
			return NV_OK;
		}
	}
	return NV_ERR_INSUFFICIENT_RESOURCES;
}

static struct range *range_of(uint64_t base, uint64_t length)
{
	struct range *r = ranges;

	while (r && (base < r->base || length > r->length || base - r->base > r->length - length))
		r = r->next;
	return r;
}

static uint32_t create_range(uint64_t base, uint64_t length)
{
	struct range *r;

	for (r = ranges; r; r = r->next)
		if (base < r->base + r->length && r->base < base + length)
			return NV_ERR_INVALID_ADDRESS;
	if (!length || base % 4096 || length % 4096)
		return NV_ERR_INVALID_ADDRESS;
	r = calloc(1, sizeof(*r));
	r->base = base;
	r->length = length;
	r->next = ranges;
	ranges = r;
	return NV_OK;
}

/* Maps into every registered address space of the GPUs whose UUIDs are in ATTRS (entries of 36
 * bytes). */
static uint32_t map_into(const uint8_t *attrs, uint64_t count, uint64_t base, uint64_t length,
			 struct sg_memory *m, uint64_t offset)
{
	uint32_t status = NV_ERR_INVALID_DEVICE;

	for (uint64_t a = 0; a < count && a < 256; a++) {
		for (int i = 0; i < 16; i++) {
			uint8_t uuid[16];

			if (!spaces[i].vaspace)
				continue;
			sg_device_uuid(spaces[i].minor, uuid);
			if (memcmp(uuid, attrs + a * 36, 16))
				continue;
			sg_gpu_lock(&sg_gpus[spaces[i].minor]);
			status = sg_vaspace_map(spaces[i].vaspace, base, length, m, offset);
			sg_gpu_unlock(&sg_gpus[spaces[i].minor]);
			if (status)
				return status;
		}
	}
	return status;
}

static void unmap_from(const uint8_t *uuid, uint64_t base, uint64_t length)
{
	for (int i = 0; i < 16; i++) {
		uint8_t own[16];

		if (!spaces[i].vaspace)
			continue;
		sg_device_uuid(spaces[i].minor, own);
		if (uuid && memcmp(uuid, own, 16))
			continue;
		sg_gpu_lock(&sg_gpus[spaces[i].minor]);
		sg_vaspace_unmap(spaces[i].vaspace, base, length);
		sg_gpu_unlock(&sg_gpus[spaces[i].minor]);
	}
}

static uint32_t map_external(void *a)
{
	uint32_t tail = 24 + GPU_BYTES;
	struct sg_object *o = sg_object_find(U32(a, tail + 12), U32(a, tail + 16));

	if (!o || !o->memory)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!range_of(U64(a, 0), U64(a, 8)))
		return NV_ERR_INVALID_ADDRESS;
	return map_into((uint8_t *)a + 24, U64(a, tail), U64(a, 0), U64(a, 8), o->memory,
			U64(a, 16));
}

static uint32_t free_range(uint64_t base)
{
	struct range **p = &ranges, *r;

	while (*p && (*p)->base != base)
		p = &(*p)->next;
	r = *p;
	if (!r)
		return NV_ERR_INVALID_ADDRESS;
	unmap_from(NULL, r->base, r->length);
	sg_memory_put(r->pool);
	*p = r->next;
	free(r);
	return NV_OK;
}

static uint32_t alloc_pool(void *a)
{
	uint64_t base = U64(a, 0), length = U64(a, 8);
	uint32_t status = create_range(base, length);
	struct range *r;

	if (status)
		return status;
	r = range_of(base, length);
	r->pool = sg_memory_new("/dev/nvidia-uvm", length);
	status = r->pool ? map_into((uint8_t *)a + 16, U64(a, 16 + GPU_BYTES), base, length,
				    r->pool, 0)
			 : NV_ERR_NO_MEMORY;
	if (status)
		free_range(base);
	return status;
}

struct sg_memory *sg_uvm_pool(uint64_t address, uint64_t size, uint64_t *offset)
{
	struct range *r = range_of(address, size);

	if (!r || !r->pool)
		return NULL;
	*offset = address - r->base;
	return r->pool;
}

void sg_uvm_file_gone(struct sg_file *f)
{
	/* Two descriptors form one session, which ends with the process's last mapping. */
	(void)f;
}

int sg_uvm_ioctl(struct sg_file *f, unsigned long request, void *a)
{
	struct sg_object *o;

	switch (request) {
	case 0x30000001: /* INITIALIZE */
		U32(a, 8) = NV_OK;
		return 0;
	case 75: /* MM_INITIALIZE */
		if (!sg_form(SG_UVM_MM_INITIALIZE))
			return -EINVAL;
		U32(a, 4) = NV_OK;
		return 0;
	case 37: /* REGISTER_GPU */
		U32(a, 36) = NV_OK;
		return 0;
	case 25: /* REGISTER_GPU_VASPACE */
		U32(a, 28) = register_vaspace(a);
		return 0;
	case 27: /* REGISTER_CHANNEL */
		o = sg_object_find(U32(a, 20), U32(a, 24));
		U32(a, 48) = o && o->channel ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
		/* The kernel requests the token, which writes it to the notifier. */
		if (o && o->channel && o->channel->notifier && !sg_options.unstated &&
		    !sg_options.stated_late)
			U32(o->channel->notifier->map, 28) = SG_TOKEN_STATED;
		return 0;
	case 28: /* UNREGISTER_CHANNEL */
		U32(a, sg_form(SG_UVM_UNREGISTER_CHANNEL_STATUS)) = NV_OK;
		return 0;
	case 73: /* CREATE_EXTERNAL_RANGE */
		U32(a, 16) = create_range(U64(a, 0), U64(a, 8));
		return 0;
	case 33: /* MAP_EXTERNAL_ALLOCATION */
		U32(a, 24 + GPU_BYTES + 20) = map_external(a);
		return 0;
	case 66: /* UNMAP_EXTERNAL */
		unmap_from((uint8_t *)a + 16, U64(a, 0), U64(a, 8));
		U32(a, 32) = NV_OK;
		return 0;
	case 34: /* FREE */
		U32(a, sg_form(SG_UVM_FREE_STATUS)) = free_range(U64(a, 0));
		return 0;
	case 68: /* ALLOC_SEMAPHORE_POOL */
		U32(a, 16 + GPU_BYTES + 8) = alloc_pool(a);
		return 0;
	case 65: /* MAP_DYNAMIC_PARALLELISM_REGION */
	case 74: /* MAP_EXTERNAL_SPARSE */
		U32(a, 32) = NV_OK;
		return 0;
	case 23: /* CREATE_RANGE_GROUP */
		if (!sg_form(SG_UVM_RANGE_GROUPS))
			return -EINVAL;
		U64(a, 0) = ++range_groups;
		U32(a, 8) = NV_OK;
		return 0;
	case 24: /* DESTROY_RANGE_GROUP */
		if (!sg_form(SG_UVM_RANGE_GROUPS))
			return -EINVAL;
		U32(a, 8) = NV_OK;
		return 0;
	case 26: /* UNREGISTER_GPU_VASPACE */
		U32(a, 16) = NV_OK;
		return 0;
	case 39: /* PAGEABLE_MEM_ACCESS */
		*(uint8_t *)a = 0;
		U32(a, 4) = NV_OK;
		return 0;
	case 72: /* VALIDATE_VA_RANGE */
		U32(a, 16) = NV_OK;
		return 0;
	}
	return -EINVAL;
}
