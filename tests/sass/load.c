/* SPDX-License-Identifier: MIT */
/*
 * Loads a kernel from a cubin, with what the driver lays out for it: constants, parameters, the
 * size of its shared memory. Bounds are not fully checked: it reads only the output of nvcc or of
 * our own rewriter.
 */
#include <elf.h>
#include <stdlib.h>
#include "tests/sass/machine.h"

struct elf {
	const unsigned char *at;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sec;
	const char *names;
};

static const Elf64_Shdr *section(const struct elf *e, const char *prefix, const char *kernel)
{
	size_t n = strlen(prefix);

	for (unsigned i = 0; i < e->head->e_shnum; i++) {
		const char *name = e->names + e->sec[i].sh_name;

		if (!strncmp(name, prefix, n) && !strcmp(name + n, kernel))
			return &e->sec[i];
	}
	return NULL;
}

static void fill(struct machine *m, const struct elf *e, unsigned bank, const Elf64_Shdr *s)
{
	if (!s)
		return;
	if (s->sh_size > BANK_BYTES)
		fail(m, "constant bank %u is too large for the interpreter", bank);
	else
		memcpy(m->bank[bank], e->at + s->sh_offset, s->sh_size);
}

/* .nv.info: where parameters stand in bank 0, and the size of a cluster */
static unsigned attributes(struct machine *m, const struct elf *e, const Elf64_Shdr *info)
{
	unsigned params = 0;

	for (u64 o = 0; info && o + 4 <= info->sh_size;) {
		const unsigned char *p = e->at + info->sh_offset + o;
		unsigned size = p[2] | p[3] << 8;

		if (p[0] == 4 && p[1] == 0x0a && size >= 8)
			params = p[8] | p[9] << 8;
		if (p[0] == 4 && p[1] == 0x3d && size >= 12)
			m->cluster = p[4];
		o += 4 + (p[0] == 4 ? size : 0);
	}
	return params;
}

/* ---- code: sections one behind the other, the kernel's first, and what is written into them ----
 */

static u64 symbol_address(const struct elf *e, const u64 *at, const Elf64_Shdr *rel, u32 symbol)
{
	const Elf64_Sym *y = (const void *)(e->at + e->sec[rel->sh_link].sh_offset);

	return y[symbol].st_shndx < e->head->e_shnum ? at[y[symbol].st_shndx] + y[symbol].st_value
						     : 0;
}

static void put_bits(unsigned char *p, unsigned from, unsigned n, u64 v)
{
	for (unsigned i = 0; i < n; i++, v >>= 1)
		p[(from + i) / 8] = (p[(from + i) / 8] & ~(1u << (from + i) % 8)) |
				    (v & 1) << (from + i) % 8;
}

/* The kinds that nvlink 13.0 leaves in what it makes for sm_75 to sm_90. */
static void relocate(struct machine *m, unsigned type, unsigned char *p, u64 v)
{
	switch (type) {
	case 0x02: /* an address as data */
		memcpy(p, &v, 8);
		break;
	case 0x38: /* its halves in an instruction */
		put_bits(p, 32, 32, v);
		break;
	case 0x39:
		put_bits(p, 32, 32, v >> 32);
		break;
	case 0x3a: /* CALL.ABS: counts of 4 bytes */
		put_bits(p, 34, 47, v / 4);
		break;
	case 0x4b:
		put_bits(p, 16, 8, v / 4);
		put_bits(p, 34, 47, v / 4 >> 8);
		break;
	default:
		fail(m, "a relocation of type %#x is not known", type);
	}
}

/* In a section that lies at P now. */
static void relocate_section(struct machine *m, const struct elf *e, const u64 *at, unsigned index,
			     unsigned char *p, size_t room)
{
	for (unsigned i = 0; i < e->head->e_shnum; i++) {
		const Elf64_Shdr *s = &e->sec[i];
		unsigned each = s->sh_type == SHT_RELA ? 24 : 16;

		if ((s->sh_type != SHT_RELA && s->sh_type != SHT_REL) || s->sh_info != index)
			continue;
		for (u64 o = 0; o < s->sh_size; o += each) {
			const Elf64_Rela *r = (const void *)(e->at + s->sh_offset + o);
			u64 v = symbol_address(e, at, s, ELF64_R_SYM(r->r_info));

			if (r->r_offset + 16 <= room)
				relocate(m, ELF64_R_TYPE(r->r_info), p + r->r_offset,
					 v + (each == 24 ? r->r_addend : 0));
		}
	}
}

