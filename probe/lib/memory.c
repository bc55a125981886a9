/* SPDX-License-Identifier: MIT */
/* Allocates memory for commands, at addresses that GPFIFO entries can hold, and for data. */
#include "probe/probe.h"

/* Usually unused by programs; the driver may still choose another address. */
#define LOW_ADDRESS 0x1000000000ull
#define LOW_TRIES 8
#define REACH (1ull << 40)

const char *probe_place_name(enum probe_place place)
{
	return place == PROBE_HOST ? "host" : place == PROBE_PEER ? "peer" : "device";
}

static bool can_choose_address(void)
{
	return cu.cuMemGetAllocationGranularity && cu.cuMemAddressReserve && cu.cuMemAddressFree &&
	       cu.cuMemCreate && cu.cuMemRelease && cu.cuMemMap && cu.cuMemUnmap &&
	       cu.cuMemSetAccess;
}

/* Maps the allocation for DEVICE, and for the host if it is host memory. */
static bool map_low(struct probe_memory *m, const struct probe_allocation *a, int device)
{
	const struct probe_access access[2] = {{{PROBE_LOCATION_DEVICE, device}, 3},
					       {a->location, 3}};

	if (cu.cuMemCreate(&m->handle, m->reserved, a, 0))
		return false;
	if (cu.cuMemMap(m->gpu, m->reserved, 0, m->handle, 0)) {
		cu.cuMemRelease(m->handle);
		return false;
	}
	if (cu.cuMemSetAccess(m->gpu, m->reserved, access, m->place == PROBE_HOST ? 2 : 1)) {
		cu.cuMemUnmap(m->gpu, m->reserved);
		cu.cuMemRelease(m->handle);
		return false;
	}
	return true;
}

/* Returns the NUMA node nearest to DEVICE. */
static int node_of(int device)
{
	int node;

	return cu.cuDeviceGetAttribute(&node, PROBE_ATTRIBUTE_HOST_NODE, device) || node < 0 ? 0
											     : node;
}

/* Allocates below 2^40 for the current context's GPU. Returns false if that fails. */
static bool allocate_low(struct probe_memory *m, enum probe_place place, size_t size)
{
	struct probe_allocation a = {.type = 1 /* pinned */};
	size_t grain;
	int device;

	*m = (struct probe_memory){.size = size, .place = place};
	if (!can_choose_address() || cu.cuCtxGetDevice(&device))
		return false;
	a.location = place == PROBE_HOST
			     ? (struct probe_location){PROBE_LOCATION_HOST_NUMA, node_of(device)}
			     : (struct probe_location){PROBE_LOCATION_DEVICE, device};
	if (cu.cuMemGetAllocationGranularity(&grain, &a, 0) || !grain)
		return false;
	m->reserved = (size + grain - 1) / grain * grain;
	for (uint64_t i = 1; i <= LOW_TRIES; i++) {
		if (cu.cuMemAddressReserve(&m->gpu, m->reserved, grain, LOW_ADDRESS * i, 0))
			return false;
		if (m->gpu + m->reserved <= REACH && map_low(m, &a, device)) {
			m->cpu = place == PROBE_HOST ? (void *)m->gpu : NULL;
			return true;
		}
		cu.cuMemAddressFree(m->gpu, m->reserved);
	}
	return false;
}

void probe_allocate_commands(struct probe_memory *m, enum probe_place place, size_t size)
{
	if (!allocate_low(m, place, size))
		probe_memory(m, place, size);
}

void probe_memory(struct probe_memory *m, enum probe_place place, size_t size)
{
	*m = (struct probe_memory){.size = size, .place = place};
	if (place == PROBE_HOST) {
		PROBE_CU(cuMemHostAlloc(&m->cpu, size, PROBE_HOST_PORTABLE));
		m->gpu = (uintptr_t)m->cpu;
	} else {
		PROBE_CU(cuMemAlloc_v2(&m->gpu, size));
	}
}

void probe_memory_free(struct probe_memory *m)
{
	if (m->handle) {
		cu.cuMemUnmap(m->gpu, m->reserved);
		cu.cuMemRelease(m->handle);
		cu.cuMemAddressFree(m->gpu, m->reserved);
	} else if (m->place == PROBE_HOST && m->cpu) {
		cu.cuMemFreeHost(m->cpu);
	} else if (m->gpu) {
		cu.cuMemFree_v2(m->gpu);
	}
	*m = (struct probe_memory){0};
}
