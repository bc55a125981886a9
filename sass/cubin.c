/* SPDX-License-Identifier: MIT */
/* Reads cubins: their functions, and the attributes that ptxas writes for them. */
#include <elf.h>
#include <errno.h>
#include "sass/elf.h"

/* Section types, and where the architecture is stored. */
#define SECTION_INFO 0x70000000u /* .nv.info */
#define SECTION_COMPAT 0x70000086u /* .nv.compat */
#define ABI_NEW 0x41 /* EI_OSABI of CUDA 13: flags have another layout */
#define SYMBOL_KERNEL 0x10 /* st_other */
#define COMPAT_SPECIFIC 9 /* attribute of .nv.compat: 1 of sm_90a */
#define NONE UINT32_MAX

static bool info_section(const struct nvs_cubin_section *s)
{
	return s->type == SECTION_INFO && s->data;
}

static void set_arch(struct nvs_cubin *cubin)
{
	struct nvs_cubin_attribute a;
	struct nvs_cubin_section s;
	size_t at = 0;

	cubin->arch = cubin->abi[0] == ABI_NEW ? cubin->flags >> 8 & 0xff : cubin->flags & 0xff;
	for (uint32_t i = 0; nvs_cubin_section(cubin, i, &s); i++)
		if (s.type == SECTION_COMPAT && s.data)
			while (nvs_cubin_attribute(&s, &at, &a))
				if (a.code == COMPAT_SPECIFIC && a.format < 4)
					cubin->specific = a.value[0] == 1;
}

/* True for sections whose contents are read. */
static bool is_read(const struct nvs_cubin_section *s)
{
	return s->data &&
	       (s->type == SHT_PROGBITS || s->flags & SHF_EXECINSTR || s->type == SHT_RELA ||
		s->type == SHT_REL || s->type == SECTION_INFO || s->type == SECTION_COMPAT);
}

/* Overlapping sections are not produced by ptxas. A malicious cubin could name the same bytes so
 * often that reading them takes minutes. */
static bool sections_overlap(const struct nvs_cubin *cubin, size_t size)
{
	struct nvs_cubin_section s;

	for (uint32_t i = 0; nvs_cubin_section(cubin, i, &s); i++) {
		if (!is_read(&s))
			continue;
		if (s.size > size)
			return true;
		size -= s.size;
	}
	return false;
}

int nvs_cubin_open(struct nvs_cubin *cubin, const void *data, size_t size)
{
	uint16_t machine;
	int r = nvs_sass_elf_open(cubin, data, size, &machine);

	if (!r && machine != NVS_SASS_ELF_CUDA)
		return -EINVAL;
	if (!r && sections_overlap(cubin, size))
		return -EBADMSG;
	if (!r)
		r = nvs_sass_elf_symbols(cubin);
	if (!r)
		set_arch(cubin);
	return r;
}

bool nvs_cubin_attribute(const struct nvs_cubin_section *s, size_t *at,
			 struct nvs_cubin_attribute *a)
{
	const uint8_t *p;

	if (!s->data || *at >= s->size || s->size - *at < 4)
		return false;
	p = s->data + *at;
	*a = (struct nvs_cubin_attribute){p[0], p[1], 2, p + 2, *at};
	if (p[0] == 4) {
		a->size = nvs_elf_u16(p + 2);
		a->value = p + 4;
		if (a->size > s->size - *at - 4)
			return false;
		*at += a->size;
	}
	*at += 4;
	return true;
}

/* ---- functions ---- */

/* Sections that belong to a code section, by their sh_info. */
struct of_section {
	uint32_t info, shared, local, constant; /* section indexes, 0: none */
	uint32_t first; /* index + 1 of its first kernel, whose attributes were read */
};

static bool name_begins(const struct nvs_cubin_section *s, const char *with)
{
	return !strncmp(s->name, with, strlen(with));
}

