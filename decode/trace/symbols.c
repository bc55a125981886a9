/* SPDX-License-Identifier: MIT */
/*
 * Finds names of addresses: from the trace, else from the symbol tables of the modules' files,
 * which are read with libelf on first use. These are files of this machine and may have any size;
 * each is read once, however many modules refer to it.
 */
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "decode/base/grow.h"
#include "decode/base/compare.h"
#include "decode/base/search.h"
#include "decode/trace/elf.h"
#include "decode/trace/internal.h"
#include "decode/base/uncounted.h"

#define MAX_SYMBOLS (16u << 20)
#define MAX_NOTES 1024
#define MAX_BACK 256 /* limit of the backward search for a covering module or symbol */

struct symbol {
	uint64_t start, size;
	const char *name;
	uint8_t binding;
};

struct symbol_list {
	struct symbol *items;
	uint32_t count, room;
};

/* Symbols of a file and of its debug information. */
struct names {
	struct {
		uint64_t dev, ino;
	} key[2]; /* 0: none */
	struct nvs_elf_file file, debug;
	struct symbol_list dynamic, all;
};

struct nvs_symbols {
	struct nvs_numbers modules; /* struct names by module number */
	struct nvs_rows names; /* struct names */
	const struct nvs_trace_module **order; /* sorted by start */
	uint32_t count;
	uint32_t known; /* number of modules when `order` was built */
	char *notes[MAX_NOTES];
	uint32_t nnotes;
};

/* Not for libnvsnoop: its names are not missed, and it differs after each upgrade. */
static void add_note(struct nvs_trace *t, const struct nvs_trace_module *m, const char *path,
		     const char *what)
{
	struct nvs_symbols *s = t->symbols;
	char safe[512];

	if (nvs_symbols_is_own(m))
		return;
	nvs_escape(safe, sizeof(safe), path, strlen(path));
	if (s->nnotes < MAX_NOTES && asprintf(&s->notes[s->nnotes], "%s: %s", safe, what) >= 0)
		s->nnotes++;
}

const char *nvs_trace_symbol_note(const struct nvs_trace *t, uint32_t index)
{
	return t->symbols && index < t->symbols->nnotes ? t->symbols->notes[index] : NULL;
}

/* ---- tables ---- */

static bool add_symbol(struct symbol_list *table, const GElf_Sym *sym, const char *name)
{
	struct symbol *own = NVS_APPEND(table->items, table->count, table->room, 1024, MAX_SYMBOLS);

	if (own)
		*own = (struct symbol){sym->st_value, sym->st_size, name,
				       GELF_ST_BIND(sym->st_info)};
	return own;
}

static void read_section(const struct nvs_elf_file *f, Elf_Scn *scn, const GElf_Shdr *shdr,
			 struct symbol_list *table)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 0; i < n && i < MAX_SYMBOLS; i++) {
		GElf_Sym sym;
		const char *name;
		int type;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		name = elf_strptr(f->elf, shdr->sh_link, sym.st_name);
		if (!name || !*name || name[0] == '$')
			continue;
		if (!add_symbol(table, &sym, name))
			break;
	}
}

static void read_symbols(const struct nvs_elf_file *f, uint32_t type, struct symbol_list *table)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type)
			read_section(f, scn, &shdr, table);
}

/* Sorts by address; of several at one address the best name comes last, where the search ends. */
static int compare_symbols(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;
	bool cuda_a = !strncmp(a->name, "cu", 2), cuda_b = !strncmp(b->name, "cu", 2);

	return NVS_CMP(a->start, b->start) ?: !b->size - !a->size ?: cuda_a - cuda_b ?: (a->binding == STB_GLOBAL) - (b->binding == STB_GLOBAL) ?: NVS_CMP(strlen(b->name), strlen(a->name)) ?: strcmp(b->name, a->name);
}

static const struct symbol *search_table(const struct symbol_list *table, uint64_t address)
{
	size_t n = NVS_COUNT_UP_TO(table->items, table->count, start, address);
	const struct symbol *open_ended = NULL;

	for (uint32_t back = 0; n > 0 && back < MAX_BACK; back++) {
		const struct symbol *s = table->items + --n;

		if (address - s->start < s->size)
			return s;
		/* A symbol without size extends to the next one: valid only if it is the
		 * nearest. */
		if (!s->size && !back)
			open_ended = s;
	}
	return open_ended;
}

