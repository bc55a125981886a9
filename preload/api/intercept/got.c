/* SPDX-License-Identifier: MIT */
/*
 * Objects that were linked with libcuda reach it through slots that the loader filled in. Those get
 * the thunks instead. All is done inside dl_iterate_phdr(), so that no object goes meanwhile, and
 * nothing else is asked of the loader: its lock is held over constructors, which may never return.
 * Whom a slot leads to that is still to be bound is looked up in the objects themselves.
 *
 * Another thread's dlopen() may be in the middle of relocating an object that is listed already. It
 * is left alone then, and looked at the next time: the loader still writes where its pages would be
 * made read-only.
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
static _Atomic uint32_t seen_objects; /* in the loader's order: new ones come last */
static _Atomic uint32_t
	busy; /* pid of who is at it: a forked child does not wait for its parent's threads */
static _Atomic uint32_t ready; /* our constructor has run */
static _Atomic uint32_t have_libcuda;

struct round {
	uint32_t index, from;
	uint64_t adds, subs;
	bool asking; /* only collect the names of lazy slots */
	bool unfinished; /* an object was not ready to be looked at */
	bool questions;
};

/* Most objects name nothing of the kind, and their relocations need not be looked at. */
static bool refers(const struct nvs_elf *elf)
{
	const ElfW(Sym) *s = elf->symbols;

	for (uint32_t i = 1; i < elf->undefined; i++)
		if (s[i].st_shndx == SHN_UNDEF && nvs_api_is_name(elf->strings + s[i].st_name))
			return true;
	return false;
}

struct object {
	const struct dl_phdr_info *info;
	const struct nvs_elf *elf;
	uintptr_t start, end;
	struct round *round;
};

/* A slot that the loader fills at its first use leads back into the object itself until then. */
static uintptr_t lazy(const struct object *o, const char *name)
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

static void rebind(const struct object *o, const ElfW(Rela) * r)
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
	/* As it stands in the file: 0, or a place in it. */
	if ((!value && ELF64_ST_BIND(sym->st_info) != STB_WEAK) ||
	    (o->info->dlpi_addr && value && value < o->end - o->info->dlpi_addr))
		o->round->unfinished = true;
	if (type == R_X86_64_JUMP_SLOT && value - o->start < o->end - o->start)
		value = lazy(o, name);
	if (!value || !nvs_api_in_libcuda(value) || o->round->asking)
		return;
	to = (uintptr_t)nvs_api_wrap((void *)value, name);
	if (to != value)
		nvs_elf_put(o->info, slot, to);
}

static void look_at(const struct object *o)
{
	const ElfW(Rela) * tables[2] = {o->elf->rela, o->elf->jmprel};
	size_t sizes[2] = {o->elf->nrela, o->elf->njmprel};

	for (int t = 0; t < 2; t++)
		for (size_t i = t ? 0 : o->elf->nrelative; tables[t] && i < sizes[t]; i++)
			rebind(o, &tables[t][i]);
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
		nvs_api_learn(info->dlpi_addr, dynamic, start, end);
		atomic_store(&have_libcuda, 1);
	}
	return 0;
}

static bool is_vdso(const struct dl_phdr_info *info)
{
	return info->dlpi_name && strstr(info->dlpi_name, "vdso");
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct round *round = arg;
	struct nvs_elf elf;
	struct object o = {.info = info, .elf = &elf, .round = round};
	const void *dynamic;

	round->adds = info->dlpi_adds;
	round->subs = info->dlpi_subs;
	if (round->index++ < round->from)
		return 0;
	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &o.start,
				 &o.end);
	if (!dynamic || is_vdso(info) || nvs_api_in_libcuda(o.start) ||
	    (uintptr_t)&visit - o.start < o.end - o.start)
		return 0;
	if (!nvs_elf_parse(&elf, info->dlpi_addr, dynamic) || !refers(&elf))
		return 0;
	if (nvs_elf_relocated(info, (uintptr_t)dynamic))
		look_at(&o);
	else
		round->unfinished = true;
	return 0;
}

/* Whom the loader will give for a name: the first object that defines it. One that is not in the
 * program's scope (RTLD_LOCAL) is taken for it as well; the slot is then left to the loader. */
static int find_definer(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t start, end, found;
	struct nvs_api_export *e;
	const void *dynamic;
	struct nvs_elf elf;

	dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &start, &end);
	if (!dynamic || is_vdso(info) || !nvs_elf_parse(&elf, info->dlpi_addr, dynamic))
		return 0;
	for (uint32_t i = 0, n = nvs_api_exports(&e); i < n; i++)
		if (atomic_load(&e[i].scope) == 1 && (found = nvs_elf_function(&elf, e[i].name)))
			atomic_store(&e[i].scope, found == e[i].address ? 2 : 3);
	return 0;
}

static int counts(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct round *round = arg;

	round->adds = info->dlpi_adds;
	round->subs = info->dlpi_subs;
	return 1;
}

/* False: something is to be looked at again. */
static bool go_over(uint32_t from)
{
	struct round round = {.from = from, .asking = true};

	nvs_next()->dl_iterate_phdr(find_libcuda, &round);
	if (!atomic_load(&have_libcuda)) {
		atomic_store(&seen_objects, round.index);
		return true;
	}
	round.index = 0;
	nvs_next()->dl_iterate_phdr(visit, &round);
	if (round.questions)
		nvs_next()->dl_iterate_phdr(find_definer, NULL);
	round.index = 0;
	round.asking = false;
	nvs_next()->dl_iterate_phdr(visit, &round);
	if (!round.unfinished)
		atomic_store(&seen_objects, round.index);
	return !round.unfinished;
}

void nvs_api_rebind(void)
{
	struct round now = {0};
	uint32_t holder, self, from;
	bool had, done;

	nvs_deepbind_look();
	if (!atomic_load_explicit(&ready, memory_order_acquire))
		return;
	nvs_next()->dl_iterate_phdr(counts, &now);
	if (now.adds == atomic_load(&seen_adds) && now.subs == atomic_load(&seen_subs))
		return;
	/* Another thread is at it; what it does not see, the next call does. */
	self = (uint32_t)nvs_sys_getpid();
	holder = atomic_load(&busy);
	if (holder == self || !atomic_compare_exchange_strong(&busy, &holder, self))
		return;
	/*
	 * Where something went, all numbers have changed, and an address may be another object's.
	 */
	from = now.subs == atomic_load(&seen_subs) ? atomic_load(&seen_objects) : 0;
	had = atomic_load(&have_libcuda);
	done = go_over(from);
	if (from && !had && atomic_load(&have_libcuda))
		done = go_over(0);
	if (done) {
		atomic_store(&seen_adds, now.adds);
		atomic_store(&seen_subs, now.subs);
	}
	atomic_store(&busy, 0);
}

void nvs_api_start(void)
{
	if (!nvs_api_on())
		return;
	atomic_store_explicit(&ready, 1, memory_order_release);
	nvs_api_rebind();
}
