/* SPDX-License-Identifier: MIT */
/*
 * The dynamic section of a loaded object: its symbols, its relocations and the slots they fill.
 */
#ifndef NVSNOOP_PRELOAD_MODULES_ELF_H
#define NVSNOOP_PRELOAD_MODULES_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_loaded_elf {
	uintptr_t base;
	const void *symbols;
	const char *strings;
	uint32_t count; /* number of symbols */
	uint32_t undefined; /* all undefined symbols are among this many first ones */
	const void *rela, *jmprel;
	const uint16_t *versions; /* of the symbols; NULL: no versions */
	const void *needed; /* the versions that it needs of others */
	size_t nrela, njmprel, nrelative;
	const uint32_t *gnu_hash; /* NULL: none */
};

/*
 * Sets the address range of the N segments at PH, loaded with BIAS. Returns the dynamic section
 * among them, or NULL.
 */
const void *nvs_elf_extent(const ElfW(Phdr) * ph, unsigned n, uintptr_t bias, uintptr_t *start,
			   uintptr_t *end);
/* Returns the readable code segment that contains ADDRESS, or NULL. */
const ElfW(Phdr) * nvs_elf_find_text(const struct dl_phdr_info *info, uintptr_t address);

bool nvs_elf_parse(struct nvs_loaded_elf *elf, uintptr_t base, const void *dynamic);
/* Returns the address of a defined function, 0 if there is none. */
uintptr_t nvs_elf_find_function(const struct nvs_loaded_elf *elf, const char *name);
/* Returns the version that an undefined symbol requires, NULL for any. */
const char *nvs_elf_version(const struct nvs_loaded_elf *elf, uint32_t symbol);
/*
 * Returns true if the loader has relocated the object, whose dynamic section is at DYNAMIC: its
 * RELRO segment is read-only then.
 */
bool nvs_elf_is_relocated(const struct dl_phdr_info *info, uintptr_t dynamic);
/* Stores a slot, which may be in the read-only RELRO segment. */
void nvs_elf_store_slot(const struct dl_phdr_info *info, uintptr_t slot, uintptr_t value);
/* Calls fn(name, address) for each defined function. */
void nvs_elf_for_each_function(const struct nvs_loaded_elf *elf,
			       void (*fn)(const char *name, uintptr_t address));

#endif
