// SPDX-License-Identifier: MIT
// Test kernels for counting: small kernels, each with another kind of control flow.
//
// All have the same parameters: o is the memory they write, a words to read, n the number of
// either, k a number. The memory that they write and the instructions that they execute do not
// depend on the order in which warps run. kernels.h has the launch of each. For each N of 75, 80
// and 90 the cubin is made, with nvcc 13.0, by
//   nvcc -cubin -arch=sm_N -o data/kernels-sm_N.cubin kernels.cu
#include <cstdint>

typedef unsigned u32;
typedef unsigned long long u64;
#define K extern "C" __global__ void
#define FN static __device__ __noinline__
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define LOOP _Pragma("unroll 1")
#define ALL 0xffffffffu

static __device__ float unit(u32 v) // in [1, 2): no rounding to speak of differs between two orders
{
	return __uint_as_float(0x3f800000u | v >> 9);
}

// ---- straight lines and loops ----

K add(u32 *o, const u32 *a, int n, int k)
{
	int i = TID;
	if (i < n)
		o[i] = a[i] + k;
}

K saxpy(u32 *o, const u32 *a, int n, int k)
{
	for (int i = TID; i < n; i += gridDim.x * blockDim.x)
		o[i] = __float_as_uint(unit(a[i]) * 2.5f + k);
}

K fixed(u32 *o, const u32 *a, int n, int k)
{
	u32 r = a[TID];
	LOOP for (int j = 0; j < k; j++)
		r = r * 1664525u + 1013904223u;
	o[TID] = r;
}

K unrolled(u32 *o, const u32 *a, int n, int k)
{
	float x = unit(a[TID]), y = x + 1;
#pragma unroll 8
	for (int j = 0; j < k; j++) {
		x = x * 0.75f + y;
		y = y * 0.5f + 0.25f;
	}
	o[TID] = __float_as_uint(x + y);
}

K bythread(u32 *o, const u32 *a, int n, int k)
{
	u32 r = TID;
	LOOP for (u32 j = 0; j < (threadIdx.x & 31) * 3 + (blockIdx.x & 7); j++)
	{
		r = r * 1664525u + 1013904223u;
		if (r >> 31)
			r ^= a[j];
	}
	o[TID] = r;
}

K nested(u32 *o, const u32 *a, int n, int k)
{
	u32 i = TID, r = 0;
	if (i >= n)
		return;
	LOOP for (u32 p = 0; p < 6; p++)
	{
		u32 v = a[(i + p) % n];
		LOOP for (u32 q = 0; q < (v & 15); q++)
		{
			r = r * 33 + q;
			if ((r & 0xff) == 7)
				goto out;
			if ((r & 63) == 5)
				break;
			if ((r & 3) == 1)
				continue;
			r ^= v;
		}
		if ((r & 0x3f) == 11)
			continue;
		r += p;
	}
out:
	o[i] = r;
}

K collatz(u32 *o, const u32 *a, int n, int k)
{
	u32 v = (a[TID] & 0x3ff) + 1, steps = 0;
	LOOP while (v != 1 && steps < 200)
	{
		v = v & 1 ? 3 * v + 1 : v >> 1;
		steps++;
	}
	o[TID] = steps;
}

// ---- branches ----

K diverge(u32 *o, const u32 *a, int n, int k)
{
	int i = TID;
	if (i >= n)
		return;
	u32 v = a[i], r = 0;
	if (v & 1) {
		for (int j = 0; j < 5; j++)
			r = r * 3 + v + a[(i + j) % n];
		if (v & 2)
			r ^= a[(i * 7) % n];
		else
			r += v / (u32)(k + 1);
	} else if (v & 4) {
		r = v * v;
		for (u32 j = 0; j < (v & 15); j++)
			r += a[(r + j) % (u32)n];
	} else {
		r = ~v;
	}
	o[i] = r;
}

K predicated(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], r = k;
	if (v & 1)
		r += v;
	if (v & 2)
		r ^= v >> 3;
	if ((v & 12) == 4)
		o[n + TID] = v;
	if (v & 16 && r & 1)
		r *= 5;
	o[TID] = r;
}

K earlyexit(u32 *o, const u32 *a, int n, int k)
{
	u32 i = TID;
	if (i >= n)
		return;
	u32 r = a[i];
	LOOP for (u32 j = 0; j < 64; j++)
	{
		if ((r & 31) == (j & 31))
			return;
		r = r * 1103515245u + 12345u;
		o[i] = r;
		if (r == 0x1234567u)
			return;
	}
	o[i] = ~r;
}

