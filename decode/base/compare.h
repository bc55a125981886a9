/* SPDX-License-Identifier: MIT */
/* Comparison functions for qsort() and bsearch(): return NVS_CMP(a->x, b->x) ?: NVS_CMP(...). */
#ifndef NVSNOOP_DECODE_BASE_COMPARE_H
#define NVSNOOP_DECODE_BASE_COMPARE_H

/* Returns 1, 0 or -1: ascending order of A and B. */
#define NVS_CMP(a, b) (((a) > (b)) - ((a) < (b)))

#endif
