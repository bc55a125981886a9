/* SPDX-License-Identifier: MIT */
/*
 * A C program that dlopens a C++ plugin which throws. With an argument it opens a GPU first, so
 * that the library, if preloaded, has loaded its unwinder. Prints which library raises the
 * plugin's exceptions, and on stderr the cost of a throw in nanoseconds (median of 21 rounds).
 *
 *	throw PLUGIN [gpu]
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 21, THROWS = 1000, DEPTH = 5 };

static void *open_or_die(const char *name)
{
	void *library = dlopen(name, RTLD_NOW);

	if (library)
		return library;
	fprintf(stderr, "throw: %s\n", dlerror());
	exit(1);
}

static void open_gpu(void)
{
	void *library = open_or_die("libcuda.so.1");
	int (*init)(unsigned) = dlsym(library, "cuInit");
	int (*retain)(void **, int) = dlsym(library, "cuDevicePrimaryCtxRetain");
	void *context;

	if (!init || !retain || init(0) || retain(&context, 0)) {
		fprintf(stderr, "throw: no GPU\n");
		exit(1);
	}
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The file that a name means to the plugin: what its own dependencies offer, unless something went
 * before. */
static void print_provider(void *plugin, const char *name)
{
	void *raise = dlsym(RTLD_DEFAULT, name) ?: dlsym(plugin, name);
	const char *slash;
	Dl_info info;

	if (!raise || !dladdr(raise, &info)) {
		printf("%s: not found\n", name);
		return;
	}
	slash = strrchr(info.dli_fname, '/');
	printf("%s: %s\n", name, slash ? slash + 1 : info.dli_fname);
}

int main(int argc, char **argv)
{
	uint64_t times[ROUNDS];
	int (*throw_and_catch)(int);
	void *plugin;

	if (argc < 2)
		return 2;
	if (argc > 2)
		open_gpu();
	plugin = open_or_die(argv[1]);
	throw_and_catch = dlsym(plugin, "throw_and_catch");
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = now();

		for (int k = 0; k < THROWS; k++)
			if (throw_and_catch(DEPTH) != -DEPTH)
				return 1;
		times[i] = (now() - begin) / THROWS;
	}
	print_provider(plugin, "_Unwind_RaiseException");
	print_provider(plugin, "_Unwind_Backtrace");
	qsort(times, ROUNDS, sizeof(*times), compare);
	fprintf(stderr, "%llu\n", (unsigned long long)times[ROUNDS / 2]);
	return 0;
}