K ragged(u32 *o, const u32 *a, int n, int k)
{
	u32 i = TID, r = a[i % n];
	LOOP while ((r & 0xff) > 8)
	{
		r = r * 1664525u + 1013904223u;
		if ((r >> 20 & 255) == 5) {
			o[i] = r;
			return;
		}
	}
	if (r & 1) {
		o[i] = r * 3;
	} else {
		for (u32 j = 0; j < (r & 7); j++)
			r += a[(r + j) % (u32)n];
		o[i] = r;
	}
}

K switch8(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], r = k;
	LOOP for (int j = 0; j < 6; j++)
	{
		switch (v >> (j * 3) & 7) {
		case 0: r += v; break;
		case 1: r *= v | 1; break;
		case 2: r ^= v << 3; break;
		case 3: r = r << 5 | r >> 27; break;
		case 4: r -= a[r % (u32)n]; break;
		case 5: r = __brev(r); break;
		case 6: r += __popc(v) * 77; break;
		default: r = r * r + 1;
		}
	}
	o[TID] = r;
}

// A jump through a table, as PTX has it: nvcc makes such of no switch of ours.
K table(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], r = k;
	LOOP for (int j = 0; j < 5; j++)
	{
		u32 s = v >> (j * 4) & 7, t = r;
		asm volatile("{\n\t"
			     "ts: .branchtargets l0, l1, l2, l3, l4, l5, l6, l7;\n\t"
			     "brx.idx %1, ts;\n"
			     "l0: add.u32 %0, %0, %2; bra.uni done;\n"
			     "l1: mul.lo.u32 %0, %0, 5; bra.uni done;\n"
			     "l2: xor.b32 %0, %0, %2; bra.uni done;\n"
			     "l3: shl.b32 %0, %0, 3; add.u32 %0, %0, 1; bra.uni done;\n"
			     "l4: sub.u32 %0, %2, %0; bra.uni done;\n"
			     "l5: brev.b32 %0, %0; add.u32 %0, %0, 7; bra.uni done;\n"
			     "l6: not.b32 %0, %0; bra.uni done;\n"
			     "l7: mad.lo.u32 %0, %0, %0, 3;\n"
			     "done:\n\t}"
			     : "+r"(t)
			     : "r"(s), "r"(v));
		r = t;
	}
	o[TID] = r;
}

// Two loops of which each jumps into the other: no structure that a compiler knows.
K tangled(u32 *o, const u32 *a, int n, int k)
{
	u32 r = a[TID], c = 0;
	if (r & 1)
		goto second;
first:
	r = r * 5 + 1;
	c++;
	if (c > 20)
		goto out;
	if (r & 8)
		goto first;
second:
	r = r * 3 + 7;
	c += 2;
	if (c > 20)
		goto out;
	if (r & 16)
		goto second;
	goto first;
out:
	o[TID] = r ^ c;
}

// ---- calls ----

FN u32 mixer(u32 x, u32 y)
{
	for (u32 j = 0; j < (x & 7); j++) {
		y = y * 69069u + x;
		x ^= y >> 7;
	}
	return x + y;
}

K callfn(u32 *o, const u32 *a, int n, int k)
{
	u32 i = TID, r;
	if (i >= n)
		return;
	r = a[i];
	if (r & 1)
		r = mixer(r, i) + mixer(i, r);
	else
		r = mixer(r >> 3, k);
	o[i] = r;
}

FN u32 fib(u32 x)
{
	return x < 2 ? x : fib(x - 1) + fib(x - 2);
}

K recurse(u32 *o, const u32 *a, int n, int k)
{
	o[TID] = fib(3 + (a[TID] & 3));
}

FN u32 twice(u32 x)
{
	return x * 2 + 1;
}

FN u32 square(u32 x)
{
	return x * x;
}

K pointer(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID];
	u32 (*volatile f)(u32) = v & 1 ? twice : square;
	u32 r = f(v);
	if (v & 2)
		r = f(r + 1);
	o[TID] = r;
}

// ---- warps ----

K vote(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], r;
	r = __ballot_sync(ALL, v & 1);
	if (__any_sync(ALL, v % 61 == 3))
		r += 5;
	if (__all_sync(ALL, v & 3))
		r += 7;
	if (v & 4)
		r ^= __popc(__activemask());
	o[TID] = r;
}

