/* SPDX-License-Identifier: MIT */
/* Structures that a caller fills and that begin with their size, as a size_t. */
#ifndef NVSNOOP_DECODE_BASE_SIZED_H
#define NVSNOOP_DECODE_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Copies SRC, of whatever size, to DST of ROOM bytes; what a smaller one does not have becomes 0.
 * False: it has no size, or asks for something that is not known here.
 */
static inline bool nvs_sized_copy(void *dst, size_t room, const void *src)
{
	size_t size;

	memcpy(&size, src, sizeof(size));
	for (size_t i = room; i < size; i++)
		if (((const uint8_t *)src)[i])
			return false;
	memset(dst, 0, room);
	memcpy(dst, src, size < room ? size : room);
	return size > sizeof(size);
}

#endif
