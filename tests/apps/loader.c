/* SPDX-License-Identifier: MIT */
/*
 * loader PLUGIN: a thread sits in dlopen(), with the loader's lock, in a constructor that does not
 * return before another thread's doorbells have arrived. If a doorbell needed that lock, this would
 * hang. The submitting threads are new, and call from where nothing has been unwound before.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include "app.h"
#include "plugins/gate.h"

static struct gate gate;
static CUcontext context;
static CUdeviceptr words;
static CUfunction add;

static void *load(void *path)
{
	void *h = dlopen(path, RTLD_NOW);

	EXPECT(h, "%s", dlerror());
	return h;
}

static __attribute__((noinline)) void deeper(CUstream s, int depth)
{
	if (depth)
		deeper(s, depth - 1);
	app_add(add, words, 1, s);
}

static void *work(void *arg)
{
	CUstream s = arg;

	CK(cuCtxSetCurrent(context));
	deeper(s, 12);
	CK(cuMemsetD32Async(words + 64, 5, 4, s));
	CK(cuStreamSynchronize(s));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loading, t[3];
	CUstream s;
	char text[32];

	if (argc < 2)
		return 2;
	snprintf(text, sizeof(text), "%p", (void *)&gate);
	setenv("GATE", text, 1);
	context = app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&words, 4096));
	CK(cuMemsetD32_v2(words, 0, 32));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuCtxSynchronize());
	pthread_create(&loading, NULL, load, argv[1]);
	while (!atomic_load(&gate.inside))
		sched_yield();
	for (int i = 0; i < 3; i++) {
		pthread_create(&t[i], NULL, work, s);
		pthread_join(t[i], NULL);
	}
	atomic_store(&gate.open, 1);
	pthread_join(loading, NULL);
	EXPECT(app_word(words) == 39, "%u launches counted of 39", app_word(words));
	puts("loader ok");
	return 0;
}
