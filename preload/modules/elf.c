/* SPDX-License-Identifier: MIT */
/* The dynamic section of a loaded object: its symbols, its relocations and the slots they fill. */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include "preload/modules/elf.h"
#include "preload/base/sys.h"
#include "trap/arch/cpu.h"

/* Returns 0 if DYNAMIC has no such entry. */
static uint64_t find_value(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag)
{
	while (dynamic->d_tag != DT_NULL && dynamic->d_tag != tag)
		dynamic++;
	return dynamic->d_tag == tag ? dynamic->d_un.d_val : 0;
}

/* The loader relocates addresses in place, but not in every object. */
static const void *find_address(uintptr_t base, const ElfW(Dyn) * dynamic, ElfW(Sxword) tag)
{
	uint64_t value = find_value(dynamic, tag);

	return (const void *)(value && value < base ? base + value : value);
}

/* All undefined symbols precede the first hashed one. */
static void count_by_gnu_hash(struct nvs_loaded_elf *elf, const uint32_t *hash)
{
	uint32_t nbuckets = hash[0], offset = hash[1], words = hash[2], last = 0;
	const uint32_t *buckets = hash + 4 + words * 2, *chain = buckets + nbuckets;

	elf->undefined = offset;
	for (uint32_t i = 0; i < nbuckets; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < offset) {
		elf->undefined = 0; /* nothing is hashed: the offset is meaningless */
		return;
	}
	while (!(chain[last - offset] & 1))
		last++;
	elf->count = last + 1;
}

/* Returns the number of symbols that relocations refer to, which is enough for an object that
 * defines none. */
static uint32_t count_by_relocations(const struct nvs_loaded_elf *elf)
{
	const ElfW(Rela) * tables[2] = {elf->rela, elf->jmprel};
	size_t sizes[2] = {elf->rela ? elf->nrela : 0, elf->jmprel ? elf->njmprel : 0};
	uint32_t highest = 0;

	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < sizes[t]; i++)
			if (ELF64_R_SYM(tables[t][i].r_info) > highest)
				highest = (uint32_t)ELF64_R_SYM(tables[t][i].r_info);
	return highest + 1;
}

bool nvs_elf_parse(struct nvs_loaded_elf *elf, uintptr_t base, const void *dynamic)
{
	const uint32_t *gnu = find_address(base, dynamic, DT_GNU_HASH);
	const uint32_t *sysv = find_address(base, dynamic, DT_HASH);

	*elf = (struct nvs_loaded_elf){
		.base = base,
		.symbols = find_address(base, dynamic, DT_SYMTAB),
		.strings = find_address(base, dynamic, DT_STRTAB),
		.rela = find_address(base, dynamic, DT_RELA),
		.nrela = find_value(dynamic, DT_RELASZ) / sizeof(ElfW(Rela)),
		.nrelative = find_value(dynamic, DT_RELACOUNT),
		.jmprel = find_address(base, dynamic, DT_JMPREL),
		.njmprel = find_value(dynamic, DT_PLTRELSZ) / sizeof(ElfW(Rela)),
		.versions = find_address(base, dynamic, DT_VERSYM),
		.needed = find_address(base, dynamic, DT_VERNEED),
		.gnu_hash = gnu,
	};
	if (gnu)
		count_by_gnu_hash(elf, gnu);
	if (sysv)
		elf->count = sysv[1];
	if (!elf->count)
		elf->count = count_by_relocations(elf);
	if (!gnu || elf->undefined > elf->count || elf->count == elf->undefined || !elf->undefined)
		elf->undefined = elf->count;
	return elf->symbols && elf->strings && elf->count;
}

const void *nvs_elf_extent(const ElfW(Phdr) * ph, unsigned n, uintptr_t bias, uintptr_t *start,
			   uintptr_t *end)
{
	const void *dynamic = NULL;

	*start = UINTPTR_MAX;
	*end = 0;
	for (; n--; ph++) {
		uintptr_t from = bias + ph->p_vaddr;

		if (ph->p_type == PT_DYNAMIC)
			dynamic = (const void *)from;
		if (ph->p_type != PT_LOAD)
			continue;
		*start = from < *start ? from : *start;
		*end = from + ph->p_memsz > *end ? from + ph->p_memsz : *end;
	}
	return dynamic;
}

