/* SPDX-License-Identifier: MIT */
/*
 * GPUs and channels for the live page, by our own thread, ten times a second: how much was
 * submitted on each channel, how much of it is done, and how full its ring is.
 *
 * What is done is told by the payload in the channel's release slot: the driver's count of its own
 * releases, one at the end of each submission. Which payload the last submission releases stands in
 * its last segment, which is read here, unless the trap has copied it and knows where the slot is
 * already. Nothing is told that was not read.
 *
 * Our own thread blocks SIGSEGV and SIGBUS, so that no handler of the program comes to run on it: a
 * fault would end the program. The kernel is asked before each read.
 */
#include <errno.h>
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "preload/rm/rm.h"
#include "preload/session/poll_thread.h"
#include "trap/copy/shadow.h"

#define TAIL_WORDS 6

static const struct nvs_segs *segments(void)
{
	return &nvs_rm()->segs;
}

static bool load32(const volatile uint32_t *from, uint32_t *value)
{
	/* Eight bytes, on the same page. */
	if (!nvs_sys_readable((const void *)((uintptr_t)from & ~(uintptr_t)7)))
		return false;
	*value = *from;
	return true;
}

static bool load64(const volatile uint64_t *from, uint64_t *value)
{
	if (!nvs_sys_readable(from))
		return false;
	*value = *from;
	return true;
}

/* Where the process sees BYTES at VA of the channel's address space; 0: nowhere. */
static uintptr_t seen_at(uint32_t vaspace, uint64_t va, uint64_t bytes)
{
	const struct nvs_segs *s = segments();

	for (uint32_t i = 0; i < s->n; i++) {
		const struct nvs_seg *seg = &s->at[i];

		if ((seg->vaspace == vaspace || !seg->vaspace) && va >= seg->gpu_va &&
		    va - seg->gpu_va < seg->size && seg->size - (va - seg->gpu_va) >= bytes)
			return seg->cpu + (va - seg->gpu_va);
	}
	return 0;
}

/* The last words of the commands at VA: how the last submission's release looks. */
static bool read_release(uint32_t vaspace, uint64_t va, uint64_t bytes, uint64_t *slot,
			 uint64_t *payload)
{
	uint32_t w[TAIL_WORDS];
	uintptr_t at = bytes >= sizeof(w) ? seen_at(vaspace, va, bytes) : 0;

	for (uint32_t i = 0; at && i < TAIL_WORDS; i++)
		if (!load32((const uint32_t *)(at + (bytes & ~3ull) - sizeof(w) + 4 * i), &w[i]))
			at = 0;
	if (!at)
		return false;
	/* SET_REPORT_SEMAPHORE_A..D; SET_SEMAPHORE_A, _B, _PAYLOAD and LAUNCH_DMA. */
	if ((w[1] & 0xffff1fff) == 0x200406c0) {
		*slot = (uint64_t)(w[2] & 0x1ffff) << 32 | w[3];
		*payload = w[4];
		return true;
	}
	if ((w[0] & 0xffff1fff) == 0x20030090 && (w[4] & 0xffff1fff) == 0x200100c0) {
		*slot = (uint64_t)(w[1] & 0x1ffff) << 32 | w[2];
		*payload = w[3];
		return true;
	}
	return false;
}

/* Of the last submission: the entries before PUT may be control entries without commands. */
static bool last_release(const struct nvs_channel_entry *c, uint32_t put, uint64_t *slot,
			 uint64_t *payload)
{
	uint64_t entry;

	for (uint32_t i = 1; i <= 4 && i < c->entries; i++) {
		uint32_t at = (put + c->entries - i) % c->entries;
		uint64_t bytes;

		if (!load64(&c->ring[at], &entry))
			return false;
		bytes = (entry >> 42 & 0x1fffff) * 4;
		if (bytes)
			return read_release(c->vaspace,
					    c->slot->extended_base | (entry & 0xfffffffffcull),
					    bytes, slot, payload);
	}
	return false;
}

static uint32_t gpu_of(struct nvs_live_page *page, uint32_t instance)
{
	const struct nvs_gpu *gpu = instance < NVS_MAX_GPUS ? &nvs_rm()->gpus[instance] : NULL;

	return gpu && gpu->seen ? nvs_live_gpu(page, gpu->uuid, instance, NVS_NONE, gpu->name) : 0;
}

