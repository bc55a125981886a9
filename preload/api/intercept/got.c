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
#include <unistd.h>
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
	uint64_t adds, subs;
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

struct got_object {
	const struct dl_phdr_info *info;
	const struct nvs_loaded_elf *elf;
	uintptr_t start, end;
	struct round *round;
};

/* Until its first use a lazy slot points back into its own object. */
static uintptr_t resolve_lazy(const struct got_object *o, const char *name)
{
	struct nvs_api_export *e = nvs_api_exported(name);

	if (!e)
		return 0;
	if (!atomic_load(&e->scope)) {
		atomic_store(&e->scope, 1);
		o->round->questions = true;
	}
	return atomic_load(&e->scope) == 2 ? e->address : 0;
}

static void rebind_slot(const struct got_object *o, const ElfW(Rela) * r)
{
	const ElfW(Sym) *sym = (const ElfW(Sym) *)o->elf->symbols + ELF64_R_SYM(r->r_info);
	uint32_t type = ELF64_R_TYPE(r->r_info);
	uintptr_t slot = o->info->dlpi_addr + r->r_offset, value, to;
	const char *name;

	if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
	    (type != R_X86_64_64 || r->r_addend))
		return;
	if (ELF64_R_SYM(r->r_info) >= o->elf->count || sym->st_shndx != SHN_UNDEF)
		return;
	name = o->elf->strings + sym->st_name;
	if (!nvs_api_is_name(name))
		return;
	value = __atomic_load_n((uintptr_t *)slot, __ATOMIC_ACQUIRE);
	/* The value in the file, 0 or an offset in it: not relocated yet. */
	if ((!value && ELF64_ST_BIND(sym->st_info) != STB_WEAK) ||
	    (o->info->dlpi_addr && value && value < o->end - o->info->dlpi_addr))
		o->round->unfinished = true;
	if (type == R_X86_64_JUMP_SLOT && value - o->start < o->end - o->start)
		value = resolve_lazy(o, name);
	if (!value || !nvs_api_in_libcuda(value) || o->round->asking)
		return;
	to = (uintptr_t)nvs_api_wrap((void *)value, name);
	if (to != value)
		nvs_elf_store_slot(o->info, slot, to);
}

static void scan_object(const struct got_object *o)
{
	const ElfW(Rela) * tables[2] = {o->elf->rela, o->elf->jmprel};
	size_t sizes[2] = {o->elf->nrela, o->elf->njmprel};

	for (int t = 0; t < 2; t++)
		for (size_t i = t ? 0 : o->elf->nrelative; tables[t] && i < sizes[t]; i++)
			rebind_slot(o, &tables[t][i]);
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

static bool is_vdso(const struct dl_phdr_info *info)
{
	return info->dlpi_name && strstr(info->dlpi_name, "vdso");
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct round *round = arg;
	struct nvs_loaded_elf elf;
	struct got_object o = {.info = info, .elf = &elf, .round = round};
	const void *dynamic;

	round->adds = info->dlpi_adds;
	round->subs = info->dlpi_subs;
	if (round->index++ < round->from)
		return 0;
	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &o.start,
				 &o.end);
	if (!dynamic || is_vdso(info) || nvs_api_in_libcuda(o.start) ||
	    (uintptr_t)&visit_object - o.start < o.end - o.start)
		return 0;
	if (!nvs_elf_parse(&elf, info->dlpi_addr, dynamic) || !uses_driver_api(&elf))
		return 0;
	if (nvs_elf_is_relocated(info, (uintptr_t)dynamic))
		scan_object(&o);
	else
		round->unfinished = true;
	return 0;
}

/*
 * Emulates the loader's lookup: the first object that defines the name. It may be outside the
 * program's scope (RTLD_LOCAL); then the slot is left to the loader.
 */
static int find_definer(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t start, end, found;
	struct nvs_api_export *e;
	const void *dynamic;
	struct nvs_loaded_elf elf;

	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &start, &end);
	if (!dynamic || is_vdso(info) || !nvs_elf_parse(&elf, info->dlpi_addr, dynamic))
		return 0;
	for (uint32_t i = 0, n = nvs_api_exports(&e); i < n; i++)
		if (atomic_load(&e[i].scope) == 1 &&
		    (found = nvs_elf_find_function(&elf, e[i].name)))
			atomic_store(&e[i].scope, found == e[i].address ? 2 : 3);
	return 0;
}

static int read_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct round *round = arg;

	round->adds = info->dlpi_adds;
	round->subs = info->dlpi_subs;
	return 1;
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
	struct round now = {0};
	uint32_t holder, self, from;
	bool had, done;

	nvs_deepbind_redirect();
	if (!atomic_load_explicit(&ready, memory_order_acquire))
		return;
	nvs_next()->dl_iterate_phdr(read_counts, &now);
	if (now.adds == atomic_load(&seen_adds) && now.subs == atomic_load(&seen_subs))
		return;
	/* Another thread is scanning; objects that it misses are found by the next call. */
	self = (uint32_t)nvs_sys_getpid();
	holder = atomic_load(&busy);
	if (holder == self || !atomic_compare_exchange_strong(&busy, &holder, self))
		return;
	/*
	 * After an unload indices have changed, and an address may belong to another object: scan
	 * all.
	 */
	from = now.subs == atomic_load(&seen_subs) ? atomic_load(&seen_objects) : 0;
	had = atomic_load(&have_libcuda);
	done = scan_from(from);
	if (from && !had && atomic_load(&have_libcuda))
		done = scan_from(0);
	if (done) {
		atomic_store(&seen_adds, now.adds);
		atomic_store(&seen_subs, now.subs);
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
