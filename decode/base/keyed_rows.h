/* SPDX-License-Identifier: MIT */
/* Rows by key, which stay where they are. */
#ifndef NVSNOOP_DECODE_BASE_KEYED_ROWS_H
#define NVSNOOP_DECODE_BASE_KEYED_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Rows by key, in order of creation. A row does not move; it begins with its key, and the rest is
 * zero when it is created. */
struct nvs_rows {
	size_t size, key; /* bytes of a row, and of its key */
	void **row;
	size_t n, room;
	uint32_t *slots; /* row + 1 by hash */
	uint32_t mask;
};

#define NVS_ROWS(type, member)                                               \
	(struct nvs_rows)                                                    \
	{                                                                    \
		.size = sizeof(type), .key = sizeof(((type *)NULL)->member), \
	}

/* Returns the row of KEY, created if missing; NULL if memory is short. */
void *nvs_rows_at(struct nvs_rows *rows, const void *key);
/* Returns NULL if there is none. */
void *nvs_rows_find(const struct nvs_rows *rows, const void *key);
/* Removes ROW from the index: nvs_rows_at() will create a new one for its key. */
void nvs_rows_remove(struct nvs_rows *rows, const void *row);
/* ITEM, which may be NULL, frees the members of a row. */
void nvs_rows_free(struct nvs_rows *rows, void (*item)(void *row));

#endif
