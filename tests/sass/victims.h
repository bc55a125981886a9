/* SPDX-License-Identifier: MIT */
/* The kernels of kernels.cu, ready for the interpreter, and the results of an H200. */
#ifndef TESTS_SASS_VICTIMS_H
#define TESTS_SASS_VICTIMS_H

#include "tests/sass/interp.h"

enum { VICTIM_WORDS = 8192 };

struct victim {
	const char *name;
	unsigned grid[3], block[3], shared;
	int n, k;
};

extern const struct victim victims[];
extern const unsigned victim_count;

/* Those, and others of which h200.txt says nothing: each set's cubins are FILE-sm_N.cubin. */
struct victim_set {
	const char *file;
	const struct victim *victims;
	unsigned count, since; /* the first architecture that there is a cubin for */
};

extern const struct victim_set victim_sets[];
extern const unsigned victim_set_count;

/* What the H200 left in memory, as FNV-1a, and ncu's counts of it. */
struct victim_truth {
	char name[16];
	uint64_t memory;
	struct interp_counts counts;
};

/* tests/sass/data/h200.txt; false and a line on stderr where it lacks the victim. */
bool victim_truth(const struct victim *v, struct victim_truth *truth);

/* Blocks come in clusters on sm_90 and newer only. */
bool victim_runs_on(const struct victim *v, unsigned arch);

uint64_t victim_hash(const void *data, size_t size); /* FNV-1a */

/* tests/sass/data/FILE, to be freed; ends the program where it cannot be read. */
void *victim_file(const char *file, size_t *size);

/* How a victim is run: its cubin, memory that it may touch besides its own (or none), and as struct
 * interp_launch. */
struct victim_run {
	const void *cubin;
	size_t size;
	struct interp_region extra;
	unsigned from, to, seed;
};

void victim_input(uint32_t in[VICTIM_WORDS]); /* what a is */

/* Over that input. *MEMORY: FNV-1a of what it left. 0, or -1 and a sentence. */
int victim_run(const struct victim *v, const struct victim_run *run, struct interp_counts *counts,
	       uint64_t *memory, char *why, size_t why_size);

#endif
