/* SPDX-License-Identifier: MIT */
/* The unwinder: unw_backtrace of a private copy of libunwind, or else glibc's backtrace, which
 * libgcc does; on a processor that libunwind does not know well, always that. libunwind is loaded
 * with RTLD_LOCAL: its _Unwind_* functions would otherwise take over C++ exceptions. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/outfile.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/modules/elf.h"
#include "trap/arch/cpu.h"
#include "preload/modules/modules.h"

#define CACHE ((size_t)128 << 10) /* it works without mappings of at least this size */

static const char *unwinder = "none";

/* Loads NAME from the directory of our own library, whose path may be relative to where the program
 * started. Returns NULL if it is not found. */
static void *load_beside(const char *name)
{
	char beside[PATH_MAX], path[PATH_MAX];
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)&unwinder, &info) || !(slash = strrchr(info.dli_fname, '/')) ||
	    snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - info.dli_fname),
		     info.dli_fname, name) >= (int)sizeof(beside) ||
	    nvs_path_absolute(nvs_options()->folder, beside, path))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* ---- how libunwind validates addresses ---- */

/*
 * libunwind validates an address by writing from it into a pipe, which it creates at its first
 * unwind, in the middle of the program. These replacements need no descriptor: the kernel reads the
 * eight bytes of a signal mask before it rejects the call.
 */
#define NO_PIPE -2 /* -1 means to libunwind that the pipe is not created yet */

static uintptr_t code_start, code_end; /* of libunwind */
static bool replaced; /* its calls go to the functions below */
static bool tried; /* it has validated an address with them */
static unsigned given; /* how often it got no pipe */

/* Sets errno as the C library's functions do. */
static long set_errno(long ret)
{
	if (ret > -4096 && ret < 0) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}

static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	uint64_t *eight = (uint64_t *)((uintptr_t)b & ~7ul);

	/* The upper halves of an int argument are undefined. */
	if ((int)number != SYS_write || (int)a != NO_PIPE)
		return set_errno(nvs_syscall((int)number, a, b, c, d, e, f));
	tried = true;
	return nvs_sys_sigmask(-1, eight, NULL) == -EFAULT ? set_errno(-EFAULT) : 1;
}

/* Which of the two libunwind writes with depends on its version. */
static ssize_t write_to(int fd, const void *data, size_t size)
{
	return call_kernel(SYS_write, fd, (long)data, (long)size, 0, 0, 0);
}

static ssize_t read_from(int fd, void *data, size_t size)
{
	return set_errno(fd == NO_PIPE && tried ? -EAGAIN : nvs_sys_read(fd, data, size));
}

/* libunwind first asks whether the pages are mapped. This uses the same system call, since a
 * sandbox may not allow mincore(). Pages that are not resident can be read as well. */
static int are_pages(void *start, size_t size, unsigned char *resident)
{
	for (size_t at = 0, i = 0; at < size; at += nvs_page_bytes()) {
		if (nvs_sys_sigmask(-1, (void *)((uintptr_t)start + at), NULL) == -EFAULT) {
			errno = ENOMEM;
			return -1;
		}
		resident[i++] = 1;
	}
	return 0;
}

/* libunwind can do without its per-thread cache, initially 256 KiB: the program has priority if
 * address space is short. */
static void *map_for_it(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = NULL;

	if (!at && size >= CACHE) {
		at = nvs_sys_reserve(size);
		if (at)
			p = nvs_sys_mmap(at, size, prot, flags | MAP_FIXED, fd, (uint64_t)offset);
		/* It tries again at the next stack. */
		if (at && !p)
			nvs_sys_munmap(at, size);
	} else {
		p = nvs_sys_mmap(at, size, prot, flags, fd, (uint64_t)offset);
	}
	if (p)
		return p;
	errno = ENOMEM;
	return MAP_FAILED;
}

/* Replaces libunwind's slot for NAME. Returns false if it has none. */
static bool replace_slot(const struct dl_phdr_info *info, const struct nvs_loaded_elf *elf,
			 const char *name, uintptr_t by)
{
	const ElfW(Rela) * tables[2] = {elf->rela, elf->jmprel};
	size_t sizes[2] = {elf->rela ? elf->nrela : 0, elf->jmprel ? elf->njmprel : 0};
	bool found = false;

	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < sizes[t]; i++) {
			const ElfW(Rela) *r = &tables[t][i];
			uint32_t symbol = ELF64_R_SYM(r->r_info), type = ELF64_R_TYPE(r->r_info);

			if ((type != NVS_RELOC_SLOT && type != NVS_RELOC_GLOBAL) ||
			    symbol >= elf->count ||
			    strcmp(elf->strings + ((const ElfW(Sym) *)elf->symbols)[symbol].st_name,
				   name))
				continue;
			nvs_elf_store_slot(info, info->dlpi_addr + r->r_offset, by);
			found = *(uintptr_t *)(info->dlpi_addr + r->r_offset) == by;
		}
	return found;
}

