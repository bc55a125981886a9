/* SPDX-License-Identifier: MIT */
/* Keeps the ranges that allocation calls gave out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/hostmem.h"
#include "decode/trace/maps.h"

struct nvs_hostmem {
	struct nvs_maps ranges; /* of one address space; kind: enum nvs_memory */
	uint32_t next; /* number */
};

struct nvs_hostmem *nvs_hostmem_new(void)
{
	return calloc(1, sizeof(struct nvs_hostmem));
}

void nvs_hostmem_free(struct nvs_hostmem *h)
{
	if (h)
		nvs_maps_free(&h->ranges);
	free(h);
}

enum nvs_memory nvs_hostmem_kind(const struct nvs_hostmem *h, uint64_t address)
{
	const struct nvs_mapping *m = nvs_maps_find(&h->ranges, 0, address);

	return m ? (enum nvs_memory)m->kind : NVS_MEMORY_PAGEABLE;
}

static void drop(struct nvs_hostmem *h, uint64_t start)
{
	const struct nvs_mapping *m = nvs_maps_find(&h->ranges, 0, start);

	if (m && m->address == start)
		nvs_maps_remove(&h->ranges, m->map);
}

static int add(struct nvs_hostmem *h, uint64_t start, uint64_t size, enum nvs_memory kind)
{
	struct nvs_mapping m = {.map = h->next, .kind = kind, .address = start, .size = size};

	drop(h, start);
	if (!size || start + size < start)
		return 0;
	h->next++;
	return nvs_maps_add(&h->ranges, &m);
}

/* Which calls give out memory: the argument that names its address, and what it is. */
static const struct {
	const char *name, *address, *size;
	enum nvs_memory kind;
} makers[] = {
	{"cuMemAlloc", "dptr", "bytesize", NVS_MEMORY_DEVICE},
	{"cuMemAlloc_v2", "dptr", "bytesize", NVS_MEMORY_DEVICE},
	{"cuMemAllocAsync", "dptr", "bytesize", NVS_MEMORY_DEVICE},
	{"cuMemAllocAsync_ptsz", "dptr", "bytesize", NVS_MEMORY_DEVICE},
	{"cuMemAllocFromPoolAsync", "dptr", "bytesize", NVS_MEMORY_DEVICE},
	{"cuMemAllocFromPoolAsync_ptsz", "dptr", "bytesize", NVS_MEMORY_DEVICE},
	{"cuMemAddressReserve", "ptr", "size", NVS_MEMORY_DEVICE},
	{"cuMemAllocManaged", "dptr", "bytesize", NVS_MEMORY_MANAGED},
	{"cuMemAllocHost", "pp", "bytesize", NVS_MEMORY_PINNED},
	{"cuMemAllocHost_v2", "pp", "bytesize", NVS_MEMORY_PINNED},
	{"cuMemHostAlloc", "pp", "bytesize", NVS_MEMORY_PINNED},
	{"cuMemHostRegister", "p", "bytesize", NVS_MEMORY_PINNED},
	{"cuMemHostRegister_v2", "p", "bytesize", NVS_MEMORY_PINNED},
};

static const struct {
	const char *name, *address;
} takers[] = {
	{"cuMemFree", "dptr"},		 {"cuMemFree_v2", "dptr"},    {"cuMemFreeAsync", "dptr"},
	{"cuMemFreeAsync_ptsz", "dptr"}, {"cuMemAddressFree", "ptr"}, {"cuMemFreeHost", "p"},
	{"cuMemHostUnregister", "p"},
};

static int take_pitch(struct nvs_hostmem *h, const struct nvs_call *call)
{
	uint64_t address, pitch, height;

	if (nvs_call_arg(call, "dptr", &address) && nvs_call_arg(call, "pPitch", &pitch) &&
	    nvs_call_arg(call, "Height", &height))
		return add(h, address, pitch * height, NVS_MEMORY_DEVICE);
	return 0;
}

int nvs_hostmem_call(struct nvs_hostmem *h, const struct nvs_call *call)
{
	const char *name = call->api->name;
	uint64_t address, size;

	if (call->result || !call->end || strcmp(call->api->group, "memory"))
		return 0;
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		if (!strcmp(name, makers[i].name) &&
		    nvs_call_arg(call, makers[i].address, &address) &&
		    nvs_call_arg(call, makers[i].size, &size))
			return add(h, address, size, makers[i].kind);
	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++)
		if (!strcmp(name, takers[i].name) &&
		    nvs_call_arg(call, takers[i].address, &address))
			drop(h, address);
	return strncmp(name, "cuMemAllocPitch", 15) ? 0 : take_pitch(h, call);
}

const char *nvs_memory_name(enum nvs_memory kind)
{
	static const char *const names[] = {"pageable", "pinned", "managed", "device", ""};

	return names[kind];
}
