/* SPDX-License-Identifier: MIT */
/*
 * Redirects GOT slots of objects opened with RTLD_DEEPBIND: a slot that refers to a C library
 * function which is hooked is set to the hook, as without RTLD_DEEPBIND. No lock: two threads store
 * the same values.
 */
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include "preload/base/preload.h"
#include "preload/modules/deepbind.h"
#include "preload/modules/elf.h"

#define MAX_LIBC 4
#define MAX_AHEAD 8

/* The C library's objects; there were four until 2.34. */
static struct {
	_Atomic uintptr_t start, end;
} libc[MAX_LIBC];
static struct nvs_loaded_elf own;
/* The program and libraries preloaded before ours: their definitions precede our hooks. */
static struct nvs_loaded_elf ahead[MAX_AHEAD];
static uint32_t nahead;
static _Atomic uint32_t opened; /* 0: RTLD_DEEPBIND was never used */
static _Atomic uint32_t first = UINT32_MAX; /* objects before this index were not opened with it */
static _Atomic uint64_t seen; /* count of loads and unloads at the last scan */

struct deepbind_scan {
	uint32_t index;
	bool unfinished; /* an object was not relocated yet */
};

static bool in_libc(uintptr_t address)
{
	for (int i = 0; i < MAX_LIBC; i++) {
		uintptr_t start = atomic_load(&libc[i].start);

		if (start && address - start < atomic_load(&libc[i].end) - start)
			return true;
	}
	return false;
}

static int libc_number(const char *path)
{
	static const char *const names[MAX_LIBC] = {"libc.so.6", "libdl.so.2", "libpthread.so.0",
						    "librt.so.1"};
	const char *slash = path ? strrchr(path, '/') : NULL;

	for (int i = 0; i < MAX_LIBC; i++)
		if (slash && !strcmp(slash + 1, names[i]))
			return i;
	return -1;
}

/* ---- slots ---- */

/* A slot with lazy binding points into its own object until the first call. It will be bound to the
 * function it was linked with, unless an earlier object defines the name. */
static bool will_be_libc(const struct nvs_loaded_elf *elf, uint32_t symbol, const char *name)
{
	const char *version = nvs_elf_version(elf, symbol);

	if (!version || strncmp(version, "GLIBC_", 6) != 0)
		return false;
	for (uint32_t i = 0; i < nahead; i++)
		if (nvs_elf_find_function(&ahead[i], name))
			return false;
	return true;
}

static void redirect_slot(const struct nvs_elf_loaded *o, const struct nvs_elf_slot *slot,
			  void *arg)
{
	struct deepbind_scan *look = arg;
	uintptr_t hook;

	look->unfinished |= slot->unset;
	if (!slot->lazy && !in_libc(slot->value))
		return;
	hook = nvs_elf_find_function(&own, slot->name);
	if (hook && (!slot->lazy || will_be_libc(&o->elf, slot->symbol, slot->name)))
		nvs_elf_store_slot(o->info, slot->at, hook);
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct deepbind_scan *look = arg;
	struct nvs_elf_loaded o;

	if (look->index++ >= atomic_load(&first) && nvs_elf_loaded_open(&o, info))
		look->unfinished |= !nvs_elf_loaded_slots(&o, redirect_slot, look);
	return 0;
}

/* ---- when to scan ---- */

static int copy_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *counts = arg;

	counts[0] = info->dlpi_adds;
	counts[1] = info->dlpi_subs;
	return 1;
}

void nvs_loader_counts(uint64_t *loads, uint64_t *unloads)
{
	uint64_t counts[2] = {0, 0};

	nvs_next()->dl_iterate_phdr(copy_counts, counts);
	*loads = counts[0];
	*unloads = counts[1];
}

void nvs_deepbind_redirect(void)
{
	struct deepbind_scan look = {0};
	uint64_t loads, unloads;

	if (!atomic_load_explicit(&opened, memory_order_relaxed))
		return;
	nvs_loader_counts(&loads, &unloads);
	if (loads + unloads == atomic_load(&seen))
		return;
	nvs_next()->dl_iterate_phdr(visit_object, &look);
	if (!look.unfinished)
		atomic_store(&seen, loads + unloads);
}

static int find_libraries(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct deepbind_scan *look = arg;
	int number = libc_number(info->dlpi_name);
	uintptr_t start, end;
	const void *dynamic;

	look->index++;
	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &start, &end);
	if (number >= 0) {
		atomic_store(&libc[number].end, end);
		atomic_store(&libc[number].start, start);
	}
	if (own.symbols || !dynamic)
		return 0;
	if ((uintptr_t)&find_libraries - start < end - start)
		nvs_elf_parse(&own, info->dlpi_addr, dynamic);
	else if (nahead < MAX_AHEAD && !strstr(info->dlpi_name, "vdso") &&
		 nvs_elf_parse(&ahead[nahead], info->dlpi_addr, dynamic))
		nahead++;
	return 0;
}

void nvs_deepbind_before_open(void)
{
	struct deepbind_scan look = {0};
	uint32_t before = atomic_load(&first);

	nvs_next()->dl_iterate_phdr(find_libraries, &look);
	/* A new object is last in the list, which is shorter if others were unloaded. */
	while (look.index < before && !atomic_compare_exchange_weak(&first, &before, look.index))
		;
	atomic_store(&opened, 1);
}
