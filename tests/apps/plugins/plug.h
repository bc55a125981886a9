/* SPDX-License-Identifier: MIT */
/* Two libraries that differ only in the name of their function, so that one may be loaded at the
 * address of the other. */
#include "tests/softgpu/cudadrv.h"

typedef int (*plug_fn)(CUdeviceptr p, unsigned n);

#define PLUG(name)                                                          \
	int name(CUdeviceptr p, unsigned n);                                \
	__attribute__((noinline)) int name(CUdeviceptr p, unsigned n)       \
	{                                                                   \
		int failed = 0;                                             \
                                                                            \
		while (n--)                                                 \
			failed += cuMemsetD32_v2(p, n, 16) != CUDA_SUCCESS; \
		return failed;                                              \
	}
