/* SPDX-License-Identifier: MIT */
/* A library with its own runtime, like those with a static libcudart: it opens libcuda and looks up
 * entry points itself. Its user prints how often it launched. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/apps/api/bypass.h"

typedef int init_fn(unsigned);
typedef int retain_fn(void **, int);
typedef int current_fn(void *);
typedef int load_fn(void **, const void *);
typedef int function_fn(void **, void *, const char *);
typedef int allocate_fn(uint64_t *, size_t);
typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
typedef int synchronize_fn(void);
typedef int release_fn(int);
typedef int unload_fn(void *);

#define GET(name, type) ((type *)dlsym(cuda, name))

/* As dlsym() finds it, and past all who could see: in the symbol table that is in memory. */
static void *find_function(const struct link_map *map, const char *name)
{
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			strings = (const void *)d->d_un.d_ptr;
	}
	for (const ElfW(Sym) *s = symbols; s && (const char *)s < strings; s++)
		if (s->st_shndx && !strcmp(strings + s->st_name, name))
			return (char *)map->l_addr + s->st_value;
	return NULL;
}

/* A context, and memory ahead of the first module. */
static int enter_context(void *cuda, uint64_t *memory)
{
	void *context;

	return GET("cuInit", init_fn)(0) ||
	       GET("cuDevicePrimaryCtxRetain", retain_fn)(&context, 0) ||
	       GET("cuCtxSetCurrent", current_fn)(context) ||
	       GET("cuMemAlloc_v2", allocate_fn)(memory, 4096);
}

static int load(void *cuda, const char *ptx, const char *name, void **module, void **function)
{
	return GET("cuModuleLoadData", load_fn)(module, ptx) ||
	       GET("cuModuleGetFunction", function_fn)(function, *module, name);
}

/* HIDDEN launches more, by a pointer that nobody has seen: before the others, and after them. */
static int bypass_work(void *cuda, int launches, int hidden)
{
	launch_fn *launch = cuda ? find_function(cuda, "cuLaunchKernel") : NULL;

	uint64_t memory, one = 1;
	void *module, *function, *args[] = {&memory, &one};
	int failed;

	if (!launch)
		return 1;
	failed = enter_context(cuda, &memory) ||
		 load(cuda, bypass_ptx, "softgpu_add", &module, &function);
	for (int i = 0; !failed && i < hidden / 2; i++)
		failed = launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	for (int i = 0; !failed && i < launches; i++)
		failed = GET("cuLaunchKernel", launch_fn)(function, 1, 1, 1, 1, 1, 1, 0, NULL, args,
							  NULL);
	for (int i = hidden / 2; !failed && i < hidden; i++)
		failed = launch(function, 2, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	return failed || GET("cuCtxSynchronize", synchronize_fn)() ||
	       GET("cuDevicePrimaryCtxRelease_v2", release_fn)(0);
}

static int open_and_work(int launches)
{
	return bypass_work(dlopen("libcuda.so.1", RTLD_NOW), launches, 0);
}

/* Given away before dlopen() returns. */
__attribute__((constructor)) static void enter(void)
{
	const char *at = getenv("BYPASS_AT");

	if (at)
		*(bypass_fn **)strtoull(at, NULL, 16) = open_and_work;
}

int bypass_plugin(int launches)
{
	return open_and_work(launches);
}

int bypass_with(void *cuda, int launches)
{
	return bypass_work(cuda, launches, 0);
}

int bypass_hidden(void *cuda, int hidden)
{
	return bypass_work(cuda, 3, hidden);
}

int bypass_replaced(void *cuda, int hidden)
{
	launch_fn *launch = cuda ? find_function(cuda, "cuLaunchKernel") : NULL;
	uint64_t memory = 0, one = 0;
	void *module, *function, *args[] = {&memory, &one};
	int failed;

	if (!launch)
		return 1;
	failed = enter_context(cuda, &memory) ||
		 load(cuda, bypass_ptx, "softgpu_add", &module, &function) ||
		 GET("cuLaunchKernel", launch_fn)(function, 1, 1, 1, 1, 1, 1, 0, NULL, args,
						  NULL) ||
		 launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) ||
		 GET("cuCtxSynchronize", synchronize_fn)() ||
		 GET("cuModuleUnload", unload_fn)(module) ||
		 load(cuda, bypass_other_ptx, "nothing", &module, &function);
	for (int i = 0; !failed && i < hidden; i++)
		failed = launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return failed || GET("cuCtxSynchronize", synchronize_fn)();
}
