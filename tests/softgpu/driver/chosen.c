/* SPDX-License-Identifier: MIT */
/*
 * Memory at addresses that the program chooses: reserved, created and mapped separately, and
 * visible only to devices that were given access. With SOFTGPU=high the driver does not allow it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "driver.h"

#define GRAIN 0x200000ull

enum { DEVICE = 1, HOST_NUMA = 3 }; /* CU_MEM_LOCATION_TYPE_* */

struct chosen {
	struct chosen *next;
	struct CUmemLocation location;
	uint64_t size, va; /* va 0: not mapped */
	uint32_t handle; /* of the memory object; 0: none yet */
	struct sg_device *owner;
	bool ranged; /* an address range exists */
	bool released; /* released while mapped; it lives until it is unmapped */
};

static struct chosen *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sg_device *device_of(int i)
{
	return i >= 0 && i < (int)sg_driver.ndevices && sg_driver.device[i].up
		       ? &sg_driver.device[i]
		       : NULL;
}

API CUresult cuMemGetAllocationGranularity(size_t *grain, const CUmemAllocationProp *prop, int how)
{
	(void)how;
	if (!grain || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*grain = GRAIN;
	return CUDA_SUCCESS;
}

API CUresult cuMemAddressReserve(CUdeviceptr *at, size_t size, size_t alignment, CUdeviceptr wish,
				 unsigned long long flags)
{
	void *p;

	if (!at || !size || size % GRAIN || flags || alignment > GRAIN)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_option("high"))
		return CUDA_ERROR_NOT_SUPPORTED;
	p = mmap((void *)wish, size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (wish ? MAP_FIXED_NOREPLACE : 0), -1,
		 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*at = (CUdeviceptr)p;
	return CUDA_SUCCESS;
}

API CUresult cuMemAddressFree(CUdeviceptr at, size_t size)
{
	return munmap((void *)at, size) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			 const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct chosen *c;

	if (!handle || !prop || !size || size % GRAIN || flags || prop->type != 1 ||
	    (prop->location.type != DEVICE && prop->location.type != HOST_NUMA))
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == DEVICE && !device_of(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	c = calloc(1, sizeof(*c));
	c->size = size;
	c->location = prop->location;
	if (c->location.type == DEVICE) {
		c->owner = device_of(c->location.id);
		c->handle = sg_handle();
		if (sg_memory_alloc(c->owner, c->handle, 0x40, size)) {
			free(c);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	pthread_mutex_lock(&lock);
	c->next = all;
	all = c;
	pthread_mutex_unlock(&lock);
	*handle = (CUmemGenericAllocationHandle)c;
	return CUDA_SUCCESS;
}

/* Finds, under the lock, the list entry of HANDLE, or of the mapping at VA with SIZE. */
static struct chosen **find(CUmemGenericAllocationHandle handle, uint64_t va, uint64_t size)
{
	struct chosen **c = &all;

	while (*c && (handle ? (CUmemGenericAllocationHandle)*c != handle
			     : (*c)->va != va || (*c)->size != size))
		c = &(*c)->next;
	return c;
}

static void drop(struct chosen **at)
{
	struct chosen *c = *at;

	*at = c->next;
	if (c->handle)
		sg_memory_free(c->owner, c->handle);
	free(c);
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct chosen **at, *c;

	pthread_mutex_lock(&lock);
	at = find(handle, 0, 0);
	c = handle ? *at : NULL;
	if (c && c->va)
		c->released = true;
	else if (c)
		drop(at);
	pthread_mutex_unlock(&lock);
	return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset,
		      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct chosen *c;

	if (offset || flags || !handle)
		return r;
	pthread_mutex_lock(&lock);
	c = *find(handle, 0, 0);
	if (c && !c->va && c->size == size) {
		c->va = at;
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* The lock is held. */
static void unmap(struct chosen **place)
{
	struct chosen *c = *place;

	if (c->ranged)
		sg_external_free(c->va, c->size);
	mmap((void *)c->va, c->size, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	c->va = 0;
	c->ranged = false;
	if (c->released)
		drop(place);
}

/* The mapping at AT. Returns NULL if there is none. */
static struct chosen **mapped_at(CUdeviceptr at)
{
	struct chosen **place;

	for (place = &all; *place && (*place)->va != at; place = &(*place)->next)
		;
	return at && *place ? place : NULL;
}

/* Unmaps whole mappings, one or several adjacent ones. */
API CUresult cuMemUnmap(CUdeviceptr at, size_t size)
{
	struct chosen **place;
	CUdeviceptr end = at;
	bool whole;

	cuCtxSynchronize();
	pthread_mutex_lock(&lock);
	while (end - at < size && (place = mapped_at(end)))
		end += (*place)->size;
	whole = size && end - at == size;
	while (whole && at < end) {
		place = mapped_at(at);
		at += (*place)->size;
		unmap(place);
	}
	pthread_mutex_unlock(&lock);
	return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Gives a device access. Host pages get their memory object at the first call. */
static CUresult give(struct chosen *c, struct sg_device *d)
{
	if (!c->handle) {
		c->owner = d;
		c->handle = sg_handle();
		if (sg_pin(d, c->handle, (void *)c->va, c->size))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (c->ranged ? sg_external_show(d, c->va, c->size, c->handle)
		      : sg_external_map(d, c->va, c->size, c->handle))
		return CUDA_ERROR_UNKNOWN;
	c->ranged = true;
	return CUDA_SUCCESS;
}

API CUresult cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *to, size_t n)
{
	CUresult r = CUDA_SUCCESS;
	struct chosen *c;

	pthread_mutex_lock(&lock);
	c = at ? *find(0, at, size) : NULL;
	if (!c)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (c->location.type == HOST_NUMA &&
		 mprotect((void *)at, size, PROT_READ | PROT_WRITE))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n && !r; i++)
		if (to[i].location.type == DEVICE)
			r = device_of(to[i].location.id) ? give(c, device_of(to[i].location.id))
							 : CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_unlock(&lock);
	return r;
}