const ElfW(Phdr) * nvs_elf_find_text(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && ph->p_flags & PF_R &&
		    address - info->dlpi_addr - ph->p_vaddr < ph->p_filesz)
			return ph;
	}
	return NULL;
}

static bool is_function(const ElfW(Sym) * s)
{
	return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value;
}

/* Not strcmp(): a starting sanitizer has replaced it and looks up functions before it works. */
static bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Uses the GNU hash table, which all but old objects have. */
static uintptr_t find_hashed(const struct nvs_loaded_elf *elf, const char *name)
{
	const uint32_t *hash = elf->gnu_hash, *buckets = hash + 4 + hash[2] * 2;
	const uint32_t *chain = buckets + hash[0] - hash[1];
	const ElfW(Sym) *s = elf->symbols;
	uint32_t h = 5381, i;

	for (const char *c = name; *c; c++)
		h = h * 33 + (uint8_t)*c;
	i = hash[0] ? buckets[h % hash[0]] : 0;
	if (i < hash[1])
		return 0;
	do
		if (!((chain[i] ^ h) & ~1u) && is_function(s + i) &&
		    same_text(elf->strings + s[i].st_name, name))
			return elf->base + s[i].st_value;
	while (!(chain[i++] & 1));
	return 0;
}

uintptr_t nvs_elf_find_function(const struct nvs_loaded_elf *elf, const char *name)
{
	const ElfW(Sym) *s = elf->symbols;

	if (elf->gnu_hash)
		return find_hashed(elf, name);
	for (uint32_t i = 1; i < elf->count; i++)
		if (is_function(s + i) && same_text(elf->strings + s[i].st_name, name))
			return elf->base + s[i].st_value;
	return 0;
}

void nvs_elf_for_each_function(const struct nvs_loaded_elf *elf,
			       void (*fn)(const char *, uintptr_t))
{
	const ElfW(Sym) *s = elf->symbols;

	for (uint32_t i = 1; i < elf->count; i++)
		if (is_function(s + i))
			fn(elf->strings + s[i].st_name, elf->base + s[i].st_value);
}

const char *nvs_elf_version(const struct nvs_loaded_elf *elf, uint32_t symbol)
{
	const ElfW(Verneed) *need = elf->versions ? elf->needed : NULL;

	while (need) {
		const ElfW(Vernaux) *aux = (const void *)((const char *)need + need->vn_aux);

		for (unsigned i = 0; i < need->vn_cnt; i++) {
			if ((aux->vna_other & 0x7fff) == (elf->versions[symbol] & 0x7fff))
				return elf->strings + aux->vna_name;
			aux = (const void *)((const char *)aux + aux->vna_next);
		}
		need = need->vn_next ? (const void *)((const char *)need + need->vn_next) : NULL;
	}
	return NULL;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static bool populate_page(uintptr_t page)
{
	return nvs_syscall(SYS_madvise, page, nvs_page_bytes(), MADV_POPULATE_WRITE, 0, 0, 0) == 0;
}

/* Returns true if the page with DYNAMIC is writable, without changing a byte or opening a file. */
static bool probe_writable(uintptr_t dynamic)
{
	static uint64_t own[2 * NVS_PAGE_MAX / 8];
	uint64_t tag = *(const uint64_t *)dynamic;
	struct iovec here = {&tag, sizeof(tag)}, there = {(void *)dynamic, sizeof(tag)};

	/* qemu's user mode ignores unknown advice: then even code counts as writable. */
	if (populate_page(nvs_page_up((uintptr_t)own)) &&
	    !populate_page(nvs_page_of((uintptr_t)&populate_page)))
		return populate_page(nvs_page_of(dynamic));
	/* Writes the first tag of the dynamic section, which never changes, over itself. If the
	 * call is not allowed, the result is false: relocated. */
	return nvs_syscall(SYS_process_vm_writev, nvs_sys_getpid(), (long)&here, 1, (long)&there, 1,
			   0) == sizeof(tag);
}

/* pid of the process that has made a page writable for a moment. A forked child does not wait for
 * its parent's threads. */
static _Atomic uint32_t changing;

/* Blocks signals: a handler would wait for the thread that it interrupted. */
static uint64_t begin_change(void)
{
	uint64_t saved = nvs_sys_block_async();
	uint32_t self = (uint32_t)nvs_sys_getpid(), holder = 0;

	while (!atomic_compare_exchange_strong(&changing, &holder, self))
		if (holder == self) {
			nvs_sys_futex_wait(&changing, self, 1);
			holder = 0;
		}
	return saved;
}

static void end_change(uint64_t saved)
{
	atomic_store(&changing, 0);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
}

static bool is_writable(uintptr_t dynamic)
{
	uint64_t saved = begin_change();
	bool is = probe_writable(dynamic);

	end_change(saved);
	return is;
}

static bool is_in_relro(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = nvs_page_of(info->dlpi_addr + ph->p_vaddr);
		uintptr_t end = nvs_page_of(info->dlpi_addr + ph->p_vaddr + ph->p_memsz);

		if (ph->p_type == PT_GNU_RELRO && address >= start && address < end)
			return true;
	}
	return false;
}

