/* SPDX-License-Identifier: MIT */
/* Reads cubins, and fatbins with uncompressed entries: kernels with parameters and code. The files
 * are the tests' own and are not validated. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "../gpu/builtin.h"
#include "driver.h"

#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
#define ARCH 90
#define STO_KERNEL 0x10
#define PARAMETER 0x17 /* .nv.info attribute: place and size of a parameter */

static const Elf64_Shdr *section(const void *image, uint32_t n)
{
	const Elf64_Ehdr *head = image;

	return (const void *)((const char *)image + head->e_shoff + (size_t)n * head->e_shentsize);
}

static const void *bytes_of(const void *image, const Elf64_Shdr *s)
{
	return (const char *)image + s->sh_offset;
}

static const char *section_name(const void *image, const Elf64_Shdr *s)
{
	const Elf64_Ehdr *head = image;

	return (const char *)bytes_of(image, section(image, head->e_shstrndx)) + s->sh_name;
}

/* An attribute starts with format, number and size; in format 4, `size` bytes follow. */
static void parse_info(struct CUfunc_st *f, const uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i + 4 <= bytes;) {
		uint16_t size;
		uint32_t w[3];

		memcpy(&size, at + i + 2, 2);
		if (at[i] == 4 && at[i + 1] == PARAMETER && size == 12) {
			memcpy(w, at + i + 4, 12);
			if (w[1] % 0x10000 < 64) {
				uint32_t n = w[1] % 0x10000;

				f->param_offset[n] = w[1] >> 16;
				f->param_size[n] = w[2] >> 18;
				f->nparams = n + 1 > f->nparams ? n + 1 : f->nparams;
				if (f->param_offset[n] + f->param_size[n] > f->params_bytes)
					f->params_bytes = f->param_offset[n] + f->param_size[n];
			}
		}
		i += at[i] == 4 ? 4 + (size_t)size : 4;
	}
	f->params_bytes = (f->params_bytes + 7) & ~7u;
}

static void find_info(struct CUfunc_st *f, const void *image)
{
	const Elf64_Ehdr *head = image;
	static const char info[] = ".nv.info.";

	for (uint32_t i = 0; i < head->e_shnum; i++) {
		const Elf64_Shdr *s = section(image, i);
		const char *name = section_name(image, s);

		if (!strncmp(name, info, sizeof(info) - 1) &&
		    !strcmp(name + sizeof(info) - 1, f->name))
			parse_info(f, bytes_of(image, s), s->sh_size);
	}
}

static size_t size_of(const void *image)
{
	const Elf64_Ehdr *head = image;
	size_t sections = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	size_t segments = head->e_phoff + (size_t)head->e_phnum * head->e_phentsize;

	return sections > segments ? sections : segments;
}

/* Has the GPU interpret the kernel instead of skipping it. */
static void interpreted(struct CUfunc_st *f)
{
	struct {
		struct sg_program head;
		struct sg_sass sass;
	} code = {{SG_PROGRAM_MAGIC, SG_PROGRAM_SASS, 0},
		  {(uintptr_t)f->module->cubin, size_of(f->module->cubin), (uintptr_t)f->name,
		   f->params_bytes}};

	f->bytes = realloc(f->bytes, sizeof(code));
	f->code_bytes = sizeof(code);
	memcpy(f->bytes, &code, sizeof(code));
}

static void add_kernel(struct CUmod_st *m, const void *image, const Elf64_Sym *symbol,
		       const char *name)
{
	const Elf64_Shdr *code = section(image, symbol->st_shndx);
	struct CUfunc_st *f = sg_function_new(m, name, strlen(name));

	f->code_bytes = (uint32_t)symbol->st_size;
	f->bytes = malloc(f->code_bytes);
	memcpy(f->bytes, (const char *)bytes_of(image, code) + symbol->st_value, f->code_bytes);
	find_info(f, image);
	if (m->cubin)
		interpreted(f);
}

static CUresult parse_cubin(struct CUmod_st *m, const void *image)
{
	const Elf64_Ehdr *head = image;

	/* Never freed: the GPU may be using it. */
	if (sg_option("sass"))
		m->cubin = memcpy(malloc(size_of(image)), image, size_of(image));
	for (uint32_t i = 0; i < head->e_shnum; i++) {
		const Elf64_Shdr *s = section(image, i);
		const Elf64_Sym *symbol = bytes_of(image, s);
		const char *strings;

		if (s->sh_type != SHT_SYMTAB)
			continue;
		strings = bytes_of(image, section(image, s->sh_link));
		for (size_t n = s->sh_size / sizeof(*symbol); n--; symbol++)
			if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
			    symbol->st_other & STO_KERNEL)
				add_kernel(m, image, symbol, strings + symbol->st_name);
	}
	return m->functions ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult parse_fatbin(struct CUmod_st *m, const char *image)
{
	uint64_t left, bytes;
	uint32_t header, arch;
	uint16_t kind;

	memcpy(&left, image + 8, 8);
	for (image += 16; left; image += header + bytes, left -= header + bytes) {
		memcpy(&kind, image, 2);
		memcpy(&header, image + 4, 4);
		memcpy(&bytes, image + 8, 8);
		memcpy(&arch, image + 28, 4);
		if (kind == 2 && arch == ARCH)
			return parse_cubin(m, image + header);
	}
	return CUDA_ERROR_INVALID_IMAGE;
}

CUresult sg_cubin_parse(struct CUmod_st *m, const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, 4);
	if (magic == WRAPPER_MAGIC) {
		memcpy(&image, (const char *)image + 8, sizeof(image));
		memcpy(&magic, image, 4);
	}
	return magic == FATBIN_MAGIC ? parse_fatbin(m, image) : parse_cubin(m, image);
}

bool sg_is_cubin(const void *image)
{
	static const uint32_t magic[] = {FATBIN_MAGIC, WRAPPER_MAGIC};

	return !memcmp(image, ELFMAG, SELFMAG) || !memcmp(image, magic, 4) ||
	       !memcmp(image, magic + 1, 4);
}
