/* SPDX-License-Identifier: MIT */
/*
 * Takes a kernel out of a cubin, with what the driver lays out for it: constants, parameters, the
 * size of its shared memory. Its bounds are trusted as far as tests go: it reads what nvcc or our
 * own rewriter made.
 */
#include <elf.h>
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

void load_kernel(struct machine *m)
{
	const struct interp_launch *a = m->launch;
	struct elf e = {.at = a->cubin, .head = a->cubin};
	const Elf64_Shdr *code, *shared;
	unsigned params;

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
	m->code = e.at + code->sh_offset;
	m->code_size = code->sh_size;
	m->cluster = 1;
	shared = section(&e, ".nv.shared.", a->kernel);
	m->shared_static = shared ? shared->sh_size : 0;
	params = attributes(m, &e, section(&e, ".nv.info.", a->kernel));
	fill(m, &e, 0, section(&e, ".nv.constant0.", a->kernel));
	fill(m, &e, 2, section(&e, ".nv.constant2.", a->kernel));
	fill(m, &e, 3, section(&e, ".nv.constant", "3"));
	memcpy(m->bank[0], a->block, sizeof(a->block));
	memcpy(m->bank[0] + 12, a->grid, sizeof(a->grid));
	memcpy(m->bank[0] + 0x28, &(u32){LOCAL_BYTES}, 4);
	if (!params || params + a->params_size > BANK_BYTES)
		fail(m, "%s does not say where its parameters are", a->kernel);
	else
		memcpy(m->bank[0] + params, a->params, a->params_size);
}
