/* SPDX-License-Identifier: MIT */
/* A libcuda.so.1 without a GPU, for tests of the API layer: every function reports its arguments,
 * callbacks run immediately on the caller's thread, and captured launches become graphs. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fakecuda.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_state fake;

struct graph {
	size_t n;
	struct fake_kernel_params node[64];
};

EXPORT int cuInit(unsigned flags)
{
	fake.inits++;
	return 0;
}

EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	fake.launches++;
	fake.last = (struct fake_kernel_params){
		f, {gx, gy, gz}, {bx, by, bz}, shared, 0, params, extra, 0, 0};
	fake.stream = stream;
	if (fake.result)
		return fake.result;
	if (fake.capturing && stream == fake.capturing) {
		struct graph *g = fake.graph;

		g->node[g->n++] = fake.last;
	}
	return 0;
}

/* Eight doubles, which no entry point of the real one has: to see that vector registers pass. */
EXPORT int cuProfilerStart(double a, double b, double c, double d, double e, double f, double g,
			   double h)
{
	fake.sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
	return 0;
}

EXPORT int cuStreamAddCallback(void *stream, void (*fn)(void *, int, void *), void *user,
			       unsigned flags)
{
	fake.callbacks++;
	fn(stream, 0, user);
	return 0;
}

EXPORT int cuStreamSynchronize(void *stream)
{
	fake.syncs++;
	return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
	if (!out || !bytes)
		return 1;
	*out = 0x700000000000ull + (fake.allocs++ << 20);
	return 0;
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	fake.copied += bytes;
	return 0;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
	*module = (void *)0x3000;
	return 0;
}

EXPORT int cuModuleUnload(void *module)
{
	return 0;
}

/* Handles are the names; the same name gives the same handle, as after a module was loaded again.
 *  */
EXPORT int cuModuleGetFunction(void **out, void *module, const char *name)
{
	static struct {
		char *name, *handle;
	} known[64];

	if (!name)
		return 1;
	for (int i = 0; i < 64; i++) {
		if (!known[i].name) {
			known[i].name = strdup(name);
			known[i].handle = known[i].name;
		}
		if (!strcmp(known[i].name, name)) {
			*out = known[i].handle;
			return 0;
		}
	}
	return 2;
}

EXPORT int cuFuncGetName(const char **name, void *f)
{
	fake.asked_names++;
	if (!strncmp(f, "unnamed", 7))
		return 400;
	*name = f;
	return 0;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *f)
{
	*value = 10 + attribute;
	return 0;
}

EXPORT int cuStreamBeginCapture_v2(void *stream, unsigned mode)
{
	fake.capturing = stream;
	fake.graph = calloc(1, sizeof(struct graph));
	return 0;
}

EXPORT int cuStreamBeginRecaptureToGraph(void *stream, unsigned mode, struct graph *graph,
					 void *changed, void *user)
{
	fake.capturing = stream;
	fake.graph = graph;
	graph->n = 0;
	return 0;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
	fake.destroyed = stream;
	return 0;
}

EXPORT int cuCtxDestroy_v2(void *ctx)
{
	return 0;
}

/* Kernels of the library API are the names with a mark before them. */
EXPORT int cuLibraryGetKernel(void **out, void *library, const char *name)
{
	static char room[256];

	snprintf(room, sizeof(room), "K%s", name);
	*out = room;
	return 0;
}

EXPORT int cuLibraryUnload(void *library)
{
	return 0;
}

EXPORT int cuKernelGetName(const char **name, char *kernel)
{
	fake.asked_kernels++;
	*name = kernel + 1;
	return 0;
}

EXPORT int cuKernelGetFunction(void **out, void *kernel)
{
	*out = "unnamed of kernel";
	return 0;
}

EXPORT int cuStreamIsCapturing(void *stream, int *status)
{
	fake.asked_destroyed += stream == fake.destroyed;
	*status = stream == fake.capturing;
	return 0;
}

EXPORT int cuStreamEndCapture(void *stream, void **graph)
{
	*graph = fake.graph;
	fake.capturing = NULL;
	return 0;
}

EXPORT int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	*exec = (char *)graph + 8;
	return 0;
}

EXPORT int cuGraphGetNodes(struct graph *g, void **nodes, size_t *n)
{
	for (size_t i = 0; nodes && i < *n && i < g->n; i++)
		nodes[i] = &g->node[i];
	*n = g->n;
	return 0;
}

EXPORT int cuGraphNodeGetType(void *node, int *type)
{
	*type = 0;
	return 0;
}

EXPORT int cuGraphKernelNodeGetParams_v2(void *node, struct fake_kernel_params *out)
{
	*out = *(struct fake_kernel_params *)node;
	return 0;
}

EXPORT int cuGraphLaunch(void *exec, void *stream)
{
	fake.graph_launches++;
	return 0;
}

EXPORT int cuNotListed(void)
{
	return 7;
}

EXPORT int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
			       int *status);

EXPORT int cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}

EXPORT int cuLaunchKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			       unsigned by, unsigned bz, unsigned shared, void *stream,
			       void **params, void **extra)
{
	fake.ptsz_launches++;
	return 0;
}

static const struct {
	const char *name;
	void *fn;
} table[] = {
	{"cuInit", cuInit},
	{"cuLaunchKernel", cuLaunchKernel},
	{"cuStreamSynchronize", cuStreamSynchronize},
	{"cuMemAlloc", cuMemAlloc_v2},
	{"cuNotListed", cuNotListed},
	{"cuAskedForAlone", cuNotListed},
	{"cuGetProcAddress", cuGetProcAddress_v2},
};

EXPORT int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
			       int *status)
{
	fake.resolved++;
	/* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
	if (flags & 2 && !strcmp(symbol, "cuLaunchKernel")) {
		*out = cuLaunchKernel_ptsz;
		return 0;
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, symbol)) {
			*out = table[i].fn;
			if (status)
				*status = 0;
			return 0;
		}
	*out = NULL;
	return 500;
}

/* The address as it is, for who got it before anybody could wrap it. */
EXPORT void *fake_raw_launch(void)
{
	return cuLaunchKernel;
}
