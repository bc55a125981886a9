/* SPDX-License-Identifier: MIT */
/*
 * dlsym and dlvsym: finds the real ones and wraps lookups of driver API names; for other names the
 * stub in arch/, lookup.S, jumps to the real one. A library that hooks dlsym and looks up the C
 * library's gets a stub too. The real one identifies its caller by the return address: where that
 * matters (RTLD_NEXT, RTLD_DEFAULT), it is called so that it returns to a return inside
 * the caller's module, which then returns here.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "preload/modules/deepbind.h"

#define GADGET_REACH 0x10000 /* bytes after the call that are searched for a return */

void *nvs_real_dlsym, *nvs_real_dlvsym, *nvs_real_dlopen;
/* The C library's own functions; the stubs *_below are in front of them. */
void *nvs_libc_dlsym, *nvs_libc_dlvsym;
extern const uint8_t nvs_dlsym_below[], nvs_dlvsym_below[];

/* Called by the stubs, with the C calling convention. */
void nvs_api_lookup(void);
void *nvs_api_dlsym(void *handle, const char *name, const void *caller);
void *nvs_api_dlvsym(void *handle, const char *name, const char *version, const void *caller);
void *nvs_api_dlsym_below(void *handle, const char *name, const void *caller);
void *nvs_api_dlvsym_below(void *handle, const char *name, const char *version, const void *caller);
bool nvs_api_opening(const char *path, int flags);
void *nvs_api_open(const char *path, int flags);

/* Calls no C library function: a sanitizer that is starting may have replaced them. */
static bool ends_in(const char *path, const char *name)
{
	const char *end = path, *last = name;

	while (*end)
		end++;
	while (*last)
		last++;
	while (end > path && last > name && end[-1] == last[-1]) {
		end--;
		last--;
	}
	return last == name;
}

/* Two libraries before glibc 2.34. */
static bool is_libc(const char *path)
{
	return ends_in(path, "/libc.so.6") || ends_in(path, "/libdl.so.2");
}

/* The first object after this library that defines NAME: possibly another preloaded library,
 * finally the C library. LIBC: only the C library. */
static void *find_next(const struct link_map *own, const char *name, bool libc)
{
	for (const struct link_map *m = own->l_next; m; m = m->l_next) {
		struct nvs_loaded_elf elf;
		uintptr_t found;

		if (!m->l_ld || !m->l_name || strstr(m->l_name, "vdso") ||
		    (libc && !is_libc(m->l_name)) || !nvs_elf_parse(&elf, m->l_addr, m->l_ld))
			continue;
		found = nvs_elf_find_function(&elf, name);
		if (found)
			return (void *)found;
	}
	return NULL;
}

static __attribute__((noinline)) void find_real(void)
{
	const struct link_map *own = nvs_own_object();
	NVS_KEEP_ERRNO();

	if (!own)
		return;
	nvs_real_dlvsym = find_next(own, "dlvsym", false);
	nvs_real_dlopen = find_next(own, "dlopen", false);
	nvs_libc_dlsym = find_next(own, "dlsym", true);
	nvs_libc_dlvsym = find_next(own, "dlvsym", true);
	__atomic_store_n(&nvs_real_dlsym, find_next(own, "dlsym", false), __ATOMIC_RELEASE);
}

/* Called before every lookup of a name outside the driver API. */
void nvs_api_lookup(void)
{
	if (__builtin_expect(!__atomic_load_n(&nvs_real_dlsym, __ATOMIC_ACQUIRE), 0))
		find_real();
	nvs_api_rebind();
}

struct gadget_search {
	uintptr_t caller;
	const void *gadget;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct gadget_search *s = arg;
	const ElfW(Phdr) *ph = nvs_elf_find_text(info, s->caller);
	uintptr_t room;

	if (!ph)
		return 0;
	room = info->dlpi_addr + ph->p_vaddr + ph->p_filesz - s->caller;
	s->gadget = nvs_api_find_return((const void *)s->caller,
					room < GADGET_REACH ? room : GADGET_REACH);
	return 1;
}

static void *call_real(void *real, void *handle, const char *name, const char *version,
		       const void *caller)
{
	struct gadget_search s = {.caller = (uintptr_t)caller};

	if ((handle == RTLD_NEXT || handle == RTLD_DEFAULT) && nvs_api_may_return())
		nvs_next()->dl_iterate_phdr(search_object, &s);
	if (s.gadget)
		return nvs_api_call_as(handle, name, version, real, s.gadget);
	return version ? ((void *(*)(void *, const char *, const char *))real)(handle, name,
									       version)
		       : ((void *(*)(void *, const char *))real)(handle, name);
}

/* Whoever looks up the C library's dlsym means to bypass all hooks. */
static void *wrap_lookup(void *found)
{
	if (!found || !nvs_api_is_enabled())
		return found;
	if (found == nvs_libc_dlsym)
		return (void *)nvs_dlsym_below;
	return found == nvs_libc_dlvsym ? (void *)nvs_dlvsym_below : found;
}

static void *answer_lookup(void *const *real, void *handle, const char *name, const char *version,
			   const void *caller)
{
	int saved = errno;
	void *p;

	nvs_api_lookup();
	p = call_real(*real, handle, name, version, caller);
	saved = p ? saved : errno;
	p = nvs_api_is_name(name) ? nvs_api_wrap(p, name) : wrap_lookup(p);
	errno = saved;
	return p;
}

void *nvs_api_dlsym(void *handle, const char *name, const void *caller)
{
	return answer_lookup(&nvs_real_dlsym, handle, name, NULL, caller);
}

void *nvs_api_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
	return version ? answer_lookup(&nvs_real_dlvsym, handle, name, version, caller) : NULL;
}

void *nvs_api_dlsym_below(void *handle, const char *name, const void *caller)
{
	return answer_lookup(&nvs_libc_dlsym, handle, name, NULL, caller);
}

void *nvs_api_dlvsym_below(void *handle, const char *name, const char *version, const void *caller)
{
	return version ? answer_lookup(&nvs_libc_dlvsym, handle, name, version, caller) : NULL;
}

/* ---- dlopen ---- */

/*
 * A library opened with RTLD_DEEPBIND must be scanned before the program gets its handle: its
 * constructor may have exported pointers to its functions. Returns true if the caller should use
 * nvs_api_open(). Not for names where dlopen depends on its caller, that is names to be searched
 * for or with $ tokens such as $ORIGIN: functions of such a library are found through dlsym, which
 * is hooked.
 */
bool nvs_api_opening(const char *path, int flags)
{
	NVS_KEEP_ERRNO();
	bool deep = flags & RTLD_DEEPBIND && !nvs_options()->disabled;

	nvs_api_lookup();
	if (deep)
		nvs_deepbind_before_open();
	return deep && path && strchr(path, '/') && !strchr(path, '$');
}

void *nvs_api_open(const char *path, int flags)
{
	void *handle = ((void *(*)(const char *, int))nvs_real_dlopen)(path, flags);
	NVS_KEEP_ERRNO();

	nvs_api_rebind();
	return handle;
}

/* cuGetProcAddress() */
void nvs_api_after_resolve(struct nvs_api_frame *f, uint32_t result)
{
	void **out = (void **)f->regs[1];
	NVS_KEEP_ERRNO();

	if (!result && out && *out) {
		/* The result may belong to another name, for example an older version of the
		 * function. */
		*out = nvs_api_wrap(*out, NULL);
		if (f->regs[0])
			nvs_api_note_lookup(*out, (const char *)f->regs[0]);
	}
}
