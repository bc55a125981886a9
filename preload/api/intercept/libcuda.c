/* SPDX-License-Identifier: MIT */
/* The address ranges of loaded libcudas, and the exports of the first one. */
#include <link.h>
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"

#define MAX_EXPORTS 4096
#define MAX_LIBRARIES 4

static struct {
	_Atomic uintptr_t start, end;
} libraries[MAX_LIBRARIES];
static struct nvs_api_export exports[MAX_EXPORTS]; /* sorted by address */
static uint32_t nexports;
static _Atomic bool learnt; /* exports is complete */

bool nvs_api_is_enabled(void)
{
	const struct nvs_options *o = nvs_options();

	return o->values.api && !o->disabled;
}

bool nvs_api_is_libcuda(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "libcuda.so", 10);
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

static void add_export(const char *name, uintptr_t address)
{
	if (nexports == MAX_EXPORTS || name[0] != 'c' || name[1] != 'u')
		return;
	exports[nexports].name = name;
	exports[nexports++].address = address;
}

static void sort_exports(void)
{
	for (uint32_t gap = nexports / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < nexports; i++) {
			uintptr_t address = exports[i].address;
			const char *name = exports[i].name;
			uint32_t k = i;

			for (; k >= gap && exports[k - gap].address > address; k -= gap) {
				exports[k].address = exports[k - gap].address;
				exports[k].name = exports[k - gap].name;
			}
			exports[k].address = address;
			exports[k].name = name;
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

void nvs_api_add_libcuda(uintptr_t base, const void *dynamic, uintptr_t start, uintptr_t end)
{
	struct nvs_loaded_elf elf;

	if (!nvs_api_in_libcuda(start))
		add_library(start, end);
	/* Entry points of a second libcuda (another namespace, or loaded again) are wrapped by the
	 * names they are looked up with. */
	if (atomic_load(&learnt) || atomic_exchange(&nvs_state()->learning, 1))
		return;
	nexports = 0;
	if (nvs_elf_parse(&elf, base, dynamic)) {
		nvs_elf_for_each_function(&elf, add_export);
		sort_exports();
	}
	atomic_store(&learnt, true);
}

uint32_t nvs_api_exports(struct nvs_api_export **first)
{
	*first = exports;
	return atomic_load(&learnt) ? nexports : 0;
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
