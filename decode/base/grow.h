/* SPDX-License-Identifier: MIT */
/* Appending to an array, whose capacity doubles when it is full. */
#ifndef NVSNOOP_DECODE_BASE_GROW_H
#define NVSNOOP_DECODE_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for one more element of LIST, which holds COUNT elements and has room for ROOM, both
 * lvalues: FIRST elements initially, never more than MAX. Evaluates to the place after the last
 * element, or to NULL if memory is short or the maximum is reached; LIST is then unchanged.
 */
#define NVS_RESERVE(list, count, room, first, max) \
	NVS_RESERVE_AS(list, count, room, first, max, false)
/* The same, and adds the element to COUNT. Its contents are undefined. */
#define NVS_APPEND(list, count, room, first, max) \
	NVS_APPEND_AS(list, count, room, first, max, false)
/* The same for data that a report can do without: see nvs_budget_allows(). */
#define NVS_APPEND_OPTIONAL(list, count, room, first, max) \
	NVS_APPEND_AS(list, count, room, first, max, true)

#define NVS_RESERVE_AS(list, count, room, first, max, optional)                                 \
	({                                                                                      \
		uint64_t room_ = (room);                                                        \
		typeof(list) grown_ = (list);                                                   \
		if (__builtin_expect((count) >= room_, 0)) {                                    \
			grown_ = nvs_grow(list, &room_, sizeof(*(list)), first, max, optional); \
			(list) = grown_ ? grown_ : (list);                                      \
			(room) = (typeof(room))room_;                                           \
		}                                                                               \
		grown_ ? (list) + (count) : NULL;                                               \
	})
#define NVS_APPEND_AS(list, count, room, first, max, optional)                               \
	({                                                                                   \
		typeof(list) own_ = NVS_RESERVE_AS(list, count, room, first, max, optional); \
		(count) += own_ ? 1 : 0;                                                     \
		own_;                                                                        \
	})

bool nvs_budget_allows(uint64_t n); /* budget.h, which not every user is compiled with */

/* Returns LIST with more than *ROOM, or NULL. */
static inline void *nvs_grow(void *list, uint64_t *room, size_t size, uint64_t first, uint64_t max,
			     bool optional)
{
	uint64_t wanted = *room ? 2 * *room : first;

	if (wanted > max || (optional && !nvs_budget_allows(wanted * size)))
		return NULL;
	list = realloc(list, wanted * size);
	*room = list ? wanted : *room;
	return list;
}

#endif
