/* SPDX-License-Identifier: MIT */
/*
 * The unwinder: libunwind's unw_backtrace, loaded so that its symbols stay out of the global scope (its
 * _Unwind_* would take over C++ exceptions), else glibc's backtrace.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
#include "preload/live.h"

#define LIBRARY "libunwind.so.8"

static const char *unwinder = "none";

/* NAME beside our own library, as in a bundle; NULL where it is not there. */
static void *load_beside(const char *name)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)&unwinder, &info) || !(slash = strrchr(info.dli_fname, '/')) ||
	    snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
		     name) >= (int)sizeof(path))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* A bundle brings libunwind, and the liblzma that it finds loaded then. */
static void *load(void)
{
	void *handle;

	load_beside("liblzma.so.5");
	handle = load_beside(LIBRARY);
	return handle ? handle : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

void nvs_unwinder_load(void)
{
	void *handle, *symbol = NULL;
	nvs_backtrace_fn fn;
	void *pcs[2];

	if (!nvs_options()->values.backtrace)
		return;
	handle = load();
	if (handle)
		symbol = dlsym(handle, "unw_backtrace");
	if (symbol) {
		memcpy(&fn, &symbol, sizeof(fn));
		unwinder = "libunwind";
	} else {
		/* Its first call loads libgcc_s. */
		backtrace(pcs, 2);
		fn = backtrace;
		unwinder = "backtrace";
	}
	/* A failed dlopen leaves its message for the program's next dlerror(): taken away. */
	dlerror();
	nvs_callsite_set(fn);
}

const char *nvs_unwinder_name(void)
{
	return nvs_options()->values.backtrace ? unwinder : "none";
}
