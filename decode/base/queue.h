/* SPDX-License-Identifier: MIT */
/* A circular queue of items of one size. */
#ifndef NVSNOOP_DECODE_BASE_QUEUE_H
#define NVSNOOP_DECODE_BASE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero but for SIZE when empty; ITEM is freed with free(). */
struct nvs_queue {
	uint8_t *item;
	uint32_t size, room; /* bytes of an item; capacity, a power of two */
	uint64_t first, end; /* running counts: of the oldest item, and after the newest */
};

static inline uint64_t nvs_queue_count(const struct nvs_queue *q)
{
	return q->end - q->first;
}

/* The item with the running count AT. */
static inline void *nvs_queue_at(const struct nvs_queue *q, uint64_t at)
{
	return q->item + (at & (q->room - 1)) * q->size;
}

/* Returns NULL if the queue is empty. */
static inline void *nvs_queue_last(const struct nvs_queue *q)
{
	return nvs_queue_count(q) ? nvs_queue_at(q, q->end - 1) : NULL;
}

/* Makes room for one more item, which the caller adds at END or before FIRST. Returns false if
 * there are MAX or memory for optional data is short. */
bool nvs_queue_reserve(struct nvs_queue *q, uint32_t max);

#endif
