// SPDX-License-Identifier: MIT
// Kernels that call driver functions, for example for printf, directly and through their own
// functions, and one that does not. Made, with CUDA 13.0, by
//   nvcc -rdc=true -cubin -arch=sm_90 -o outside.o.cubin outside.cu
//   nvlink -arch=sm_90 -o data/outside-sm_90.cubin outside.o.cubin
#include <cstdio>
#define K extern "C" __global__ void

extern "C" __device__ __noinline__ unsigned report(unsigned x)
{
	return x > 7 ? (unsigned)printf("large\n") + x : x * 3;
}

extern "C" __device__ __noinline__ unsigned around(unsigned x)
{
	return report(x + 1) ^ x;
}

K direct(unsigned *o)
{
	o[threadIdx.x] = (unsigned)printf("here\n");
}

K through(unsigned *o)
{
	o[threadIdx.x] = around(threadIdx.x);
}

K within(unsigned *o)
{
	o[threadIdx.x] += threadIdx.x;
}
