/* SPDX-License-Identifier: MIT */
/* A library that uses midway() and libcuda. */
int cuStreamSynchronize(void *stream);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int midway(void);

/* All in data that is read-only afterwards; relocated in the order of their addresses. */
int (*const halfway_before)(void *) = cuStreamSynchronize;
int (*const halfway_midway)(void) = midway;
int (*const halfway_after)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, void *, void **, void **) = cuLaunchKernel;
int halfway_midway_again(void)
{
	return halfway_midway() + midway();
}
