/* SPDX-License-Identifier: MIT */
/* Open-addressing set of 64-bit hashes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/distinct.h"

#define MAX_ROOM (1u << 22) /* 32 MiB */

static uint64_t *find_slot(const struct nvs_distinct *d, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (d->room - 1);

	while (d->slots[i] && d->slots[i] != hash)
		i = (i + 1) & (d->room - 1);
	return d->slots + i;
}

static int grow_set(struct nvs_distinct *d)
{
	struct nvs_distinct more = {.count = d->count, .room = d->room ? d->room * 2 : 256};

	more.slots = more.room > MAX_ROOM ? NULL : calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return -E2BIG;
	for (uint32_t i = 0; i < d->room; i++)
		if (d->slots[i])
			*find_slot(&more, d->slots[i]) = d->slots[i];
	free(d->slots);
	*d = more;
	return 0;
}

int nvs_distinct_add(struct nvs_distinct *d, uint64_t hash)
{
	uint64_t *at;

	hash += !hash;
	at = d->room ? find_slot(d, hash) : NULL;
	if (at && *at)
		return 0;
	if (d->count >= d->room / 2) {
		if (grow_set(d))
			return -E2BIG;
		at = find_slot(d, hash);
	}
	*at = hash;
	d->count++;
	return 1;
}

void nvs_distinct_free(struct nvs_distinct *d)
{
	free(d->slots);
	memset(d, 0, sizeof(*d));
}
