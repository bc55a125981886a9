/* SPDX-License-Identifier: MIT */
/* Host time of a call and a launch: the fastest tenth of short bursts, most of which are not
 * interrupted, so that a busy machine does not change the result. For scripts/bench-live. */
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
