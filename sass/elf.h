/* SPDX-License-Identifier: MIT */
/* Reads 64-bit ELF files: the parts that a GPU's and a CPU's have in common. */
#ifndef NVSNOOP_SASS_ELF_H
#define NVSNOOP_SASS_ELF_H

#include <string.h>
#include "sass/sass.h"

#define NVS_SASS_ELF_CUDA 190

static inline uint16_t nvs_elf_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t nvs_elf_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t nvs_elf_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Opens the file and its section table; fields specific to cubins are left 0. *MACHINE: e_machine.
 *  */
int nvs_sass_elf_open(struct nvs_cubin *elf, const void *data, size_t size, uint16_t *machine);
/* Finds the symbol table, if there is one. */
int nvs_sass_elf_symbols(struct nvs_cubin *elf);
/* Returns the file's size according to its headers; at most ROOM bytes are read. Returns 0 if it is
 * not an ELF file, or is longer than ROOM. */
size_t nvs_sass_elf_extent(const uint8_t *data, size_t room);

#endif
