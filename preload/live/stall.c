/* SPDX-License-Identifier: MIT */
/*
 * Counts API calls that took long, by reason. It looks only after such a call, at the GPFIFO ring
 * of the channel that its thread rang last: a driver that waits for space continues as soon as
 * there is some, so the ring is still nearly full. What the keeper thread saw meanwhile counts as
 * well.
 */
#include "preload/live/live.h"
#include "trap/low/guard.h"

#define TIMES_USUAL 10u
#define MANY_CALLS 20u /* with fewer calls there is no typical time */
#define TRIES 4

/* Returns the median duration of the thread's calls, approximately; 0 if there are too few. */
static uint64_t median_ns(struct nvs_live_slot *slot, uint32_t row)
{
	const struct nvs_live_api_count *c = nvs_live_api_count(slot, row);
	uint64_t calls = 0, n = 0;
	int i;

	for (i = 0; i < NVS_LIVE_BUCKETS; i++)
		calls += c->buckets[i];
	if (calls < MANY_CALLS)
		return 0;
	for (i = 0; i < NVS_LIVE_BUCKETS - 1 && n + c->buckets[i] <= calls / 2; i++)
		n += c->buckets[i];
	/* The middle of the bucket. */
	return (3ull << (NVS_LIVE_BUCKET_SHIFT + i)) / 4;
}

/* Returns the row of the channel with this number. */
static const struct nvs_live_channel *find_channel(const struct nvs_live_page *p, uint32_t channel,
						   uint32_t *at)
{
	const struct nvs_live_channel *rows = nvs_live_table(p, NVS_LIVE_CHANNELS);
	uint32_t used = __atomic_load_n(&p->head->tables[NVS_LIVE_CHANNELS].used, __ATOMIC_ACQUIRE);

	for (*at = 0; *at < used; ++*at)
		if (rows[*at].channel == channel && rows[*at].flags & NVS_LIVE_CHANNEL_ALIVE)
			return &rows[*at];
	return NULL;
}

/* Sets N to the submissions that are not complete. Returns false if it is unknown. */
static bool count_pending(const struct nvs_live_channel *row, const struct nvs_live_ring *ring,
			  uint64_t *n)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t sequence = __atomic_load_n(&row->sequence, __ATOMIC_ACQUIRE);
		uint64_t of = __atomic_load_n(&row->completed_of, __ATOMIC_RELAXED);
		uint64_t wanted = __atomic_load_n(&row->wanted, __ATOMIC_RELAXED), claim;
		const uint64_t *claims = __atomic_load_n(&ring->claim, __ATOMIC_RELAXED);
		const uint32_t *slot = __atomic_load_n(&ring->released, __ATOMIC_RELAXED);
		uint32_t released;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (sequence % 2 || __atomic_load_n(&row->sequence, __ATOMIC_RELAXED) != sequence)
			continue;
		if (of == NVS_LIVE_UNKNOWN || wanted == NVS_LIVE_UNKNOWN || !slot ||
		    !nvs_load64_guarded(claims, &claim) || !nvs_load32_guarded(slot, &released))
			return false;
		claim >>= NVS_PUT_BITS;
		*n = (uint32_t)(wanted + (claim - of) - released);
		return claim >= of && *n <= claim;
	}
	return false;
}

static bool ring_was_full(const struct nvs_live_page *p, const struct nvs_live_slot *slot,
			  uint64_t since)
{
	const uint64_t *c = slot->counts;
	uint64_t submissions = c[NVS_LIVE_SUBMISSIONS] + c[NVS_LIVE_SKIPPED], n;
	uint64_t entries = c[NVS_LIVE_ENTRIES] + c[NVS_LIVE_SKIPPED_ENTRIES];
	const struct nvs_live_channel *row;
	uint32_t at;

	row = nvs_tls.rung ? find_channel(p, nvs_tls.rung - 1, &at) : NULL;
	if (!row)
		return false;
	if (__atomic_load_n(&p->rings[at].full_at, __ATOMIC_RELAXED) >= since)
		return true;
	if (!count_pending(row, &p->rings[at], &n))
		return false;
	/* A submission may have several entries. */
	return nvs_live_is_full(
		entries > submissions && submissions ? n * entries / submissions : n, row->entries);
}

void nvs_live_stall(struct nvs_live_page *page, struct nvs_live_slot *slot,
		    const struct nvs_live_slow_call *call)
{
	enum nvs_live_stall why = NVS_LIVE_STALL_UNKNOWN;

	if (!call->copy && call->ns / TIMES_USUAL < median_ns(slot, call->row))
		return;
	if (ring_was_full(page, slot, call->begin))
		why = NVS_LIVE_STALL_RING;
	else if (call->module)
		why = NVS_LIVE_STALL_MODULE;
	else if (call->memory)
		why = NVS_LIVE_STALL_MEMORY;
	else if (call->copy)
		why = NVS_LIVE_STALL_COPY;
	nvs_live_add(&slot->stalls[why].calls, 1);
	nvs_live_add(&slot->stalls[why].ns, call->ns);
}
