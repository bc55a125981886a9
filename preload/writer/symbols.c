/* SPDX-License-Identifier: MIT */
/* Names of addresses in one ELF object, from its symbol tables. */
#include <elf.h>
#include <limits.h>
#include <sys/uio.h>
#include <string.h>
#include "preload/base/outfile.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/symbols.h"

#define PIECE 1024u /* symbols or section headers that are read at once */
#define MAX_TABLES 4u
#define MAX_SECTIONS 65536u
#define MAX_SYMBOLS (64u << 20)
#define MAX_DYNAMIC 512u
#define NOTES 4096u

/* Positions are offsets in the file; with fd < 0, addresses in memory. */
struct elf_symbol_table {
	int fd;
	uint64_t symbols, count;
	uint64_t strings, bytes;
	bool exported;
};

struct symbol_search {
	struct nvs_wanted *wanted;
	size_t n;
	struct elf_symbol_table tables[MAX_TABLES];
	unsigned ntables;
	int fds[2]; /* the file and its debug information */
	Elf64_Sym symbols[PIECE];
	Elf64_Shdr sections[PIECE / 2];
	uint8_t notes[NOTES];
	char name[NVS_HITS][NVS_NAME_MAX];
};

/*
 * Reads memory of an object that the program may unload, or whose file may have been truncated,
 * through the kernel, which returns an error instead of a fault. The library's threads block
 * SIGSEGV.
 */
static bool read_memory(uint64_t place, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)place, size};

	return nvs_syscall(SYS_process_vm_readv, nvs_sys_getpid(), (long)&here, 1, (long)&there, 1,
			   0) == (long)size;
}

