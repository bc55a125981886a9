/* SPDX-License-Identifier: MIT */
/*
 * Finds the kernels and device functions that call each other. Those must count in the same
 * registers, because the sums stay with the thread from one to the other. A call by register may go
 * to any function whose address is taken.
 */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

#define SHT_RELA 4u
#define SHT_REL 9u
#define SHF_EXECINSTR 4u
#define STT_FUNC 2u

struct call_group_search {
	struct nvs_rebuilt *r;
	struct nvs_call_groups *g;
	/* sections that call by register, and sections whose address is taken */
	bool *by_register, *taken;
};

static uint32_t find_root(const struct nvs_call_groups *g, uint32_t section)
{
	while (g->group[section] != section)
		section = g->group[section] = g->group[g->group[section]];
	return section;
}

static void join_groups(const struct nvs_call_groups *g, uint32_t a, uint32_t b)
{
	a = find_root(g, a);
	b = find_root(g, b);
	if (a < b)
		g->group[b] = a;
	else
		g->group[a] = b;
}

static bool has_code(const struct nvs_rebuilt *r, uint32_t section, struct nvs_cubin_section *s)
{
	return nvs_cubin_section(&r->cubin, section, s) && s->flags & SHF_EXECINSTR && s->data;
}

static bool is_call(unsigned op)
{
	return op == NVS_OP_CALL || op == NVS_OP_CALL_ABS;
}

/* Reads one relocation at P, of EACH bytes, that changes section S: Elf64_Rel or Elf64_Rela. */
static void read_relocation(struct call_group_search *f, const struct nvs_cubin_section *s,
			    bool code, const uint8_t *p, uint32_t each)
{
	struct nvs_cubin_section to;
	struct nvs_cubin_symbol y;
	uint64_t offset, addend = 0;
	bool call;

	memcpy(&offset, p, 8);
	if (each == 24)
		memcpy(&addend, p + 16, 8);
	if (!nvs_cubin_symbol(&f->r->cubin, nvs_elf_u32(p + 12), &y) ||
	    !has_code(f->r, y.section, &to))
		return;
	call = code && s->size >= 16 && offset <= s->size - 16 &&
	       is_call(nvs_elf_u32(s->data + offset) & 0x1ff);
	if (code && to.index != s->index)
		join_groups(f->g, s->index, to.index);
	if (to.index != s->index && addend)
		f->g->pointed_into[to.index] = true;
	/* An address in the section itself plus an offset is a return address. */
	if (!call && !(to.index == s->index && addend) && y.type == STT_FUNC && !(y.other & 0x10))
		f->taken[to.index] = true;
}

static void read_relocations(struct call_group_search *f)
{
	struct nvs_cubin_section s, of;

	for (uint32_t i = 0; nvs_cubin_section(&f->r->cubin, i, &of); i++) {
		uint32_t each = of.type == SHT_RELA ? 24 : 16;

		if ((of.type != SHT_RELA && of.type != SHT_REL) || !of.data ||
		    !nvs_cubin_section(&f->r->cubin, of.info, &s) || !strncmp(s.name, ".debug", 6))
			continue;
		for (uint64_t o = 0; o + each <= of.size; o += each)
			read_relocation(f, &s, has_code(f->r, s.index, &s), of.data + o, each);
	}
}

/* Finds calls by a register or constant that holds an address. */
static void find_register_calls(struct call_group_search *f, const struct nvs_cubin_section *s)
{
	for (uint64_t o = 0; o + 16 <= s->size; o += 16) {
		unsigned opcode = nvs_elf_u32(s->data + o) & 0xfff;

		if ((opcode & 0x1ff) == NVS_OP_CALL_ABS && opcode != 0x943)
			f->by_register[s->index] = true;
	}
}

static void join_by_register(struct call_group_search *f)
{
	uint32_t n = f->r->cubin.sections, caller = 0, called = 0;

	while (caller < n && !f->by_register[caller])
		caller++;
	while (called < n && !f->taken[called])
		called++;
	if (caller == n || called == n)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (f->by_register[i] || f->taken[i])
			join_groups(f->g, caller, i);
}

int nvs_call_groups_find(struct nvs_rebuilt *r, const struct nvs_cubin_functions *functions,
			 struct nvs_rewrite_arena *arena, struct nvs_call_groups *g)
{
	uint32_t n = r->cubin.sections;
	struct nvs_cubin_section s;
	struct call_group_search f = {.r = r, .g = g};

	g->group = nvs_arena_get(arena, n + 1, sizeof(*g->group));
	g->first = nvs_arena_get(arena, n + 1, sizeof(*g->first));
	g->pointed_into = nvs_arena_get(arena, n + 1, sizeof(*g->pointed_into));
	f.by_register = nvs_arena_get(arena, n + 1, sizeof(*f.by_register));
	f.taken = nvs_arena_get(arena, n + 1, sizeof(*f.taken));
	if (!g->group || !g->first || !g->pointed_into || !f.by_register || !f.taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		g->group[i] = i;
	for (uint32_t i = 0; i < functions->n; i++) {
		const struct nvs_cubin_function *y = &functions->function[i];

		if (y->section < n && !y->offset && (!g->first[y->section] || y->kernel))
			g->first[y->section] = i + 1;
	}
	read_relocations(&f);
	for (uint32_t i = 0; i < n; i++)
		if (has_code(r, i, &s))
			find_register_calls(&f, &s);
	join_by_register(&f);
	for (uint32_t i = 0; i < n; i++)
		g->group[i] = find_root(g, i);
	return 0;
}
