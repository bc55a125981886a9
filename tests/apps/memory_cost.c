/* SPDX-License-Identifier: MIT */
/*
 * What recording an allocation and its free costs: bursts of pairs of 100 bytes, the first ones
 * dropped, and the fastest tenth of the others. Run it with api=on, backtrace=off and api=off;
 * prints ns a pair.
 */
#include "app.h"

enum { BURSTS = 50, PAIRS = 100, DROPPED = 5 };

int main(void)
{
	struct timespec rest = {0, 5000000};
	double pair[BURSTS];
	CUdeviceptr keep, d;

	app_context(0);
	CK(cuMemAlloc_v2(&keep, 100)); /* so that no block comes and goes */
	for (int b = 0; b < BURSTS; b++) {
		double start = app_ns();

		for (int i = 0; i < PAIRS; i++) {
			CK(cuMemAlloc_v2(&d, 100));
			CK(cuMemFree_v2(d));
		}
		pair[b] = (app_ns() - start) / PAIRS;
		/* The writer empties the buffer. */
		nanosleep(&rest, NULL);
	}
	app_median(pair + DROPPED, BURSTS - DROPPED); /* sorts them */
	printf("pair %.1f ns\n", pair[DROPPED + (BURSTS - DROPPED) / 10]);
	CK(cuMemFree_v2(keep));
	return 0;
}
