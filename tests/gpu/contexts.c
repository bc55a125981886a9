/* SPDX-License-Identifier: MIT */
/*
 * Eight threads: half of them launch in the primary context continuously, the others create a
 * context, launch in it and destroy it, repeatedly. Prints the number of rounds and the sums,
 * which show any kernel that did not run.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                         \
	do {                                                                                \
		CUresult result_ = (call);                                                  \
		if (result_ != CUDA_SUCCESS) {                                              \
			printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)result_); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

enum { LAUNCHERS = 4, MAKERS = 4, LAUNCHES = 20000, CONTEXTS = 6, IN_CONTEXT = 50 };

static const char ptx[] = ".version 7.0\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry add(.param .u64 where)\n"
			  "{\n"
			  "	.reg .b32 %r<2>;\n"
			  "	.reg .b64 %d<2>;\n"
			  "	ld.param.u64 %d0, [where];\n"
			  "	cvta.to.global.u64 %d1, %d0;\n"
			  "	ld.global.u32 %r0, [%d1];\n"
			  "	add.u32 %r1, %r0, 1;\n"
			  "	st.global.u32 [%d1], %r1;\n"
			  "	ret;\n"
			  "}\n";

static CUcontext primary;
static uint32_t sums[LAUNCHERS + MAKERS];

static uint32_t launch_many(int launches)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr where;
	CUstream stream;
	uint32_t sum;
	void *arguments[] = {&where};

	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "add"));
	CHECK(cuMemAlloc(&where, 4));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemsetD32Async(where, 0, 1, stream));
	for (int i = 0; i < launches; i++)
		CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoH(&sum, where, 4));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuMemFree(where));
	CHECK(cuModuleUnload(module));
	return sum;
}

static void *launcher(void *arg)
{
	CHECK(cuCtxSetCurrent(primary));
	*(uint32_t *)arg = launch_many(LAUNCHES);
	return NULL;
}

static void *maker(void *arg)
{
	for (int i = 0; i < CONTEXTS; i++) {
		CUcontext context;
		CUdevice device;

		CHECK(cuDeviceGet(&device, 0));
#if CUDA_VERSION >= 13000
		CHECK(cuCtxCreate(&context, NULL, 0, device));
#else
		CHECK(cuCtxCreate(&context, 0, device));
#endif
		*(uint32_t *)arg += launch_many(IN_CONTEXT);
		CHECK(cuCtxDestroy(context));
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[LAUNCHERS + MAKERS];
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, device));
	for (int i = 0; i < LAUNCHERS + MAKERS; i++)
		pthread_create(&threads[i], NULL, i < LAUNCHERS ? launcher : maker, &sums[i]);
	for (int i = 0; i < LAUNCHERS + MAKERS; i++) {
		pthread_join(threads[i], NULL);
		printf("thread %d: %u kernels ran\n", i, sums[i]);
	}
	CHECK(cuDevicePrimaryCtxRelease(device));
	return 0;
}
