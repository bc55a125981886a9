/* SPDX-License-Identifier: MIT */
/*
 * The direction of a copy. If its entry point does not imply it, the call gives the memory type of
 * each end, or leaves that to the driver, which is queried then. Answers are cached per page until
 * memory is allocated or freed.
 */
#include "preload/api/intercept/api.h"
#include "preload/live/live.h"
#include "trap/buffer/calls.h"

/* CUmemorytype */
enum { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_ARRAY = 3, TYPE_UNIFIED = 4 };
#define ATTRIBUTE_MEMORY_TYPE 2
#define INVALID_VALUE 1 /* CUresult: the driver does not know this memory */

#define PAGE_BITS 8 /* of the hash */
#define PAGES (1u << PAGE_BITS)
#define PAGE_SHIFT 12
#define TYPE_BITS 2
#define CHANGE_BITS 16 /* kept above the page number and type */

static _Atomic uint64_t pages[PAGES]; /* change count, page number and type in one word */
static _Atomic uint32_t changes;
static _Atomic bool asked;

void nvs_api_memory_changed(void)
{
	if (atomic_load_explicit(&asked, memory_order_relaxed))
		atomic_fetch_add(&changes, 1);
}

static uint64_t query_type(uint64_t address)
{
	int (*get)(void *, int, uint64_t) = nvs_api_driver_function("cuPointerGetAttribute");
	uint32_t type = 0;
	int r;

	if (!get)
		return 0;
	NVS_QUIET();
	r = get(&type, ATTRIBUTE_MEMORY_TYPE, address);
	if (r)
		return r == INVALID_VALUE ? TYPE_HOST : 0;
	return type <= TYPE_ARRAY ? type : 0;
}

/* Type of the memory at ADDRESS; 0 if unknown. */
static uint64_t type_at(uint64_t address)
{
	uint64_t page = address >> PAGE_SHIFT, key, have, type;
	uint32_t change = atomic_load_explicit(&changes, memory_order_acquire);
	_Atomic uint64_t *at = &pages[nvs_hash(page, PAGE_BITS)];

	key = ((uint64_t)change << (64 - CHANGE_BITS)) | (page << TYPE_BITS & ~0ull >> CHANGE_BITS);
	have = atomic_load_explicit(at, memory_order_relaxed);
	if (have & 3 && (have & ~3ull) == key)
		return have & 3;
	atomic_store_explicit(&asked, true, memory_order_relaxed);
	type = query_type(address);
	atomic_store_explicit(at, key | type, memory_order_relaxed);
	return type;
}

/* Type of the end at POINTER: TYPE if the call gives one, else the driver's answer. */
static uint64_t type_of(const struct nvs_api_returned_call *d, int8_t type, int8_t pointer)
{
	uint64_t told, address;

	if (nvs_api_done_value(d, type, &told) && told != TYPE_UNIFIED)
		return told <= TYPE_ARRAY ? told : 0;
	return nvs_api_done_value(d, pointer, &address) ? type_at(address) : 0;
}

enum nvs_live_direction nvs_api_direction(const struct nvs_api_returned_call *d)
{
	const struct nvs_api_effect *e = &d->api->effect;
	uint64_t from, to;

	if (e->kind != NVS_LIVE_ANY)
		return (enum nvs_live_direction)e->kind;
	from = type_of(d, e->source, e->from);
	to = from ? type_of(d, e->target, e->to) : 0;
	if (!from || !to)
		return NVS_LIVE_ANY;
	if (from == TYPE_HOST)
		return to == TYPE_HOST ? NVS_LIVE_H2H : NVS_LIVE_H2D;
	return to == TYPE_HOST ? NVS_LIVE_D2H : NVS_LIVE_D2D;
}
