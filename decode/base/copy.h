/* SPDX-License-Identifier: MIT */
/*
 * Copies of a few hundred bytes, by the C library: where the compiler can see that they are not
 * large it makes string instructions of them, whose start costs more than the copy.
 */
#ifndef NVSNOOP_DECODE_BASE_COPY_H
#define NVSNOOP_DECODE_BASE_COPY_H

#include <stddef.h>
#include <string.h>

static inline void nvs_copy(void *dst, const void *src, size_t n)
{
	__asm__("" : "+r"(n));
	memcpy(dst, src, n);
}

static inline void nvs_clear(void *dst, size_t n)
{
	__asm__("" : "+r"(n));
	memset(dst, 0, n);
}

#endif
