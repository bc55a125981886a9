/* SPDX-License-Identifier: MIT */
/*
 * One fault of a GPU, for scripts/gpu-check and --fault: faulty KIND WHERE SEED. It launches good kernels, one that
 * faults, and good kernels, waits, and prints what the faulty launch was:
 *
 *	truth: kernel NAME grid N where WHERE node I seed S error NAME
 *
 * The grid of the faulty launch is that of no other launch. KIND is the name of a kernel below, or "illegal", a kernel of
 * the cubin in FAULTY_CUBIN. WHERE: direct (one stream), streams (four), same (four streams that run the faulty kernel
 * with good arguments too), graph (a node among other kernels), graphsame (a node among nodes of the same kernel).
 */
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

typedef unsigned long long u64;

/* All kernels have the same parameters: memory, where in it, and whether to fault. */
struct args {
	int *p;
	u64 at;
	int bad;
};

static __device__ int depth_sum;

__global__ void good(struct args a)
{
	for (int i = 0; i < 50; i++)
		a.p[threadIdx.x] += i;
}

__global__ void scaled(struct args a)
{
	for (int i = 0; i < 50; i++)
		a.p[threadIdx.x] *= i;
}

__global__ void beyond(struct args a)
{
	a.p[threadIdx.x] += 1;
	a.p[a.at] = 1; /* faults */
}

__global__ void freed(struct args a)
{
	a.p[threadIdx.x + a.at] = 1; /* faults */
}

__global__ void loaded(struct args a)
{
	int v = a.p[a.at]; /* faults */

	if (v == 12345)
		a.p[0] = v;
	a.p[1] = v;
}

/* The address is in memory: the parameters do not have it. */
__global__ void table(struct args a)
{
	int *q = ((int **)(a.p + 1024))[8 + a.bad];

	*q = 1; /* faults */
}

__global__ void null(struct args a)
{
	volatile int *q = a.bad ? NULL : a.p;

	q[threadIdx.x] = 1; /* faults */
}

__global__ void misaligned(struct args a)
{
	*(volatile u64 *)((char *)a.p + a.bad) = 3; /* faults */
}

__global__ void trapped(struct args a)
{
	if (a.bad)
		__trap(); /* faults */
	a.p[0] = 1;
}

__global__ void asserted(struct args a)
{
	assert(!a.bad); /* faults */
	a.p[0] = 1;
}

static __device__ __noinline__ int dive(volatile int *p, int n)
{
	volatile int local[100];

	for (int i = 0; i < 100; i++)
		local[i] = p[i & 31] + n; /* faults */
	return n ? dive(p, n - 1) + local[n & 63] : local[0];
}

__global__ void overflowed(struct args a)
{
	depth_sum += dive(a.p, a.bad ? 1000000 : 0);
}

__global__ void shared(struct args a)
{
	__shared__ volatile int s[32];

	s[threadIdx.x & 31] = 1;
	s[a.bad ? 1 << 26 : 0] = 2; /* faults */
	a.p[0] = s[1];
}

static const struct {
	const char *name;
	void (*kernel)(struct args);
} kinds[] = {{"beyond", beyond}, {"freed", freed}, {"loaded", loaded}, {"table", table}, {"null", null},
	     {"misaligned", misaligned}, {"trapped", trapped}, {"asserted", asserted}, {"overflowed", overflowed},
	     {"shared", shared}};

static unsigned state;

static unsigned draw(unsigned n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

static CUfunction faulty;
static struct args good_args, bad_args;
static unsigned bad_grid;

static void launch(cudaStream_t s, CUfunction f, struct args a, unsigned grid)
{
	void *params[] = {&a};

	cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, s, params, NULL);
}

static CUfunction function_of(void (*kernel)(struct args))
{
	cudaFunction_t f = NULL;

	cudaGetFuncBySymbol(&f, (const void *)kernel);
	return (CUfunction)f;
}

static void launch_good(cudaStream_t s, bool same)
{
	unsigned which = draw(same ? 3 : 2);

	launch(s, which == 2 ? faulty : function_of(which ? scaled : good), good_args, 1 + draw(4));
}

static int run_graph(cudaStream_t s, unsigned nodes, bool same)
{
	unsigned at = draw(nodes);
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	for (unsigned i = 0; i < nodes; i++)
		if (i == at)
			launch(s, faulty, bad_args, bad_grid);
		else if (same)
			launch(s, faulty, good_args, 1 + draw(4));
		else
			launch_good(s, false);
	cudaStreamEndCapture(s, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	for (unsigned i = 0; i < 3; i++)
		launch_good(s, false);
	cudaGraphLaunch(exec, s);
	return (int)at;
}

static void run_direct(cudaStream_t *s, unsigned nstreams, bool same)
{
	unsigned before = 2 + draw(12), after = draw(12);

	for (unsigned i = 0; i < before; i++)
		launch_good(s[draw(nstreams)], same);
	launch(s[draw(nstreams)], faulty, bad_args, bad_grid);
	for (unsigned i = 0; i < after; i++)
		launch_good(s[draw(nstreams)], same);
}

static void prepare(const char *kind)
{
	int *big, *host[16];
	CUmodule module;

	cudaMalloc(&big, 64 << 20);
	cudaMalloc(&good_args.p, 64 << 20);
	cudaMemset(good_args.p, 0, 64 << 20);
	bad_args = good_args;
	bad_args.bad = 1;
	for (int i = 0; i < 16; i++)
		host[i] = i == 9 ? (int *)0x123456780000 : good_args.p;
	cudaMemcpy(good_args.p + 1024, host, sizeof(host), cudaMemcpyHostToDevice);
	if (!strcmp(kind, "beyond") || !strcmp(kind, "loaded"))
		bad_args.at = (64 << 18) + (1ull << 32) + draw(1000);
	if (!strcmp(kind, "freed"))
		bad_args.p = big;
	cudaFree(big);
	for (const auto &k : kinds)
		if (!strcmp(kind, k.name))
			faulty = function_of(k.kernel);
	if (!strcmp(kind, "illegal") && !cuModuleLoad(&module, getenv("FAULTY_CUBIN")))
		cuModuleGetFunction(&faulty, module, "illegal");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 3 ? argv[1] : "beyond", *where = argc > 3 ? argv[2] : "direct";
	bool graph = !strncmp(where, "graph", 5), same = strstr(where, "same");
	cudaStream_t s[4];
	cudaError_t r;
	int node = -1;

	state = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	prepare(kind);
	if (!faulty) {
		fprintf(stderr, "faulty: no kernel '%s'\n", kind);
		return 2;
	}
	bad_grid = 100 + draw(100);
	for (auto &stream : s)
		cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	launch(s[0], function_of(good), good_args, 1);
	launch(s[0], function_of(scaled), good_args, 1);
	launch_good(s[0], same && !graph);
	cudaDeviceSynchronize();
	if (graph)
		node = run_graph(s[0], 20 + draw(40), same);
	else
		run_direct(s, !strcmp(where, "direct") ? 1 : 4, same);
	r = cudaDeviceSynchronize();
	printf("truth: kernel %s grid %u where %s node %d seed %s error %s\n", kind, bad_grid, where, node,
	       argc > 3 ? argv[3] : "1", cudaGetErrorName(r));
	return 0;
}