static void sort_sections(const struct nvs_cubin *cubin, struct of_section *of)
{
	struct nvs_cubin_section s;

	for (uint32_t i = 0; nvs_cubin_section(cubin, i, &s); i++) {
		if (s.info >= cubin->sections || !s.info)
			continue;
		if (info_section(&s))
			of[s.info].info = i;
		else if (name_begins(&s, ".nv.shared."))
			of[s.info].shared = i;
		else if (name_begins(&s, ".nv.local."))
			of[s.info].local = i;
		else if (name_begins(&s, ".nv.constant0."))
			of[s.info].constant = i;
	}
}

static uint32_t clip_to_32(uint64_t v)
{
	return v < NONE ? (uint32_t)v : NONE;
}

static uint32_t section_size(const struct nvs_cubin *cubin, uint32_t index)
{
	struct nvs_cubin_section s;

	return index && nvs_cubin_section(cubin, index, &s) ? clip_to_32(s.size) : 0;
}

/* Reads the attributes of .nv.info.NAME, which are about its kernel. */
static void own_attributes(const struct nvs_cubin *cubin, struct nvs_cubin_function *f)
{
	struct nvs_cubin_attribute a;
	struct nvs_cubin_section s;
	uint64_t threads;
	size_t at = 0;

	if (!nvs_cubin_section(cubin, f->info, &s))
		return;
	while (nvs_cubin_attribute(&s, &at, &a)) {
		if (a.code == NVS_ATTR_CBANK_PARAM_SIZE && a.format == 3)
			f->parameters = nvs_elf_u16(a.value);
		else if (a.code == NVS_ATTR_MAXREG_COUNT && a.format == 3)
			f->max_registers = nvs_elf_u16(a.value);
		else if (a.code == NVS_ATTR_NUM_BARRIERS && a.format < 4)
			f->barriers = a.value[0];
		else if ((a.code == NVS_ATTR_MAX_THREADS || a.code == NVS_ATTR_REQNTID) &&
			 a.size >= 12) {
			threads = nvs_elf_u32(a.value);
			for (int k = 4; k < 12 && threads < NONE; k += 4)
				threads *= nvs_elf_u32(a.value + k);
			f->max_threads = clip_to_32(threads);
		}
	}
}

static bool function_of(const struct nvs_cubin *cubin, uint32_t index, struct nvs_cubin_function *f)
{
	struct nvs_cubin_section s;
	struct nvs_cubin_symbol y;

	if (!nvs_cubin_symbol(cubin, index, &y) || y.type != STT_FUNC || !y.section ||
	    !nvs_cubin_section(cubin, y.section, &s) || !(s.flags & SHF_EXECINSTR) || !s.data ||
	    y.value > s.size || y.size > s.size - y.value || !y.size)
		return false;
	*f = (struct nvs_cubin_function){
		.name = y.name,
		.kernel = y.other & SYMBOL_KERNEL,
		.symbol = index,
		.section = y.section,
		.offset = y.value,
		.code = s.data + y.value,
		.size = (size_t)y.size,
		.registers = NONE,
		.uniform_registers = NONE,
		.frame = NONE,
		.stack = NONE,
		.parameters = NONE,
		.barriers = NONE,
		.max_threads = NONE,
		.max_registers = NONE,
		.registers_at = NONE,
	};
	/* Used if there is no attribute: up to sm_70 these are in the header of the code's
	 * section. */
	if (cubin->abi[0] != ABI_NEW && s.info >> 24)
		f->registers = s.info >> 24;
	if (cubin->abi[0] != ABI_NEW)
		f->barriers = s.flags >> 20 & 0x7f;
	return true;
}

/* Reads the attributes of .nv.info: each begins with the symbol it is about. */
static void shared_attributes(const struct nvs_cubin *cubin, const struct nvs_cubin_section *s,
			      struct nvs_cubin_functions *all, const uint32_t *of_symbol)
{
	struct nvs_cubin_attribute a;
	struct nvs_cubin_function *f;
	uint32_t symbol;
	size_t at = 0;

