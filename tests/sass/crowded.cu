// SPDX-License-Identifier: MIT
// Test kernels for counting that use almost all uniform registers. Otherwise as in kernels.cu. The
// cubin is made, with CUDA 13.0, by
//   nvcc -cubin -arch=sm_90a -o data/crowded-sm_90.cubin crowded.cu
typedef unsigned u32;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
enum { MANY = 58 };

static __device__ __forceinline__ u32 turns(u32 s, int n, int k)
{
	u32 u[MANY];
#pragma unroll
	for (int i = 0; i < MANY; i++)
		u[i] = n * (i + 3) ^ (k + i);
#pragma unroll 1
	for (int j = 0; j < k; j++) {
#pragma unroll
		for (int i = 0; i < MANY; i++) {
			s = (s ^ u[i]) + (s >> 3);
			u[i] = u[i] * 5 + u[(i + 1) % MANY];
		}
		if (s & 1)
			s += 7;
		if ((s & 62) == 2)
			break;
	}
	return s;
}

K crowded(u32 *o, const u32 *a, int n, int k)
{
	o[TID] = turns(a[TID], n, k);
}

// Warpgroups that give registers to each other.
K __launch_bounds__(256, 1) lends(u32 *o, const u32 *a, int n, int k)
{
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		u32 s = a[TID];
#pragma unroll 1
		for (int j = 0; j < k; j++)
			if (s & 1 << j)
				s += 3;
		o[TID] = s;
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		o[TID] = turns(a[TID], n, k);
	}
}
