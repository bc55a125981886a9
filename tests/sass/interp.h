/* SPDX-License-Identifier: MIT */
/*
 * Executes a kernel of a cubin (sm_75 and newer) on the CPU, for tests: the memory that it writes
 * and the number of instructions that it executes are known without a GPU. It shares no code with
 * what it tests.
 *
 * Addresses of global memory are addresses of this process; only the listed regions may be
 * accessed. Threads of a warp run together until a branch splits them, and reconverge where the
 * code says so (BSYNC, WARPSYNC), as on the GPU. An unknown instruction, an address outside all
 * regions, or a barrier that is never left ends the run with a message that names the place.
 */
#ifndef TESTS_SASS_INTERP_H
#define TESTS_SASS_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interp_region {
	const void *at;
	size_t size;
};

struct interp_launch {
	const void *cubin;
	size_t size;
	const char *kernel;
	/* In place of a cubin: the code as it lies in memory, sm_ARCH, and the constant banks as
	 * they were laid out (params are in bank 0) */
	const void *code;
	size_t code_size;
	unsigned arch;
	struct interp_region bank[8];
	unsigned grid[3], block[3];
	unsigned shared; /* dynamic, bytes */
	const void *params; /* as they lie in the constant bank */
	size_t params_size;
	const struct interp_region *regions;
	unsigned region_count;
	/* Where SIZE bytes at an address are in this process, NULL: nowhere; instead of the
	 * regions. */
	void *(*reach)(void *arg, uint64_t at, size_t size);
	void *arg;
	unsigned from,
		to; /* count only the instructions of these numbers, TO excluded; TO 0: all */
	unsigned seed; /* which part of a warp that was parted goes on first: another for each seed,
			  0 the usual */
};

/* Instructions executed by warps, by threads, by threads whose predicate held, and by warps in
 * which it held for one. */
struct interp_counts {
	uint64_t warp, thread, pred_on, warp_on;
};

/* 0, or -1 and a sentence in WHY. Counts are added to what stands in COUNTS. */
int interp_run(const struct interp_launch *launch, struct interp_counts *counts, char *why,
	       size_t why_size);

#endif
