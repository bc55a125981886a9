/* SPDX-License-Identifier: MIT */
/* tables FFT.so: submits through a table of cuGetExportTable, twice itself and five times through a
 * library that exports the function; and once through an entry point. Software GPU only. */
#include <dlfcn.h>
#include <stdio.h>
#include "app.h"
#include "tests/apps/plugins/fft.h"

static __attribute__((noinline)) int submit_by_table(unsigned n)
{
	softgpu_table_submit submit = fft_slot();
	int r = submit ? submit(n) : -1;

	__asm__ volatile("" ::: "memory");
	return r;
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*exec)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "softfftExec") : NULL;
	CUuuid other = {"none of these"};
	const void *table;
	CUdeviceptr p;
	CUcontext ctx;

	CK(cuInit(0));
	CK(cuCtxCreate_v2(&ctx, 0, 0));
	EXPECT(cuGetExportTable(&table, &other) == CUDA_ERROR_INVALID_VALUE, "a table of any name");
	EXPECT(!submit_by_table((unsigned)argc), "the table does not submit");
	EXPECT(exec && !exec(5), "the library does not submit");
	CK(cuMemAlloc_v2(&p, 4096));
	CK(cuMemsetD8_v2(p, 1, 4096));
	CK(cuCtxDestroy_v2(ctx));
	puts("tables ok");
	return 0;
}
