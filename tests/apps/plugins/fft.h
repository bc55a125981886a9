/* SPDX-License-Identifier: MIT */
/* The slot of libcuda's table that submits, and the library that uses it. */
#ifndef NVSNOOP_TESTS_FFT_H
#define NVSNOOP_TESTS_FFT_H

#include "tests/softgpu/cudadrv.h"
#include "tests/softgpu/softgpu.h"

static inline softgpu_table_submit fft_slot(void)
{
	const CUuuid id = {SOFTGPU_TABLE};
	const void *const *table;

	return cuGetExportTable((const void **)&table, &id) ? NULL : (softgpu_table_submit)table[1];
}

int softfftExec(unsigned n);

#endif
