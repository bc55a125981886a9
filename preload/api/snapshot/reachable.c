/* SPDX-License-Identifier: MIT */
/* snapshot=: memory that a kernel can reach: live allocations, as the program's calls made them,
 * and the variables of its module, by the symbols of its cubin. */
#include <string.h>
#include "preload/api/images/image.h"
#include "preload/api/snapshot/snapshot.h"
#include "preload/base/preload.h"
#include "sass/sass.h"

#define MIN_ADDRESS 0x10000u
#define OBJECT 1 /* STT_OBJECT */
#define VARIABLES 64u /* of a module */

struct allocation {
	uint64_t address, size;
};

struct variables {
	struct variables *next;
	uint64_t handle;
	uint32_t n;
	const char *name[VARIABLES];
};

/* Wiped in a forked child. */
struct reachable {
	struct allocation *list; /* by address */
	uint32_t n, room;
	struct variables *modules; /* by handle, which may be used again */
	struct nvs_snapshot_name *names; /* of variables */
};

/* The lock is held. */
static struct reachable *get_reachable(void)
{
	void **slot = nvs_slot(NVS_SLOT_SNAPSHOT_MEMORY);

	if (!*slot)
		*slot = nvs_alloc(sizeof(struct reachable));
	return *slot;
}

/* ---- allocations ---- */