/* ---- modules ---- */

static void debug_path(char *dst, size_t room, const struct nvs_trace_module *m)
{
	int n = snprintf(dst, room, "/usr/lib/debug/.build-id/%02x/", m->build_id[0]);

	for (uint32_t i = 1; i < m->build_id_length && (size_t)n + 3 < room; i++)
		n += snprintf(dst + n, room - (size_t)n, "%02x", m->build_id[i]);
	snprintf(dst + n, room - (size_t)n, ".debug");
}

bool nvs_symbols_path(char *dst, size_t room, const struct nvs_trace *t,
		      const struct nvs_trace_module *m)
{
	const char *cwd = t->session.attr[NVS_ATTR_CWD];
	int n;

	if (m->path[0] == '/')
		n = snprintf(dst, room, "%s", m->path);
	else if (strchr(m->path, '/') && cwd && cwd[0] == '/')
		n = snprintf(dst, room, "%s/%s", cwd, m->path);
	else
		return false;
	return (size_t)n < room;
}

static void load_files(struct nvs_trace *t, struct names *mod, const struct nvs_trace_module *m)
{
	char path[4096];

	if (!nvs_symbols_path(path, sizeof(path), t, m))
		return;
	if (!nvs_elf_open(&mod->file, path)) {
		/* Not for the driver and its runtime: they export few names and are missing on
		 * other machines. */
		if (!nvs_module_is_between(m))
			add_note(t, m, path, "cannot be read; its addresses have no names");
	} else if (!nvs_elf_matches(&mod->file, m)) {
		add_note(t, m, path,
			 "is not the file that was traced (its build-id differs); its addresses "
			 "have no names");
		nvs_elf_close(&mod->file);
	}
	if (m->build_id_length < 2)
		return;
	debug_path(path, sizeof(path), m);
	if (nvs_elf_open(&mod->debug, path) && !nvs_elf_matches(&mod->debug, m))
		nvs_elf_close(&mod->debug);
}

static void set_key(struct names *names, int which, const struct nvs_elf_file *f)
{
	struct stat st;

	if (!f->elf || fstat(f->fd, &st))
		return;
	names->key[which].dev = st.st_dev;
	names->key[which].ino = st.st_ino;
}

static void read_tables(struct names *names)
{
	if (names->file.elf) {
		read_symbols(&names->file, SHT_DYNSYM, &names->dynamic);
		read_symbols(&names->file, SHT_DYNSYM, &names->all);
		read_symbols(&names->file, SHT_SYMTAB, &names->all);
	}
	if (names->debug.elf)
		read_symbols(&names->debug, SHT_SYMTAB, &names->all);
	if (names->dynamic.count)
		qsort(names->dynamic.items, names->dynamic.count, sizeof(struct symbol),
		      compare_symbols);
	if (names->all.count)
		qsort(names->all.items, names->all.count, sizeof(struct symbol), compare_symbols);
}

static struct names *load_names(struct nvs_trace *t, const struct nvs_trace_module *m)
{
	struct names *names = nvs_number_get(&t->symbols->modules, m->module), like;

	if (names)
		return names;
	memset(&like, 0, sizeof(like));
	load_files(t, &like, m);
	set_key(&like, 0, &like.file);
	set_key(&like, 1, &like.debug);
	names = nvs_rows_at(&t->symbols->names, like.key);
	if (!names || names->file.elf || names->debug.elf) {
		nvs_elf_close(&like.file);
		nvs_elf_close(&like.debug);
	} else {
		*names = like;
		read_tables(names);
	}
	if (names)
		nvs_number_set(&t->symbols->modules, m->module, names);
	return names;
}

static int compare_modules(const void *pa, const void *pb)
{
	const struct nvs_trace_module *a = *(const struct nvs_trace_module *const *)pa;
	const struct nvs_trace_module *b = *(const struct nvs_trace_module *const *)pb;

	return NVS_CMP(a->start, b->start) ?: NVS_CMP(a->module, b->module);
}

