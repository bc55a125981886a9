/* SPDX-License-Identifier: MIT */
/* Streaming loads read write-combined memory 64 bytes at a time. */
#include <emmintrin.h>
#include <smmintrin.h>
#include "preload/rm/rm.h"

__attribute__((target("sse4.1"))) static void copy_streaming(void *to, const void *from,
							     size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 16)
		_mm_store_si128((__m128i *)((char *)to + i),
				_mm_stream_load_si128((__m128i *)((uintptr_t)from + i)));
}

void nvs_copy_device(void *to, uintptr_t from, size_t bytes)
{
	if (__builtin_cpu_supports("sse4.1"))
		copy_streaming(to, (const void *)from, bytes);
	else
		for (size_t i = 0; i < bytes / 8; i++)
			((uint64_t *)to)[i] = ((const volatile uint64_t *)from)[i];
}
