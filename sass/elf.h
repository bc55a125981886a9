/* SPDX-License-Identifier: MIT */
/* ELF files of 64 bits, a GPU's and a CPU's, as far as both are read alike. */
#ifndef NVSNOOP_SASS_ELF_H
#define NVSNOOP_SASS_ELF_H

#include <string.h>
#include "sass/sass.h"

#define NVS_SASS_ELF_CUDA 190

static inline uint16_t nvs_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t nvs_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t nvs_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Its sections; a cubin's own figures are left at 0. *MACHINE: e_machine. */
int nvs_sass_elf_open(struct nvs_cubin *elf, const void *data, size_t size, uint16_t *machine);
/* Finds its table of symbols, where it has one. */
int nvs_sass_elf_symbols(struct nvs_cubin *elf);
/* How far the file reaches by its own words, where no more than ROOM bytes of it may be looked at.
 * 0: it is none, or reaches farther. */
size_t nvs_sass_elf_extent(const uint8_t *data, size_t room);

#endif
