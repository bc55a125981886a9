// SPDX-License-Identifier: MIT
// Test kernels for counting whose functions are in separate sections, as in separately compiled
// programs. Otherwise as in kernels.cu. For each N of 75, 80 and 90 the cubin is made, with CUDA
// 13.0, by
//   nvcc -rdc=true -cubin -arch=sm_N -o apart.o.cubin apart.cu
//   nvlink -arch=sm_N -o data/apart-sm_N.cubin apart.o.cubin
typedef unsigned u32;
#define K extern "C" __global__ void
#define FN extern "C" __device__ __noinline__
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define LOOP _Pragma("unroll 1")

// ---- of several kernels ----

FN u32 halve(u32 x, u32 y)
{
	if (x < 5 || y > 6)
		return 1;
	return halve(x >> 1, y + 1) * 3 + x;
}

FN u32 mix(u32 x, u32 y)
{
	u32 s = x;
	LOOP for (u32 i = 0; i < (y & 7); i++) s = s * 1664525 + i;
	if (s & 4)
		s += halve(s, 1);
	return s;
}

K shares(u32 *o, const u32 *a, int n, int k)
{
	u32 s = 0;
	LOOP for (int j = 0; j < k; j++) s += mix(a[TID], j) ^ n;
	if (TID & 1)
		s += halve(s, 3);
	o[TID] = s;
}

K shares2(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID];
	if (v & 2)
		v = mix(v, TID) + 1;
	o[TID] = v;
}

// ---- of one; the second of both is called from within a function alone ----

FN u32 odd(u32 x, u32 y);

FN u32 even(u32 x, u32 y)
{
	return x ? odd(x - 1, y + 3) : y;
}

FN u32 odd(u32 x, u32 y)
{
	return x ? even(x - 1, y * 5) + 1 : y;
}

K mutual(u32 *o, const u32 *a, int n, int k)
{
	o[TID] = even(a[TID] & 7, TID);
}

// ---- by address ----

FN u32 pick(u32 x, u32 y)
{
	switch (x & 7) {
	case 0:
		return y * 3;
	case 1:
		return y ^ 0x1234;
	case 2:
		return y / 7;
	case 3:
		return __brev(y);
	case 4:
		return __popc(y) + 5;
	case 5:
		return y << 3 | 1;
	case 6:
		return y - x;
	}
	return y;
}

FN u32 plain(u32 x, u32 y)
{
	return x * y + 1;
}

FN u32 steps(u32 x, u32 y)
{
	LOOP while (x & 7)
	{
		y = y * 3 + x;
		x >>= 1;
	}
	return y;
}

__constant__ u32 (*table[3])(u32, u32) = {pick, plain, steps};

K bytable(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], r = 0;
	LOOP for (int j = 0; j < k; j++) r += table[(v >> j) % 3](v >> (j + 3), r);
	o[TID] = r;
}

// ---- that ends threads ----

FN u32 ends(u32 x, u32 y)
{
	u32 s = y;
	LOOP for (u32 i = 0; i < 6; i++)
	{
		s = s * 3 + i;
		if ((x >> i & 3) == 3)
			asm volatile("exit;");
	}
	return s;
}

K leaves(u32 *o, const u32 *a, int n, int k)
{
	o[TID] = 1;
	o[TID] = ends(a[TID], k);
}

K leaves2(u32 *o, const u32 *a, int n, int k)
{
	if (a[TID] & 1)
		o[TID] = ends(a[TID], TID) + 1;
	else
		o[TID] = 7;
}

// ---- none ----

K alone(u32 *o, const u32 *a, int n, int k)
{
	u32 s = 0;
	LOOP for (int j = 0; j < k; j++) s = s * 5 + a[(TID + j) % n];
	o[TID] = s;
}
