/* SPDX-License-Identifier: MIT */
/* A plain C program on the driver API, without cudart: a module from PTX, copies, launches with
 * arguments, events, memsets, an async allocation and a host callback. */
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

enum { ELEMENTS = 1 << 20, ROUNDS = 1000 };

/* data[i] = data[i] * factor + i */
static const char ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry scale(.param .u64 data, .param .u32 factor, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %d<4>;\n"
	"	ld.param.u64 %d0, [data];\n"
	"	ld.param.u32 %r0, [factor];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.u32 %r5, %r2, %r3, %r4;\n"
	"	setp.ge.u32 %p, %r5, %r1;\n"
	"	@%p bra DONE;\n"
	"	cvta.to.global.u64 %d1, %d0;\n"
	"	mul.wide.u32 %d2, %r5, 4;\n"
	"	add.s64 %d3, %d1, %d2;\n"
	"	ld.global.u32 %r6, [%d3];\n"
	"	mad.lo.u32 %r7, %r6, %r0, %r5;\n"
	"	st.global.u32 [%d3], %r7;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

static void CUDA_CB count_call(void *arg)
{
	++*(int *)arg;
}

static void launch(CUfunction function, CUdeviceptr data, unsigned factor, unsigned n,
		   CUstream stream)
{
	void *arguments[] = {&data, &factor, &n};

	CHECK(cuLaunchKernel(function, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments,
			     NULL));
}

static void print_results(CUdeviceptr data, uint32_t *host)
{
	uint64_t sum = 0xcbf29ce484222325ull;

	CHECK(cuMemcpyDtoH(host, data, ELEMENTS * sizeof(*host)));
	for (int i = 0; i < ELEMENTS; i++)
		sum = (sum ^ host[i]) * 0x100000001b3ull;
	printf("results %016llx\n", (unsigned long long)sum);
}

int main(void)
{
	uint32_t *host = malloc(ELEMENTS * sizeof(*host));
	CUdeviceptr data, pool;
	CUfunction function;
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUdevice device;
	CUevent event;
	int calls = 0;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "scale"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
	CHECK(cuMemAlloc(&data, ELEMENTS * sizeof(*host)));
	for (int i = 0; i < ELEMENTS; i++)
		host[i] = i;
	CHECK(cuMemcpyHtoDAsync(data, host, ELEMENTS * sizeof(*host), stream));
	for (int i = 0; i < ROUNDS; i++) {
		launch(function, data, 3 + i % 5, i % 2 ? ELEMENTS : 4096, stream);
		if (i % 100 == 0)
			CHECK(cuEventRecord(event, stream));
	}
	/* Behind work that is still under way the driver has the GPU wait, behind none it does not:
	 * two runs shall be the same. */
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuLaunchHostFunc(stream, count_call, &calls));
	CHECK(cuMemAllocAsync(&pool, 1 << 20, stream));
	CHECK(cuMemsetD32Async(pool, 0xdeadbeef, 1 << 18, stream));
	CHECK(cuMemcpyDtoDAsync(data, pool, 4096, stream));
	CHECK(cuMemFreeAsync(pool, stream));
	CHECK(cuEventSynchronize(event));
	CHECK(cuStreamSynchronize(stream));
	print_results(data, host);
	printf("host function called %d times\n", calls);
	CHECK(cuMemFree(data));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	free(host);
	return 0;
}
