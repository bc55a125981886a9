/* SPDX-License-Identifier: MIT */
/* Variables of modules (__device__): placed when a kernel of the module is first asked for, with
 * their addresses in constant bank 4, from which code reads them. Interpreted cubins only. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define ABSOLUTE 2 /* relocation: an address of 64 bits */

static Elf64_Shdr *section(struct CUmod_st *m, uint32_t n)
{
	Elf64_Ehdr *head = m->cubin;

	return (void *)((char *)m->cubin + head->e_shoff + (size_t)n * head->e_shentsize);
}

static const char *name_of(struct CUmod_st *m, const Elf64_Shdr *s)
{
	Elf64_Ehdr *head = m->cubin;

	return (char *)m->cubin + section(m, head->e_shstrndx)->sh_offset + s->sh_name;
}

static Elf64_Shdr *find(struct CUmod_st *m, const char *name)
{
	for (uint32_t i = 0; i < ((Elf64_Ehdr *)m->cubin)->e_shnum; i++)
		if (!strcmp(name_of(m, section(m, i)), name))
			return section(m, i);
	return NULL;
}

/* Allocates the variables of one section; its address is then the one on the GPU. */
static CUresult place(struct CUmod_st *m, const char *name)
{
	Elf64_Shdr *s = find(m, name);
	void *bytes;
	CUresult r;

	if (!s || !s->sh_size)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&m->ctx->lock);
	s->sh_addr = sg_device_alloc(m->ctx, s->sh_size);
	pthread_mutex_unlock(&m->ctx->lock);
	if (!s->sh_addr)
		return CUDA_ERROR_OUT_OF_MEMORY;
	bytes = calloc(1, (s->sh_size + 3) & ~3ul);
	if (s->sh_type != SHT_NOBITS)
		memcpy(bytes, (char *)m->cubin + s->sh_offset, s->sh_size);
	r = sg_upload_code(m->ctx, s->sh_addr, bytes, (uint32_t)(s->sh_size + 3) & ~3u);
	free(bytes);
	return r;
}

static const Elf64_Sym *symbols(struct CUmod_st *m, size_t *n)
{
	Elf64_Shdr *s = find(m, ".symtab");

	*n = s ? s->sh_size / sizeof(Elf64_Sym) : 0;
	return s ? (void *)((char *)m->cubin + s->sh_offset) : NULL;
}

static CUdeviceptr address_of(struct CUmod_st *m, const Elf64_Sym *symbol)
{
	return section(m, symbol->st_shndx)->sh_addr + symbol->st_value;
}

CUresult sg_place_variables(struct CUmod_st *m)
{
	Elf64_Shdr *bank, *relocations;
	const Elf64_Sym *symbol;
	CUresult r;
	size_t n;

	if (!m->cubin || m->placed)
		return CUDA_SUCCESS;
	m->placed = true;
	r = place(m, ".nv.global");
	if (!r)
		r = place(m, ".nv.global.init");
	bank = find(m, ".nv.constant4");
	relocations = find(m, ".rela.nv.constant4");
	symbol = symbols(m, &n);
	for (size_t i = 0;
	     !r && bank && relocations && i < relocations->sh_size / sizeof(Elf64_Rela); i++) {
		const Elf64_Rela *rela = (void *)((char *)m->cubin + relocations->sh_offset);
		uint64_t address = address_of(m, symbol + ELF64_R_SYM(rela[i].r_info)) +
				   (uint64_t)rela[i].r_addend;

		if (ELF64_R_TYPE(rela[i].r_info) == ABSOLUTE)
			memcpy((char *)m->cubin + bank->sh_offset + rela[i].r_offset, &address, 8);
	}
	return r;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name)
{
	const Elf64_Sym *symbol;
	CUresult r;
	size_t n;

	if (!m || !name)
		return CUDA_ERROR_INVALID_VALUE;
	r = sg_place_variables(m);
	if (r || !m->cubin)
		return r ? r : CUDA_ERROR_NOT_FOUND;
	symbol = symbols(m, &n);
	for (size_t i = 0; i < n; i++) {
		Elf64_Shdr *strings = section(m, find(m, ".symtab")->sh_link);

		if (ELF64_ST_TYPE(symbol[i].st_info) != STT_OBJECT ||
		    strcmp((char *)m->cubin + strings->sh_offset + symbol[i].st_name, name))
			continue;
		if (!section(m, symbol[i].st_shndx)->sh_addr) /* a constant */
			continue;
		if (at)
			*at = address_of(m, symbol + i);
		if (bytes)
			*bytes = symbol[i].st_size;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}
