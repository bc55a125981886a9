/* SPDX-License-Identifier: MIT */
/* Rows by key: an open-addressing hash table of indices into the list of rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/base/keyed_rows.h"

#define GONE UINT32_MAX /* tombstone: slot of a removed row */

/* The slot of KEY, or the first free one. */
static uint32_t *slot_of(const struct nvs_rows *rows, const void *key)
{
	uint32_t i = (uint32_t)nvs_hash64(key, rows->key) & rows->mask;

	while (rows->slots[i] &&
	       (rows->slots[i] == GONE || memcmp(rows->row[rows->slots[i] - 1], key, rows->key)))
		i = (i + 1) & rows->mask;
	return rows->slots + i;
}

/* Makes room for one more; at least half of the slots stay empty. */
static int grow_rows(struct nvs_rows *rows)
{
	size_t room = rows->room ? 2 * rows->room : 16;
	uint32_t *old = rows->slots, mask = rows->mask;
	void **row = realloc(rows->row, room * sizeof(*row));
	uint32_t *slots = calloc(2 * room, sizeof(*slots));

	rows->row = row ? row : rows->row;
	if (!row || !slots) {
		free(slots);
		return -ENOMEM;
	}
	rows->room = room;
	rows->slots = slots;
	rows->mask = (uint32_t)(2 * room - 1);
	for (uint32_t i = 0; old && i <= mask; i++)
		if (old[i] && old[i] != GONE)
			*slot_of(rows, row[old[i] - 1]) = old[i];
	free(old);
	return 0;
}

void *nvs_rows_at(struct nvs_rows *rows, const void *key)
{
	uint32_t *slot = rows->slots ? slot_of(rows, key) : NULL;
	void *row;

	if (slot && *slot)
		return rows->row[*slot - 1];
	if (rows->n == rows->room) {
		if (grow_rows(rows))
			return NULL;
		slot = slot_of(rows, key);
	}
	row = calloc(1, rows->size);
	if (!row)
		return NULL;
	memcpy(row, key, rows->key);
	rows->row[rows->n++] = row;
	*slot = (uint32_t)rows->n;
	return row;
}

void *nvs_rows_find(const struct nvs_rows *rows, const void *key)
{
	const uint32_t *slot = rows->slots ? slot_of(rows, key) : NULL;

	return slot && *slot ? rows->row[*slot - 1] : NULL;
}

void nvs_rows_remove(struct nvs_rows *rows, const void *row)
{
	uint32_t *slot = rows->slots ? slot_of(rows, row) : NULL;

	if (slot && *slot && rows->row[*slot - 1] == row)
		*slot = GONE;
}

void nvs_rows_free(struct nvs_rows *rows, void (*item)(void *row))
{
	for (size_t i = 0; i < rows->n; i++) {
		if (item)
			item(rows->row[i]);
		free(rows->row[i]);
	}
	free(rows->row);
	free(rows->slots);
	rows->row = NULL;
	rows->slots = NULL;
	rows->n = rows->room = rows->mask = 0;
}
