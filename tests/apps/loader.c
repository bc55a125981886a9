/* SPDX-License-Identifier: MIT */
/*
 * loader PLUGIN [start|create]: a thread is in dlopen(), holding the loader's lock, in a
 * constructor that returns only after another thread's doorbells have been rung. If a doorbell
 * needed that lock, this would deadlock. The submitting threads are new, and call from code that
 * has not been unwound before.
 *
 * start: the device is opened and the context created while the constructor waits. create: the
 * context exists before, and no other thread has been created since.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include "app.h"
#include "plugins/gate.h"

static struct gate gate;
static CUcontext context;
static CUdeviceptr words;
static CUfunction add;

static _Atomic int go;

static void *load(void *path)
{
	void *h;

	while (!atomic_load(&go))
		sched_yield();
	h = dlopen(path, RTLD_NOW);

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

static void wait_for_lock(void)
{
	atomic_store(&go, 1);
	while (!atomic_load(&gate.inside))
		sched_yield();
}

static void ignore(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	const char *when = argc > 2 ? argv[2] : "";
	pthread_t loading, t[3];
	CUstream s;
	char text[32];

	if (argc < 2)
		return 2;
	snprintf(text, sizeof(text), "%p", (void *)&gate);
	setenv("GATE", text, 1);
	if (*when)
		pthread_create(&loading, NULL, load, argv[1]);
	if (!strcmp(when, "start"))
		wait_for_lock();
	context = app_context(0);
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&words, 4096));
	CK(cuMemsetD32_v2(words, 0, 32));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuCtxSynchronize());
	if (!*when)
		pthread_create(&loading, NULL, load, argv[1]);
	wait_for_lock();
	EXPECT(signal(SIGUSR1, ignore) == SIG_DFL, "signal");
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