static bool has_code(const Elf64_Shdr *s)
{
	return s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR;
}

static void append(struct machine *m, const struct elf *e, u64 *at, const Elf64_Shdr *s)
{
	at[s - e->sec] = m->code_size;
	memcpy(m->code + m->code_size, e->at + s->sh_offset, s->sh_size);
	for (u64 i = 0; i < s->sh_size / 16; i++)
		m->number[m->code_size / 16 + i] = i;
	m->code_size += s->sh_size;
}

static void load_code(struct machine *m, const struct elf *e, const Elf64_Shdr *kernel)
{
	const Elf64_Shdr *constants = section(e, ".nv.constant", "3");
	u64 *at = calloc(e->head->e_shnum, sizeof(*at));
	size_t size = 0;

	for (unsigned i = 0; i < e->head->e_shnum; i++)
		size += has_code(&e->sec[i]) ? e->sec[i].sh_size : 0;
	m->code = malloc(size);
	m->number = calloc(size / 16 + 1, sizeof(*m->number));
	append(m, e, at, kernel);
	for (unsigned i = 0; i < e->head->e_shnum; i++)
		if (has_code(&e->sec[i]) && &e->sec[i] != kernel)
			append(m, e, at, &e->sec[i]);
	for (unsigned i = 0; i < e->head->e_shnum; i++)
		if (has_code(&e->sec[i]))
			relocate_section(m, e, at, i, m->code + at[i], e->sec[i].sh_size);
	if (constants && constants->sh_size + 16 <= BANK_BYTES)
		relocate_section(m, e, at, constants - e->sec, m->bank[3], constants->sh_size + 16);
	free(at);
}

void unload_kernel(struct machine *m)
{
	free(m->code);
	free(m->number);
}

static void load_memory(struct machine *m)
{
	const struct interp_launch *a = m->launch;

	m->arch = a->arch;
	m->cluster = 1;
	m->code_size = a->code_size & ~15ull;
	m->code = malloc(m->code_size);
	m->number = calloc(m->code_size / 16 + 1, sizeof(*m->number));
	memcpy(m->code, a->code, m->code_size);
	for (size_t i = 0; i < m->code_size / 16; i++)
		m->number[i] = i;
	for (unsigned i = 0; i < 8 && i < BANKS; i++)
		if (a->bank[i].at)
			memcpy(m->bank[i], a->bank[i].at,
			       a->bank[i].size < BANK_BYTES ? a->bank[i].size : BANK_BYTES);
}

void load_kernel(struct machine *m)
{
	const struct interp_launch *a = m->launch;
	struct elf e = {.at = a->cubin, .head = a->cubin};
	const Elf64_Shdr *code, *shared;
	unsigned params;

	if (a->code) {
		load_memory(m);
		return;
	}
	if (a->size < sizeof(*e.head) || memcmp(e.at, ELFMAG, SELFMAG) ||
	    e.head->e_machine != 190) {
		fail(m, "not a cubin");
		return;
	}
	e.sec = (const void *)(e.at + e.head->e_shoff);
	e.names = (const char *)e.at + e.sec[e.head->e_shstrndx].sh_offset;
	m->arch = e.head->e_ident[EI_OSABI] == 0x41 ? e.head->e_flags >> 8 & 255
						    : e.head->e_flags & 255;
	code = section(&e, ".text.", a->kernel);
	if (!code || code->sh_offset + code->sh_size > a->size) {
		fail(m, "the cubin has no kernel %s", a->kernel);
		return;
	}
	m->cluster = 1;
	shared = section(&e, ".nv.shared.", a->kernel);
	m->shared_static = shared ? shared->sh_size : 0;
	params = attributes(m, &e, section(&e, ".nv.info.", a->kernel));
	fill(m, &e, 0, section(&e, ".nv.constant0.", a->kernel));
	fill(m, &e, 2, section(&e, ".nv.constant2.", a->kernel));
	fill(m, &e, 3, section(&e, ".nv.constant", "3"));
	fill(m, &e, 4, section(&e, ".nv.constant", "4"));
	load_code(m, &e, code);
	memcpy(m->bank[0], a->block, sizeof(a->block));
	memcpy(m->bank[0] + 12, a->grid, sizeof(a->grid));
	memcpy(m->bank[0] + 0x28, &(u32){LOCAL_BYTES}, 4);
	if ((!params && a->params_size) || params + a->params_size > BANK_BYTES)
		fail(m, "%s does not say where its parameters are", a->kernel);
	else if (a->params_size)
		memcpy(m->bank[0] + params, a->params, a->params_size);
}
