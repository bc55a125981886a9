/* SPDX-License-Identifier: MIT */
/* reload N [elsewhere]: loads libcuda, uses it and unloads it, N times, while another thread loads
 * and unloads libz. Looks up its functions itself, so that nothing else keeps it loaded. elsewhere:
 * each time at another address; nothing can be read where it was. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define WORDS 1000
#define PAGE 4096ul
#define PAGES 2048 /* more than libcuda has */

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "reload: %s\n", what);
	exit(1);
}

static void *find(void *lib, const char *name)
{
	void *symbol = dlsym(lib, name);

	need(symbol != NULL, name);
	return symbol;
}

static void work(void *lib)
{
	int (*init)(unsigned) = (int (*)(unsigned))find(lib, "cuInit");
	int (*create)(void **, unsigned,
		      int) = (int (*)(void **, unsigned, int))find(lib, "cuCtxCreate_v2");
	int (*destroy)(void *) = (int (*)(void *))find(lib, "cuCtxDestroy_v2");
	int (*alloc)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))find(lib, "cuMemAlloc_v2");
	int (*fill)(uint64_t, unsigned,
		    size_t) = (int (*)(uint64_t, unsigned, size_t))find(lib, "cuMemsetD32_v2");
	int (*copy)(void *, uint64_t,
		    size_t) = (int (*)(void *, uint64_t, size_t))find(lib, "cuMemcpyDtoH_v2");
	static uint32_t words[WORDS];
	uint64_t d;
	void *ctx;

	need(!init(0), "cuInit");
	need(!create(&ctx, 0, 0), "cuCtxCreate");
	need(!alloc(&d, sizeof(words)), "cuMemAlloc");
	for (unsigned i = 0; i < 40; i++) {
		need(!fill(d, i + 1, WORDS), "cuMemsetD32");
		need(!copy(words, d, sizeof(words)), "cuMemcpyDtoH");
		need(words[0] == i + 1 && words[WORDS - 1] == i + 1, "the fill did not arrive");
	}
	need(!destroy(ctx), "cuCtxDestroy");
}

static void *load_other(void *arg)
{
	_Atomic int *stop = arg;

	while (!*stop) {
		void *lib = dlopen("libz.so.1", RTLD_NOW);

		if (lib)
			dlclose(lib);
	}
	return NULL;
}

static void occupy(uintptr_t start)
{
	for (uintptr_t at = start; at < start + PAGES * PAGE; at += PAGE)
		mmap((void *)at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		     -1, 0);
}

int main(int argc, char **argv)
{
	_Atomic int stop = 0;
	pthread_t other;
	uintptr_t last = 0;

	pthread_create(&other, NULL, load_other, (void *)&stop);
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 5); i++) {
		void *lib = dlopen("libcuda.so.1", RTLD_NOW);
		struct link_map *map;

		need(lib != NULL, "dlopen");
		work(lib);
		need(!dlinfo(lib, RTLD_DI_LINKMAP, &map), "dlinfo");
		need(argc < 3 || map->l_addr != last, "libcuda is where it was");
		last = map->l_addr;
		dlclose(lib);
		need(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "libcuda is still loaded");
		if (argc > 2)
			occupy(last);
	}
	stop = 1;
	pthread_join(other, NULL);
	puts("reload ok");
	return 0;
}
