/* SPDX-License-Identifier: MIT */
/*
 * What recording a call costs: bursts of a call that does next to nothing, small enough for the
 * buffer, and the median over them. Run it with api=on and api=off; prints ns a call, and those of
 * two clock reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>
#include "app.h"

enum { BURSTS = 41, CALLS = 2000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

static double median(double *v)
{
	qsort(v, BURSTS, sizeof(*v), compare);
	return v[BURSTS / 2];
}

int main(void)
{
	struct timespec rest = {0, 20000000};
	double call[BURSTS], clock[BURSTS];
	volatile unsigned long long sum = 0;
	CUdeviceptr d;
	CUcontext ctx;

	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&ctx, 0));
	CK(cuCtxSetCurrent(ctx));
	CK(cuMemAlloc_v2(&d, 4096));
	for (int b = 0; b < BURSTS; b++) {
		double start = now_ns();

		for (int i = 0; i < CALLS; i++)
			CK(cuCtxSetCurrent(ctx));
		call[b] = (now_ns() - start) / CALLS;
		start = now_ns();
		for (int i = 0; i < CALLS; i++)
			sum += __rdtsc() + __rdtsc();
		clock[b] = (now_ns() - start) / CALLS;
		/* The writer empties the buffer. */
		nanosleep(&rest, NULL);
	}
	if (!sum)
		return 1;
	printf("call %.1f ns, two clock reads %.1f ns\n", median(call), median(clock));
	return 0;
}
