/* SPDX-License-Identifier: MIT */
/*
 * The cost of a submission: each thread sets 64 bytes of device memory in its own stream, in
 * bursts of 512 with an untimed synchronise in between. Prints the median in nanoseconds per
 * submission.
 *
 *	bench THREADS BURSTS
 *
 * Runs on a real GPU and on the software GPU: the driver is looked up at run time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BURST 512
#define MAX_THREADS 64

/* The few entry points used, as the driver API documents them. */
static struct {
	int (*init)(unsigned);
	int (*device_get)(int *, int);
	int (*retain)(void **, int);
	int (*set_current)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*stream_create)(void **, unsigned);
	int (*set)(uint64_t, unsigned, size_t, void *);
	int (*stream_sync)(void *);
} cu;

struct worker {
	pthread_t thread;
	void *context;
	int bursts;
	uint64_t median_ns; /* of one burst */
};

static pthread_barrier_t start;

static void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "bench: %s: %d\n", what, result);
	exit(1);
}

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "bench: libcuda has no %s\n", name);
		exit(1);
	}
	return found;
}

static void load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "bench: %s\n", dlerror());
		exit(1);
	}
	cu.init = symbol(library, "cuInit");
	cu.device_get = symbol(library, "cuDeviceGet");
	cu.retain = symbol(library, "cuDevicePrimaryCtxRetain");
	cu.set_current = symbol(library, "cuCtxSetCurrent");
	cu.alloc = symbol(library, "cuMemAlloc_v2");
	cu.stream_create = symbol(library, "cuStreamCreate");
	cu.set = symbol(library, "cuMemsetD32Async");
	cu.stream_sync = symbol(library, "cuStreamSynchronize");
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

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t *times = calloc((size_t)worker->bursts, sizeof(*times)), memory;
	void *stream;

	need(cu.set_current(worker->context), "cuCtxSetCurrent");
	need(cu.alloc(&memory, 4096), "cuMemAlloc");
	need(cu.stream_create(&stream, 1), "cuStreamCreate");
	need(cu.set(memory, 0, 16, stream), "cuMemsetD32Async");
	need(cu.stream_sync(stream), "cuStreamSynchronize");
	pthread_barrier_wait(&start);
	for (int i = 0; i < worker->bursts; i++) {
		uint64_t begin = now();

		for (int k = 0; k < BURST; k++)
			need(cu.set(memory, (unsigned)k, 16, stream), "cuMemsetD32Async");
		times[i] = now() - begin;
		need(cu.stream_sync(stream), "cuStreamSynchronize");
	}
	qsort(times, (size_t)worker->bursts, sizeof(*times), compare);
	worker->median_ns = times[worker->bursts / 2];
	free(times);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, bursts = argc > 2 ? atoi(argv[2]) : 40, device;
	struct worker workers[MAX_THREADS] = {0};
	double sum = 0;
	void *context;

	if (threads < 1 || threads > MAX_THREADS || bursts < 1) {
		fprintf(stderr, "Usage: bench THREADS BURSTS\n");
		return 2;
	}
	load_driver();
	need(cu.init(0), "cuInit");
	need(cu.device_get(&device, 0), "cuDeviceGet");
	need(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].context = context;
		workers[i].bursts = bursts;
		need(pthread_create(&workers[i].thread, NULL, work, &workers[i]), "pthread_create");
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += (double)workers[i].median_ns / BURST;
	}
	printf("%.1f\n", sum / threads);
	return 0;
}