K reduce(u32 *o, const u32 *a, int n, int k)
{
	__shared__ u32 s[32];
	u32 v = 0;
	for (int i = TID; i < n; i += gridDim.x * blockDim.x)
		v += a[i];
	for (int d = 16; d; d >>= 1)
		v += __shfl_down_sync(ALL, v, d);
	if ((threadIdx.x & 31) == 0)
		s[threadIdx.x >> 5] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = threadIdx.x < (blockDim.x + 31) / 32 ? s[threadIdx.x] : 0;
		for (int d = 16; d; d >>= 1)
			v += __shfl_down_sync(ALL, v, d);
		if (!threadIdx.x)
			o[blockIdx.x] = v;
	}
}

K scan(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID] & 0xffff, lane = threadIdx.x & 31;
	for (int d = 1; d < 32; d <<= 1) {
		u32 w = __shfl_up_sync(ALL, v, d);
		if (lane >= d)
			v += w;
	}
	o[TID] = v;
}

K butterfly(u32 *o, const u32 *a, int n, int k)
{
	float v = unit(a[TID]);
	for (int d = 1; d < 32; d <<= 1)
		v = fmaxf(v, __shfl_xor_sync(ALL, v, d)) * 1.5f;
	o[TID] = __float_as_uint(v) + __shfl_sync(ALL, a[TID], k, 8);
}

// Shuffles among those who are there, fewer each time round.
K fragments(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], r = 0;
	for (u32 j = 0; j < (v & 7) + 1; j++) {
		u32 m = __activemask();
		r += __shfl_sync(m, v, __ffs(m) - 1) + __popc(__ballot_sync(m, v & 1 << j)) + __popc(m);
		if (r >> k & 1)
			r += __shfl_xor_sync(__activemask(), r, 1) * 0 + 3;
		__syncwarp(m);
	}
	o[TID] = r;
}

K match(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID] & 3, m, c = 0;
	m = __match_any_sync(ALL, v);
	int all;
	c = __match_all_sync(ALL, blockIdx.x, &all);
	if (__ffs(m) - 1 == (threadIdx.x & 31))
		atomicAdd(o + n + v, __popc(m));
	o[TID] = m ^ c + all;
}

K warpsum(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID] & 0xffff;
#if __CUDA_ARCH__ >= 800
	u32 r = __reduce_add_sync(ALL, v) ^ __reduce_max_sync(ALL, v) ^ __reduce_xor_sync(ALL, v);
#else
	u32 s = v, m = v, x = v;
	for (int d = 16; d; d >>= 1) {
		s += __shfl_xor_sync(ALL, s, d);
		m = max(m, __shfl_xor_sync(ALL, m, d));
		x ^= __shfl_xor_sync(ALL, x, d);
	}
	u32 r = s ^ m ^ x;
#endif
	o[TID] = r;
}

K halves(u32 *o, const u32 *a, int n, int k)
{
	__shared__ u32 s[256];
	u32 t = threadIdx.x, v = a[TID];
	if ((t & 31) < 16) {
		s[t] = v;
		__syncwarp(0xffff);
		v += s[t ^ 1];
	} else {
		s[t] = v * 3;
		__syncwarp(0xffff0000);
		v ^= s[t ^ 3];
	}
	__syncwarp();
	o[TID] = v;
}

// ---- blocks: shared memory and barriers ----

K matmul(u32 *o, const u32 *a, int n, int k)
{
	__shared__ float sa[8][9], sb[8][9];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
	float r = 0;
	for (int t = 0; t < k / 8; t++) {
		sa[ty][tx] = unit(a[row * k + t * 8 + tx]);
		sb[ty][tx] = unit(a[(t * 8 + ty) * k + col]);
		__syncthreads();
		for (int q = 0; q < 8; q++)
			r += sa[ty][q] * sb[q][tx];
		__syncthreads();
	}
	o[row * k + col] = __float_as_uint(r);
}

K transpose(u32 *o, const u32 *a, int n, int k)
{
	extern __shared__ u32 tile[];
	int x = threadIdx.x, y = threadIdx.y, w = blockDim.x;
	tile[y * (w + 1) + x] = a[(blockIdx.y * w + y) * k + blockIdx.x * w + x];
	__syncthreads();
	o[(blockIdx.x * w + y) * k + blockIdx.y * w + x] = tile[x * (w + 1) + y];
}

K histogram(u32 *o, const u32 *a, int n, int k)
{
	__shared__ u32 bins[16];
	if (threadIdx.x < 16)
		bins[threadIdx.x] = 0;
	__syncthreads();
	for (int i = TID; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[a[i] & 15], 1);
	__syncthreads();
	if (threadIdx.x < 16)
		atomicAdd(o + threadIdx.x, bins[threadIdx.x]);
}

