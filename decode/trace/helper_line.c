/* SPDX-License-Identifier: MIT */
/*
 * Finds source lines of addresses with libdw: in the file, below /usr/lib/debug/.build-id, or in
 * the file named by .gnu_debuglink. libdw is loaded on demand, so that reports run where it is not
 * installed; by the parent, because another of its threads may hold the loader's lock at the fork.
 * libdw is called only in the child, where it may use all its time or crash.
 */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/base/uncounted.h"
#include "decode/trace/helper.h"

#define FUNCTIONS(X)                    \
	X(dwarf_getsrc_die)             \
	X(dwarf_haspc)                  \
	X(dwarf_lineno)                 \
	X(dwarf_linesrc)                \
	X(dwfl_begin)                   \
	X(dwfl_lineinfo)                \
	X(dwfl_module_build_id)         \
	X(dwfl_module_getelf)           \
	X(dwfl_module_getsrc)           \
	X(dwfl_module_nextcu)           \
	X(dwfl_offline_section_address) \
	X(dwfl_report_end)              \
	X(dwfl_report_offline)          \
	X(dwfl_standard_find_debuginfo)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(MEMBER)
} dw;

static bool loaded;

static bool load_functions(void *library)
{
	void *symbol;

#define LOOK_UP(name)                   \
	symbol = dlsym(library, #name); \
	if (!symbol)                    \
		return false;           \
	memcpy(&dw.name, &symbol, sizeof(dw.name));
	FUNCTIONS(LOOK_UP)
	return true;
}

bool nvs_helper_load_libdw(void)
{
	static bool tried;
	void *library;

	if (tried)
		return false;
	tried = true;
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	loaded = library && load_functions(library);
	return loaded;
}

/* An opened file; module is NULL if it is not the traced file. */
struct opened {
	struct opened *next;
	Dwfl_Module *module;
	char *path;
	uint8_t id[NVS_HELPER_MAX_ID];
	uint32_t id_length;
};

static Dwfl_Module *open_module(const struct nvs_helper_question *q)
{
	static Dwfl_Callbacks callbacks;
	const unsigned char *id;
	GElf_Addr at;
	Dwfl_Module *m;
	struct stat st;
	Dwfl *dwfl;
	int fd = open(q->text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
	callbacks.section_address = dw.dwfl_offline_section_address;
	dwfl = dw.dwfl_begin(&callbacks);
	m = dwfl ? dw.dwfl_report_offline(dwfl, "", q->text, fd) : NULL;
	if (!m || dw.dwfl_report_end(dwfl, NULL, NULL) ||
	    dw.dwfl_module_build_id(m, &id, &at) != (int)q->id_length ||
	    memcmp(id, q->id, q->id_length))
		return NULL;
	return m;
}

static Dwfl_Module *find_module(const struct nvs_helper_question *q)
{
	static struct opened *all;
	struct opened *o;

	for (o = all; o; o = o->next)
		if (o->id_length == q->id_length && !memcmp(o->id, q->id, q->id_length) &&
		    !strcmp(o->path, q->text))
			return o->module;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->path = strdup(q->text);
	o->id_length = q->id_length;
	memcpy(o->id, q->id, q->id_length);
	if (o->path) {
		o->module = open_module(q);
		o->next = all;
		all = o;
	}
	return o->module;
}

/* Without a table of addresses, search the units one by one. */
static const char *search_units(Dwfl_Module *m, GElf_Addr address, int *number)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while ((unit = dw.dwfl_module_nextcu(m, unit, &bias))) {
		Dwarf_Line *line = dw.dwarf_haspc(unit, address - bias) > 0
					   ? dw.dwarf_getsrc_die(unit, address - bias)
					   : NULL;

		if (line && !dw.dwarf_lineno(line, number))
			return dw.dwarf_linesrc(line, NULL, NULL);
	}
	return NULL;
}

void nvs_helper_find_line(const struct nvs_helper_question *q, char *text, size_t room)
{
	Dwfl_Module *m = loaded ? find_module(q) : NULL;
	const char *file, *slash;
	int number = 0;
	GElf_Addr bias;
	Dwfl_Line *line;

	*text = '\0';
	if (!m || !dw.dwfl_module_getelf(m, &bias))
		return;
	line = dw.dwfl_module_getsrc(m, q->offset + bias);
	file = line ? dw.dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL)
		    : search_units(m, q->offset + bias, &number);
	if (!file || number <= 0)
		return;
	slash = strrchr(file, '/');
	if ((size_t)snprintf(text, room, "%s:%d", slash ? slash + 1 : file, number) >= room)
		*text = '\0';
}
