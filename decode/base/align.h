/* SPDX-License-Identifier: MIT */
/*
 * Aligns two sequences as a text diff aligns lines: with the minimum number of elements that have
 * no counterpart (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986). If more than
 * NVS_ALIGN_MAX would have none, order is ignored: the first element of each kind is paired with
 * the first of that kind in the other sequence. Time and memory are therefore linear whatever the
 * sequences hold.
 */
#ifndef NVSNOOP_DECODE_BASE_ALIGN_H
#define NVSNOOP_DECODE_BASE_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_ALIGN_MAX 1000u /* elements without a counterpart */
#define NVS_ALIGN_NONE UINT32_MAX

/*
 * MATE_A[i] becomes the number of the element of B that is paired with A[i], MATE_B likewise;
 * NVS_ALIGN_NONE if there is none. Two elements match if their values are equal. *ORDERED is set if
 * the alignment keeps the order. Returns 0 or -ENOMEM.
 */
int nvs_align(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb, uint32_t *mate_a,
	      uint32_t *mate_b, bool *ordered);

/* Pairs the elements that have no mate yet, ignoring order: first with first of the same value. */
int nvs_align_kinds(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb,
		    uint32_t *mate_a, uint32_t *mate_b);

#endif
