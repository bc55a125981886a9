/* SPDX-License-Identifier: MIT */
/*
 * The unwinder: unw_backtrace of our copy of libunwind, loaded so that its symbols stay out of the
 * global scope (its _Unwind_* would take over C++ exceptions), else glibc's backtrace.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/outfile.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/modules/elf.h"
#include "preload/modules/modules.h"

#define CACHE ((size_t)128 << 10) /* what it maps less of at once it needs */

static const char *unwinder = "none";

/* NAME beside our own library, whose own name may be as seen from where the program began; NULL
 * where it is not there. */
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

/*
 * A copy of libunwind that the build makes for us (preload/module.mk), under sonames that nobody
 * else has: with the system's own, a program that loads a newer liblzma afterwards would get the
 * system's, since the loader looks for a soname among what is loaded first.
 */
static void *load(void)
{
	return load_beside("libnvsnoop-lzma.so") ? load_beside("libnvsnoop-unwind.so") : NULL;
}

/* ---- how libunwind tries addresses ---- */

/*
 * By writing from them into a pipe, which it makes when it first unwinds, in the middle of the
 * program. What it tries them with instead needs no descriptor: the kernel reads eight bytes of a
 * signal mask before it refuses the call.
 */
#define NO_PIPE -2 /* -1 is what it takes for one that is still to be made */

static uintptr_t code_start, code_end; /* of libunwind */
static bool replaced; /* its calls are ours */
static bool tried; /* by them it has tried an address */
static unsigned given; /* how often no pipe was given to it */

/* As of the C library's functions. */
static long result(long ret)
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

	/* The upper halves of what is an int are anything. */
	if ((int)number != SYS_write || (int)a != NO_PIPE)
		return result(nvs_sys((int)number, a, b, c, d, e, f));
	tried = true;
	return nvs_sys_sigmask(-1, eight, NULL) == -EFAULT ? result(-EFAULT) : 1;
}

/* Which of the two it writes by is a matter of its version. */
static ssize_t write_to(int fd, const void *data, size_t size)
{
	return call_kernel(SYS_write, fd, (long)data, (long)size, 0, 0, 0);
}

static ssize_t read_from(int fd, void *data, size_t size)
{
	return result(fd == NO_PIPE && tried ? -EAGAIN : nvs_sys_read(fd, data, size));
}

/*
 * What it asks first: whether there are pages. Asked of the kernel in the same way, since a sandbox
 * that lets the program work need not let it ask this; what is not resident can be read as well.
 */
static int are_pages(void *start, size_t size, unsigned char *resident)
{
	for (size_t at = 0; at < size; at += 4096) {
		if (nvs_sys_sigmask(-1, (void *)((uintptr_t)start + at), NULL) == -EFAULT) {
			errno = ENOMEM;
			return -1;
		}
		resident[at / 4096] = 1;
	}
	return 0;
}

/*
 * What it keeps for a thread, 256 KiB to begin with, it can do without: the program comes first
 * where the address space ends.
 */
static void *map_for_it(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = NULL;

	if (!at && size >= CACHE) {
		at = nvs_sys_reserve(size);
		if (at)
			p = nvs_sys_mmap(at, size, prot, flags | MAP_FIXED, fd, (uint64_t)offset);
		/* It asks again at the next stack. */
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

/* Its slot for NAME. False: it has none. */
static bool replace(const struct dl_phdr_info *info, const struct nvs_elf *elf, const char *name,
		    uintptr_t by)
{
	const ElfW(Rela) * tables[2] = {elf->rela, elf->jmprel};
	size_t sizes[2] = {elf->rela ? elf->nrela : 0, elf->jmprel ? elf->njmprel : 0};
	bool found = false;

	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < sizes[t]; i++) {
			const ElfW(Rela) *r = &tables[t][i];
			uint32_t symbol = ELF64_R_SYM(r->r_info), type = ELF64_R_TYPE(r->r_info);

			if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
			    symbol >= elf->count ||
			    strcmp(elf->strings + ((const ElfW(Sym) *)elf->symbols)[symbol].st_name,
				   name))
				continue;
			nvs_elf_put(info, info->dlpi_addr + r->r_offset, by);
			found = *(uintptr_t *)(info->dlpi_addr + r->r_offset) == by;
		}
	return found;
}

/*
 * ThreadSanitizer's are in front of these. They must not run in the trap, nor on a thread that it
 * has taken leave of: libunwind gives back what it keeps for a thread as late as that.
 */
static struct behind {
	const char *name;
	void *function;
} behind[] = {{"pthread_mutex_lock"}, {"pthread_mutex_unlock"}};

#define NBEHIND (sizeof(behind) / sizeof(*behind))

/* Asks the loader, which below dl_iterate_phdr() could wait for a thread that waits for us. */
static void look_behind(void)
{
	for (size_t i = 0; i < NBEHIND; i++)
		behind[i].function = dlsym(RTLD_NEXT, behind[i].name);
}

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t symbol = (uintptr_t)arg;
	const void *dynamic = NULL;
	struct nvs_elf elf;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)start;
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    symbol - start < info->dlpi_phdr[i].p_memsz) {
			code_start = start;
			code_end = start + info->dlpi_phdr[i].p_memsz;
		}
	}
	if (symbol - code_start >= code_end - code_start)
		return 0;
	if (!dynamic || !nvs_elf_parse(&elf, info->dlpi_addr, dynamic))
		return 1;
	for (size_t i = 0; i < NBEHIND; i++)
		if (behind[i].function)
			replace(info, &elf, behind[i].name, (uintptr_t)behind[i].function);
	replace(info, &elf, "mincore", (uintptr_t)are_pages);
	replace(info, &elf, "mmap", (uintptr_t)map_for_it);
	if (replace(info, &elf, "read", (uintptr_t)read_from)) {
		replaced = replace(info, &elf, "syscall", (uintptr_t)call_kernel);
		replaced = replace(info, &elf, "write", (uintptr_t)write_to) || replaced;
	}
	return 1;
}

/*
 * Where it tries them in a way that is not ours it takes what is none for a pipe that was closed,
 * and asks again. It gets one out of the way of programs that count on low numbers.
 */
int nvs_unwinder_pipe(int fds[2], int flags)
{
	int ret;

	/* Once to begin with, and once for an address. */
	if (replaced && (tried || given++ < 2)) {
		fds[0] = fds[1] = NO_PIPE;
		return 0;
	}
	ret = (int)nvs_sys(SYS_pipe2, (long)fds, flags, 0, 0, 0, 0);
	if (ret) {
		errno = -ret;
		return -1;
	}
	fds[0] = nvs_fd_high(fds[0]);
	fds[1] = nvs_fd_high(fds[1]);
	return 0;
}

bool nvs_unwinder_asks(const void *caller)
{
	return (uintptr_t)caller - code_start < code_end - code_start;
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
		look_behind();
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
