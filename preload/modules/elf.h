/* SPDX-License-Identifier: MIT */
/* The dynamic section of a loaded object: its symbols, its relocations and the slots they fill. */
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

/* Sets the address range of the N segments at PH, loaded with BIAS. Returns the dynamic section
 * among them, or NULL. */
const void *nvs_elf_extent(const ElfW(Phdr) * ph, unsigned n, uintptr_t bias, uintptr_t *start,
			   uintptr_t *end);
/* Returns the readable code segment that contains ADDRESS, or NULL. */
const ElfW(Phdr) * nvs_elf_find_text(const struct dl_phdr_info *info, uintptr_t address);

bool nvs_elf_parse(struct nvs_loaded_elf *elf, uintptr_t base, const void *dynamic);
/* Returns the address of a defined function, 0 if there is none. */
uintptr_t nvs_elf_find_function(const struct nvs_loaded_elf *elf, const char *name);
/* Returns the version that an undefined symbol requires, NULL for any. */
const char *nvs_elf_version(const struct nvs_loaded_elf *elf, uint32_t symbol);

/* ---- loaded objects, inside dl_iterate_phdr(): none is unloaded meanwhile ---- */

struct nvs_elf_loaded {
	const struct dl_phdr_info *info;
	uintptr_t start, end, dynamic;
	struct nvs_loaded_elf elf;
};

/* A slot that the loader fills with the address of an undefined symbol. */
struct nvs_elf_slot {
	const char *name;
	uint32_t symbol;
	uintptr_t at, value;
	bool lazy; /* until its first use it points back into its own object */
	bool unset; /* not relocated yet: the value in the file is 0 or an offset in the object */
};

/* Returns false if the object has no symbols, or is the vDSO. */
bool nvs_elf_loaded_open(struct nvs_elf_loaded *o, const struct dl_phdr_info *info);
/*
 * Calls FN for each slot. Returns false, without a call, if the loader is still relocating the
 * object: another thread is in dlopen(), and writes to pages that nvs_elf_store_slot() would make
 * read-only.
 */
bool nvs_elf_loaded_slots(const struct nvs_elf_loaded *o,
			  void (*fn)(const struct nvs_elf_loaded *o,
				     const struct nvs_elf_slot *slot, void *arg),
			  void *arg);
/* Stores a slot, which may be in the read-only RELRO segment. */
void nvs_elf_store_slot(const struct dl_phdr_info *info, uintptr_t slot, uintptr_t value);
/* Calls fn(name, address) for each defined function. */
void nvs_elf_for_each_function(const struct nvs_loaded_elf *elf,
			       void (*fn)(const char *name, uintptr_t address));

#endif
