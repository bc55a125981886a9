/* SPDX-License-Identifier: MIT */
/*
 * What a call and a launch take on the host: short bursts, so that most of them are not
 * interrupted, and the fastest tenth of them, which a busy machine does not change. For
 * scripts/bench-live.
 */
#include "app.h"

enum { BURSTS = 400, CALLS = 100 };

static double fastest(double *burst)
{
	app_median(burst, BURSTS); /* sorts them */
	return burst[BURSTS / 10];
}

int main(void)
{
	struct timespec rest = {0, 200000};
	double call[BURSTS], launch[BURSTS], start;
	CUcontext context = app_context(0);
	CUfunction nothing = app_kernel("nothing");

	for (int b = 0; b < BURSTS; b++) {
		start = app_ns();
		for (int i = 0; i < CALLS; i++)
			CK(cuCtxSetCurrent(context));
		call[b] = (app_ns() - start) / CALLS;
		start = app_ns();
		for (int i = 0; i < CALLS; i++)
			CK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		launch[b] = (app_ns() - start) / CALLS;
		CK(cuCtxSynchronize());
		/* The writer empties the buffer. */
		nanosleep(&rest, NULL);
	}
	printf("call %.1f\nlaunch %.1f\n", fastest(call), fastest(launch));
	return 0;
}
