/* SPDX-License-Identifier: MIT */
/*
 * Replaces GOT slots of objects that are linked with libcuda by thunks, inside dl_iterate_phdr(),
 * so that no object is unloaded meanwhile. No other loader function is called: the loader's lock is
 * held while constructors run, and these may never return. Targets of unbound slots are looked up
 * in the objects' symbol tables. An object that another thread's dlopen() is still relocating is
 * scanned the next time: the loader still writes to pages that would be made read-only here.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/modules/deepbind.h"

static _Atomic uint64_t seen_adds, seen_subs;
static _Atomic uint32_t seen_objects; /* in load order: new objects come last */
static _Atomic uint32_t busy; /* pid of the scanning process, so that a forked child does not wait
				 for a thread of its parent */
static _Atomic uint32_t ready; /* set by our constructor */
static _Atomic uint32_t have_libcuda;

struct round {
	uint32_t index, from;
	bool asking; /* first pass: only collect the names of lazy slots */
	bool unfinished; /* an object is not relocated yet */
	bool questions;
};

/* Most objects use no driver API symbol, and their relocations are skipped. */
static bool uses_driver_api(const struct nvs_loaded_elf *elf)
{
	const ElfW(Sym) *s = elf->symbols;

	for (uint32_t i = 1; i < elf->undefined; i++)
		if (s[i].st_shndx == SHN_UNDEF && nvs_api_is_name(elf->strings + s[i].st_name))
			return true;
	return false;
}

static uintptr_t resolve_lazy(struct round *round, const char *name)
{
	struct nvs_api_export *e = nvs_api_exported(name);

	if (!e)
		return 0;
	if (!atomic_load(&e->scope)) {
		atomic_store(&e->scope, 1);
		round->questions = true;
	}
	return atomic_load(&e->scope) == 2 ? e->address : 0;
}

static void rebind_slot(const struct nvs_elf_loaded *o, const struct nvs_elf_slot *slot, void *arg)
{
	struct round *round = arg;
	uintptr_t value = slot->value, to;

	if (!nvs_api_is_name(slot->name))
		return;
	round->unfinished |= slot->unset;
	if (slot->lazy)
		value = resolve_lazy(round, slot->name);
	if (!value || !nvs_api_in_libcuda(value) || round->asking)
		return;
	to = (uintptr_t)nvs_api_wrap((void *)value, slot->name);
	if (to != value)
		nvs_elf_store_slot(o->info, slot->at, to);
}

static int find_libcuda(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct round *round = arg;
	uintptr_t start, end;
	const void *dynamic;

	if (round->index++ < round->from || !info->dlpi_name ||
	    !nvs_api_is_libcuda(info->dlpi_name))
		return 0;
	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &start, &end);
	if (dynamic) {
		nvs_api_add_libcuda(info->dlpi_addr, dynamic, start, end);
		atomic_store(&have_libcuda, 1);
	}
	return 0;
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct round *round = arg;
	struct nvs_elf_loaded o;

	if (round->index++ < round->from || !nvs_elf_loaded_open(&o, info) ||
	    nvs_api_in_libcuda(o.start) || (uintptr_t)&visit_object - o.start < o.end - o.start)
		return 0;
	if (uses_driver_api(&o.elf))
		round->unfinished |= !nvs_elf_loaded_slots(&o, rebind_slot, round);
	return 0;
}

/* Emulates the loader's lookup: the first object that defines the name. It may be outside the
 * program's scope (RTLD_LOCAL); then the slot is left to the loader. */
static int find_definer(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nvs_api_export *e;
	struct nvs_elf_loaded o;
	uintptr_t found;

	if (!nvs_elf_loaded_open(&o, info))
		return 0;
	for (uint32_t i = 0, n = nvs_api_exports(&e); i < n; i++)
		if (atomic_load(&e[i].scope) == 1 &&
		    (found = nvs_elf_find_function(&o.elf, e[i].name)))
			atomic_store(&e[i].scope, found == e[i].address ? 2 : 3);
	return 0;
}

/* Scans objects from index FROM on. Returns false if some must be scanned again. */
static bool scan_from(uint32_t from)
{
	struct round round = {.from = from, .asking = true};

	nvs_next()->dl_iterate_phdr(find_libcuda, &round);
	if (!atomic_load(&have_libcuda)) {
		atomic_store(&seen_objects, round.index);
		return true;
	}
	round.index = 0;
	nvs_next()->dl_iterate_phdr(visit_object, &round);
	if (round.questions)
		nvs_next()->dl_iterate_phdr(find_definer, NULL);
	round.index = 0;
	round.asking = false;
	nvs_next()->dl_iterate_phdr(visit_object, &round);
	if (!round.unfinished)
		atomic_store(&seen_objects, round.index);
	return !round.unfinished;
}

void nvs_api_rebind(void)
{
	uint32_t holder, self, from;
	uint64_t adds, subs;
	bool had, done;

	nvs_deepbind_redirect();
	if (!atomic_load_explicit(&ready, memory_order_acquire))
		return;
	nvs_loader_counts(&adds, &subs);
	if (adds == atomic_load(&seen_adds) && subs == atomic_load(&seen_subs))
		return;
	/* Another thread is scanning; objects that it misses are found by the next call. */
	self = (uint32_t)nvs_sys_getpid();
	holder = atomic_load(&busy);
	if (holder == self || !atomic_compare_exchange_strong(&busy, &holder, self))
		return;
	/* After an unload indices have changed, and an address may belong to another object: scan
	 * all. */
	from = subs == atomic_load(&seen_subs) ? atomic_load(&seen_objects) : 0;
	had = atomic_load(&have_libcuda);
	done = scan_from(from);
	if (from && !had && atomic_load(&have_libcuda))
		done = scan_from(0);
	if (done) {
		atomic_store(&seen_adds, adds);
		atomic_store(&seen_subs, subs);
	}
	atomic_store(&busy, 0);
}

void nvs_api_start(void)
{
	if (!nvs_api_is_enabled())
		return;
	atomic_store_explicit(&ready, 1, memory_order_release);
	nvs_api_rebind();
}
