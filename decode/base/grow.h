/* SPDX-License-Identifier: MIT */
/* Growing an array: its capacity doubles each time. */
#ifndef NVSNOOP_DECODE_BASE_GROW_H
#define NVSNOOP_DECODE_BASE_GROW_H

#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for one more element in LIST, which holds COUNT elements of SIZE bytes and has room
 * for *ROOM: FIRST elements initially, never more than MOST. Returns the list, or NULL if memory is
 * short or the maximum is reached; LIST is then unchanged.
 */
static inline void *nvs_grow(void *list, uint32_t count, uint32_t *room, size_t size,
			     uint32_t first, uint32_t most)
{
	uint32_t wanted = *room ? 2 * *room : first;

	if (count < *room)
		return list;
	list = *room <= most / 2 ? realloc(list, wanted * size) : NULL;
	*room = list ? wanted : *room;
	return list;
}

#endif