static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* GP_GET as the GPU wrote it. */
static uint32_t get_of(const struct nvs_channel_entry *c)
{
	uint32_t get;

	if (!c->put)
		return NVS_NONE;
	if (c->shadow && !c->shadow->timing)
		return c->shadow->userd[NVS_USERD_GP_GET];
	return load32(c->put + NVS_USERD_GP_GET - NVS_USERD_GP_PUT, &get) ? get : NVS_NONE;
}

struct release {
	uint64_t claim; /* of the channel when this was read */
	uintptr_t at; /* where the slot is seen */
	uint64_t slot, wanted;
	uint32_t released;
};

#define TRIES 16 /* at a channel that is submitted to meanwhile */

/*
 * What the last submission releases, and what has been released, both read with nothing submitted
 * meanwhile. 0: the last submission has no such release; -EAGAIN: it is submitted to too fast.
 */
static int see_release(const struct nvs_channel_entry *c, struct release *seen)
{
	for (int i = 0; i < TRIES; i++) {
		bool known;

		*seen = (struct release){
			.claim = __atomic_load_n(&c->slot->claim, __ATOMIC_ACQUIRE)};
		known = last_release(c, (uint32_t)(seen->claim & ((1u << NVS_PUT_BITS) - 1)),
				     &seen->slot, &seen->wanted);
		seen->at = known ? seen_at(c->vaspace, seen->slot, 16) : 0;
		known = seen->at && load32((const uint32_t *)seen->at, &seen->released);
		if (__atomic_load_n(&c->slot->claim, __ATOMIC_ACQUIRE) == seen->claim)
			return known;
	}
	return -EAGAIN;
}

static void fill_release(struct nvs_live_channel *row, struct nvs_live_ring *ring,
			 const struct nvs_channel_entry *c, uint64_t now)
{
	struct release seen = {0};
	uint64_t submitted, pending;
	int known = c->ring && row->submitted ? see_release(c, &seen) : 0;

	/* What was read last stays, if anything was. */
	if (known < 0 && row->completed_of)
		return;
	/* A count of its own would have to lie as far back as submissions go. */
	submitted = seen.claim >> NVS_PUT_BITS;
	pending = (uint32_t)seen.wanted - seen.released;
	known = known > 0 && pending <= submitted;
	__atomic_store_n(&ring->released, known ? (const uint32_t *)seen.at : NULL,
			 __ATOMIC_RELAXED);
	if (known && nvs_live_is_full(pending, c->entries))
		store(&ring->full_at, now);
	store(&row->wanted, known ? seen.wanted : NVS_LIVE_UNKNOWN);
	store(&row->released, known ? seen.released : NVS_LIVE_UNKNOWN);
	if (known) {
		uint64_t completed = submitted - pending;

		/* The commands of what is done may be those of the next one already. */
		if (row->completed != NVS_LIVE_UNKNOWN && completed < row->completed)
			completed = row->completed;
		if (completed != row->completed && completed)
			store(&row->completed_at, now);
		store(&row->completed, completed);
		store(&row->completed_of, submitted);
		store(&row->release_address, seen.slot);
		if (submitted > row->submitted)
			store(&row->submitted, submitted);
		return;
	}
	if (!row->submitted)
		store(&row->completed, 0);
	else if (row->completed == 0)
		store(&row->completed, NVS_LIVE_UNKNOWN);
	store(&row->completed_of, row->submitted ? NVS_LIVE_UNKNOWN : 0);
}