	while (nvs_cubin_attribute(s, &at, &a)) {
		if (a.format != 4 || a.size < 8)
			continue;
		symbol = nvs_elf_u32(a.value);
		if (symbol >= cubin->symbols || !of_symbol[symbol])
			continue;
		f = all->function + of_symbol[symbol] - 1;
		if (a.code == NVS_ATTR_REGCOUNT) {
			f->registers = nvs_elf_u32(a.value + 4);
			f->registers_at = clip_to_32((uint64_t)(a.value - s->data));
		} else if (a.code == NVS_ATTR_FRAME_SIZE) {
			f->frame = nvs_elf_u32(a.value + 4);
		} else if (a.code == NVS_ATTR_MIN_STACK_SIZE) {
			f->stack = nvs_elf_u32(a.value + 4);
		}
	}
}

static void copy_own(struct nvs_cubin_function *to, const struct nvs_cubin_function *from)
{
	to->parameters = from->parameters;
	to->max_registers = from->max_registers;
	to->barriers = from->barriers;
	to->max_threads = from->max_threads;
}

static void fill_functions(const struct nvs_cubin *cubin, struct nvs_cubin_functions *all,
			   struct of_section *of, const uint32_t *of_symbol)
{
	struct nvs_cubin_function *f;
	struct nvs_cubin_section s;

	for (uint32_t i = 0; i < all->n; i++) {
		f = all->function + i;
		f->info = of[f->section].info;
		f->shared = section_size(cubin, of[f->section].shared);
		f->local = section_size(cubin, of[f->section].local);
		f->constant = section_size(cubin, of[f->section].constant);
		if (!f->info || !f->kernel)
			continue;
		/* Read once: a malicious cubin may have a large number of kernels in one
		 * section. */
		if (of[f->section].first)
			copy_own(f, all->function + of[f->section].first - 1);
		else
			own_attributes(cubin, f);
		of[f->section].first = i + 1;
	}
	for (uint32_t i = 0; nvs_cubin_section(cubin, i, &s); i++)
		if (info_section(&s) && !s.info)
			shared_attributes(cubin, &s, all, of_symbol);
}

int nvs_cubin_functions(const struct nvs_cubin *cubin, const struct nvs_sass_memory *memory,
			struct nvs_cubin_functions *all)
{
	size_t sections = ((size_t)cubin->sections + 1) * sizeof(struct of_section);
	size_t symbols = ((size_t)cubin->symbols + 1) * sizeof(uint32_t);
	struct of_section *of = memory->get(memory->arg, sections);
	uint32_t *of_symbol = memory->get(memory->arg, symbols);
	struct nvs_cubin_function f;
	uint32_t n = 0;
	int r = of && of_symbol ? 0 : -ENOMEM;

	*all = (struct nvs_cubin_functions){0};
	for (uint32_t i = 0; !r && i < cubin->symbols; i++)
		n += function_of(cubin, i, &f);
	if (n) {
		all->bytes = n * sizeof(*all->function);
		all->function = memory->get(memory->arg, all->bytes);
		r = all->function ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; !r && i < cubin->symbols && all->n < n; i++)
		if (function_of(cubin, i, all->function + all->n))
			of_symbol[i] = ++all->n;
	if (!r) {
		sort_sections(cubin, of);
		fill_functions(cubin, all, of, of_symbol);
	}
	if (of)
		memory->put(memory->arg, of, sections);
	if (of_symbol)
		memory->put(memory->arg, of_symbol, symbols);
	return r;
}

void nvs_cubin_functions_free(struct nvs_cubin_functions *all, const struct nvs_sass_memory *memory)
{
	if (all->function)
		memory->put(memory->arg, all->function, all->bytes);
	*all = (struct nvs_cubin_functions){0};
}
