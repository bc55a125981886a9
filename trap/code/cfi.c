/* SPDX-License-Identifier: MIT */
/* Call frame information: finds the function that covers an address, and runs its frame
 * instructions up to that address. */
#include <link.h>
#include "trap/arch/cpu.h"
#include "trap/code/cfi.h"
#include "trap/code/cfirun.h"
#include "trap/view.h"
#include "trap/low/poison.h"

/* Finds the segment of M that holds ADDRESS and has all of FLAGS. */
static const ElfW(Phdr) *
	segment_of(const struct dl_phdr_info *m, uintptr_t address, uint32_t flags)
{
	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &m->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & flags) == flags &&
		    address - m->dlpi_addr - ph->p_vaddr < ph->p_filesz)
			return ph;
	}
	return NULL;
}

/* Sets C to read from ADDRESS to the end of the segment's data; an address outside makes it bad. */
static void cursor_in(struct nvs_cfi_cursor *c, const struct dl_phdr_info *m, uintptr_t address)
{
	const ElfW(Phdr) *ph = segment_of(m, address, PF_R);

	nvs_cfi_cursor_set(c, address, ph ? m->dlpi_addr + ph->p_vaddr + ph->p_filesz : 0);
}

static const struct dl_phdr_info *module_of(const struct nvs_module_view *view, uintptr_t pc,
					    const struct dl_phdr_info *first)
{
	if (first && segment_of(first, pc, PF_X))
		return first;
	for (uint32_t i = 0; view && i < view->nmodules; i++)
		if (segment_of(&view->modules[i], pc, PF_X))
			return &view->modules[i];
	return NULL;
}

/* ---- the sorted table: pairs of function and FDE, both relative to the header ---- */

struct cfi_table {
	uintptr_t header, entries;
	uint64_t count;
};

static enum nvs_cfi_result find_table(const struct dl_phdr_info *m, struct cfi_table *t)
{
	const ElfW(Phdr) *ph = NULL;
	uint8_t version, frame, count, table;
	struct nvs_cfi_cursor c;

