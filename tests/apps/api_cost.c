/* SPDX-License-Identifier: MIT */
/*
 * The cost of recording a call: bursts of a call that does almost nothing, small enough for the
 * buffer, and their median. Run it with api=on and api=off. Prints ns per call, and the ns of two
 * clock reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "trap/arch/cpu.h"
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
			sum += nvs_ticks() + nvs_ticks();
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