static bool read_bytes(int fd, uint64_t place, void *to, size_t size)
{
	if (fd < 0)
		return read_memory(place, to, size);
	while (size) {
		long n = nvs_syscall(SYS_pread64, fd, (long)to, (long)size, (long)place, 0, 0);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		to = (uint8_t *)to + n;
		place += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

/* ---- symbols ---- */

/* Copies the name to TO, "" if there is none. Strings at the end of a table may be shorter than
 * SIZE. */
static const char *name_of(struct symbol_search *s, const struct nvs_hit *hit, char *to)
{
	const struct elf_symbol_table *t = hit->table ? &s->tables[hit->table - 1] : NULL;
	size_t used = 0;

	to[0] = '\0';
	while (t && hit->name < t->bytes && used < NVS_NAME_MAX) {
		size_t size = NVS_NAME_MAX - used < 256 ? NVS_NAME_MAX - used : 256;

		if (size > t->bytes - hit->name - used)
			size = t->bytes - hit->name - used;
		if (!size || !read_bytes(t->fd, t->strings + hit->name + used, to + used, size))
			break;
		if (memchr(to + used, 0, size))
			return to;
		used += size;
	}
	to[0] = '\0';
	return to;
}

/* Returns true if A is the better of two symbols at one address. The reader of traces uses the same
 * rule. */
static bool is_better_name(struct symbol_search *s, const struct nvs_hit *a,
			   const struct nvs_hit *b)
{
	const char *na = name_of(s, a, s->name[0]), *nb = name_of(s, b, s->name[1]);
	bool cuda_a = !strncmp(na, "cu", 2), cuda_b = !strncmp(nb, "cu", 2);
	size_t la = strlen(na), lb = strlen(nb);

	if (!la || !lb)
		return la > lb;
	if (cuda_a != cuda_b)
		return cuda_a;
	if (a->global != b->global)
		return a->global;
	if (la != lb)
		return la < lb;
	return strcmp(na, nb) < 0;
}

static void offer_hit(struct symbol_search *s, struct nvs_hit *best, const struct nvs_hit *hit)
{
	if (!best->table || hit->start > best->start ||
	    (hit->start == best->start && is_better_name(s, hit, best)))
		*best = *hit;
}

/* NEAREST is used only if it has no size. */
static void offer_nearest(struct symbol_search *s, struct nvs_hit *nearest,
			  const struct nvs_hit *hit)
{
	if (!hit->sized && nearest->table && nearest->start == hit->start && nearest->sized)
		return;
	if (hit->sized && (!nearest->table || hit->start >= nearest->start))
		*nearest = *hit;
	else if (!hit->sized)
		offer_hit(s, nearest, hit);
}

static void match_symbol(struct symbol_search *s, unsigned table, const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	struct nvs_hit hit = {.start = sym->st_value,
			      .name = sym->st_name,
			      .table = (uint8_t)(table + 1),
			      .global = ELF64_ST_BIND(sym->st_info) == STB_GLOBAL,
			      .sized = sym->st_size != 0};
	unsigned from = s->tables[table].exported ? NVS_HIT_EXPORTED : NVS_HIT_ANY;
	uint64_t steps = 0; /* not used here */
	size_t first;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !sym->st_name ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return;
	first = nvs_wanted_from(s->wanted, s->n, hit.start, &steps);
	for (unsigned k = from; first < s->n && k < NVS_HITS; k++) {
		offer_nearest(s, &s->wanted[first].nearest[k], &hit);
		for (size_t i = first; i < s->n && s->wanted[i].address - hit.start < sym->st_size;
		     i++)
			offer_hit(s, &s->wanted[i].covering[k], &hit);
	}
}

static void read_table(struct symbol_search *s, unsigned table)
{
	const struct elf_symbol_table *t = &s->tables[table];

	for (uint64_t i = 0; i < t->count; i += PIECE) {
		size_t n = t->count - i < PIECE ? (size_t)(t->count - i) : PIECE;

		if (!read_bytes(t->fd, t->symbols + i * sizeof(Elf64_Sym), s->symbols,
				n * sizeof(Elf64_Sym)))
			return;
		for (size_t k = 0; k < n; k++)
			match_symbol(s, table, &s->symbols[k]);
	}
}

static void add_table(struct symbol_search *s, const struct elf_symbol_table *table)
{
	if (s->ntables < MAX_TABLES && table->count <= MAX_SYMBOLS)
		s->tables[s->ntables++] = *table;
}

/* ---- the file ---- */

static bool has_id(const struct nvs_elf_module *o, const uint8_t *p, size_t size, bool *seen)
{
	const uint8_t *end = p + size;

	while ((size_t)(end - p) >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, desc;

		memcpy(&note, p, sizeof(note));
		name = (note.n_namesz + 3ull) & ~3ull;
		desc = (note.n_descsz + 3ull) & ~3ull;
		p += sizeof(note);
		if (name + desc > (uint64_t)(end - p))
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(p, "GNU", 4)) {
			*seen = true;
			if (note.n_descsz == o->build_id_length &&
			    !memcmp(p + name, o->build_id, o->build_id_length))
				return true;
		}
		p += name + desc;
	}
	return false;
}

static bool notes_match(struct symbol_search *s, const struct nvs_elf_module *o, int fd,
			uint64_t place, uint64_t size, bool *seen)
{
	size = size < NOTES ? size : NOTES;
	return read_bytes(fd, place, s->notes, size) && has_id(o, s->notes, size, seen);
}

static void add_section(struct symbol_search *s, int fd, const Elf64_Ehdr *head,
			const Elf64_Shdr *sh)
{
	struct elf_symbol_table t = {
		.fd = fd, .symbols = sh->sh_offset, .exported = sh->sh_type == SHT_DYNSYM};
	Elf64_Shdr strings;

	if ((sh->sh_type != SHT_DYNSYM && sh->sh_type != SHT_SYMTAB) ||
	    sh->sh_entsize != sizeof(Elf64_Sym) || sh->sh_link >= MAX_SECTIONS ||
	    !read_bytes(fd, head->e_shoff + sh->sh_link * sizeof(*sh), &strings, sizeof(strings)))
		return;
	t.count = sh->sh_size / sizeof(Elf64_Sym);
	t.strings = strings.sh_offset;
	t.bytes = strings.sh_size;
	add_table(s, &t);
}

static bool program_headers_match(struct symbol_search *s, const struct nvs_elf_module *o, int fd,
				  const Elf64_Ehdr *head)
{
	Elf64_Phdr ph;
	bool seen = false;

	for (unsigned i = 0; i < head->e_phnum && head->e_phentsize == sizeof(ph); i++)
		if (read_bytes(fd, head->e_phoff + i * sizeof(ph), &ph, sizeof(ph)) &&
		    ph.p_type == PT_NOTE && notes_match(s, o, fd, ph.p_offset, ph.p_filesz, &seen))
			return true;
	return false;
}

/* Adds the file's tables if it is the object's file. Returns whether it is. */
static bool add_file(struct symbol_search *s, const struct nvs_elf_module *o, int fd)
{
	bool is = !o->build_id_length, seen = false;
	unsigned before = s->ntables;
	const unsigned at_once = PIECE / 2;
	Elf64_Ehdr head;

	if (!read_bytes(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	for (unsigned i = 0; i < head.e_shnum && head.e_shentsize == sizeof(Elf64_Shdr);
	     i += at_once) {
		unsigned n = head.e_shnum - i < at_once ? head.e_shnum - i : at_once;

		if (!read_bytes(fd, head.e_shoff + i * sizeof(Elf64_Shdr), s->sections,
				n * sizeof(Elf64_Shdr)))
			break;
		for (unsigned k = 0; k < n; k++) {
			const Elf64_Shdr *sh = &s->sections[k];

			if (sh->sh_type == SHT_NOTE && !is)
				is = notes_match(s, o, fd, sh->sh_offset, sh->sh_size, &seen);
			add_section(s, fd, &head, sh);
		}
	}
	/* Without section headers, use the program headers. */
	is = is || (!seen && program_headers_match(s, o, fd, &head));
	if (!is)
		s->ntables = before;
	return is;
}

/* The loader knows an object by the name it was opened with, which may be relative. */
static int open_file(const char *path)
{
	char absolute[PATH_MAX];
	struct stat st;
	int fd = nvs_path_absolute(nvs_options()->folder, path, absolute);

	if (fd)
		return fd;
	fd = nvs_sys_open(absolute, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd >= 0 && (nvs_sys_fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		nvs_sys_close(fd);
		return -ENOENT;
	}
	return fd;
}

/* /usr/lib/debug/.build-id/ab/cdef.debug */
static void debug_path(const struct nvs_elf_module *o, char *to)
{
	static const char digits[] = "0123456789abcdef";

	to = stpcpy(to, "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < o->build_id_length; i++) {
		*to++ = digits[o->build_id[i] >> 4];
		*to++ = digits[o->build_id[i] & 15];
		if (!i)
			*to++ = '/';
	}
	strcpy(to, ".debug");
}

static bool open_files(struct symbol_search *s, const struct nvs_elf_module *o)
{
	char path[256];
	bool well;

	s->fds[0] = *o->path ? open_file(o->path) : -ENOENT;
	well = s->fds[0] >= 0 && add_file(s, o, s->fds[0]);
	if (well && o->build_id_length >= 2 && o->build_id_length <= 64) {
		debug_path(o, path);
		s->fds[1] = open_file(path);
		if (s->fds[1] >= 0)
			add_file(s, o, s->fds[1]);
	}
	return well;
}

/* ---- memory ---- */

/* Returns the number of symbols in a GNU hash table, found at the end of its last chain. */
static uint64_t count_by_gnu_hash(uint64_t place)
{
	uint32_t head[4], bucket, word = 0, last = 0;
	uint64_t buckets, chain;

	if (!read_bytes(-1, place, head, sizeof(head)))
		return 0;
	buckets = place + sizeof(head) + head[2] * 8ull;
	chain = buckets + head[0] * 4ull;
	for (uint32_t i = 0; i < head[0]; i++) {
		if (!read_bytes(-1, buckets + i * 4ull, &bucket, 4))
			return 0;
		last = bucket > last ? bucket : last;
	}
	if (last < head[1])
		return 0;
	do
		if (last > MAX_SYMBOLS ||
		    !read_bytes(-1, chain + (last++ - head[1]) * 4ull, &word, 4))
			return 0;
	while (!(word & 1));
	return last;
}

static uint64_t count_by_hash(uint64_t place)
{
	uint32_t head[2] = {0, 0};

	return read_bytes(-1, place, head, sizeof(head)) ? head[1] : 0;
}

/* The loader relocates these addresses in place, but not in every object. */
static uint64_t to_address(const struct nvs_elf_module *o, uint64_t value)
{
	return value && value < o->bias ? o->bias + value : value;
}

static void add_dynamic(struct symbol_search *s, const struct nvs_elf_module *o, uint64_t place)
{
	struct elf_symbol_table t = {.fd = -1, .exported = true};
	uint64_t gnu = 0, hash = 0;
	Elf64_Dyn d;

	for (unsigned i = 0; i < MAX_DYNAMIC; i++) {
		if (!read_bytes(-1, place + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			t.symbols = to_address(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRTAB)
			t.strings = to_address(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRSZ)
			t.bytes = d.d_un.d_val;
		else if (d.d_tag == DT_GNU_HASH)
			gnu = to_address(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_HASH)
			hash = to_address(o, d.d_un.d_ptr);
	}
	t.count = hash ? count_by_hash(hash) : gnu ? count_by_gnu_hash(gnu) : 0;
	if (t.symbols && t.strings)
		add_table(s, &t);
}

/* Reads the object's memory. Another object may be mapped there by now: check the build ID. */
static void add_memory(struct symbol_search *s, const struct nvs_elf_module *o)
{
	bool is = !o->build_id_length, seen = false;
	uint64_t dynamic = 0;
	Elf64_Ehdr head;
	Elf64_Phdr ph;

	if (!o->loaded || !read_bytes(-1, o->start, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_phentsize != sizeof(ph))
		return;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!read_bytes(-1, o->start + head.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return;
		if (ph.p_type == PT_DYNAMIC)
			dynamic = o->bias + ph.p_vaddr;
		else if (ph.p_type == PT_NOTE && !is)
			is = notes_match(s, o, -1, o->bias + ph.p_vaddr, ph.p_memsz, &seen);
	}
	if (is && dynamic)
		add_dynamic(s, o, dynamic);
}

/* ---- entry point ---- */

/* Returns the innermost symbol, or else one without a size, which extends to the next. */
static const struct nvs_hit *best_hit(const struct nvs_wanted *w, unsigned which)
{
	static const struct nvs_hit none;

	if (w->covering[which].table)
		return &w->covering[which];
	return w->nearest[which].sized ? &none : &w->nearest[which];
}

static void report_names(struct symbol_search *s, bool looked,
			 void (*tell)(void *arg, const struct nvs_name *name), void *arg)
{
	for (size_t i = 0; i < s->n; i++) {
		struct nvs_wanted *w = &s->wanted[i];
		const struct nvs_hit *any, *exported;
		struct nvs_name name = {.wanted = w};

		for (unsigned k = 0; i && k < NVS_HITS; k++)
			if (!w->nearest[k].table || w->nearest[k].start < w[-1].nearest[k].start)
				w->nearest[k] = w[-1].nearest[k];
		any = best_hit(w, NVS_HIT_ANY);
		exported = best_hit(w, NVS_HIT_EXPORTED);
		name.name = name_of(s, any, s->name[0]);
		name.offset = w->address - any->start;
		name.exported = name_of(s, exported, s->name[1]);
		name.exported_offset = w->address - exported->start;
		if (looked || *name.name || *name.exported)
			tell(arg, &name);
	}
}

void nvs_symbols_find(void *scratch, const struct nvs_elf_module *object, bool files,
		      struct nvs_wanted *wanted, size_t n,
		      void (*tell)(void *arg, const struct nvs_name *name), void *arg)
{
	struct symbol_search *s = scratch;
	bool looked;

	_Static_assert(sizeof(*s) <= NVS_SCRATCH_BYTES, "too little room");
	s->wanted = wanted;
	s->n = n;
	s->ntables = 0;
	s->fds[0] = s->fds[1] = -1;
	looked = files && open_files(s, object);
	if (!looked)
		add_memory(s, object);
	for (unsigned i = 0; i < s->ntables; i++)
		read_table(s, i);
	report_names(s, looked, tell, arg);
	for (int i = 0; i < 2; i++)
		if (s->fds[i] >= 0)
			nvs_sys_close(s->fds[i]);
}