static void fill(struct nvs_live_page *page, struct nvs_live_channel *row,
		 const struct nvs_channel_entry *c, uint64_t now)
{
	uint64_t claim = __atomic_load_n(&c->slot->claim, __ATOMIC_ACQUIRE);
	uint32_t put = (uint32_t)(claim & ((1u << NVS_PUT_BITS) - 1)), get = get_of(c);
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS);
	struct nvs_live_ring *ring = &page->rings[row - rows];
	bool bound = c->flags & NVS_CHAN_BOUND;

	row->flags = NVS_LIVE_CHANNEL_ALIVE | (bound ? NVS_LIVE_CHANNEL_BOUND : 0);
	row->gpu = gpu_of(page, c->object->gpu);
	row->object_class = c->object->object_class;
	row->engine = c->engine;
	row->token = c->token;
	row->entries = c->entries;
	row->put = put;
	row->get = bound && get < c->entries ? get : NVS_NONE;
	row->used = row->get == NVS_NONE ? NVS_NONE : (put + c->entries - get) % c->entries;
	if (claim >> NVS_PUT_BITS != row->submitted)
		store(&row->submitted_at, now);
	store(&row->submitted, claim >> NVS_PUT_BITS);
	__atomic_store_n(&ring->claim, &c->slot->claim, __ATOMIC_RELAXED);
	if (row->used != NVS_NONE && nvs_live_is_full(row->used, c->entries))
		store(&ring->full_at, now);
	fill_release(row, ring, c, now);
}

static void begin(struct nvs_live_channel *row)
{
	__atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end(struct nvs_live_channel *row)
{
	__atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELEASE);
}

/* The row that a channel has; NULL: none. */
static struct nvs_live_channel *row_of(const struct nvs_live_page *page,
				       const struct nvs_channel_entry *c)
{
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS);
	uint32_t at = c->live_row - 1;

	return c->live_row && at < page->head->tables[NVS_LIVE_CHANNELS].used &&
			       rows[at].channel == c->number
		       ? &rows[at]
		       : NULL;
}

/* A row for a channel that has none: a new one, or one whose channel is gone. */
static struct nvs_live_channel *new_row(struct nvs_live_page *page, struct nvs_channel_entry *c)
{
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS), *row;
	uint32_t used = page->head->tables[NVS_LIVE_CHANNELS].used, n;
	uint64_t sequence;

	row = used < page->ready[NVS_LIVE_CHANNELS] ? nvs_live_row(page, NVS_LIVE_CHANNELS, &n)
						    : NULL;
	if (row) {
		row->channel = c->number;
		row->get = row->used = NVS_NONE;
		row->wanted = row->released = NVS_LIVE_UNKNOWN;
		nvs_live_row_done(page, NVS_LIVE_CHANNELS);
		c->live_row = n + 1;
		return row;
	}
	for (n = 0; n < used && rows[n].flags & NVS_LIVE_CHANNEL_ALIVE; n++)
		;
	if (n == used)
		return NULL;
	row = &rows[n];
	sequence = row->sequence;
	begin(row);
	page->rings[n] = (struct nvs_live_ring){0};
	*row = (struct nvs_live_channel){.sequence = sequence + 1, .channel = c->number};
	end(row);
	c->live_row = n + 1;
	return row;
}

/* Those whose channels are not there at this look. */
static void tell_gone(struct nvs_live_page *page, uint64_t look)
{
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS);

	for (uint32_t i = 0; i < page->head->tables[NVS_LIVE_CHANNELS].used; i++) {
		if (!(rows[i].flags & NVS_LIVE_CHANNEL_ALIVE) || page->rings[i].look == look)
			continue;
		begin(&rows[i]);
		rows[i].flags &= ~NVS_LIVE_CHANNEL_ALIVE;
		end(&rows[i]);
	}
}

static void tell(struct nvs_live_page *page, uint64_t now)
{
	struct nvs_live_channel *row;
	struct nvs_channel_entry *c;
	bool full = false;

	nvs_live_driver(nvs_rm_driver_version());
	DL_FOREACH(nvs_rm()->channels, c)
	if (row_of(page, c))
		page->rings[c->live_row - 1].look = now;
	tell_gone(page, now);
	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->slot || c->hidden)
			continue;
		row = row_of(page, c);
		row = row || full ? row : new_row(page, c);
		full = full || !row;
		if (!row)
			continue;
		begin(row);
		fill(page, row, c, now);
		end(row);
	}
}

void nvs_live_channels(void)
{
	struct nvs_live_page *page = nvs_live_page();
	sigset_t saved;

	if (!page)
		return;
	nvs_lock(&saved);
	if (nvs_rm())
		tell(page, nvs_now());
	nvs_unlock(&saved);
}
