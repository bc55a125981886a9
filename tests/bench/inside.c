/* SPDX-License-Identifier: MIT */
/*
 * The cost of recording in a tight loop, within one process: bursts of launches with recording off
 * and on in pairs, in random order with a fixed seed. Each burst follows some untimed launches and
 * a synchronise. Prints a line per pair: nanoseconds per launch, off and on.
 *
 *	inside PAIRS LAUNCHES [nvs_bench_switch_timing]
 *
 * With the name of the switch that turns timing= off and on, the program is recorded in both.
 *
 * Preload build/bench/libnvsnoop.so. The driver is looked up at run time, so it runs on a real GPU
 * and on the software GPU.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WARM 16

static struct {
	int (*init)(unsigned);
	int (*device_get)(int *, int);
	int (*retain)(void **, int);
	int (*set_current)(void *);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*stream_create)(void **, unsigned);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*stream_sync)(void *);
} cu;

static int (*turn)(int);

static const char ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry nothing(.param .u64 data, .param .u32 factor, .param .u32 n)\n"
	"{\n"
	"	ret;\n"
	"}\n";

static void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "inside: %s: %d\n", what, result);
	exit(1);
}

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "inside: no %s\n", name);
		exit(1);
	}
	return found;
}

static void load_driver(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "inside: %s\n", dlerror());
		exit(1);
	}
	cu.init = symbol(library, "cuInit");
	cu.device_get = symbol(library, "cuDeviceGet");
	cu.retain = symbol(library, "cuDevicePrimaryCtxRetain");
	cu.set_current = symbol(library, "cuCtxSetCurrent");
	cu.load = symbol(library, "cuModuleLoadData");
	cu.function = symbol(library, "cuModuleGetFunction");
	cu.stream_create = symbol(library, "cuStreamCreate");
	cu.launch = symbol(library, "cuLaunchKernel");
	cu.stream_sync = symbol(library, "cuStreamSynchronize");
	turn = symbol(RTLD_DEFAULT, name);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void launches(void *function, void *stream, int n)
{
	uint64_t data = 0;
	uint32_t factor = 1, count = 0;
	void *arguments[] = {&data, &factor, &count};

	for (int i = 0; i < n; i++)
		need(cu.launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL),
		     "cuLaunchKernel");
}

/* Nanoseconds a launch. */
static double burst(int on, void *function, void *stream, int n)
{
	double begin, end;

	need(turn(on), "switch");
	launches(function, stream, WARM);
	need(cu.stream_sync(stream), "cuStreamSynchronize");
	begin = now();
	launches(function, stream, n);
	end = now();
	need(cu.stream_sync(stream), "cuStreamSynchronize");
	return (end - begin) / n;
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 100, n = argc > 2 ? atoi(argv[2]) : 300, device;
	void *context, *module, *function, *stream;

	load_driver(argc > 3 ? argv[3] : "nvs_bench_switch");
	srand(1);
	need(cu.init(0), "cuInit");
	need(cu.device_get(&device, 0), "cuDeviceGet");
	need(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
	need(cu.set_current(context), "cuCtxSetCurrent");
	need(cu.load(&module, ptx), "cuModuleLoadData");
	need(cu.function(&function, module, "nothing"), "cuModuleGetFunction");
	need(cu.stream_create(&stream, 1), "cuStreamCreate");
	/* Store sites are patched within a moment. */
	for (int i = 0; i < 4; i++) {
		launches(function, stream, 100);
		need(cu.stream_sync(stream), "cuStreamSynchronize");
		usleep(100000);
	}
	for (int i = 0; i < pairs; i++) {
		int first = rand() >> 8 & 1;
		double ns[2];

		ns[first] = burst(first, function, stream, n);
		ns[!first] = burst(!first, function, stream, n);
		printf("%.2f %.2f\n", ns[0], ns[1]);
	}
	need(turn(1), "switch");
	return 0;
}
