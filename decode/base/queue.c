/* SPDX-License-Identifier: MIT */
/* Growth of circular queues. Used for submissions of a channel that are not done. */
#include <stdlib.h>
#include <string.h>
#include "decode/base/budget.h"
#include "decode/base/queue.h"

bool nvs_queue_reserve(struct nvs_queue *q, uint32_t max)
{
	uint32_t room = q->room ? 2 * q->room : 16;
	struct nvs_queue wider = *q;

	if (nvs_queue_count(q) < q->room)
		return true;
	if (room > max || !nvs_budget_allows((uint64_t)room * q->size))
		return false;
	wider.room = room;
	wider.item = malloc((size_t)room * q->size);
	if (!wider.item)
		return false;
	for (uint64_t i = q->first; i != q->end; i++)
		memcpy(nvs_queue_at(&wider, i), nvs_queue_at(q, i), q->size);
	free(q->item);
	*q = wider;
	return true;
}
