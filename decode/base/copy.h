/* SPDX-License-Identifier: MIT */
/*
 * Copies a few hundred bytes by calling the C library, and clears structures of that size with
 * vector stores. Where the compiler can see that the size is small it uses string instructions,
 * whose startup costs more than the copy.
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

/* N must be a compile-time constant and a multiple of 8. */
static inline __attribute__((always_inline)) void nvs_clear(void *dst, size_t n)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	typedef uint64_t one __attribute__((may_alias));
	char *at = dst;

#pragma GCC unroll 32
	for (size_t i = 0; i < n / 16; i++, at += 16) {
		*(pair *)(void *)at = (pair){0};
		__asm__(""); /* keeps the compiler from turning the loop into memset() */
	}
	if (n % 16)
		*(one *)(void *)at = 0;
}

#endif
