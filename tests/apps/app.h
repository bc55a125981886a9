/* SPDX-License-Identifier: MIT */
/* Shared by the test programs: checks of calls, the start of a context, and a kernel that also runs
 * on a real GPU. */
#ifndef APPS_APP_H
#define APPS_APP_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tests/softgpu/cudadrv.h"

#define CK(call)                                                                           \
	do {                                                                               \
		CUresult ck_ = (call);                                                     \
		if (ck_) {                                                                 \
			const char *name_ = NULL;                                          \
			cuGetErrorName(ck_, &name_);                                       \
			fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, \
				name_ ? name_ : "?", ck_);                                 \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define EXPECT(cond, ...)                                                                  \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #cond); \
			fprintf(stderr, __VA_ARGS__);                                      \
			fputc('\n', stderr);                                               \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

/* softgpu_add(p, v): *p += v by the first thread, at once: streams and the nodes of a graph run
 * side by side. The software GPU knows it by its name. */
static const char app_ptx[] = ".version 7.0\n"
			      ".target sm_70\n"
			      ".address_size 64\n"
			      ".visible .entry softgpu_add(.param .u64 p, .param .u64 v)\n"
			      "{\n"
			      "	.reg .pred %q;\n"
			      "	.reg .b32 %r<4>;\n"
			      "	.reg .b64 %d<3>;\n"
			      "	ld.param.u64 %d1, [p];\n"
			      "	ld.param.u64 %d2, [v];\n"
			      "	mov.u32 %r1, %tid.x;\n"
			      "	mov.u32 %r2, %ctaid.x;\n"
			      "	or.b32 %r1, %r1, %r2;\n"
			      "	setp.ne.u32 %q, %r1, 0;\n"
			      "	@%q bra done;\n"
			      "	cvt.u32.u64 %r3, %d2;\n"
			      "	cvta.to.global.u64 %d1, %d1;\n"
			      "	red.global.add.u32 [%d1], %r3;\n"
			      "done:\n"
			      "	ret;\n"
			      "}\n"
			      ".visible .entry nothing()\n"
			      "{\n"
			      "	ret;\n"
			      "}\n";

/* Part of its caller, whatever the compiler, so that call sites bear the caller's name. */
#define INTO_CALLER static inline __attribute__((always_inline))

INTO_CALLER CUcontext app_context(int ordinal)
{
	CUdevice d;
	CUcontext c;

	CK(cuInit(0));
	CK(cuDeviceGet(&d, ordinal));
	CK(cuDevicePrimaryCtxRetain(&c, d));
	CK(cuCtxSetCurrent(c));
	return c;
}

INTO_CALLER CUfunction app_kernel(const char *name)
{
	CUmodule m;
	CUfunction f;

	CK(cuModuleLoadData(&m, app_ptx));
	CK(cuModuleGetFunction(&f, m, name));
	return f;
}

/* *p += v on the GPU. */
INTO_CALLER void app_add(CUfunction f, CUdeviceptr p, uint64_t v, CUstream s)
{
	void *params[2] = {&p, &v};

	CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
}

INTO_CALLER uint32_t app_word(CUdeviceptr p)
{
	uint32_t v = 0;

	CK(cuMemcpyDtoH_v2(&v, p, 4));
	return v;
}

/* For programs that measure themselves. */
static inline double app_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int app_compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

/* Sorts them. */
static inline double app_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), app_compare);
	return v[n / 2];
}

#endif
