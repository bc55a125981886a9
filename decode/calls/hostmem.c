/* SPDX-License-Identifier: MIT */
/* Records the address ranges that allocation calls returned. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/args.h"
#include "decode/calls/hostmem.h"
#include "decode/trace/maps.h"

struct nvs_hostmem {
	struct nvs_maps ranges; /* in a single address space; kind: enum nvs_memory_kind */
	uint32_t next; /* number of the next range */
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

enum nvs_memory_kind nvs_hostmem_kind(const struct nvs_hostmem *h, uint64_t address)
{
	const struct nvs_mapping *m = nvs_maps_find(&h->ranges, 0, address);

	return m ? (enum nvs_memory_kind)m->kind : NVS_MEMORY_PAGEABLE;
}

static void remove_range(struct nvs_hostmem *h, uint64_t start)
{
	const struct nvs_mapping *m = nvs_maps_find(&h->ranges, 0, start);

	if (m && m->address == start)
		nvs_maps_remove(&h->ranges, m->map);
}

static int add_range(struct nvs_hostmem *h, uint64_t start, uint64_t size,
		     enum nvs_memory_kind kind)
{
	struct nvs_mapping m = {.map = h->next, .kind = kind, .address = start, .size = size};

	remove_range(h, start);
	if (!size || start + size < start)
		return 0;
	h->next++;
	return nvs_maps_add(&h->ranges, &m);
}

/* Adds the range that CALL returned. The driver chooses the pitch of pitched memory. */
static int add_allocation(struct nvs_hostmem *h, const struct nvs_call *call, uint64_t address,
			  enum nvs_memory_kind kind)
{
	uint64_t size, height = 1;

	if (call->api->role == NVS_CALL_ROLE_ALLOC_PITCH
		    ? nvs_call_value(call, NVS_ARG_pPitch, &size) &&
			      nvs_call_value(call, NVS_ARG_Height, &height)
		    : nvs_call_value(call, NVS_ARG_size, &size))
		return add_range(h, address, size * height, kind);
	return 0;
}

int nvs_hostmem_call(struct nvs_hostmem *h, const struct nvs_call *call)
{
	uint64_t address;

	if (call->result || !call->end || !nvs_call_value(call, NVS_ARG_address, &address))
		return 0;
	switch (call->api->role) {
	case NVS_CALL_ROLE_ALLOC_DEVICE:
	case NVS_CALL_ROLE_ALLOC_ASYNC:
	case NVS_CALL_ROLE_ALLOC_ADDRESSES:
	case NVS_CALL_ROLE_ALLOC_PITCH:
		return add_allocation(h, call, address, NVS_MEMORY_DEVICE);
	case NVS_CALL_ROLE_ALLOC_MANAGED:
		return add_allocation(h, call, address, NVS_MEMORY_MANAGED);
	case NVS_CALL_ROLE_ALLOC_PINNED:
	case NVS_CALL_ROLE_ALLOC_REGISTERED:
		return add_allocation(h, call, address, NVS_MEMORY_PINNED);
	case NVS_CALL_ROLE_FREE:
		remove_range(h, address);
	}
	return 0;
}

const char *nvs_memory_name(enum nvs_memory_kind kind)
{
	static const char *const names[] = {"pageable", "pinned", "managed", "device", ""};

	return names[kind];
}
