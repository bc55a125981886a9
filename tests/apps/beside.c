/* SPDX-License-Identifier: MIT */
/*
 * beside host|launch: a kernel runs until the host, or a later launch on another stream, releases
 * it. Meanwhile the other stream launches, copies and is waited for. Ends only if none of that
 * waits for the kernel.
 */
#include <string.h>
#include "app.h"

#define ROUNDS 3
#define LAUNCHES 20

/* softgpu_spin(at, least): until the word at AT is LEAST or more. */
static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry small()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry softgpu_spin(.param .u64 at, .param .u64 least)\n"
			  "{\n"
			  "	.reg .pred %p<2>;\n"
			  "	.reg .b32 %r<3>;\n"
			  "	.reg .b64 %a<2>;\n"
			  "	ld.param.u64 %a0, [at];\n"
			  "	ld.param.u32 %r1, [least];\n"
			  "again:\n"
			  "	ld.volatile.global.u32 %r0, [%a0];\n"
			  "	setp.lt.u32 %p0, %r0, %r1;\n"
			  "	@%p0 bra again;\n"
			  "	ret;\n"
			  "}\n";

static CUfunction small, spin;
static CUstream spinning, other;
static volatile uint32_t *gate;

static void launch(CUfunction f, CUstream s, uint64_t least)
{
	uint64_t at = (uintptr_t)gate;
	void *params[] = {&at, &least};

	CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
}

static void by_host(uint32_t round, CUdeviceptr to, void *from)
{
	launch(spin, spinning, round);
	for (int i = 0; i < LAUNCHES; i++) {
		launch(small, other, 0);
		CK(cuMemcpyHtoDAsync_v2(to, from, 4096, other));
		if (i % 4 == 0)
			CK(cuStreamSynchronize(other));
	}
	CK(cuStreamSynchronize(other));
	if (cuStreamQuery(spinning) != CUDA_ERROR_NOT_READY)
		puts("it does not spin");
	*gate = round;
	CK(cuStreamSynchronize(spinning));
}

static void by_launch(uint32_t round)
{
	launch(spin, spinning, round);
	launch(small, spinning, 0);
	launch(small, other, 0);
	CK(cuMemsetD32Async((CUdeviceptr)(uintptr_t)gate, round, 1, other));
	launch(small, other, 0);
	CK(cuStreamSynchronize(spinning));
}

int main(int argc, char **argv)
{
	CUdeviceptr to;
	CUmodule module;
	void *from;

	app_context(0);
	CK(cuModuleLoadData(&module, ptx));
	CK(cuModuleGetFunction(&small, module, "small"));
	CK(cuModuleGetFunction(&spin, module, "softgpu_spin"));
	CK(cuStreamCreate(&spinning, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	CK(cuMemAllocHost_v2(&from, 4096));
	CK(cuMemAlloc_v2(&to, 4096));
	*gate = 0;
	launch(small, other, 0);
	CK(cuCtxSynchronize());
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		if (argc > 1 && !strcmp(argv[1], "launch"))
			by_launch(round);
		else
			by_host(round, to, from);
	}
	CK(cuCtxSynchronize());
	puts("beside ok");
	return 0;
}
