/* SPDX-License-Identifier: MIT */
/*
 * streams: a pipeline of three streams over four buffers, work of two streams that meet, memory of a
 * pool, and a captured graph, all in order: for --races. The trace tests/golden/streams.trace.zst is of
 * this program on an H100 (driver 580.159.04):
 *
 *	nvcc -arch=sm_90 -cudart shared -o streams tests/gpu/streams.cu
 *	nvsnoop --code=on -o streams.trace.zst ./streams
 */
#include <cstdio>
#include <cstdlib>

#define CK(call)                                                                         \
	do {                                                                             \
		cudaError_t ck_ = (call);                                                \
		if (ck_) {                                                               \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(ck_)); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

enum { N = 16384, ROUNDS = 6, BUFFERS = 4 };

__global__ void scale(float *to, const float *from, float by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = by * from[i];
}

__global__ void add_to(float *sum, const float *from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] += from[i];
}

__global__ void count_large(unsigned *count, const float *from, float least, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && from[i] >= least)
		atomicAdd(count, 1u);
}

static void order(cudaStream_t from, cudaStream_t to)
{
	cudaEvent_t done;

	CK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CK(cudaEventRecord(done, from));
	CK(cudaStreamWaitEvent(to, done, 0));
}

static void run_pipeline(cudaStream_t in, cudaStream_t work, cudaStream_t out)
{
	float *host, *back, *raw[BUFFERS], *scaled[BUFFERS];

	CK(cudaMallocHost(&host, N * 4));
	CK(cudaMallocHost(&back, N * 4));
	for (int i = 0; i < BUFFERS; i++) {
		CK(cudaMalloc(&raw[i], N * 4));
		CK(cudaMalloc(&scaled[i], N * 4));
	}
	for (int round = 0; round < ROUNDS; round++) {
		int i = round % BUFFERS;

		order(work, in);
		CK(cudaMemcpyAsync(raw[i], host, N * 4, cudaMemcpyHostToDevice, in));
		order(in, work);
		order(out, work);
		scale<<<N / 256, 256, 0, work>>>(scaled[i], raw[i], 2, N);
		add_to<<<N / 256, 256, 0, work>>>(scaled[0], scaled[i], N);
		order(work, out);
		CK(cudaMemcpyAsync(back, scaled[i], N * 4, cudaMemcpyDeviceToHost, out));
	}
	CK(cudaDeviceSynchronize());
}

/* Two streams read what a third has written, and write apart. */
static void run_branches(cudaStream_t a, cudaStream_t b, cudaStream_t c)
{
	float *x, *left, *right;
	unsigned *count;

	CK(cudaMalloc(&x, N * 4));
	CK(cudaMalloc(&left, N * 4));
	CK(cudaMalloc(&right, N * 4));
	CK(cudaMalloc(&count, 4));
	for (int round = 0; round < ROUNDS; round++) {
		CK(cudaMemsetAsync(count, 0, 4, a));
		scale<<<N / 256, 256, 0, a>>>(x, left, 0.5f, N);
		order(a, b);
		order(a, c);
		scale<<<N / 256, 256, 0, b>>>(left, x, 3, N);
		scale<<<N / 256, 256, 0, c>>>(right, x, 5, N);
		count_large<<<N / 256, 256, 0, b>>>(count, x, 1, N);
		order(b, a);
		order(c, a);
		add_to<<<N / 256, 256, 0, a>>>(left, right, N);
	}
	CK(cudaDeviceSynchronize());
}

static void run_pool(cudaStream_t a, cudaStream_t b)
{
	for (int round = 0; round < ROUNDS; round++) {
		float *p;

		CK(cudaMallocAsync(&p, N * 4, a));
		CK(cudaMemsetAsync(p, 0, N * 4, a));
		order(a, b);
		scale<<<N / 256, 256, 0, b>>>(p, p, 2, N);
		order(b, a);
		CK(cudaFreeAsync(p, a));
	}
	CK(cudaDeviceSynchronize());
}

static void run_graph(cudaStream_t a, cudaStream_t b)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	float *x, *y;

	CK(cudaMalloc(&x, N * 4));
	CK(cudaMalloc(&y, N * 4));
	CK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
	CK(cudaMemsetAsync(x, 0, N * 4, a));
	order(a, b);
	scale<<<N / 256, 256, 0, a>>>(y, x, 2, N / 2);
	scale<<<N / 512, 256, 0, b>>>(y + N / 2, x + N / 2, 2, N / 2);
	order(b, a);
	CK(cudaStreamEndCapture(a, &graph));
	CK(cudaGraphInstantiate(&exec, graph, 0));
	for (int round = 0; round < ROUNDS; round++) {
		CK(cudaGraphLaunch(exec, a));
		order(a, b);
		add_to<<<N / 256, 256, 0, b>>>(x, y, N);
		order(b, a);
	}
	CK(cudaDeviceSynchronize());
}

int main(void)
{
	cudaStream_t a, b, c;

	CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
	run_pipeline(a, b, c);
	run_branches(a, b, c);
	run_pool(a, b);
	run_graph(a, b);
	puts("streams ok");
	return 0;
}