/* Number of allocations that begin at or below ADDRESS. */
static uint32_t count_below(const struct reachable *all, uint64_t address)
{
	uint32_t low = 0, high = all->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (all->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void remove_allocation(struct reachable *all, uint64_t address)
{
	uint32_t at = count_below(all, address);

	if (!at || all->list[at - 1].address != address)
		return;
	memmove(all->list + at - 1, all->list + at, (all->n - at) * sizeof(*all->list));
	all->n--;
}

/* Removes what begins in this range. */
static void remove_range(struct reachable *all, uint64_t address, uint64_t bytes)
{
	uint32_t at = count_below(all, address), n = at;

	if (at && all->list[at - 1].address == address)
		at--;
	while (n < all->n && all->list[n].address - address < bytes)
		n++;
	memmove(all->list + at, all->list + n, (all->n - n) * sizeof(*all->list));
	all->n -= n - at;
}

/* What was there has ended, maybe with its context. */
static void add_allocation(struct reachable *all, uint64_t address, uint64_t size)
{
	uint32_t at;

	remove_range(all, address, size);
	at = count_below(all, address);
	if (!size || !NVS_GROW(all->list, all->n, all->room, 256))
		return;
	memmove(all->list + at + 1, all->list + at, (all->n - at) * sizeof(*all->list));
	all->list[at] = (struct allocation){address, size};
	all->n++;
}

static bool is_captured(const struct nvs_api_frame *f, const struct nvs_api *api)
{
	uint64_t stream;

	return nvs_api_kept(f, api, api->stream, true, &stream) &&
	       nvs_api_is_capturing(api, stream);
}

void nvs_snapshot_follow(struct nvs_api_frame *f, uint32_t result)
{
	const struct nvs_api *api = nvs_api_slots[f->index].api;
	const struct nvs_api_effect *e = &api->effect;
	uint64_t address, bytes, height;
	struct reachable *all;
	NVS_KEEP_ERRNO();

	if (result || nvs_calls.quiet || !nvs_api_kept(f, api, e->address, true, &address) ||
	    !address || is_captured(f, api))
		return;
	nvs_api_kept(f, api, e->bytes, true, &bytes);
	if (nvs_api_kept(f, api, e->height, true, &height) && height)
		bytes *= height;
	NVS_LOCK_SCOPE();
	all = get_reachable();
	if (!all)
		return;
	/* A call may unmap several that were made before. */
	if (e->does == NVS_DOES_UNMAP)
		remove_range(all, address, bytes);
	else if (e->does == NVS_DOES_MAP ||
		 ((e->does == NVS_DOES_ALLOC || e->does == NVS_DOES_ALLOC_PITCH) &&
		  e->space == NVS_SPACE_ADDRESS && e->kind != NVS_LIVE_RESERVED))
		add_allocation(all, address, bytes);
	else if (e->does == NVS_DOES_FREE && e->space == NVS_SPACE_ADDRESS)
		remove_allocation(all, address);
}

static void add_range(struct nvs_snapshot_ranges *to, uint64_t address, uint64_t size,
		      uint32_t flags, const char *name)
{
	for (uint32_t i = 0; i < to->n; i++)
		if (to->range[i].address == address)
			return;
	if (size && to->n < NVS_SNAPSHOT_BUFFERS)
		to->range[to->n++] = (struct nvs_snapshot_range){address, size, flags, name};
}

void nvs_snapshot_find_pointers(struct nvs_snapshot_ranges *to, const uint8_t *params,
				uint32_t size)
{
	const struct reachable *all;
	uint64_t value;

	NVS_LOCK_SCOPE();
	all = get_reachable();
	for (uint32_t at = 0; all && at + 8 <= size; at += 4) {
		uint32_t i;

		memcpy(&value, params + at, 8);
		i = value < MIN_ADDRESS ? 0 : count_below(all, value);
		if (!i || value - all->list[i - 1].address >= all->list[i - 1].size)
			continue;
		add_range(to, all->list[i - 1].address, all->list[i - 1].size, 0, NULL);
		at += 4;
	}
}

void nvs_snapshot_find_others(struct nvs_snapshot_ranges *to)
{
	const struct reachable *all;

	NVS_LOCK_SCOPE();
	all = get_reachable();
	for (uint32_t i = 0; all && i < all->n; i++)
		add_range(to, all->list[i].address, all->list[i].size, NVS_SNAPSHOT_OTHER, NULL);
}

/* ---- variables ---- */

/* The lock is held. */
static struct variables *find_module(const struct reachable *all, uint64_t handle)
{
	struct variables *m = all->modules;

	while (m && m->handle != handle)
		m = m->next;
	return m;
}

void nvs_snapshot_find_variables(struct nvs_snapshot_ranges *to, uint64_t module,
				 int (*get)(uint64_t *, size_t *, uint64_t, const char *))
{
	const struct reachable *all;
	const struct variables *m;
	const char *name[VARIABLES];
	uint32_t n = 0;

	{
		NVS_LOCK_SCOPE();
		all = get_reachable();
		for (m = all ? find_module(all, module) : NULL; m && n < m->n; n++)
			name[n] = m->name[n];
	}
	for (uint32_t i = 0; get && i < n; i++) {
		uint64_t address = 0;
		size_t size = 0;

		if (!get(&address, &size, module, name[i]))
			add_range(to, address, size, NVS_SNAPSHOT_VARIABLE, name[i]);
	}
}

static void *alloc_memory(void *arg, size_t size)
{
	return nvs_alloc(size);
}

static void free_memory(void *arg, void *p, size_t size)
{
	nvs_free(p, size);
}

static const struct nvs_sass_memory memory = {.get = alloc_memory, .put = free_memory};

/* Constants, too, can be written by the program. */
static bool is_of_variables(const char *section)
{
	return !strncmp(section, ".nv.global", 10) || !strcmp(section, ".nv.constant3");
}

static const char *keep_name(const char *text)
{
	const struct nvs_snapshot_name *name;
	struct reachable *all;

	NVS_LOCK_SCOPE();
	all = get_reachable();
	name = all && *text ? nvs_snapshot_keep_name(&all->names, text) : NULL;
	return name ? name->text : NULL;
}

static void add_variable(struct variables *m, const char *text)
{
	const char *name = m->n < VARIABLES ? keep_name(text) : NULL;

	for (uint32_t i = 0; i < m->n; i++)
		if (m->name[i] == name)
			return;
	if (name)
		m->name[m->n++] = name;
}

static void note_cubin(struct variables *m, const void *data, size_t size)
{
	struct nvs_cubin_section section;
	struct nvs_cubin_symbol symbol;
	struct nvs_cubin cubin;

	if (nvs_cubin_open(&cubin, data, size))
		return;
	for (uint32_t i = 0; i < cubin.symbols; i++)
		if (nvs_cubin_symbol(&cubin, i, &symbol) && symbol.type == OBJECT &&
		    nvs_cubin_section(&cubin, symbol.section, &section) &&
		    is_of_variables(section.name))
			add_variable(m, symbol.name);
}

static void note_fatbin(struct variables *m, const struct nvs_image *fatbin, uint32_t arch)
{
	struct nvs_fatbin_entry e;
	void *bytes;

	if (nvs_fatbin_choose(fatbin->data, fatbin->size, arch, &e, NULL) ||
	    nvs_fatbin_unpack(&e, &memory, &bytes))
		return;
	note_cubin(m, bytes, e.packed ? e.unpacked : e.size);
	nvs_free(bytes, e.packed ? e.unpacked : e.size);
}

void nvs_snapshot_note_image(const void *pointer, uint64_t handle)
{
	struct variables *m = nvs_alloc(sizeof(*m)), *old;
	struct nvs_image image, part;
	struct reachable *all;
	uint32_t arch = nvs_code_arch(0), at = 0;

	if (!m)
		return;
	m->handle = handle;
	if (!nvs_image_at(pointer, &image)) {
		if (image.kind == NVS_IMAGE_CUBIN)
			note_cubin(m, image.data, image.size);
		else if (image.kind == NVS_IMAGE_FATBIN)
			note_fatbin(m, &image, arch);
		while (image.kind == NVS_IMAGE_HOST && nvs_image_next(&image, &at, &part))
			note_fatbin(m, &part, arch);
	}
	NVS_LOCK_SCOPE();
	all = get_reachable();
	old = all ? find_module(all, handle) : NULL;
	if (old) {
		old->n = m->n;
		memcpy(old->name, m->name, sizeof(m->name));
	} else if (all) {
		m->next = all->modules;
		all->modules = m;
		return;
	}
	nvs_free(m, sizeof(*m));
}
