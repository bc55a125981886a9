/* SPDX-License-Identifier: MIT */
/* A program that is linked with the library that calls CUDA by itself, or opens the given one. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
extern int ctor_ok;
#endif

int main(int argc, char **argv)
{
#ifdef LINKED
	int *ok = &ctor_ok;
#else
	void *library = dlopen(argv[1], RTLD_NOW);
	int *ok = library ? dlsym(library, "ctor_ok") : NULL;
#endif

	if (!ok || !*ok)
		return 1;
		/* cuInit is over before anything tells that CUDA is there. Inside dlopen() nothing
		 * asks the loader before the trace begins, which is in the middle of the second
		 * call. */
#ifdef LINKED
	puts("api cuDevicePrimaryCtxRetain 1 0");
#endif
	puts("api cuCtxSetCurrent 1 0\napi cuCtxSynchronize 1 0");
	return 0;
}
