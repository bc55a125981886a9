/* SPDX-License-Identifier: MIT */
/*
 * memory_cost [blocks]: the cost of recording an allocation and its free: bursts of pairs of 100
 * bytes. Drops the first bursts and prints the fastest tenth of the others, in ns per pair. Run it
 * with api=on, backtrace=off and api=off. blocks: nothing else is allocated, so with each pair the
 * driver requests a block from the kernel and returns it.
 */
#include <string.h>
#include "app.h"

enum { BURSTS = 50, PAIRS = 100, DROPPED = 5 };

int main(int argc, char **argv)
{
	struct timespec rest = {0, 5000000};
	double pair[BURSTS];
	CUdeviceptr keep = 0, d;

	app_context(0);
	if (argc < 2 || strcmp(argv[1], "blocks"))
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
	if (keep)
		CK(cuMemFree_v2(keep));
	return 0;
}
