/* SPDX-License-Identifier: MIT */
/*
 * hang spin|semaphore|cross|ring|rank|well: hangs in one of five ways, or not (well). As rank RANK
 * of WORLD_SIZE, with PEERS, a file that they share, the rank LEAVES exits before the third
 * collective, for which the others then wait forever. The test kills the program.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "app.h"

#define STEPS 5
#define LEFT_AT 2 /* step */

/* NAME(at, least): until the word at AT is LEAST or more. */
#define SPIN(name)                                                      \
	".visible .entry " name "(.param .u64 at, .param .u64 least)\n" \
	"{\n"                                                           \
	"	.reg .pred %p<2>;\n"                                          \
	"	.reg .b32 %r<3>;\n"                                           \
	"	.reg .b64 %a<2>;\n"                                           \
	"	ld.param.u64 %a0, [at];\n"                                    \
	"	ld.param.u32 %r1, [least];\n"                                 \
	"again:\n"                                                      \
	"	ld.volatile.global.u32 %r0, [%a0];\n"                         \
	"	setp.lt.u32 %p0, %r0, %r1;\n"                                 \
	"	@%p0 bra again;\n"                                            \
	"	ret;\n"                                                       \
	"}\n"

static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry small()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n" SPIN("softgpu_spin") SPIN("ncclDevKernel_AllReduce_softgpu_spin");

static CUmodule module;
static CUstream stream;
static volatile uint32_t *gate; /* words that the GPU waits for; nobody else writes them */

static CUfunction kernel(const char *name)
{
	CUfunction f;

	CK(cuModuleGetFunction(&f, module, name));
	return f;
}

static CUdeviceptr word(int which)
{
	return (CUdeviceptr)(uintptr_t)(gate + which);
}

static void launch(CUfunction f, uint64_t at, uint64_t least)
{
	void *params[] = {&at, &least};

	CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static __attribute__((noinline)) void wait_for_stream(void)
{
	CK(cuStreamSynchronize(stream));
	asm volatile("");
}

/* Only the call that never returns comes behind it, or those that fill the ring. */
static void say(void)
{
	puts("hangs");
	fflush(stdout);
}

static void cross(void)
{
	CUstream other;

	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuStreamWaitValue32_v2(stream, word(0), 1, 0));
	CK(cuStreamWriteValue32_v2(stream, word(16), 1, 0));
	CK(cuStreamWaitValue32_v2(other, word(16), 1, 0));
	CK(cuStreamWriteValue32_v2(other, word(0), 1, 0));
	say();
	CK(cuCtxSynchronize());
}

static __attribute__((noinline)) void fill_ring(CUfunction small)
{
	CK(cuStreamWaitValue32_v2(stream, word(0), 1, 0));
	say();
	for (;;)
		launch(small, 0, 0);
}

/* What NCCL's proxy does: the kernel goes on when all have come. */
static void *proxy(void *arg)
{
	volatile uint32_t *arrived = arg;
	uint32_t world = (uint32_t)atoi(getenv("WORLD_SIZE"));

	for (;;) {
		for (uint32_t step = gate[0]; step < STEPS && arrived[step] == world; step++)
			gate[0] = step + 1;
		usleep(500);
	}
	return NULL;
}

static void rank(CUfunction small)
{
	CUfunction collective = kernel("ncclDevKernel_AllReduce_softgpu_spin");
	bool leaves = getenv("LEAVES") && !strcmp(getenv("LEAVES"), getenv("RANK"));
	int fd = open(getenv("PEERS"), O_RDWR);
	uint32_t *arrived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_t thread;

	if (arrived == MAP_FAILED || pthread_create(&thread, NULL, proxy, arrived))
		abort();
	for (uint32_t step = 0; step < STEPS; step++) {
		launch(small, 0, 0);
		if (leaves && step == LEFT_AT) {
			wait_for_stream();
			return;
		}
		launch(collective, word(0), step + 1);
		__atomic_fetch_add(arrived + step, 1, __ATOMIC_SEQ_CST);
		wait_for_stream();
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "well";
	CUfunction small;

	app_context(0);
	CK(cuModuleLoadData(&module, ptx));
	small = kernel("small");
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	memset((void *)gate, 0, 4096);
	launch(small, 0, 0);
	wait_for_stream();
	if (!strcmp(how, "spin")) {
		launch(kernel("softgpu_spin"), word(0), 1);
		launch(small, 0, 0);
		say();
		wait_for_stream();
	} else if (!strcmp(how, "semaphore")) {
		CK(cuStreamWaitValue32_v2(stream, word(0), 1, 0));
		launch(small, 0, 0);
		say();
		wait_for_stream();
	} else if (!strcmp(how, "cross")) {
		cross();
	} else if (!strcmp(how, "ring")) {
		fill_ring(small);
	} else if (!strcmp(how, "rank")) {
		rank(small);
	}
	return 0;
}
