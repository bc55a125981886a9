/* SPDX-License-Identifier: MIT */
/*
 * Two sequences aligned as a text diff aligns lines: the fewest that stand in one of them alone
 * (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986). Beyond NVS_ALIGN_MOST of those
 * order is not looked at any more: the first of a kind stands for the first of it in the other, so
 * that time and memory are linear whatever the sequences hold.
 */
#ifndef NVSNOOP_DECODE_BASE_ALIGN_H
#define NVSNOOP_DECODE_BASE_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_ALIGN_MOST 1000u /* that stand in one alone, between what both begin and end with */
#define NVS_ALIGN_NONE UINT32_MAX

/*
 * MATE_A[i] becomes the element of B that A[i] stands opposite, MATE_B likewise; NVS_ALIGN_NONE:
 * there is none. Elements are the same where their numbers are. *ORDERED: order was looked at.
 * 0 or -ENOMEM.
 */
int nvs_align(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb, uint32_t *mate_a,
	      uint32_t *mate_b, bool *ordered);

/* The same without order, for those that have no mate yet: first with first. */
int nvs_align_kinds(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb,
		    uint32_t *mate_a, uint32_t *mate_b);

#endif
