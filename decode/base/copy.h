/* SPDX-License-Identifier: MIT */
/*
 * Copies of a few hundred bytes, by the C library, and structures of as many, by vectors: where the
 * compiler can see that they are not large it makes string instructions of them, whose start costs
 * more than the copy.
 */
#ifndef NVSNOOP_DECODE_BASE_COPY_H
#define NVSNOOP_DECODE_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void nvs_copy(void *dst, const void *src, size_t n)
{
	__asm__("" : "+r"(n));
	memcpy(dst, src, n);
}

/* N: known when this is compiled, and a multiple of 8. */
static inline __attribute__((always_inline)) void nvs_clear(void *dst, size_t n)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	typedef uint64_t one __attribute__((may_alias));
	char *at = dst;

#pragma GCC unroll 32
	for (size_t i = 0; i < n / 16; i++, at += 16) {
		*(pair *)(void *)at = (pair){0};
		__asm__(""); /* not to become a memset again */
	}
	if (n % 16)
		*(one *)(void *)at = 0;
}

#endif
