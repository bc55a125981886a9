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
		double start = app_ns();

		for (int i = 0; i < CALLS; i++)
			CK(cuCtxSetCurrent(ctx));
		call[b] = (app_ns() - start) / CALLS;
		start = app_ns();
		for (int i = 0; i < CALLS; i++)
			sum += __rdtsc() + __rdtsc();
		clock[b] = (app_ns() - start) / CALLS;
		/* The writer empties the buffer. */
		nanosleep(&rest, NULL);
	}
	if (!sum)
		return 1;
	printf("call %.1f ns, two clock reads %.1f ns\n", app_median(call, BURSTS),
	       app_median(clock, BURSTS));
	return 0;
}
