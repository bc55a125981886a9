/* SPDX-License-Identifier: MIT */
/* Rows by key, which stay where they are. */
#ifndef NVSNOOP_DECODE_BASE_KEYED_ROWS_H
#define NVSNOOP_DECODE_BASE_KEYED_ROWS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rows by key, in the order in which they came. A row stays where it is; its first bytes are its
 * key, and the rest is zero when it is made.
 */
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

/* Made where it is missing; NULL: no memory. */
void *nvs_rows_at(struct nvs_rows *rows, const void *key);
/* NULL: there is none. */
void *nvs_rows_find(const struct nvs_rows *rows, const void *key);
/* The next of this key is another one. */
void nvs_rows_forget(struct nvs_rows *rows, const void *row);
/* With what ITEM (may be NULL) frees of each row. */
void nvs_rows_free(struct nvs_rows *rows, void (*item)(void *row));

#endif
