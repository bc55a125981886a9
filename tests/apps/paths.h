/* SPDX-License-Identifier: MIT */
/*
 * For programs that count their own call tree: each function records that it is active, each
 * submission is counted in its place, and at the end every path is printed as "main;outer;inner
 * API COUNT".
 */
#ifndef APPS_PATHS_H
#define APPS_PATHS_H

#include <string.h>
#include "app.h"

#define PATH_BYTES 8192

static char path_now[PATH_BYTES];

static struct path {
	char *text;
	const char *api;
	unsigned count;
} paths[512];
static unsigned npaths;

static inline size_t path_in(const char *name)
{
	size_t before = strlen(path_now);

	snprintf(path_now + before, sizeof(path_now) - before, "%s%s", before ? ";" : "", name);
	return before;
}

static inline void path_out(size_t before)
{
	path_now[before] = '\0';
}

static inline void path_count(const char *api)
{
	unsigned i = 0;

	while (i < npaths && (strcmp(paths[i].api, api) || strcmp(paths[i].text, path_now)))
		i++;
	if (i == npaths) {
		paths[i].text = strdup(path_now);
		paths[i].api = api;
		npaths++;
	}
	paths[i].count++;
}

static inline void paths_print(void)
{
	for (unsigned i = 0; i < npaths; i++)
		printf("%s;%s %u\n", paths[i].text, paths[i].api, paths[i].count);
}

/* At the beginning and the end of each function; the latter keeps it from ending in a jump. */
#define IN(name) size_t in_ = path_in(name)
#define OUT                                        \
	do {                                       \
		path_out(in_);                     \
		__asm__ volatile("" ::: "memory"); \
	} while (0)
#ifdef __clang__
#define KNOWN __attribute__((noinline, optnone))
#else
#define KNOWN __attribute__((noipa))
#endif

static CUdeviceptr path_memory;

#define SET(n)                                                              \
	do {                                                                \
		CK(cuMemsetD32Async(path_memory, (unsigned)(n), 16, NULL)); \
		path_count("cuMemsetD32Async");                             \
	} while (0)
#define READ()                                                           \
	do {                                                             \
		unsigned word_;                                          \
		CK(cuMemcpyDtoH_v2(&word_, path_memory, sizeof(word_))); \
		path_count("cuMemcpyDtoH_v2");                           \
	} while (0)

static KNOWN CUcontext paths_start(void)
{
	CUcontext context;
	CUdevice device;

	CK(cuInit(0));
	CK(cuDeviceGet(&device, 0));
	CK(cuCtxCreate_v2(&context, 0, device));
	CK(cuMemAlloc_v2(&path_memory, 4096));
	return context;
}

static KNOWN void paths_end(CUcontext context)
{
	CK(cuCtxSynchronize());
	CK(cuCtxDestroy_v2(context));
	paths_print();
}

#endif
