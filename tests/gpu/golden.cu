/* SPDX-License-Identifier: MIT */
/*
 * A short program in which every CUDA call and size is known: copies in all directions around the
 * sizes at which the driver changes from inline upload to the copy engine, memsets, two kernels
 * between two events, graphs of 1 to 100 nodes, and three threads. Results do not depend on
 * timing: no two streams write the same element.
 */
#include <thread>
#include "common.cuh"

enum { ELEMENTS = 1 << 16, PINNED_BYTES = 1 << 20, WORKERS = 3, WORKER_LAUNCHES = 20 };

__global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

/* Each block turns its own 1024 elements by one, through shared memory. */
__global__ void tile(float *data)
{
	__shared__ float shared[1024];
	int t = threadIdx.y * blockDim.x + threadIdx.x;
	float *own = data + 1024 * (blockIdx.y * gridDim.x + blockIdx.x);

	shared[t] = own[t];
	__syncthreads();
	own[t] = shared[(t + 1) % 1024];
}

struct buffers {
	float *x, *y; /* on the device */
	float *pinned;
	char *pageable;
	cudaStream_t stream, other;
};

static void copy_to_device(const struct buffers *b)
{
	static const size_t pinned[] = {4,     64,    4096,  16384, 24575, 24576,
					24580, 32768, 65536, 65540, 262144};
	static const size_t pageable[] = {4, 4096, 65536, 65540, 131072};

	for (size_t bytes : pinned)
		CHECK(cudaMemcpyAsync(b->x, b->pinned, bytes, cudaMemcpyHostToDevice, b->stream));
	CHECK(cudaStreamSynchronize(b->stream));
	for (size_t bytes : pageable)
		CHECK(cudaMemcpy(b->x, b->pageable, bytes, cudaMemcpyHostToDevice));
}

static void copy_from_device(const struct buffers *b)
{
	static const size_t sizes[] = {4, 4096, 65536, 262144};

	for (size_t bytes : sizes) {
		CHECK(cudaMemcpy(b->pageable, b->x, bytes, cudaMemcpyDeviceToHost));
		printf("read %zu: %016llx\n", bytes,
		       (unsigned long long)checksum(b->pageable, bytes));
	}
}

static void copy_and_set_on_device(const struct buffers *b)
{
	CHECK(cudaMemcpyAsync(b->y, b->x, 4096, cudaMemcpyDeviceToDevice, b->stream));
	CHECK(cudaMemcpy2DAsync(b->y, 1024, b->x, 2048, 512, 16, cudaMemcpyDeviceToDevice,
				b->stream));
	CHECK(cudaMemsetAsync(b->x, 0x5a, 4096, b->stream));
	CHECK(cudaMemset2DAsync(b->x, 1024, 1, 100, 8, b->stream));
	CHECK(cudaStreamSynchronize(b->stream));
}

/* One saxpy between two events, and one tile in another stream that waits for the second. */
static void launch_between_events(const struct buffers *b)
{
	cudaEvent_t before, after;

	CHECK(cudaEventCreate(&before));
	CHECK(cudaEventCreate(&after));
	CHECK(cudaEventRecord(before, b->stream));
	saxpy<<<256, 256, 0, b->stream>>>(b->y, b->x, 2.0f, ELEMENTS);
	CHECK(cudaEventRecord(after, b->stream));
	CHECK(cudaStreamWaitEvent(b->other, after, 0));
	tile<<<dim3(3, 2, 1), dim3(32, 32, 1), 0, b->other>>>(b->y);
	CHECK(cudaEventSynchronize(after));
	CHECK(cudaStreamSynchronize(b->other));
}

static void launch_graph(const struct buffers *b, int nodes)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < nodes; i++)
		saxpy<<<1, 32, 0, b->stream>>>(b->y, b->x, 1.0f, 32);
	CHECK(cudaStreamEndCapture(b->stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphUpload(exec, b->stream));
	CHECK(cudaStreamSynchronize(b->stream));
	for (int i = 0; i < 2; i++)
		CHECK(cudaGraphLaunch(exec, b->stream));
	CHECK(cudaStreamSynchronize(b->stream));
}

/* A thread with a stream and 32 elements of its own. */
static void worker(const struct buffers *b, int number)
{
	float *own = b->y + 1024 * (number + 1);
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < WORKER_LAUNCHES; i++)
		saxpy<<<1, 32, 0, stream>>>(own, b->x, 1.0f, 32);
	CHECK(cudaStreamSynchronize(stream));
}

static void make_buffers(struct buffers *b)
{
	CHECK(cudaMalloc(&b->x, ELEMENTS * sizeof(float)));
	CHECK(cudaMalloc(&b->y, ELEMENTS * sizeof(float)));
	CHECK(cudaMallocHost(&b->pinned, PINNED_BYTES));
	for (int i = 0; i < ELEMENTS; i++)
		b->pinned[i] = i;
	b->pageable = (char *)malloc(PINNED_BYTES);
	for (int i = 0; i < PINNED_BYTES; i++)
		b->pageable[i] = i % 251;
	CHECK(cudaStreamCreate(&b->stream));
	CHECK(cudaStreamCreateWithFlags(&b->other, cudaStreamNonBlocking));
	/* What a fresh allocation holds is nobody's promise. */
	CHECK(cudaMemset(b->x, 0, ELEMENTS * sizeof(float)));
	CHECK(cudaMemset(b->y, 0, ELEMENTS * sizeof(float)));
	CHECK(cudaDeviceSynchronize());
}

int main()
{
	static const int graph_sizes[] = {1, 2, 5, 20, 100};
	struct buffers b;
	std::thread threads[WORKERS];

	make_buffers(&b);
	copy_to_device(&b);
	copy_from_device(&b);
	copy_and_set_on_device(&b);
	launch_between_events(&b);
	for (int nodes : graph_sizes)
		launch_graph(&b, nodes);
	for (int i = 0; i < WORKERS; i++)
		threads[i] = std::thread(worker, &b, i);
	for (std::thread &thread : threads)
		thread.join();
	print_device_checksum("x", b.x, ELEMENTS * sizeof(float));
	print_device_checksum("y", b.y, ELEMENTS * sizeof(float));
	CHECK(cudaFree(b.x)); /* y is left allocated on purpose */
	CHECK(cudaDeviceSynchronize());
	puts("done");
	return 0;
}
