/* SPDX-License-Identifier: MIT */
/*
 * What a loaded object says of itself: its symbols, its relocations, and the slots that those fill.
 */
#ifndef NVSNOOP_PRELOAD_MODULES_ELF_H
#define NVSNOOP_PRELOAD_MODULES_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_elf {
	uintptr_t base;
	const void *symbols;
	const char *strings;
	uint32_t count; /* of symbols */
	uint32_t undefined; /* the first so many hold all that are undefined */
	const void *rela, *jmprel;
	const uint16_t *versions; /* of the symbols; NULL: they have none */
	const void *needed; /* the versions that it needs of others */
	size_t nrela, njmprel, nrelative;
	const uint32_t *gnu_hash; /* NULL: it has none */
};

/* Where the N segments at PH lie, loaded with BIAS, and the dynamic section among them, or NULL. */
const void *nvs_elf_extent(const ElfW(Phdr) * ph, unsigned n, uintptr_t bias, uintptr_t *start,
			   uintptr_t *end);
/* The readable code that has ADDRESS in it; NULL: none of this object. */
const ElfW(Phdr) * nvs_elf_text(const struct dl_phdr_info *info, uintptr_t address);

bool nvs_elf_parse(struct nvs_elf *elf, uintptr_t base, const void *dynamic);
/* Address of a defined function, 0: none of that name. */
uintptr_t nvs_elf_function(const struct nvs_elf *elf, const char *name);
/* The version in which an undefined symbol is wanted, NULL: in any. */
const char *nvs_elf_version(const struct nvs_elf *elf, uint32_t symbol);
/* The loader has done with it, whose dynamic section is at DYNAMIC: what it makes read-only it has
 * filled in. */
bool nvs_elf_relocated(const struct dl_phdr_info *info, uintptr_t dynamic);
/* Fills a slot, which may lie in pages that were made read-only after relocation. */
void nvs_elf_put(const struct dl_phdr_info *info, uintptr_t slot, uintptr_t value);
/* Calls fn(name, address) for each defined function. */
void nvs_elf_functions(const struct nvs_elf *elf, void (*fn)(const char *name, uintptr_t address));

#endif
