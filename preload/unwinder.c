/* SPDX-License-Identifier: MIT */
/*
 * The unwinder: libunwind's unw_backtrace, loaded so that its symbols stay out of the global scope (its
 * _Unwind_* would take over C++ exceptions), else glibc's backtrace.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "preload/live.h"

#define LIBRARY "libunwind.so.8"

static const char *unwinder = "none";
static uintptr_t code_start, code_end; /* of libunwind */

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

/* ---- libunwind's own file descriptors ---- */

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t symbol = (uintptr_t)arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    symbol - start < info->dlpi_phdr[i].p_memsz) {
			code_start = start;
			code_end = start + info->dlpi_phdr[i].p_memsz;
			return 1;
		}
	}
	return 0;
}

/*
 * libunwind tries addresses by writing from them into a pipe, which it makes when it first unwinds, in
 * the middle of the program. It gets one out of the way of programs that count on low numbers.
 */
__attribute__((visibility("default"))) int pipe2(int fds[2], int flags)
{
	static _Atomic(int (*)(int *, int)) cache;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);
	int (*next)(int *, int) = atomic_load(&cache);
	int ret;

	if (caller - code_start < code_end - code_start) {
		ret = (int)nvs_sys(SYS_pipe2, (long)fds, flags, 0, 0, 0, 0);
		if (ret) {
			errno = -ret;
			return -1;
		}
		fds[0] = nvs_fd_high(fds[0]);
		fds[1] = nvs_fd_high(fds[1]);
		return 0;
	}
	if (!next) {
		void *symbol = dlsym(RTLD_NEXT, "pipe2");

		memcpy(&next, &symbol, sizeof(next));
		atomic_store(&cache, next);
	}
	return next(fds, flags);
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
		nvs_next()->dl_iterate_phdr(find_code, symbol);
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
