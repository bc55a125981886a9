/* SPDX-License-Identifier: MIT */
/*
 * Memory for kernels' instruction counters on the GPUs, and the kernel each counter belongs to. The
 * memory is mapped on every GPU of the process at the same address, so that code loaded once for
 * all GPUs can contain it. It outlives contexts and modules, so counts are not lost with them.
 */
#include <string.h>
#include "preload/api/count/counter_reading.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "trap/buffer/calls.h"

#define SPIN 200 /* polls before a sleep, which takes longer than most copies */
#define MAX_DEVICES 64
#define RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED: other threads may be capturing */
#define NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING: does not synchronise with the legacy stream */
#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */
#define LOCK_MS 10000
#define LOCK_GIVEN_UP 2 /* until its holder releases it */
#define SET_MS 1000
#define PROBES 8
#define FILLING UINT64_MAX /* key of a function whose name another thread is storing */

/* CUmemAllocationProp, CUmemAccessDesc */
struct prop {
	uint32_t type, handles, location, device;
	uint64_t windows, flags;
};
struct access {
	uint32_t location, device, flags;
};
enum { PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3 };

/* ---- driver calls ---- */

bool nvs_counting_find_driver(struct nvs_counting_driver *d)
{
	struct {
		void **to;
		const char *name;
	} wanted[] = {
		{(void **)&d->get_current, "cuCtxGetCurrent"},
		{(void **)&d->push, "cuCtxPushCurrent_v2"},
		{(void **)&d->pop, "cuCtxPopCurrent_v2"},
		{(void **)&d->get_device, "cuCtxGetDevice"},
		{(void **)&d->device_count, "cuDeviceGetCount"},
		{(void **)&d->granularity, "cuMemGetAllocationGranularity"},
		{(void **)&d->reserve, "cuMemAddressReserve"},
		{(void **)&d->create, "cuMemCreate"},
		{(void **)&d->map, "cuMemMap"},
		{(void **)&d->access, "cuMemSetAccess"},
		{(void **)&d->set, "cuMemsetD8Async"},
		{(void **)&d->copy, "cuMemcpyDtoHAsync_v2"},
		{(void **)&d->enlist, "cuMemHostRegister_v2"},
		{(void **)&d->stream_create, "cuStreamCreate"},
		{(void **)&d->stream_query, "cuStreamQuery"},
		{(void **)&d->stream_wait, "cuStreamSynchronize"},
	};
	bool all = true;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].to = nvs_api_driver_function(wanted[i].name);
		all = all && *wanted[i].to;
	}
	/* Optional: drivers that lack it have no captures that could be disturbed. */
	*(void **)&d->exchange_mode = nvs_api_driver_function("cuThreadExchangeStreamCaptureMode");
	return all;
}

void nvs_counting_enter(struct nvs_counting *c, int *mode)
{
	nvs_calls.quiet++;
	*mode = RELAXED;
	if (c->driver.exchange_mode)
		c->driver.exchange_mode(mode);
}

void nvs_counting_leave(struct nvs_counting *c, int mode)
{
	if (c->driver.exchange_mode)
		c->driver.exchange_mode(&mode);
	nvs_calls.quiet--;
}

bool nvs_counting_lock(struct nvs_counting *c)
{
	uint64_t mask = nvs_sys_block_async();
	uint32_t holder = 0;

	for (int i = 0; !atomic_compare_exchange_strong(&c->lock, &holder, 1); i++, holder = 0) {
		/* No other load waits for a thread that does not come back from the driver. */
		if (i == LOCK_MS)
			atomic_compare_exchange_strong(&c->lock, &holder, LOCK_GIVEN_UP);
		if (i == LOCK_MS || holder == LOCK_GIVEN_UP) {
			nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
			return false;
		}
		nvs_sleep(1000000);
	}
	c->lock_mask = mask;
	return true;
}

void nvs_counting_unlock(struct nvs_counting *c)
{
	uint64_t mask = c->lock_mask;

	atomic_store(&c->lock, 0);
	nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
}

uint64_t nvs_counting_stream(struct nvs_counting *c)
{
	uint64_t context = 0, stream;

	if (c->driver.get_current(&context) || !context)
		return 0;
	for (uint32_t i = 0; i < NVS_COUNTING_CONTEXTS; i++) {
		struct nvs_counting_context *at = &c->contexts[i];
		uint64_t have = 0;

		if (!atomic_compare_exchange_strong(&at->context, &have, context) &&
		    have != context)
			continue;
		stream = atomic_load(&at->stream);
		if (stream)
			return stream;
		if (c->driver.stream_create(&stream, NON_BLOCKING))
			return 0;
		/* Another thread may have created one as well; one of the two stays unused. */
		have = 0;
		return atomic_compare_exchange_strong(&at->stream, &have, stream) ? stream : have;
	}
	return 0;
}

bool nvs_counting_wait(struct nvs_counting *c, uint64_t stream, unsigned ms)
{
	for (unsigned i = 0; i < SPIN + ms * 20; i++) {
		int r = c->driver.stream_query(stream);

		if (r != NOT_READY)
			return !r;
		if (i >= SPIN)
			nvs_sleep(50000);
	}
	return false;
}

