/* SPDX-License-Identifier: MIT */
/* For tests of benchmarks: makes samples, and finds sentences in the notes. */
#ifndef NVSNOOP_TESTS_UNIT_BENCH_MADE_H
#define NVSNOOP_TESTS_UNIT_BENCH_MADE_H

#include <string.h>
#include "probe/bench/frame/internal.h"

/* -1 to 1. STATE: the seed at first, which is the same in each run. */
static inline double bench_noise(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / (double)(1ull << 53) * 2 - 1;
}

static inline bool bench_noted(const struct bench_figures *figures, const char *words)
{
	for (uint32_t i = 0; i < figures->nnote; i++)
		if (strstr(figures->note[i].text, words))
			return true;
	return false;
}

#endif
