/* SPDX-License-Identifier: MIT */
/*
 * reproduced CUBIN WHAT: launches whose parameters it prints as bytes, with zeros between them.
 *
 * special: of tests/sass/replayed.cu: input that a kernel made, the middle of a pool, addresses in
 * structures and in memory, a variable of the module.
 *
 * past: the same, and a last launch that writes past its buffer.
 *
 * kernels: all of tests/sass/kernels.cu, as kernels.h has them, each with memory of its own.
 *
 * unwaited: the same, first while the GPU waits at a closed gate, then one after the other; only
 * words in memory tell how far it is.
 */
#include <stdbool.h>
#include <string.h>
#include "app.h"

#define N 1000
#define POOL (3ul << 20)
#define WORDS 8192

struct span {
	CUdeviceptr at;
	int n, pad;
	CUdeviceptr from;
};

struct __attribute__((packed)) packed {
	uint32_t n;
	CUdeviceptr at;
	uint32_t k;
};

static CUmodule module;

static void load(const char *path)
{
	static char cubin[4 << 20];
	FILE *f = fopen(path, "rb");

	EXPECT(f && fread(cubin, 1, sizeof(cubin), f), "%s", path);
	fclose(f);
	app_context(0);
	CK(cuModuleLoadData(&module, cubin));
}

/* A parameter: where it is, and its bytes. */
struct parameter {
	uint32_t offset, size;
	void *value;
};
#define P(offset, x)                    \
	{                               \
		offset, sizeof(x), &(x) \
	}

static CUresult launch(const char *kernel, uint32_t blocks, const struct parameter *p, uint32_t n)
{
	uint8_t bytes[256] = {0};
	void *values[16];
	uint32_t end = 0;
	CUfunction f;

	for (uint32_t i = 0; i < n; i++) {
		values[i] = p[i].value;
		memcpy(bytes + p[i].offset, p[i].value, p[i].size);
		end = p[i].offset + p[i].size;
	}
	printf("%s ", kernel);
	for (uint32_t i = 0; i < end; i++)
		printf("%02x", bytes[i]);
	printf("\n");
	CK(cuModuleGetFunction(&f, module, kernel));
	return cuLaunchKernel(f, blocks, 1, 1, 128, 1, 1, 0, NULL, values, NULL);
}
#define LAUNCH(kernel, blocks, ...)                               \
	launch(kernel, blocks, (struct parameter[]){__VA_ARGS__}, \
	       sizeof((struct parameter[]){__VA_ARGS__}) / sizeof(struct parameter))

static void print_sum(const char *name, CUdeviceptr at)
{
	static uint32_t back[N];
	uint64_t sum = 0xcbf29ce484222325ull;

	CK(cuMemcpyDtoH_v2(back, at, sizeof(back)));
	for (int i = 0; i < N; i++)
		sum = (sum ^ back[i]) * 0x100000001b3ull;
	printf("= %s %016llx\n", name, (unsigned long long)sum);
}