/* Maps a new piece of at least BYTES. */
static bool map_piece(struct nvs_counting *c, uint64_t bytes, int device)
{
	struct prop prop = {PINNED, 0, ON_DEVICE, (uint32_t)device, 0, 0};
	struct access to[MAX_DEVICES];
	uint64_t handle, at, size = bytes < NVS_COUNTING_PIECE ? NVS_COUNTING_PIECE : bytes;
	size_t grain = NVS_COUNTING_PIECE;
	int n = 0;

	if (c->driver.device_count(&n) || n < 1 || c->driver.granularity(&grain, &prop, 0) ||
	    !grain)
		return false;
	size = (size + grain - 1) / grain * grain;
	n = n < MAX_DEVICES ? n : MAX_DEVICES;
	if (c->driver.reserve(&at, size, 0, 0, 0))
		return false;
	/* Nothing is released if a later step fails: address space costs nothing, and failures are
	 * rare. */
	if (c->driver.create(&handle, size, &prop, 0) || c->driver.map(at, size, 0, handle, 0))
		return false;
	for (int i = 0; i < n; i++)
		to[i] = (struct access){ON_DEVICE, (uint32_t)i, READ_WRITE};
	if (c->driver.access(at, size, &to[device < n ? device : 0], 1))
		return false;
	for (int i = 0; i < n; i++)
		if (i != device && c->driver.access(at, size, &to[i], 1))
			c->apart = true;
	c->room = at;
	c->room_end = at + size;
	return true;
}

uint64_t nvs_counting_alloc(struct nvs_counting *c, uint64_t bytes, const char **why)
{
	uint64_t stream = nvs_counting_stream(c), at;
	int device = 0;

	*why = "no memory for its counters could be had";
	if (!stream || c->driver.get_device(&device))
		return 0;
	if (c->room_end - c->room < bytes && !map_piece(c, bytes, device))
		return 0;
	at = c->room;
	if (c->driver.set(at, 0, bytes, stream) || !nvs_counting_wait(c, stream, SET_MS))
		return 0;
	c->room += bytes;
	*why = NULL;
	return at;
}

/* ---- names ---- */

static struct nvs_counted_name *find_name(struct nvs_counting *c, const char *name)
{
	uint64_t hash = nvs_hash_text(name);
	struct nvs_counted_name *at = atomic_load(&c->name[hash % NVS_COUNTED_NAMES]);

	while (at && (at->hash != hash || strcmp(at->text, name)))
		at = at->next;
	return at;
}

static struct nvs_counted_name *add_name(struct nvs_counting *c, const char *name)
{
	struct nvs_counted_name *at = find_name(c, name);
	size_t length = strlen(name);

	if (at)
		return at;
	at = nvs_alloc(sizeof(*at) + length + 1);
	if (!at)
		return NULL;
	at->hash = nvs_hash_text(name);
	at->length = (uint32_t)length;
	memcpy(at->text, name, length + 1);
	at->next = atomic_load(&c->name[at->hash % NVS_COUNTED_NAMES]);
	atomic_store(&c->name[at->hash % NVS_COUNTED_NAMES], at);
	return at;
}

struct nvs_kernel_counter *nvs_counting_add(struct nvs_counting *c, const char *name,
					    uint64_t address)
{
	struct nvs_counted_name *n = add_name(c, name);
	struct nvs_kernel_counter *counter = n ? nvs_alloc(sizeof(*counter)) : NULL;

	if (!counter)
		return NULL;
	counter->number = c->ncounters++;
	counter->name = n;
	counter->address = address;
	counter->same = n->first;
	__atomic_store_n(&n->first, counter, __ATOMIC_RELEASE);
	if (c->last)
		__atomic_store_n(&c->last->next, counter, __ATOMIC_RELEASE);
	else
		atomic_store(&c->first, counter);
	c->last = counter;
	return counter;
}

/* ---- functions ---- */

/* Asks the driver once per function; again each time if the cache is full. */
struct nvs_counted_name *nvs_counting_function(struct nvs_counting *c, uint64_t function)
{
	uint64_t key = nvs_api_known_key(function);
	uint32_t at = nvs_hash(key, NVS_API_KNOWN_BITS);
	struct nvs_counted_name *name;
	const char *text;

	NVS_HASH_EACH(k, at, PROBES, NVS_COUNTED_FUNCTIONS)
	if (atomic_load(&c->function[k].key) == key)
		return atomic_load(&c->function[k].name);
	text = nvs_api_function_name(function);
	name = text ? find_name(c, text) : NULL;
	NVS_HASH_EACH(k, at, PROBES, NVS_COUNTED_FUNCTIONS)
	{
		uint64_t have = atomic_load(&c->function[k].key);

		/* An entry of an earlier generation is unused. */
		if (have == FILLING || (have && (have ^ key) >> 48 == 0))
			continue;
		if (!atomic_compare_exchange_strong(&c->function[k].key, &have, FILLING))
			continue;
		atomic_store(&c->function[k].name, name);
		atomic_store(&c->function[k].key, key);
		break;
	}
	return name;
}