static bool update_order(struct nvs_trace *t)
{
	struct nvs_symbols *s = t->symbols;

	if (!s) {
		s = t->symbols = calloc(1, sizeof(*s));
		if (!s)
			return false;
		s->names = NVS_ROWS(struct names, key);
	}
	if (s->known == t->modules.count)
		return true;
	free(s->order);
	s->count = 0;
	s->order = calloc(t->modules.count, sizeof(*s->order));
	if (!s->order)
		return false;
	s->known = t->modules.count;
	for (uint32_t i = 0; i < t->modules.count; i++) {
		const struct nvs_trace_module *m = nvs_trace_module_at(t, i);

		if (m && m->start < m->end)
			s->order[s->count++] = m;
	}
	qsort(s->order, s->count, sizeof(*s->order), compare_modules);
	return true;
}

/* How long before its module was noticed TIME is: it may have been used by then. */
static uint64_t time_before(const struct nvs_trace_module *m, uint64_t time)
{
	return time < m->time ? m->time - time : 0;
}

const struct nvs_trace_module *nvs_symbols_module(struct nvs_trace *t, uint64_t pc, uint64_t time)
{
	const struct nvs_trace_module *best = NULL;
	uint32_t lo = 0, hi;

	if (!update_order(t))
		return NULL;
	hi = t->symbols->count;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->symbols->order[mid]->start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t back = 0; lo > 0 && back < MAX_BACK; back++) {
		const struct nvs_trace_module *m = t->symbols->order[--lo];

		/* An unloaded module is no longer used: prefer none to another one at the same
		 * address. */
		if (pc >= m->end || time > m->gone_time)
			continue;
		if (!best || time_before(m, time) < time_before(best, time))
			best = m;
	}
	return best;
}

const char *nvs_symbols_file(const struct nvs_trace_module *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

bool nvs_symbols_is_own(const struct nvs_trace_module *m)
{
	return !strncmp(nvs_symbols_file(m), "libnvsnoop.", 11);
}

const char *nvs_symbols_lookup(struct nvs_trace *t, const struct nvs_trace_module *m, uint64_t pc,
			       bool dynamic, uint64_t *offset)
{
	uint64_t address = m ? pc - m->bias : pc;
	const struct nvs_embedded_name *named = nvs_embedded_names_find(t, m ? m->module : NVS_NONE,
									address);
	const struct symbol *s;
	struct names *mod;

	if (named)
		return nvs_embedded_name_get(named, dynamic, offset);
	if (!m)
		return dynamic ? NULL : nvs_perfmap_lookup(t, pc, offset);
	mod = update_order(t) ? load_names(t, m) : NULL;
	s = mod ? search_table(dynamic ? &mod->dynamic : &mod->all, address) : NULL;
	if (!s)
		return NULL;
	*offset = address - s->start;
	return s->name;
}

bool nvs_symbols_has_file(struct nvs_trace *t, const struct nvs_trace_module *m)
{
	const struct names *mod = update_order(t) ? load_names(t, m) : NULL;

	return mod && mod->file.elf;
}

void nvs_symbol_find(struct nvs_trace *t, uint64_t pc, uint64_t time, struct nvs_symbol *symbol)
{
	const struct nvs_trace_module *m = nvs_symbols_module(t, pc, time);
	uint32_t number = m ? m->module : NVS_NONE;
	uint64_t address = m ? pc - m->bias : pc, offset;
	bool call;

	memset(symbol, 0, sizeof(*symbol));
	symbol->offset = address;
	if (m) {
		symbol->module = m;
		symbol->file = nvs_symbols_file(m);
	}
	/* The trace names return addresses by the call before them. */
	call = !nvs_embedded_names_find(t, number, address) &&
	       nvs_embedded_names_find(t, number, address - 1);
	symbol->name = nvs_symbols_lookup(t, m, pc - call, true, &offset);
	symbol->exported = symbol->name != NULL;
	if (!symbol->name)
		symbol->name = nvs_symbols_lookup(t, m, pc - call, false, &offset);
	if (symbol->name) {
		symbol->offset = offset + call;
		symbol->name = nvs_demangled_name(t, symbol->name);
	}
}

static void free_names(void *row)
{
	struct names *names = row;

	nvs_elf_close(&names->file);
	nvs_elf_close(&names->debug);
	free(names->dynamic.items);
	free(names->all.items);
}

void nvs_symbols_free(struct nvs_trace *t)
{
	struct nvs_symbols *s = t->symbols;

	if (!s)
		return;
	nvs_numbers_free(&s->modules, NULL);
	nvs_rows_free(&s->names, free_names);
	for (uint32_t i = 0; i < s->nnotes; i++)
		free(s->notes[i]);
	free(s->order);
	free(s);
	t->symbols = NULL;
}
