/* SPDX-License-Identifier: MIT */
/* Reads the tables of an ELF file: sections and symbols. */
#include <elf.h>
#include <errno.h>
#include "sass/elf.h"

_Static_assert(sizeof(Elf64_Ehdr) == 64 && sizeof(Elf64_Shdr) == 64 && sizeof(Elf64_Sym) == 24,
	       "as the file has them");

static bool is_within(uint64_t at, uint64_t n, uint64_t size)
{
	return at <= size && n <= size - at;
}

static bool read_header(Elf64_Ehdr *h, const uint8_t *data, size_t size)
{
	if (size < sizeof(*h) || memcmp(data, ELFMAG, SELFMAG) || data[EI_CLASS] != ELFCLASS64 ||
	    data[EI_DATA] != ELFDATA2LSB)
		return false;
	memcpy(h, data, sizeof(*h));
	return true;
}

/* Number of section headers; if it does not fit into the file's header, it is in the first of them.
 *  */
static uint64_t section_count(const Elf64_Ehdr *h, const uint8_t *data, size_t size)
{
	Elf64_Shdr first;

	if (h->e_shnum || !h->e_shoff)
		return h->e_shnum;
	if (!is_within(h->e_shoff, sizeof(first), size))
		return 0;
	memcpy(&first, data + h->e_shoff, sizeof(first));
	return first.sh_size;
}

size_t nvs_sass_elf_extent(const uint8_t *data, size_t room)
{
	uint64_t end = sizeof(Elf64_Ehdr), n, headers;
	Elf64_Ehdr h;
	Elf64_Shdr s;

	if (!read_header(&h, data, room))
		return 0;
	n = section_count(&h, data, room);
	if (n > UINT32_MAX || h.e_phoff > room || h.e_shoff > room)
		return 0;
	headers = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
	end = h.e_phnum && headers > end ? headers : end;
	headers = h.e_shoff + n * sizeof(s);
	end = n && headers > end ? headers : end;
	if (end > room)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		memcpy(&s, data + h.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
			continue;
		if (!is_within(s.sh_offset, s.sh_size, room))
			return 0;
		end = s.sh_offset + s.sh_size > end ? s.sh_offset + s.sh_size : end;
	}
	return (size_t)end;
}

/* Size of a string table up to its last zero: every string that begins before that is terminated.
 *  */
static size_t terminated_size(const uint8_t *table, uint64_t size)
{
	while (size && table[size - 1])
		size--;
	return (size_t)size;
}

static int open_names(struct nvs_cubin *elf, uint32_t index)
{
	struct nvs_cubin_section s;

	if (!elf->sections)
		return 0;
	if (!nvs_cubin_section(elf, index, &s) || !s.data)
		return -EBADMSG;
	elf->names = (const char *)s.data;
	elf->names_size = terminated_size(s.data, s.size);
	return 0;
}

int nvs_sass_elf_symbols(struct nvs_cubin *elf)
{
	struct nvs_cubin_section s, strings;

	for (uint32_t i = 0; nvs_cubin_section(elf, i, &s); i++) {
		if (s.type != SHT_SYMTAB)
			continue;
		if (!s.data || !nvs_cubin_section(elf, s.link, &strings) || !strings.data)
			return -EBADMSG;
		elf->symtab = i;
		elf->symbols = (uint32_t)(s.size / sizeof(Elf64_Sym));
		elf->strings = (const char *)strings.data;
		elf->strings_size = terminated_size(strings.data, strings.size);
		return 0;
	}
	return 0;
}

int nvs_sass_elf_open(struct nvs_cubin *elf, const void *data, size_t size, uint16_t *machine)
{
	uint32_t names;
	Elf64_Ehdr h;
	uint64_t n;

	if (!read_header(&h, data, size))
		return -EINVAL;
	n = section_count(&h, data, size);
	if (n > size / sizeof(Elf64_Shdr) || (n && h.e_shentsize != sizeof(Elf64_Shdr)) ||
	    !is_within(h.e_shoff, n * sizeof(Elf64_Shdr), size) ||
	    (h.e_phnum && (h.e_phentsize != sizeof(Elf64_Phdr) ||
			   !is_within(h.e_phoff, h.e_phnum * sizeof(Elf64_Phdr), size))))
		return -EBADMSG;
	*machine = h.e_machine;
	*elf = (struct nvs_cubin){
		.data = data,
		.size = size,
		.flags = h.e_flags,
		.abi = {h.e_ident[EI_OSABI], h.e_ident[EI_ABIVERSION]},
		.type = h.e_type,
		.sections = (uint32_t)n,
		.section_headers = h.e_shoff,
		.program_headers = h.e_phoff,
		.segments = h.e_phnum,
		.names = "",
		.strings = "",
	};
	names = h.e_shstrndx;
	if (names == SHN_XINDEX)
		names = n ? nvs_elf_u32(elf->data + h.e_shoff + offsetof(Elf64_Shdr, sh_link)) : 0;
	return open_names(elf, names);
}

/* Returns the string at OFFSET of a string table, or "" if there is no terminated one. */
static const char *string_at(const char *table, size_t size, uint32_t offset)
{
	return offset < size ? table + offset : "";
}

bool nvs_cubin_section(const struct nvs_cubin *cubin, uint32_t index, struct nvs_cubin_section *s)
{
	Elf64_Shdr h;

	if (index >= cubin->sections)
		return false;
	memcpy(&h, cubin->data + cubin->section_headers + (uint64_t)index * sizeof(h), sizeof(h));
	*s = (struct nvs_cubin_section){
		.index = index,
		.type = h.sh_type,
		.link = h.sh_link,
		.info = h.sh_info,
		.flags = h.sh_flags,
		.address = h.sh_addr,
		.offset = h.sh_offset,
		.align = h.sh_addralign,
		.entry = h.sh_entsize,
		.size = h.sh_size,
		.name = string_at(cubin->names, cubin->names_size, h.sh_name),
	};
	if (h.sh_type != SHT_NULL && h.sh_type != SHT_NOBITS &&
	    is_within(h.sh_offset, h.sh_size, cubin->size))
		s->data = cubin->data + h.sh_offset;
	return true;
}

bool nvs_cubin_section_named(const struct nvs_cubin *cubin, const char *name,
			     struct nvs_cubin_section *s)
{
	for (uint32_t i = 0; nvs_cubin_section(cubin, i, s); i++)
		if (!strcmp(s->name, name))
			return true;
	return false;
}

bool nvs_cubin_symbol(const struct nvs_cubin *cubin, uint32_t index, struct nvs_cubin_symbol *s)
{
	struct nvs_cubin_section table;
	Elf64_Sym symbol;

	if (index >= cubin->symbols || !nvs_cubin_section(cubin, cubin->symtab, &table))
		return false;
	memcpy(&symbol, table.data + (uint64_t)index * sizeof(symbol), sizeof(symbol));
	*s = (struct nvs_cubin_symbol){
		.index = index,
		.type = ELF64_ST_TYPE(symbol.st_info),
		.bind = ELF64_ST_BIND(symbol.st_info),
		.other = symbol.st_other,
		.section = symbol.st_shndx,
		.value = symbol.st_value,
		.size = symbol.st_size,
		.name = string_at(cubin->strings, cubin->strings_size, symbol.st_name),
	};
	return true;
}
