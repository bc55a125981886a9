/* SPDX-License-Identifier: MIT */
/* Arrays that grow, to twice their room each time. */
#ifndef NVSNOOP_DECODE_BASE_GROW_H
#define NVSNOOP_DECODE_BASE_GROW_H

#include <stdint.h>
#include <stdlib.h>

/*
 * LIST, which holds COUNT elements of SIZE bytes and has *ROOM for them, with room for one more:
 * FIRST at first, never above MOST. NULL: no memory, or too many; LIST is as it was.
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
