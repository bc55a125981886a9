/* SPDX-License-Identifier: MIT */
/* Aligned pairs of words, which any mapping allows. */
#include "preload/rm/rm.h"

void nvs_copy_device(void *to, uintptr_t from, size_t bytes)
{
	uint64_t *out = to, low, high;

	for (size_t i = 0; i < bytes; i += 16, out += 2) {
		__asm__ volatile("ldp %0, %1, [%2]"
				 : "=r"(low), "=r"(high)
				 : "r"(from + i)
				 : "memory");
		out[0] = low;
		out[1] = high;
	}
}
