/* SPDX-License-Identifier: MIT */
/* Maps entry points to thunks. A slot is never freed; two threads that bind the same address at the
 * same time may use two slots, of which one stays unused. */
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/preload.h"
#include "trap/buffer/process.h"

#define HASH_BITS 12 /* four slots an entry point */
#define HASH (1u << HASH_BITS)
#define MAX_PASSED 1024
#define PASSED_NUMBER 0x10000u /* first number for entry points missing from the table */

static _Atomic uint32_t nslots;
static _Atomic uint16_t by_address[HASH]; /* slot + 1 */
static struct {
	_Atomic uint32_t used, bytes;
	uint32_t name[MAX_PASSED]; /* offset in text */
	char text[MAX_PASSED * 40];
} passed;

/* ---- slots ---- */

static const struct nvs_api *find_api(const char *name)
{
	unsigned lo = 0, hi = nvs_api_count;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		int r = strcmp(name, nvs_api_table[mid].name);

		if (!r)
			return nvs_api_table + mid;
		if (r < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

/* Finds the API by the name under which libcuda exports ADDRESS. Several names of one address have
 * the same API. */
static const struct nvs_api *find_api_at(uintptr_t address, const char *name)
{
	struct nvs_api_export *e;
	uint32_t lo = 0, hi = nvs_api_exports(&e), n = hi;
	bool exported = false;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (e[mid].address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && e[lo].address == address; lo++) {
		const struct nvs_api *api = find_api(e[lo].name);

		exported = true;
		if (api)
			return api;
	}
	/* In a second libcuda only the looked-up name is known, and it is exported. */
	return exported || !name ? NULL : find_api(name);
}

static void record_api(uint32_t number, uint32_t flags, const char *name,
		       const struct nvs_api *api);

static void *thunk_of_slot(uint32_t slot)
{
	return (void *)(nvs_api_thunks + slot * NVS_API_THUNK_BYTES);
}

static void set_slot(struct nvs_api_slot *slot, uintptr_t address, const struct nvs_api *api)
{
	const struct nvs_api_snapshots *snapshots = nvs_api_get_snapshots();

	slot->original = (void *)address;
	if (!api->for_snapshots || snapshots) {
		slot->before = api->before;
		slot->after = api->after;
	}
	if (snapshots && api->effect.does >= NVS_DOES_ALLOC && !slot->after)
		slot->after = snapshots->follow;
	__atomic_store_n(&slot->api, api, __ATOMIC_RELEASE);
}

static void *bind_slot(uintptr_t address, const struct nvs_api *api)
{
	uint32_t n = atomic_load(&nslots);

	if (n >= NVS_API_SLOTS || (n = atomic_fetch_add(&nslots, 1)) >= NVS_API_SLOTS)
		return (void *)address;
	set_slot(nvs_api_slots + n, address, api);
	NVS_HASH_EACH(h, nvs_hash(address, HASH_BITS), HASH, HASH)
	{
		uint16_t have = 0;

		if (atomic_compare_exchange_strong(&by_address[h], &have, (uint16_t)(n + 1)))
			break;
		if (nvs_api_slots[have - 1].original == (void *)address)
			return thunk_of_slot(have - 1u);
	}
	if (atomic_load(&nvs_api_live))
		record_api(nvs_api_number(api), 0, api->name, api);
	return thunk_of_slot(n);
}

static bool is_thunk(uintptr_t address)
{
	return address - (uintptr_t)nvs_api_thunks < sizeof(nvs_api_thunks);
}

static void note_unobserved(const char *name);

void *nvs_api_wrap(void *address, const char *name)
{
	uintptr_t a = (uintptr_t)address;
	uint32_t h = nvs_hash(a, HASH_BITS), n;
	const struct nvs_api *api;

	if (!a || !nvs_api_is_enabled() || is_thunk(a))
		return address;
	NVS_HASH_PROBE(h, HASH, (n = by_address[h]) && nvs_api_slots[n - 1].original != address);
	if (n)
		return thunk_of_slot(n - 1);
	if (!nvs_api_find_libcuda(a))
		return address;
	api = find_api_at(a, name);
	if (api)
		return bind_slot(a, api);
	if (name)
		note_unobserved(name);
	return address;
}

/* ---- trace records ---- */

static void record_api(uint32_t number, uint32_t flags, const char *name, const struct nvs_api *api)
{
	struct {
		struct nvs_rec_api rec;
		char text[1024];
	} room = {.rec = {.api = number, .nargs = api ? api->nkeep : 0}};
	const char *group = api ? api->group : "";
	uint32_t n = 0;

	for (int i = -2; i < (api ? api->nkeep : 0); i++) {
		const char *word = i == -2 ? name : i == -1 ? group : api->keep[i].name;
		uint32_t length = (uint32_t)strlen(word) + 1;

		if (n + length > sizeof(room.text))
			return;
		memcpy(room.text + n, word, length);
		n += length;
	}
	room.rec.length = n;
	room.rec.rec.type = NVS_REC_API;
	room.rec.rec.flags = (uint16_t)flags;
	room.rec.rec.size = (uint32_t)(sizeof(room.rec) + n + 7) & ~7u;
	nvs_record_write(&room.rec.rec);
}

/* Records, once per name, an entry point that the table lacks. */
static void note_unobserved(const char *name)
{
	uint32_t used = atomic_load(&passed.used), length = (uint32_t)strlen(name) + 1, at;

	for (uint32_t i = 0; i < used && i < MAX_PASSED; i++)
		if (!strcmp(passed.text + passed.name[i], name))
			return;
	at = atomic_load(&passed.bytes);
	if (used >= MAX_PASSED || at + length > sizeof(passed.text) || length > 200)
		return;
	at = atomic_fetch_add(&passed.bytes, length);
	if (at + length > sizeof(passed.text))
		return;
	memcpy(passed.text + at, name, length);
	used = atomic_fetch_add(&passed.used, 1);
	if (used >= MAX_PASSED)
		return;
	passed.name[used] = at;
	if (atomic_load(&nvs_api_live))
		record_api(PASSED_NUMBER + used, NVS_API_PASSED, name, NULL);
}

void nvs_api_note_lookup(const void *address, const char *name)
{
	uintptr_t a = (uintptr_t)address;

	if (nvs_api_is_enabled() && !is_thunk(a) && nvs_api_find_libcuda(a))
		note_unobserved(name);
}

/* Writes a record for every API bound so far. */
static void record_all(void)
{
	uint32_t n = atomic_load(&nslots);

	for (uint32_t i = 0; i < n && i < NVS_API_SLOTS; i++) {
		const struct nvs_api *api = __atomic_load_n(&nvs_api_slots[i].api,
							    __ATOMIC_ACQUIRE);

		if (api)
			record_api(nvs_api_number(api), 0, api->name, api);
	}
	n = atomic_load(&passed.used);
	for (uint32_t i = 0; i < n && i < MAX_PASSED; i++)
		record_api(PASSED_NUMBER + i, NVS_API_PASSED, passed.text + passed.name[i], NULL);
}

void nvs_api_session_started(void)
{
	if (nvs_api_is_enabled()) {
		atomic_store(&nvs_api_live, 1);
		record_all();
	}
	nvs_nvtx_record_names();
	nvs_nvtx_record_other();
	nvs_api_early_flush(nvs_is_recording());
	nvs_api_images_flush();
}