// Some threads are gone when the others meet.
K gone(u32 *o, const u32 *a, int n, int k)
{
	__shared__ u32 s[256];
	u32 t = threadIdx.x;
	s[t] = a[TID];
	__syncthreads();
	if (t >= k)
		return;
	u32 v = s[t ^ 1];
	__syncthreads();
	s[t] = v * 3;
	__syncthreads();
	o[TID] = s[(t + 1) % k];
}

K counted(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID];
	u32 c = __syncthreads_count(v & 1), all = __syncthreads_and(v | 1), any = __syncthreads_or((v & 255) == 7);
	o[TID] = c + 1000 * !!all + 10000 * !!any;
}

// Half of the warps meet at one barrier, half at another.
K named(u32 *o, const u32 *a, int n, int k)
{
	__shared__ u32 s[128];
	u32 t = threadIdx.x, v = a[TID];
	s[t] = v;
	if (t < 64) {
		asm volatile("bar.sync 1, 64;" ::: "memory");
		v += s[63 - t];
	} else {
		asm volatile("bar.sync 2, 64;" ::: "memory");
		v ^= s[191 - t];
		asm volatile("bar.sync 2, 64;" ::: "memory");
		s[t] = v;
	}
	__syncthreads();
	o[TID] = v + s[(t + 32) & 127];
}

// Two parts of a warp at one barrier, in a function that both sides of a branch call.
FN u32 meet(u32 x)
{
	asm volatile("bar.sync 0;");
	x = x * 3 + 1;
	for (u32 j = 0; j < (x & 3); j++)
		x = x * 5 + j;
	asm volatile("bar.sync 0;");
	return x ^ x >> 3;
}

K parts(u32 *o, const u32 *a, int n, int k)
{
	u32 r = threadIdx.x;
	if (a[TID] & 1)
		r = meet(r) + 7;
	else
		r = meet(r ^ 5) * 9;
	o[TID] = r;
}

// Two blocks that wait for each other, where blocks can.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
K __cluster_dims__(2, 1, 1) cluster(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], rank;
	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	o[TID] = v + k;
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
	v = ((volatile u32 *)o)[((blockIdx.x & ~1) | !rank) * blockDim.x + threadIdx.x];
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
	o[n + TID] = v * 3 + rank;
}
#endif

// ---- memory ----

K atomics(u32 *o, const u32 *a, int n, int k)
{
	u32 i = TID, v = a[i];
	if (v & 1)
		atomicAdd(o + n + (v >> 1 & 7), 1);
	else if (v & 2)
		atomicAdd(o + n + 8, v & 0xff);
	if (v & 8)
		atomicMax(o + n + 16 + (v & 3), v);
	atomicAdd((u64 *)(o + n + 24) + (v & 1), (u64)v << 8);
	o[i] = v;
	u32 was = atomicAdd(o + i, 7) + atomicExch(o + i, 9);
	was += atomicCAS(o + i, 9, was) + atomicXor(o + i, 3) + atomicMin(o + i, v);
	o[i] ^= was;
}

K vectors(u32 *o, const u32 *a, int n, int k)
{
	u32 i = TID;
	uint4 v = ((const uint4 *)a)[i];
	uint2 w = ((const uint2 *)a)[i + 1];
	v.x += w.y;
	v.y ^= ((const unsigned char *)a)[i];
	v.z += ((const signed char *)a)[i * 3];
	v.w += ((const short *)a)[i] + ((const unsigned short *)a)[i + 5];
	((uint4 *)o)[i] = v;
	((unsigned char *)(o + 4 * n))[i] = v.x;
	((short *)(o + 5 * n))[i] = v.y;
}

K local(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], t[16], r = 0;
	for (int j = 0; j < 16; j++)
		t[j] = v * (j + k);
	LOOP for (int j = 0; j < 8; j++)
	{
		t[(v >> j) & 15] += r;
		r += t[(v >> (j + 3)) & 15];
	}
	o[TID] = r;
}

__constant__ u32 squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

K constants(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID];
	o[TID] = squares[v & 15] * squares[k] + squares[blockIdx.x & 15];
}

// Into shared memory past the registers, where there is such a thing.
K staged(u32 *o, const u32 *a, int n, int k)
{
	__shared__ u32 s[256];
	u32 t = threadIdx.x;
#if __CUDA_ARCH__ >= 800
	u32 at = (u32)__cvta_generic_to_shared(s + t);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(at),
		     "l"(a + TID)
		     : "memory");
