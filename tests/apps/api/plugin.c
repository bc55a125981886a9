/* SPDX-License-Identifier: MIT */
/* A library that is linked with libcuda: calls it directly, and looks it up with RTLD_NEXT and
 * RTLD_DEFAULT, which find it only in this library's own scope. */
#include <dlfcn.h>
#include <stddef.h>

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuStreamSynchronize(void *stream);

/* Filled in by the loader: a pointer in data that is read-only afterwards. */
static int (*const direct)(void *) = cuStreamSynchronize;

int plugin_launch(void *f, unsigned grid)
{
	return cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

int plugin_sync(void)
{
	return direct(NULL);
}

void *plugin_next(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	__asm__ volatile("" : "+r"(p)); /* no tail call: the caller is to be this library */
	return p;
}

void *plugin_default(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	__asm__ volatile("" : "+r"(p));
	return p;
}