static void special(bool past)
{
	CUdeviceptr in, out, pool, table, gone, variable, inside, list[2];
	uint32_t seed = 77, k = 123, weights[256], far = 1u << 24;
	int n = N;
	size_t bytes;

	CK(cuMemAlloc_v2(&gone, 4 << 20));
	CK(cuMemAlloc_v2(&in, N * 4));
	CK(cuMemAlloc_v2(&out, N * 4));
	CK(cuMemAlloc_v2(&pool, POOL));
	CK(cuMemAlloc_v2(&table, 16));
	CK(cuMemFree_v2(gone));
	CK(cuMemsetD32_v2(out, 5, N));
	CK(cuMemsetD32_v2(pool, 9, POOL / 4));
	CK(cuModuleGetGlobal_v2(&variable, &bytes, module, "weights"));
	for (uint32_t i = 0; i < 256; i++)
		weights[i] = i * i;
	CK(cuMemcpyHtoD_v2(variable, weights, sizeof(weights)));
	inside = pool + 4096;
	list[0] = out;
	list[1] = pool + 65536;
	CK(cuMemcpyHtoD_v2(table, list, sizeof(list)));

	struct span span = {inside, N, 0, out};
	struct packed packed = {N, inside, 0x55};

	CK(LAUNCH("fill", 4, P(0, in), P(8, n), P(12, seed)));
	CK(LAUNCH("mix", 8, P(0, out), P(8, in), P(16, n), P(20, seed)));
	CK(LAUNCH("spans", 8, P(0, span), P(24, seed)));
	CK(LAUNCH("packs", 8, P(0, packed)));
	CK(LAUNCH("mix", 8, P(0, out), P(8, inside), P(16, n), P(20, k)));
	CK(LAUNCH("rows", 8, P(0, table), P(8, n), P(12, k)));
	CK(LAUNCH("weighted", 8, P(0, out), P(8, n)));
	CK(LAUNCH("mix", 8, P(0, out), P(8, gone), P(16, (uint32_t){0}), P(20, k)));
	printf("nothing \n");
	CUfunction nothing, fill;
	CK(cuModuleGetFunction(&fill, module, "fill"));
	CK(cuModuleGetFunction(&nothing, module, "nothing"));
	CK(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	if (past) {
		CK(LAUNCH("past", 1, P(0, inside), P(8, far)));
		printf("= error %d\n", cuCtxSynchronize());
		/* Fails, too. */
		cuLaunchKernel(fill, 4, 1, 1, 128, 1, 1, 0, NULL, (void *[]){&in, &n, &seed}, NULL);
		return;
	}
	CK(cuCtxSynchronize());
	print_sum("out", out);
	print_sum("inside", inside);
	print_sum("row", pool + 65536);
}

static const struct {
	const char *name;
	unsigned gx, gy, bx, by, shared;
	int n, k;
} all[] = {
#define KERNEL(name, gx, gy, bx, by, shared, n, k) {#name, gx, gy, bx, by, shared, n, k},
#include "tests/sass/kernels.h"
#undef KERNEL
};
#define NALL (sizeof(all) / sizeof(*all))

static void launch_of_all(size_t i, CUfunction f, CUdeviceptr in, CUdeviceptr out, CUstream stream)
{
	int n = all[i].n, k = all[i].k;

	CK(cuLaunchKernel(f, all[i].gx, all[i].gy, 1, all[i].bx, all[i].by, 1, all[i].shared,
			  stream, (void *[]){&out, &in, &n, &k}, NULL));
}

static void alloc_of_all(CUdeviceptr *in, CUdeviceptr *out)
{
	static uint32_t words[WORDS];

	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i * 2654435761u >> 7;
	CK(cuMemAlloc_v2(in, sizeof(words)));
	CK(cuMemAlloc_v2(out, sizeof(words)));
	CK(cuMemcpyHtoD_v2(*in, words, sizeof(words)));
	CK(cuMemsetD32_v2(*out, 0x5a5a5a5a, WORDS));
}

static void kernels(void)
{
	for (size_t i = 0; i < NALL; i++) {
		CUdeviceptr in, out;
		CUfunction f;

		CK(cuModuleGetFunction(&f, module, all[i].name));
		alloc_of_all(&in, &out);
		launch_of_all(i, f, in, out, NULL);
		CK(cuCtxSynchronize());
		CK(cuMemFree_v2(in));
		CK(cuMemFree_v2(out));
		printf("%s\n", all[i].name);
	}
}

static void unwaited(void)
{
	CUdeviceptr in[NALL], out[NALL];
	volatile uint32_t *gate, *reached;
	CUfunction f[NALL];
	CUstream stream;

	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	reached = gate + 64;
	*gate = *reached = 0;
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < NALL; i++) {
		CK(cuModuleGetFunction(&f[i], module, all[i].name));
		alloc_of_all(&in[i], &out[i]);
		printf("%s\n", all[i].name);
	}
	CK(cuCtxSynchronize());
	CK(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)gate, 1, 0));
	for (size_t i = 0; i < NALL; i++)
		launch_of_all(i, f[i], in[i], out[i], stream);
	*gate = 1;
	for (uint32_t i = 0; i <= NALL; i++) {
		CK(cuStreamWriteValue32_v2(stream, (CUdeviceptr)(uintptr_t)reached, i + 1, 0));
		while (*reached <= i)
			;
		if (i < NALL)
			launch_of_all(i, f[i], in[i], out[i], stream);
	}
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	load(argv[1]);
	if (!strcmp(argv[2], "kernels"))
		kernels();
	else if (!strcmp(argv[2], "unwaited"))
		unwaited();
	else
		special(!strcmp(argv[2], "past"));
	return 0;
}
