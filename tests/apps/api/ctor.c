/* SPDX-License-Identifier: MIT */
/* A library that calls CUDA before main() or in the middle of dlopen(). */
#include "tests/softgpu/cudadrv.h"

int ctor_ok;

__attribute__((constructor)) static void early(void)
{
	CUcontext c;

	ctor_ok = !cuInit(0) && !cuDevicePrimaryCtxRetain(&c, 0) && !cuCtxSetCurrent(c) &&
		  !cuCtxSynchronize();
}
