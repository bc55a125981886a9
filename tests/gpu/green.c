/* SPDX-License-Identifier: MIT */
/* Green contexts, one after the other: each loads a kernel, launches it and is destroyed, and the
 * driver may give the next one the same handles. Prints how often the kernels ran. */
#include <cuda.h>
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

enum { ROUNDS = 12, LAUNCHES = 25 };

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

static uint32_t in_current(void)
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
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoH(&sum, where, 4));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuMemFree(where));
	CHECK(cuModuleUnload(module));
	return sum;
}

int main(void)
{
	CUdevResource all, part;
	CUdevResourceDesc description;
	CUcontext primary, context;
	CUgreenCtx green;
	CUdevice device;
	unsigned groups, sum = 0;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, device));
	CHECK(cuCtxSetCurrent(primary));
	sum += in_current();
	CHECK(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
	for (int i = 0; i < ROUNDS; i++) {
		groups = 1;
		CHECK(cuDevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, 16));
		CHECK(cuDevResourceGenerateDesc(&description, &part, 1));
		CHECK(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
		CHECK(cuCtxFromGreenCtx(&context, green));
		CHECK(cuCtxSetCurrent(context));
		sum += in_current();
		CHECK(cuCtxSetCurrent(primary));
		CHECK(cuGreenCtxDestroy(green));
	}
	sum += in_current();
	printf("%u kernels ran\n", sum);
	CHECK(cuDevicePrimaryCtxRelease(device));
	return 0;
}