/* ThreadSanitizer wraps these functions. Its wrappers must not run in the trap, nor on a thread
 * that it has already finished: libunwind frees its per-thread cache as late as that. */
static struct real_function {
	const char *name;
	void *function;
} real_functions[] = {{"pthread_mutex_lock"}, {"pthread_mutex_unlock"}};

#define NREAL (sizeof(real_functions) / sizeof(*real_functions))

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *text = nvs_elf_find_text(info, (uintptr_t)arg);
	struct nvs_elf_loaded o;

	if (!text)
		return 0;
	code_start = info->dlpi_addr + text->p_vaddr;
	code_end = code_start + text->p_memsz;
	if (!nvs_elf_loaded_open(&o, info))
		return 1;
	for (size_t i = 0; i < NREAL; i++)
		if (real_functions[i].function)
			replace_slot(info, &o.elf, real_functions[i].name,
				     (uintptr_t)real_functions[i].function);
	replace_slot(info, &o.elf, "mincore", (uintptr_t)are_pages);
	replace_slot(info, &o.elf, "mmap", (uintptr_t)map_for_it);
	if (replace_slot(info, &o.elf, "read", (uintptr_t)read_from)) {
		replaced = replace_slot(info, &o.elf, "syscall", (uintptr_t)call_kernel);
		replaced = replace_slot(info, &o.elf, "write", (uintptr_t)write_to) || replaced;
	}
	return 1;
}

/*
 * If libunwind validates addresses in another way, it takes NO_PIPE for a closed pipe and asks
 * again. It then gets a real pipe with high numbers, for programs that expect low numbers to be
 * free.
 */
int nvs_unwinder_pipe(int fds[2], int flags)
{
	int ret;

	/* Once at the start, and once for an address. */
	if (replaced && (tried || given++ < 2)) {
		fds[0] = fds[1] = NO_PIPE;
		return 0;
	}
	ret = (int)nvs_syscall(SYS_pipe2, (long)fds, flags, 0, 0, 0, 0);
	if (ret) {
		errno = -ret;
		return -1;
	}
	fds[0] = nvs_fd_move_high(fds[0]);
	fds[1] = nvs_fd_move_high(fds[1]);
	return 0;
}

bool nvs_unwinder_is_caller(const void *caller)
{
	return (uintptr_t)caller - code_start < code_end - code_start;
}

/* glibc's backtrace(), also where the program has libunwind, which has such a function, too. NULL:
 * there is none. */
static nvs_backtrace_fn load_glibcs(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *symbol = libc ? dlsym(libc, "backtrace") : NULL;
	nvs_backtrace_fn fn;
	void *pcs[2];

	if (!symbol)
		return NULL;
	memcpy(&fn, &symbol, sizeof(fn));
	fn(pcs, 2); /* the first call loads libgcc_s */
	unwinder = NVS_USES_LIBUNWIND ? "backtrace" : "libgcc";
	return fn;
}

void nvs_unwinder_load(void)
{
	void *handle = NULL, *symbol = NULL;
	nvs_backtrace_fn fn;

	if (!nvs_options()->values.backtrace)
		return;
	/*
	 * The copy of libunwind that the build makes (preload/module.mk) has a unique soname. With
	 * the system's libunwind, a program that loads a newer liblzma afterwards would get the
	 * system's, since the loader reuses a loaded library of the same soname.
	 */
	if (NVS_USES_LIBUNWIND && load_beside("libnvsnoop-lzma.so"))
		handle = load_beside("libnvsnoop-unwind.so");
	if (handle)
		symbol = dlsym(handle, "unw_backtrace");
	if (symbol) {
		memcpy(&fn, &symbol, sizeof(fn));
		unwinder = "libunwind";
		/* Under the lock of dl_iterate_phdr(), dlsym() could deadlock with another thread.
		 */
		for (size_t i = 0; i < NREAL; i++)
			real_functions[i].function = dlsym(RTLD_NEXT, real_functions[i].name);
		nvs_next()->dl_iterate_phdr(find_code, symbol);
	} else {
		fn = load_glibcs();
	}
	/* A failed dlopen leaves a message for the program's next dlerror(): clear it. */
	dlerror();
	/* libunwind validates addresses. libgcc reads the code at an address for which it has no
	 * rules (aarch64_fallback_frame_state), also where the address is wrong. */
	nvs_callsite_set(fn, !symbol);
}

const char *nvs_unwinder_name(void)
{
	return nvs_options()->values.backtrace ? unwinder : "none";
}
