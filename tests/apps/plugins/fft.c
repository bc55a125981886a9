/* SPDX-License-Identifier: MIT */
/* A library like cuFFT: it submits through a function of libcuda that has no name. */
#include "tests/apps/plugins/fft.h"

static __attribute__((noinline)) int execute_plan(unsigned n)
{
	softgpu_table_submit submit = fft_slot();
	int r = submit ? submit(n) : -1;

	__asm__ volatile("" ::: "memory"); /* no tail call: this frame stays */
	return r;
}

__attribute__((visibility("default"))) int softfftExec(unsigned n)
{
	int r = execute_plan(n);

	__asm__ volatile("" ::: "memory");
	return r;
}
