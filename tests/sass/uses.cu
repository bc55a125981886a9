/* SPDX-License-Identifier: MIT */
/* Kernels that use the memory of their parameters in known ways: tests/unit/test_parameter_use.c. To make
 * data/uses-*.cubin: nvcc -arch=sm_75 -cubin -o tests/sass/data/uses-sm_75.cubin tests/sass/uses.cu, and
 * so for sm_80 and sm_90. */

struct pair {
	float *to;
	const float *from;
};

struct node {
	node *next;
	float value;
};

extern "C" __global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void read_only(const float *x, int n)
{
	float s = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s += x[i];
	if (s == 42.0f)
		__trap();
}

extern "C" __global__ void histogram(unsigned *bins, const unsigned char *data, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(bins + data[i], 1u);
}

/* An index that is loaded is no address. */
extern "C" __global__ void gather(double *out, const double *in, const int *index, long n)
{
	long i = blockIdx.x * (long)blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[index[i]];
}

extern "C" __global__ void by_struct(pair p, int n)
{
	int i = threadIdx.x;

	if (i < n)
		p.to[i] = p.from[i] * 2;
}

/* Reads through addresses that are loaded. */
extern "C" __global__ void sum_list(const node *list, float *sum)
{
	float s = 0;

	for (; list; list = list->next)
		s += list->value;
	*sum = s;
}

/* Writes through them: any memory. */
extern "C" __global__ void scale_list(node *list, const float *by)
{
	for (; list; list = list->next)
		list->value *= *by;
}

/* Stores an address, which others may use. */
extern "C" __global__ void keep(float **slot, float *p)
{
	*slot = p;
}

__device__ __noinline__ void put(float *p, float v)
{
	*p = v;
}

/* With functions: they return to all places from which they are called. */
extern "C" __global__ void call(float *a, const float *b, int n)
{
	for (int i = threadIdx.x; i < n; i += 32)
		put(a + i, b[i] / 3.0f);
}

/* Which one is written is not known. */
extern "C" __global__ void choose(float *a, float *b, int which)
{
	float *from = which ? a : b, *to = which ? b : a;

	to[threadIdx.x] = from[threadIdx.x];
}

extern "C" __global__ void transpose(float *out, const float *in, int w)
{
	__shared__ float t[32][33];

	t[threadIdx.y][threadIdx.x] = in[threadIdx.y * w + threadIdx.x];
	__syncthreads();
	out[threadIdx.x * w + threadIdx.y] = t[threadIdx.x][threadIdx.y];
}

/* Waits for the kernel before it, where there is such an instruction. */
extern "C" __global__ void waiting(float *y, const float *x)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
	y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void copy_vectors(float4 *out, const float4 *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i];
}
