// SPDX-License-Identifier: MIT
// Kernels for tests/cli/reproduce: what parameters can hold. The cubin is made with nvcc 13.0 by
//   nvcc -cubin -arch=sm_90 -o data/replayed-sm_90.cubin replayed.cu

typedef unsigned u32;

#define N 1000
#define K extern "C" __global__ void

__device__ u32 weights[256];

// An address in a structure by value.
struct span {
	u32 *at;
	int n, pad;
	const u32 *from;
};

// An address at a place that is no multiple of 8.
struct packed {
	u32 n, at[2], k;
};

static __device__ int place()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

K fill(u32 *o, int n, u32 seed)
{
	for (int i = place(); i < n; i += gridDim.x * blockDim.x)
		o[i] = (seed + i) * 1664525u + 1013904223u;
}

K mix(u32 *o, const u32 *a, int n, u32 k)
{
	int i = place();

	if (i < n)
		o[i] = (a[i] ^ k) + o[i];
}

K spans(span s, u32 k)
{
	int i = place();

	if (i < s.n)
		s.at[i] += s.from[i] * k;
}

K packs(packed p)
{
	u32 *at = (u32 *)(p.at[0] | (unsigned long long)p.at[1] << 32);
	int i = place();

	if (i < p.n)
		at[i] ^= p.k;
}

// A table of addresses in memory.
K rows(u32 **row, int n, u32 k)
{
	int i = place();

	if (i < n)
		row[1][i] = row[0][i] + k + i;
}

// A variable of the module, which no parameter points to.
K weighted(u32 *o, int n)
{
	int i = place();

	if (i < n)
		o[i] = o[i] * 3 + weights[i & 255];
}

// Writes far past a small buffer.
K past(u32 *o, u32 far)
{
	o[threadIdx.x * (unsigned long long)far] = 1;
}

K nothing()
{
}
