/* SPDX-License-Identifier: MIT */
/*
 * Which way a copy goes. Where its entry point does not say so, it says which kind of memory its
 * ends are, or leaves that to the driver, which is asked then; what it said of a page is remembered
 * until memory is allocated or freed.
 */
#include <errno.h>
#include "preload/api/intercept/api.h"
#include "preload/live/live.h"
#include "trap/buffer/calls.h"

/* CUmemorytype */
enum { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_ARRAY = 3, TYPE_UNIFIED = 4 };
#define ATTRIBUTE_MEMORY_TYPE 2
#define INVALID_VALUE 1 /* CUresult: no memory that the driver knows */

#define PAGES 256 /* as many as 8 bits tell */
#define PAGE_SHIFT 12
#define TYPE_BITS 2
#define CHANGE_BITS 16 /* above those of a page and its type */

static _Atomic uint64_t pages[PAGES]; /* change, number of the page, type: of one moment */
static _Atomic uint32_t changes;
static _Atomic bool asked;

void nvs_api_memory_changed(void)
{
	if (atomic_load_explicit(&asked, memory_order_relaxed))
		atomic_fetch_add(&changes, 1);
}

static uint64_t ask(uint64_t address)
{
	int (*get)(void *, int, uint64_t) = nvs_api_driver("cuPointerGetAttribute");
	uint32_t type = 0;
	int r, saved = errno;

	if (!get)
		return 0;
	nvs_calls.quiet++;
	r = get(&type, ATTRIBUTE_MEMORY_TYPE, address);
	nvs_calls.quiet--;
	errno = saved;
	if (r)
		return r == INVALID_VALUE ? TYPE_HOST : 0;
	return type <= TYPE_ARRAY ? type : 0;
}

/* 0: not known. */
static uint64_t type_at(uint64_t address)
{
	uint64_t page = address >> PAGE_SHIFT, key, have, type;
	uint32_t change = atomic_load_explicit(&changes, memory_order_acquire);
	_Atomic uint64_t *at = &pages[page * 0x9e3779b97f4a7c15ull >> 56];

	key = ((uint64_t)change << (64 - CHANGE_BITS)) | (page << TYPE_BITS & ~0ull >> CHANGE_BITS);
	have = atomic_load_explicit(at, memory_order_relaxed);
	if (have & 3 && (have & ~3ull) == key)
		return have & 3;
	atomic_store_explicit(&asked, true, memory_order_relaxed);
	type = ask(address);
	atomic_store_explicit(at, key | type, memory_order_relaxed);
	return type;
}

static bool value(const struct nvs_api_done *d, int8_t which, uint64_t *v)
{
	*v = which >= 0 ? d->args[which] : 0;
	return which >= 0 && !(d->absent & 1u << which);
}

/* Of an end at POINTER, whose type the call says to be TYPE, if it does. */
static uint64_t type_of(const struct nvs_api_done *d, int8_t type, int8_t pointer)
{
	uint64_t told, address;

	if (value(d, type, &told) && told != TYPE_UNIFIED)
		return told <= TYPE_ARRAY ? told : 0;
	return value(d, pointer, &address) ? type_at(address) : 0;
}

enum nvs_live_direction nvs_api_direction(const struct nvs_api_done *d)
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