	for (int i = 0; i < m->dlpi_phnum; i++)
		if (m->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			ph = &m->dlpi_phdr[i];
	if (!ph)
		return NVS_CFI_NO_TABLE;
	t->header = m->dlpi_addr + ph->p_vaddr;
	cursor_in(&c, m, t->header);
	if (c.bad || ph->p_memsz > c.end - t->header)
		return NVS_CFI_BAD;
	c.end = t->header + ph->p_memsz;
	version = nvs_get_byte(&c);
	frame = nvs_get_byte(&c);
	count = nvs_get_byte(&c);
	table = nvs_get_byte(&c);
	if (c.bad || version != 1)
		return NVS_CFI_BAD;
	if (count == NVS_PE_OMIT || table != NVS_PE_SORTED_TABLE)
		return NVS_CFI_NO_TABLE;
	if (frame != NVS_PE_OMIT)
		nvs_get_pointer(&c, frame, t->header);
	t->count = nvs_get_pointer(&c, count, t->header);
	t->entries = c.at;
	return c.bad || t->count > (c.end - c.at) / 8 ? NVS_CFI_BAD : NVS_CFI_FOUND;
}

static bool table_entry(const struct cfi_table *t, uint64_t i, uintptr_t *start, uintptr_t *fde)
{
	uint64_t pair;

	if (nvs_cfi_copy(&pair, (const void *)(t->entries + i * 8), 8) != 8)
		return false;
	*start = t->header + (uint64_t)(int32_t)pair;
	*fde = t->header + (uint64_t)(int32_t)(pair >> 32);
	return true;
}

/* Finds the FDE of the last function that starts at or before PC. */
static enum nvs_cfi_result search_table(const struct cfi_table *t, uintptr_t pc, uintptr_t *fde)
{
	uint64_t lo = 0, hi = t->count;
	uintptr_t start;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (!table_entry(t, mid, &start, fde))
			return NVS_CFI_BAD;
		if (start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NVS_CFI_NO_FUNCTION;
	return table_entry(t, lo - 1, &start, fde) ? NVS_CFI_FOUND : NVS_CFI_BAD;
}

/* ---- CIE and FDE ---- */

/* Reads length and id of the entry at C, and sets the cursor's end to the entry's end. *ID_AT is
 * the address of the id. */
static uint32_t open_entry(struct nvs_cfi_cursor *c, uintptr_t *id_at)
{
	uint64_t length = nvs_get_bytes(c, 4);

	if (length == 0xffffffff)
		length = nvs_get_bytes(c, 8);
	*id_at = c->at;
	if (length < 4 || length > c->end - c->at)
		c->bad = true;
	else
		c->end = c->at + length;
	return (uint32_t)nvs_get_bytes(c, 4);
}

/* Reads the data of each augmentation letter; an unknown letter may change what follows it. */
static void read_augmentation(struct nvs_cfi_entry *e, struct nvs_cfi_cursor *c,
			      const char *letters)
{
	uintptr_t end = nvs_get_uleb(c);

	e->augmented = true;
	if (end > c->end - c->at) {
		c->bad = true;
		return;
	}
	end += c->at;
	for (; *letters && !c->bad; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			e->encoding = nvs_get_byte(c);
			break;
		case 'P':
			encoding = nvs_get_byte(c);
			nvs_get_pointer(c, encoding & ~NVS_PE_INDIRECT, e->data);
			break;
		case 'L':
			nvs_get_byte(c);
			break;
		case 'S':
			e->signal = true;
			break;
		case 'B': /* aarch64: the key of signed return addresses */
			break;
		default:
			c->bad = true;
		}
	}
	if (c->at > end)
		c->bad = true;
	c->at = end;
}

static bool read_cie(struct nvs_cfi_entry *e, const struct dl_phdr_info *m, uintptr_t at)
{
	struct nvs_cfi_cursor *c = &e->initial;
	char letters[8];
	uintptr_t id_at;
	unsigned n = 0;
	uint8_t version;
	uint64_t ra;

	cursor_in(c, m, at);
	if (open_entry(c, &id_at))
		return false;
	version = nvs_get_byte(c);
	do
		letters[n] = (char)nvs_get_byte(c);
	while (letters[n] && ++n < sizeof(letters));
	if (c->bad || n == sizeof(letters) || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && nvs_get_bytes(c, 2) != 8) /* 8-byte addresses, no segment selector */
		return false;
	e->code_align = nvs_get_uleb(c);
	e->data_align = nvs_get_sleb(c);
	ra = version == 1 ? nvs_get_byte(c) : nvs_get_uleb(c);
	if (letters[0] == 'z')
		read_augmentation(e, c, letters + 1);
	else if (letters[0])
		return false;
	return !c->bad && ra == NVS_DW_RA && !(e->encoding & NVS_PE_INDIRECT);
}

static bool read_fde(struct nvs_cfi_entry *e, const struct dl_phdr_info *m, uintptr_t at,
		     uintptr_t data)
{
	struct nvs_cfi_cursor *c = &e->own;
	uintptr_t id_at;
	uint32_t back;

	*e = (struct nvs_cfi_entry){.data = data};
	cursor_in(c, m, at);
	back = open_entry(c, &id_at);
	if (c->bad || !back || !read_cie(e, m, id_at - back))
		return false;
	e->start = nvs_get_pointer(c, e->encoding, data);
	e->end = e->start + nvs_get_value(c, e->encoding);
	if (e->augmented)
		nvs_cfi_cursor_skip(c, nvs_get_uleb(c));
	return !c->bad;
}

static void fill_result(struct nvs_cfi *cfi, const struct nvs_cfi_entry *e,
			const struct nvs_cfi_row *r)
{
	cfi->start = e->start;
	cfi->end = e->end;
	cfi->cfa_offset = r->cfa_offset;
	cfi->fp_offset = r->fp_offset;
	cfi->ra_offset = r->ra_offset;
	cfi->cfa_rule = r->cfa_rule;
	cfi->cfa_register = r->cfa_register;
	cfi->fp_rule = r->fp_rule;
	cfi->ra_rule = r->ra_rule;
	cfi->signal = e->signal;
	cfi->sp_is_cfa = r->sp_rule == NVS_REG_SAME;
}

enum nvs_cfi_result nvs_cfi_find(const struct nvs_module_view *modules, uintptr_t pc,
				 struct nvs_cfi *cfi)
{
	const struct dl_phdr_info *module = module_of(modules, pc, cfi->module);
	enum nvs_cfi_result result;
	struct nvs_cfi_row row;
	struct cfi_table table;
	struct nvs_cfi_entry entry;
	uintptr_t fde;

	if (!module)
		return NVS_CFI_NO_MODULE;
	cfi->module = module;
	result = find_table(module, &table);
	if (result == NVS_CFI_FOUND)
		result = search_table(&table, pc, &fde);
	if (result != NVS_CFI_FOUND)
		return result;
	if (!read_fde(&entry, module, fde, table.header))
		return NVS_CFI_BAD;
	if (pc < entry.start || pc >= entry.end)
		return NVS_CFI_NO_FUNCTION;
	if (!nvs_cfi_run(&entry, pc, &row))
		return NVS_CFI_BAD;
	fill_result(cfi, &entry, &row);
	return NVS_CFI_FOUND;
}
