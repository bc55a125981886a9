/* SPDX-License-Identifier: MIT */
/* The address ranges of loaded libcudas, and the exports of the first one that is still loaded. */
#include <link.h>
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/names.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"

#define MAX_EXPORTS 4096
#define NAME_BYTES (32 * MAX_EXPORTS)
#define MAX_LIBRARIES 4

static struct {
	_Atomic uintptr_t start, end;
} libraries[MAX_LIBRARIES];
/* Complete when CURRENT points to it. */
struct export_table {
	uintptr_t base, start; /* of the libcuda */
	uint32_t count, bytes;
	struct nvs_api_export exports[MAX_EXPORTS]; /* sorted by address */
	char names[NAME_BYTES]; /* copies: the library may be unloaded */
};
/* The second is filled when the libcuda of the first is unloaded and another loaded; and so on. */
static struct export_table tables[2];
static struct export_table *_Atomic current;

bool nvs_api_is_enabled(void)
{
	const struct nvs_options *o = nvs_options();

	return o->values.api && !o->disabled;
}

bool nvs_api_is_libcuda(const char *path)
{
	return !strncmp(nvs_base_name(path), "libcuda.so", 10);
}

bool nvs_api_in_libcuda(uintptr_t address)
{
	for (int i = 0; i < MAX_LIBRARIES; i++) {
		uintptr_t start = atomic_load(&libraries[i].start);

		if (start && address - start < atomic_load(&libraries[i].end) - start)
			return true;
	}
	return false;
}

static struct export_table *next_table(void)
{
	return tables + (atomic_load(&current) == tables);
}

static void add_export(const char *name, uintptr_t address)
{
	struct export_table *t = next_table();
	size_t length = strlen(name) + 1;
	char *copy = t->names + t->bytes;

	if (t->count == MAX_EXPORTS || length > NAME_BYTES - t->bytes || name[0] != 'c' ||
	    name[1] != 'u')
		return;
	memcpy(copy, name, length);
	t->bytes += (uint32_t)length;
	t->exports[t->count].name = copy;
	t->exports[t->count].scope = 0;
	t->exports[t->count++].address = address;
}

static void sort_exports(struct nvs_api_export *exports, uint32_t n)
{
	for (uint32_t gap = n / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < n; i++) {
			struct nvs_api_export e = exports[i];
			uint32_t k = i;

			for (; k >= gap && exports[k - gap].address > e.address; k -= gap)
				exports[k] = exports[k - gap];
			exports[k] = e;
		}
}

static void add_library(uintptr_t start, uintptr_t end)
{
	for (int i = 0; i < MAX_LIBRARIES; i++) {
		uintptr_t none = 0;

		if (atomic_load(&libraries[i].end))
			continue;
		if (!atomic_compare_exchange_strong(&libraries[i].end, &none, end))
			continue;
		atomic_store(&libraries[i].start, start);
		return;
	}
}

/* Without _dl_find_object() no library is known to be unloaded. */
static bool is_loaded(uintptr_t base, uintptr_t start)
{
	struct nvs_found_object found;

	return !nvs_next()->find_object ||
	       (!nvs_next()->find_object((void *)start, &found) && found.link_map->l_addr == base &&
		nvs_api_is_libcuda(found.link_map->l_name));
}

void nvs_api_add_libcuda(uintptr_t base, const void *dynamic, uintptr_t start, uintptr_t end)
{
	struct export_table *t = atomic_load(&current);
	struct nvs_loaded_elf elf;

	if (!nvs_api_in_libcuda(start))
		add_library(start, end);
	/* Entry points of a second libcuda (in another namespace) are wrapped by the names they are
	 * looked up with. */
	if ((t && (t->base == base || is_loaded(t->base, t->start))) ||
	    atomic_exchange(&nvs_state()->learning, 1))
		return;
	t = next_table();
	t->base = base;
	t->start = start;
	t->count = t->bytes = 0;
	if (nvs_elf_parse(&elf, base, dynamic)) {
		nvs_elf_for_each_function(&elf, add_export);
		sort_exports(t->exports, t->count);
	}
	atomic_store(&current, t);
	atomic_store(&nvs_state()->learning, 0);
}

uint32_t nvs_api_exports(struct nvs_api_export **first)
{
	struct export_table *t = atomic_load(&current);

	*first = t ? t->exports : NULL;
	return t ? t->count : 0;
}

struct nvs_api_export *nvs_api_exported(const char *name)
{
	struct nvs_api_export *e;

	for (uint32_t i = 0, n = nvs_api_exports(&e); i < n; i++)
		if (!strcmp(e[i].name, name))
			return e + i;
	return NULL;
}

void *nvs_api_driver_function(const char *name)
{
	const struct nvs_api_export *e = nvs_api_exported(name);

	return e ? (void *)e->address : NULL;
}

bool nvs_api_find_libcuda(uintptr_t address)
{
	struct nvs_found_object found;
	const struct link_map *map;
	const ElfW(Ehdr) * head;
	uintptr_t start, end;

	if (nvs_api_in_libcuda(address))
		return true;
	if (!nvs_next()->find_object || nvs_next()->find_object((void *)address, &found) ||
	    !nvs_api_is_libcuda(found.link_map->l_name))
		return false;
	map = found.link_map;
	head = found.map_start;
	nvs_elf_extent((const void *)((uintptr_t)head + head->e_phoff), head->e_phnum, map->l_addr,
		       &start, &end);
	nvs_api_add_libcuda(map->l_addr, map->l_ld, start, end);
	return true;
}