/* Returns true if the loader has relocated the object: its RELRO segment is read-only then. */
static bool is_relocated(const struct dl_phdr_info *info, uintptr_t dynamic)
{
	return !is_in_relro(info, dynamic) || !is_writable(dynamic);
}

bool nvs_elf_loaded_open(struct nvs_elf_loaded *o, const struct dl_phdr_info *info)
{
	const void *dynamic = nvs_elf_extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr,
					     &o->start, &o->end);

	o->info = info;
	o->dynamic = (uintptr_t)dynamic;
	return dynamic && !(info->dlpi_name && strstr(info->dlpi_name, "vdso")) &&
	       nvs_elf_parse(&o->elf, info->dlpi_addr, dynamic);
}

/* Returns false if the relocation is of another kind. */
static bool read_slot(const struct nvs_elf_loaded *o, const ElfW(Rela) * r,
		      struct nvs_elf_slot *slot)
{
	const ElfW(Sym) *sym = (const ElfW(Sym) *)o->elf.symbols + ELF64_R_SYM(r->r_info);
	uint32_t type = ELF64_R_TYPE(r->r_info);
	uintptr_t base = o->info->dlpi_addr, value;

	if ((type != NVS_RELOC_SLOT && type != NVS_RELOC_GLOBAL &&
	     (type != NVS_RELOC_ADDRESS || r->r_addend)) ||
	    ELF64_R_SYM(r->r_info) >= o->elf.count || sym->st_shndx != SHN_UNDEF)
		return false;
	slot->name = o->elf.strings + sym->st_name;
	slot->symbol = (uint32_t)ELF64_R_SYM(r->r_info);
	slot->at = base + r->r_offset;
	slot->value = value = __atomic_load_n((uintptr_t *)slot->at, __ATOMIC_ACQUIRE);
	slot->lazy = type == NVS_RELOC_SLOT && value - o->start < o->end - o->start;
	slot->unset = (!value && ELF64_ST_BIND(sym->st_info) != STB_WEAK) ||
		      (base && value && value < o->end - base);
	return true;
}

bool nvs_elf_loaded_slots(const struct nvs_elf_loaded *o,
			  void (*fn)(const struct nvs_elf_loaded *o,
				     const struct nvs_elf_slot *slot, void *arg),
			  void *arg)
{
	const ElfW(Rela) * tables[2] = {o->elf.rela, o->elf.jmprel};
	size_t sizes[2] = {o->elf.nrela, o->elf.njmprel};
	struct nvs_elf_slot slot;

	if (!is_relocated(o->info, o->dynamic))
		return false;
	for (int t = 0; t < 2; t++)
		for (size_t i = t ? 0 : o->elf.nrelative; tables[t] && i < sizes[t]; i++)
			if (read_slot(o, &tables[t][i], &slot))
				fn(o, &slot, arg);
	return true;
}

void nvs_elf_store_slot(const struct dl_phdr_info *info, uintptr_t slot, uintptr_t value)
{
	uintptr_t page = nvs_page_of(slot);
	size_t size = nvs_page_bytes();
	uint64_t saved;

	if (!is_in_relro(info, slot)) {
		__atomic_store_n((uintptr_t *)slot, value, __ATOMIC_RELEASE);
		return;
	}
	saved = begin_change();
	if (!nvs_syscall(SYS_mprotect, page, size, PROT_READ | PROT_WRITE, 0, 0, 0)) {
		__atomic_store_n((uintptr_t *)slot, value, __ATOMIC_RELEASE);
		nvs_syscall(SYS_mprotect, page, size, PROT_READ, 0, 0, 0);
	}
	end_change(saved);
}
