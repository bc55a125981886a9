/* SPDX-License-Identifier: MIT */
/* Structures that a caller fills in and whose first member is their size, a size_t. */
#ifndef NVSNOOP_DECODE_BASE_SIZED_H
#define NVSNOOP_DECODE_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Copies SRC, whose first member is its size, to DST of ROOM bytes; members that a smaller SRC
 * lacks become 0. Returns false if the size is missing, or if SRC is larger and sets a member that
 * DST does not have.
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
