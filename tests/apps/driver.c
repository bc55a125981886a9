/* SPDX-License-Identifier: MIT */
/* Copies of all sizes and kinds, memsets, events, and a graph of copies, for a real libcuda on the
 * software GPU. Everything that was copied is compared. */
#include <stdlib.h>
#include <string.h>
#include "app.h"

#define MOST (3u << 20)

static unsigned char *host, *back, *pinned;
static CUdeviceptr device, other;

static void fill(unsigned char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(i * 7 + (i >> 8) * 3 + seed);
}

static void check(const unsigned char *want, size_t n, const char *what)
{
	EXPECT(!memcmp(want, back, n), "%s of %zu bytes", what, n);
}

static void pageable(void)
{
	for (size_t n = 1; n <= MOST; n = n < 8 ? n + 1 : n * 5 / 2 + 1) {
		fill(host, n, (unsigned)n);
		memset(back, 0, n);
		CK(cuMemcpyHtoD_v2(device, host, n));
		CK(cuMemcpyDtoH_v2(back, device, n));
		check(host, n, "pageable copy");
	}
}

static void asynchronous(CUstream s, CUstream t)
{
	CUevent done;

	CK(cuEventCreate(&done, 0));
	for (size_t n = 4; n <= MOST; n *= 4) {
		fill(pinned, n, (unsigned)n + 1);
		CK(cuMemcpyHtoDAsync_v2(other, pinned, n, s));
		CK(cuEventRecord(done, s));
		CK(cuStreamWaitEvent(t, done, 0));
		memcpy(host, pinned, n);
		CK(cuEventSynchronize(done));
		memset(pinned, 0, n);
		CK(cuMemcpyDtoHAsync_v2(pinned, other, n, t));
		CK(cuStreamSynchronize(t));
		memcpy(back, pinned, n);
		check(host, n, "asynchronous copy");
	}
	CK(cuEventDestroy_v2(done));
}

/* Also by kernels of the driver. */
static void within_device(CUstream s)
{
	for (size_t n = 4; n <= MOST; n *= 8) {
		memset(host, (int)(n >> 3), n);
		CK(cuMemsetD8Async(device, (unsigned char)(n >> 3), n, s));
		CK(cuMemsetD32Async(other, 0x01020304, n / 4, s));
		CK(cuMemcpyDtoDAsync_v2(other, device, n, s));
		CK(cuStreamSynchronize(s));
		memset(back, 0, n);
		CK(cuMemcpyDtoH_v2(back, other, n));
		check(host, n, "memset and copy");
	}
}

static void graph(CUstream s)
{
	CUgraph g;
	CUgraphExec exec;

	fill(pinned, 65536, 99);
	memcpy(host, pinned, 65536);
	CK(cuStreamBeginCapture_v2(s, 1));
	CK(cuMemcpyHtoDAsync_v2(device, pinned, 65536, s));
	CK(cuMemcpyDtoHAsync_v2(pinned + 65536, device, 65536, s));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < 3; i++) {
		memset(pinned + 65536, 0, 65536);
		CK(cuGraphLaunch(exec, s));
		CK(cuStreamSynchronize(s));
		memcpy(back, pinned + 65536, 65536);
		check(host, 65536, "copy in a graph");
	}
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(g));
}

int main(void)
{
	CUcontext context;
	CUstream s, t;
	CUdevice d;

	CK(cuInit(0));
	CK(cuDeviceGet(&d, 0));
	CK(cuCtxCreate_v2(&context, 0, d));
	CK(cuMemAlloc_v2(&device, MOST));
	CK(cuMemAlloc_v2(&other, MOST));
	CK(cuMemAllocHost_v2((void **)&pinned, MOST));
	CK(cuStreamCreate(&s, 1));
	CK(cuStreamCreate(&t, 1));
	host = malloc(MOST);
	back = malloc(MOST);
	pageable();
	asynchronous(s, t);
	within_device(s);
	graph(s);
	CK(cuCtxSynchronize());
	free(host);
	free(back);
	printf("driver ok\n");
	return 0;
}
