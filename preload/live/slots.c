/* SPDX-License-Identifier: MIT */
/* Slots of the live page: one for each thread buffer, and slot 0 for doorbells of threads without
 * one. */
#include "preload/live/live.h"

struct nvs_live_slot *nvs_live_slot(uint32_t number)
{
	struct nvs_live_page *p = nvs_live_page();
	struct nvs_live_table *t = p ? &p->head->tables[NVS_LIVE_SLOTS] : NULL;

	if (!p || number >= p->ready[NVS_LIVE_SLOTS] || number < p->newest.first)
		return NULL;
	if (number >= t->used)
		__atomic_store_n(&t->used, number + 1, __ATOMIC_RELEASE);
	return (void *)(p->newest.at + (uint64_t)(number - p->newest.first) * t->row_bytes);
}

/* A thread that stores later may have counted earlier, so the value is only raised. */
static void raise_to(uint64_t *count, uint64_t to)
{
	uint64_t now = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (now < to && !__atomic_compare_exchange_n(count, &now, to, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
}

void nvs_live_scan_slots(struct nvs_live_page *p)
{
	struct nvs_live_slot *first = nvs_live_table(p, NVS_LIVE_SLOTS);
	uint64_t rest[NVS_COUNT_MAX] = {
		[NVS_COUNT_LOST_SUBMISSIONS] = atomic_load(&nvs_process->lost_submissions),
		[NVS_COUNT_LOST_BYTES] = atomic_load(&nvs_process->lost_bytes),
	};

	raise_to(&first->gaps[NVS_GAP_NO_BUFFER], rest[NVS_COUNT_LOST_SUBMISSIONS]);
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		const struct nvs_buffer *buffer = nvs_buffer_at(i);
		uint32_t generation = buffer->live ? nvs_live_generation(buffer->live) : 0;

		if (buffer->live && !__atomic_load_n(&buffer->shared->tid, __ATOMIC_ACQUIRE))
			nvs_live_free_slot(buffer->live, generation);
		for (int k = 0; !buffer->live && k < NVS_COUNT_MAX; k++)
			rest[k] += nvs_count_of(buffer, k);
	}
	for (int k = 0; k < NVS_COUNT_MAX; k++)
		raise_to(&first->counts[k], rest[k]);
}
