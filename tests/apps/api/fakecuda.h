/* SPDX-License-Identifier: MIT */
/* Functions of the libcuda without a GPU that the tests call. */
#ifndef NVSNOOP_TEST_FAKECUDA_H
#define NVSNOOP_TEST_FAKECUDA_H

#include <stdint.h>

struct fake_kernel_params {
	void *func;
	unsigned grid[3], block[3], shared, pad;
	void **params, **extra;
	void *kern, *ctx;
};

struct fake_state {
	uint64_t inits, launches, callbacks, syncs, allocs, copied, graph_launches, resolved,
		asked_names;
	struct fake_kernel_params last;
	void *stream, *capturing, *graph;
	void *destroyed; /* a stream that is no more */
	uint64_t asked_destroyed, asked_kernels, ptsz_launches;
	double sum;
	int result; /* of the next launches */
};

#endif
