/* SPDX-License-Identifier: MIT */
/* Keeps the ranges that allocation calls gave out, sorted by address. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/hostmem.h"

struct range {
	uint64_t start, end;
	enum nvs_memory kind;
};

struct nvs_hostmem {
	struct range *ranges;
	size_t n, room;
};

struct nvs_hostmem *nvs_hostmem_new(void)
{
	return calloc(1, sizeof(struct nvs_hostmem));
}

void nvs_hostmem_free(struct nvs_hostmem *h)
{
	if (h)
		free(h->ranges);
	free(h);
}

/* Index of the first range that starts behind ADDRESS. */
static size_t behind(const struct nvs_hostmem *h, uint64_t address)
{
	size_t lo = 0, hi = h->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->ranges[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

enum nvs_memory nvs_hostmem_kind(const struct nvs_hostmem *h, uint64_t address)
{
	size_t at = behind(h, address);

	if (at && address < h->ranges[at - 1].end)
		return h->ranges[at - 1].kind;
	return NVS_MEMORY_PAGEABLE;
}

static void drop(struct nvs_hostmem *h, uint64_t start)
{
	size_t at = behind(h, start);

	if (!at || h->ranges[at - 1].start != start)
		return;
	memmove(h->ranges + at - 1, h->ranges + at, (h->n - at) * sizeof(*h->ranges));
	h->n--;
}

static int add(struct nvs_hostmem *h, uint64_t start, uint64_t size, enum nvs_memory kind)
{
	size_t at;
	void *more;

	drop(h, start);
	if (!size || start + size < start)
		return 0;
	if (h->n == h->room) {
		more = realloc(h->ranges, (h->room ? h->room * 2 : 64) * sizeof(*h->ranges));
		if (!more)
			return -ENOMEM;
		h->ranges = more;
		h->room = h->room ? h->room * 2 : 64;
	}
	at = behind(h, start);
	memmove(h->ranges + at + 1, h->ranges + at, (h->n - at) * sizeof(*h->ranges));
	h->ranges[at] = (struct range){start, start + size, kind};
	h->n++;
	return 0;
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
	{"cuMemFree", "dptr"},	      {"cuMemFree_v2", "dptr"},	 {"cuMemFreeAsync", "dptr"},
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
		if (!strcmp(name, makers[i].name) && nvs_call_arg(call, makers[i].address, &address) &&
		    nvs_call_arg(call, makers[i].size, &size))
			return add(h, address, size, makers[i].kind);
	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++)
		if (!strcmp(name, takers[i].name) && nvs_call_arg(call, takers[i].address, &address))
			drop(h, address);
	return strncmp(name, "cuMemAllocPitch", 15) ? 0 : take_pitch(h, call);
}

const char *nvs_memory_name(enum nvs_memory kind)
{
	static const char *const names[] = {"pageable", "pinned", "managed", "device"};

	return names[kind];
}