#else
	s[t] = a[TID];
#endif
	__syncthreads();
	o[TID] = s[blockDim.x - 1 - t] + k;
}

// ---- arithmetic ----

K divide(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], w = a[TID + 1] >> (v & 15) | 1;
	o[TID] = v / w + v % (w + 1) * 3 + (u32)((int)v / (int)(w | 2)) + v / 10 + v % (u32)k;
}

K wide(u32 *o, const u32 *a, int n, int k)
{
	u64 v = (u64)a[TID] << 32 | a[TID + 1], w = a[TID + 2] | 1;
	u64 r = v * w + (v >> (w & 31)) + __umul64hi(v, w * w);
	long long s = (long long)v >> 3;
	if (v > r)
		s -= 5;
	r += v / (w & 0xffff | 1) + s;
	o[TID] = (u32)r ^ (u32)(r >> 32);
}

K bits(u32 *o, const u32 *a, int n, int k)
{
	u32 v = a[TID], w = a[TID + 1], r = __popc(v) + __clz(w) * 3 + __ffs(v);
	r ^= __brev(v) + __byte_perm(v, w, 0x3175) + __funnelshift_l(v, w, k) + __funnelshift_r(v, w, v & 31);
	r += min((int)v, (int)w) ^ max(v, w) ^ (u32)abs((int)w) ^ __sad((int)v, (int)w, 3u);
	r ^= v << (w & 31) ^ (u32)((int)w >> (v & 31)) ^ (v & w | ~k);
	r += __mulhi((int)v, (int)w) + __umulhi(v, w);
	o[TID] = r;
}

K floats(u32 *o, const u32 *a, int n, int k)
{
	float x = unit(a[TID]) - 1.5f, y = unit(a[TID + 1]), z;
	z = fminf(x, y) + fabsf(x) * fmaxf(x, 0.25f) - floorf(y * 7) + (x < 0 ? y : -y);
	z += (float)(int)(a[TID] >> 8) + (float)(int)(z * 100) + (float)(u32)(y * 1000);
	if (z > 1e6f)
		z -= truncf(x * 9) + rintf(y * 3.3f);
	o[TID] = __float_as_uint(z);
}

K quotient(u32 *o, const u32 *a, int n, int k)
{
	float x = __uint_as_float(a[TID] & 0x7fffffff), y = __uint_as_float(a[TID + 1] & 0x7fffffff);
	float r = x / y;
	if (!(r == r))
		r = 1;
	o[TID] = __float_as_uint(r) + __float_as_uint(sqrtf((float)(a[TID] >> 7)));
}

K doubles(u32 *o, const u32 *a, int n, int k)
{
	double x = (double)a[TID] + 1, y = (double)(a[TID + 1] | 1), r;
	r = x * y + 0.5 - x / 3;
	if (x > y)
		r -= x;
	r = x / y + fma(x, 0.25, r);
	o[TID] = (u32)__double2ll_rz(r) ^ __double2hiint(r) ^ (u32)__double2loint(r);
}

// Every thread the same: what goes to the uniform half of an SM.
K uniform(u32 *o, const u32 *a, int n, int k)
{
	u32 r = k;
	u64 w = n;
	LOOP for (int j = 0; j < k; j++)
	{
		r = __popc(r * 3 + j) + (r << 2) + n;
		w = (u64)r * j + w;
		if (r & 1)
			w += blockIdx.x;
	}
	o[TID] = r + (u32)(w >> 32) + (u32)w * a[k & 3];
}

// More registers than a few.
K __launch_bounds__(64) registers(u32 *o, const u32 *a, int n, int k)
{
	float v[40];
	for (int j = 0; j < 40; j++)
		v[j] = unit(a[(threadIdx.x * 40 + j) % n]) * 0.5f;
	LOOP for (int t = 0; t < k; t++)
		for (int j = 0; j < 40; j++)
			v[j] = v[j] * v[(j + 7) % 40] + 0.125f;
	float s = 0;
	for (int j = 0; j < 40; j++)
		s += v[j] * (j + 1);
	o[TID] = __float_as_uint(s);
}

// A product of two 8 x 16 and 16 x 8 matrices of bytes, one a warp.
K tensor(u32 *o, const u32 *a, int n, int k)
{
	u32 c0 = k, c1 = k + 1;
	LOOP for (int j = 0; j < k; j++)
		asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
			     : "+r"(c0), "+r"(c1)
			     : "r"(a[TID + j]), "r"(a[TID + 64]));
	o[2 * TID] = c0;
	o[2 * TID + 1] = c1;
}
