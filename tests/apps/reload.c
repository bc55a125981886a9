/* SPDX-License-Identifier: MIT */
/* reload N: loads libcuda, uses it and unloads it, N times, while another thread loads and unloads
 * it too. Looks up its functions itself, so that nothing else keeps it loaded. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 1000

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

int main(int argc, char **argv)
{
	_Atomic int stop = 0;
	pthread_t other;

	pthread_create(&other, NULL, load_other, (void *)&stop);
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 5); i++) {
		void *lib = dlopen("libcuda.so.1", RTLD_NOW);

		need(lib != NULL, "dlopen");
		work(lib);
		dlclose(lib);
		need(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "libcuda is still loaded");
	}
	stop = 1;
	pthread_join(other, NULL);
	puts("reload ok");
	return 0;
}
