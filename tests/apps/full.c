/* SPDX-License-Identifier: MIT */
/*
 * full ring|pushbuffer|copy|local: submits work behind a blocked stream until a call has to wait:
 * for space in the ring or the pushbuffer, or as a copy that synchronises while another thread
 * copies too. Then it unblocks the stream. Prints which launch waited. local is for real GPUs: its
 * kernel needs more local memory than is allocated.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

#define LAUNCHES 6000
#define HELD_US 20000 /* what waits has waited so long, and longer */

static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry small()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry large(.param .align 8 .b8 p[4000])\n"
			  "{\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry deep(.param .u64 at)\n"
			  "{\n"
			  "	.local .align 16 .b8 room[131072];\n"
			  "	.reg .b64 %a<4>;\n"
			  "	.reg .b32 %r<2>;\n"
			  "	ld.param.u64 %a0, [at];\n"
			  "	mov.u64 %a1, room;\n"
			  "	add.s64 %a1, %a1, %a0;\n"
			  "	mov.u32 %r0, 1;\n"
			  "	st.local.u32 [%a1], %r0;\n"
			  "	ret;\n"
			  "}\n";

static CUcontext context;
static CUstream stream, free_stream;
static CUdeviceptr device;
static CUfunction function;
static volatile uint32_t *gate;
static _Atomic int launched, tids[2];
static bool pushbuffer;

static CUfunction kernel(const char *name)
{
	CUmodule m;
	CUfunction f;

	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, name));
	return f;
}

static void launch(CUstream s)
{
	static uint64_t parameters[500];
	void *params[] = {parameters};

	CK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
}

/* On a real GPU nobody says so, but that nothing goes on. */
static void wait_for_waiter(void)
{
	int before = 0;

	if (softgpu_waits) {
		while (!softgpu_waits(pushbuffer ? SOFTGPU_WAITS_PUSHBUFFER : SOFTGPU_WAITS_RING))
			usleep(1000);
		return;
	}
	while (!before || before != launched) {
		before = launched;
		usleep(50000);
	}
}

static void *opener(void *arg)
{
	wait_for_waiter();
	usleep(HELD_US);
	*gate = 1;
	return NULL;
}

static __attribute__((noinline)) void storm(void)
{
	double longest = 0;
	pthread_t thread;
	int which = 0;

	if (pthread_create(&thread, NULL, opener, NULL))
		abort();
	for (int i = 0; i < LAUNCHES && !*gate; i++) {
		double begin = app_ns(), took;

		launch(stream);
		took = app_ns() - begin;
		if (took > longest) {
			longest = took;
			which = i;
		}
		launched = i + 1;
	}
	pthread_join(thread, NULL);
	printf("full %d\n", which);
}

/* It sleeps nowhere but inside its call, and takes processor time nowhere else. */
static bool inside(int thread)
{
	unsigned long user = 0, kernel_time = 0;
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d %*s %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state,
			 &user, &kernel_time) != 3)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S' || user + kernel_time > 5;
}

static void *copier(void *arg)
{
	static char bytes[4][256 << 10];
	int which = *(int *)arg;

	CK(cuCtxSetCurrent(context));
	CK(cuStreamSynchronize(free_stream));
	tids[which] = (int)syscall(SYS_gettid);
	if (which)
		CK(cuMemcpyDtoHAsync_v2(bytes[1], device, sizeof(bytes[1]), free_stream));
	else
		CK(cuMemcpyDtoH_v2(bytes[0], device, sizeof(bytes[0])));
	tids[which] = -1;
	return NULL;
}

/* The first one waits for the gate; the second for what the first one holds. */
static __attribute__((noinline)) void copies(void)
{
	static int numbers[] = {0, 1};
	pthread_t thread[2];

	for (int i = 0; i < 2; i++) {
		if (pthread_create(thread + i, NULL, copier, numbers + i))
			abort();
		while (tids[i] >= 0 && (!tids[i] || !inside(tids[i])))
			usleep(1000);
	}
	usleep(HELD_US);
	*gate = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("copied\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "ring";

	context = app_context(0);
	pushbuffer = !strcmp(what, "pushbuffer");
	function = kernel(pushbuffer ? "large" : !strcmp(what, "local") ? "deep" : "small");
	CK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	CK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc_v2(&device, 1 << 20));
	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	*gate = 0;
	launch(stream); /* code goes up with the first one */
	CK(cuMemsetD32_v2(device, 0, 1024));
	CK(cuCtxSynchronize());
	if (!strcmp(what, "local"))
		return 0;
	CK(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)gate, 1, 0));
	if (!strcmp(what, "copy"))
		copies();
	else
		storm();
	CK(cuCtxSynchronize());
	return 0;
}
