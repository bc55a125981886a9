// SPDX-License-Identifier: MIT
// Test kernels for counting that use every register that they may have, and store each with
// instructions that do not signal when they have read it. Otherwise as in kernels.cu. The cubins
// are made, with CUDA 13.0, by
//   for a in 75 80 90; do nvcc -cubin -arch=sm_$a -o data/full-sm_$a.cubin full.cu; done
typedef unsigned u32;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
enum { MANY = 54, FEWER = 34 };

template <int N = MANY> static __device__ __forceinline__ void begin(u32 *u, u32 s, int n, int k)
{
#pragma unroll
	for (int i = 0; i < N; i++)
		u[i] = s * (i + 3) ^ (n + i);
#pragma unroll 1
	for (int j = 0; j < k; j++) {
#pragma unroll
		for (int i = 0; i < N; i++)
			u[i] = u[i] * 5 + u[(i + 1) % N];
		if (u[0] & 1)
			u[7] += 7;
	}
}

template <int N = MANY> static __device__ __forceinline__ void store(u32 *o, const u32 *u)
{
#pragma unroll
	for (int i = 0; i < N; i++)
		o[i * 96] = u[i];
}

K __launch_bounds__(1024, 1) full(u32 *o, const u32 *a, int n, int k)
{
	u32 u[MANY];

	begin(u, a[TID], n, k);
	store(o + TID, u);
}

// More registers would keep warps out.
K forty(u32 *o, const u32 *a, int n, int k)
{
	u32 u[FEWER];

	begin<FEWER>(u, a[TID], n, k);
	store<FEWER>(o + TID, u);
}

// Called by address and ends its threads now and then; its stores are still read when a caller's thread ends.
typedef void put_call(u32 *, u32, int, int);

static __device__ __noinline__ void put(u32 *o, u32 s, int n, int k)
{
	u32 u[MANY];

	begin(u, s, n, k);
	store(o, u);
}

static __device__ __noinline__ void put_more(u32 *o, u32 s, int n, int k)
{
	put(o, s + 1, n, k + 1);
}

K __launch_bounds__(1024, 1) fullfn(u32 *o, const u32 *a, int n, int k)
{
	put_call *call = a[TID] & 1 ? put : put_more;

	call(o + TID, a[TID], n, k);
}
