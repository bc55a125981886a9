/* SPDX-License-Identifier: MIT */
/*
 * Updates GPUs and channels in the live page, on the keeper thread, ten times a second: submissions
 * made and completed, and the fill level of the ring. Completion is read from the channel's release
 * slot, to which the driver's last release of each submission writes a counting payload. The last
 * submission's payload is read from its last segment, or from the trap if that has copied the
 * segment. The keeper blocks SIGSEGV and SIGBUS, so a fault would kill the program; every read is
 * checked with the kernel first.
 */
#include <errno.h>
#include <string.h>
#include "preload/base/sys.h"
#include "preload/live/gpu_times.h"
#include "preload/live/live.h"
#include "preload/rm/abi.h"
#include "preload/rm/rm.h"
#include "preload/session/poll_thread.h"
#include "trap/copy/gpfifo_timing.h"
#include "trap/copy/shadow.h"

#define TAIL_WORDS 6

static bool read_word32(const volatile uint32_t *from, uint32_t *value)
{
	/* The check reads eight bytes, which are on the same page. */
	if (!nvs_sys_readable((const void *)((uintptr_t)from & ~(uintptr_t)7)))
		return false;
	*value = *from;
	return true;
}

static bool read_word64(const volatile uint64_t *from, uint64_t *value)
{
	if (!nvs_sys_readable(from))
		return false;
	*value = *from;
	return true;
}

/* Address at which the process sees BYTES at VA of the address space. 0 if not mapped. */
static uintptr_t find_address(uint32_t vaspace, uint64_t va, uint64_t bytes)
{
	const struct nvs_segs *s = &nvs_rm()->segs;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct nvs_seg *seg = &s->at[i];

		if ((seg->vaspace == vaspace || !seg->vaspace) && va >= seg->gpu_va &&
		    va - seg->gpu_va < seg->size && seg->size - (va - seg->gpu_va) >= bytes)
			return seg->cpu + (va - seg->gpu_va);
	}
	return 0;
}

/* Recognises the release in the last words of the commands at VA. */
static bool read_release(uint32_t vaspace, uint64_t va, uint64_t bytes, uint64_t *slot,
			 uint64_t *payload)
{
	uint32_t w[TAIL_WORDS];
	uintptr_t at = bytes >= sizeof(w) ? find_address(vaspace, va, bytes) : 0;

	for (uint32_t i = 0; at && i < TAIL_WORDS; i++)
		if (!read_word32((const uint32_t *)(at + (bytes & ~3ull) - sizeof(w) + 4 * i),
				 &w[i]))
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

/* The entries before PUT may be control entries without commands, so search back for the last
 * segment. */
static bool last_release(const struct nvs_channel_entry *c, uint32_t put, uint64_t *slot,
			 uint64_t *payload)
{
	uint64_t entry;

	for (uint32_t i = 1; i <= 4 && i < c->entries; i++) {
		uint32_t at = (put + c->entries - i) % c->entries;
		uint64_t bytes;

		if (!read_word64(&c->ring[at], &entry))
			return false;
		bytes = (entry >> 42 & 0x1fffff) * 4;
		if (bytes)
			return read_release(c->vaspace,
					    c->slot->extended_base | (entry & 0xfffffffffcull),
					    bytes, slot, payload);
	}
	return false;
}

static uint32_t get_gpu_row(struct nvs_live_page *page, uint32_t instance)
{
	const struct nvs_gpu *gpu = instance < NVS_MAX_GPUS ? &nvs_rm()->gpus[instance] : NULL;

	return gpu && gpu->seen ? nvs_live_gpu(page, gpu->uuid, instance, NVS_NONE, gpu->name) : 0;
}

/* The GPU's times may be read before nvs_live_update_channels() runs, so its row is made here. */
struct nvs_timing_sink *nvs_channel_gpu_sink_new(uint32_t gpu, bool copies)
{
	struct nvs_live_page *page = nvs_live_page();

	if (page)
		get_gpu_row(page, gpu);
	return nvs_live_gpu_sink_new(gpu, copies);
}

static void store_relaxed(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* GP_GET as written by the GPU. */
static uint32_t read_get(const struct nvs_channel_entry *c)
{
	uint32_t get;

	if (!c->put || !nvs_class_has_get(c->object->object_class))
		return NVS_NONE;
	if (c->shadow && !c->shadow->timing)
		return c->shadow->userd[NVS_USERD_GP_GET];
	return read_word32(c->put + NVS_USERD_GP_GET - NVS_USERD_GP_PUT, &get) ? get : NVS_NONE;
}

struct progress_release {
	uint64_t claim; /* the channel's claim when this was read */
	uintptr_t at; /* address of the slot in the process */
	uint64_t slot, wanted;
	uint32_t released;
};

#define TRIES 16 /* for a channel that is submitted to meanwhile */

/*
 * Reads the payload of the last submission's release and the payload released so far, with no
 * submission in between. Returns 1, 0 if the last submission has no such release, or -EAGAIN if
 * submissions come too fast.
 */
static int read_progress(const struct nvs_channel_entry *c, struct progress_release *seen)
{
	for (int i = 0; i < TRIES; i++) {
		bool known;

		*seen = (struct progress_release){
			.claim = __atomic_load_n(&c->slot->claim, __ATOMIC_ACQUIRE)};
		known = last_release(c, (uint32_t)(seen->claim & ((1u << NVS_PUT_BITS) - 1)),
				     &seen->slot, &seen->wanted);
		seen->at = known ? find_address(c->vaspace, seen->slot, 16) : 0;
		known = seen->at && read_word32((const uint32_t *)seen->at, &seen->released);
		atomic_thread_fence(memory_order_acquire);
		if (__atomic_load_n(&c->slot->claim, __ATOMIC_ACQUIRE) == seen->claim)
			return known;
	}
	return -EAGAIN;
}

static void fill_release(struct nvs_live_channel *row, struct nvs_live_ring *ring,
			 const struct nvs_channel_entry *c, uint64_t now)
{
	struct progress_release seen = {0};
	uint64_t submitted, pending;
	int known = c->ring && row->submitted ? read_progress(c, &seen) : 0;

	/* Keep the previous values, if there are any. */
	if (known < 0 && row->completed_of)
		return;
	/* A payload further behind than there were submissions is not the driver's counter. */
	submitted = seen.claim >> NVS_PUT_BITS;
	pending = (uint32_t)seen.wanted - seen.released;
	known = known > 0 && pending <= submitted;
	__atomic_store_n(&ring->released, known ? (const uint32_t *)seen.at : NULL,
			 __ATOMIC_RELAXED);
	if (known && nvs_live_is_full(pending, c->entries))
		store_relaxed(&ring->full_at, now);
	store_relaxed(&row->wanted, known ? seen.wanted : NVS_LIVE_UNKNOWN);
	store_relaxed(&row->released, known ? seen.released : NVS_LIVE_UNKNOWN);
	if (known) {
		uint64_t completed = submitted - pending;

		/* The segment of a completed submission may have been overwritten by the next one:
		 * never go back. */
		if (row->completed != NVS_LIVE_UNKNOWN && completed < row->completed)
			completed = row->completed;
		if (completed != row->completed && completed)
			store_relaxed(&row->completed_at, now);
		store_relaxed(&row->completed, completed);
		store_relaxed(&row->completed_of, submitted);
		store_relaxed(&row->release_address, seen.slot);
		if (submitted > row->submitted)
			store_relaxed(&row->submitted, submitted);
		return;
	}
	if (!row->submitted)
		store_relaxed(&row->completed, 0);
	else if (row->completed == 0)
		store_relaxed(&row->completed, NVS_LIVE_UNKNOWN);
	store_relaxed(&row->completed_of, row->submitted ? NVS_LIVE_UNKNOWN : 0);
}

static void fill_row(struct nvs_live_page *page, struct nvs_live_channel *row,
		     const struct nvs_channel_entry *c, uint64_t now)
{
	uint64_t claim = __atomic_load_n(&c->slot->claim, __ATOMIC_ACQUIRE);
	uint32_t put = (uint32_t)(claim & ((1u << NVS_PUT_BITS) - 1)), get = read_get(c);
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS);
	struct nvs_live_ring *ring = &page->rings[row - rows];
	bool bound = c->flags & NVS_CHAN_BOUND;

	row->flags = NVS_LIVE_CHANNEL_ALIVE | (bound ? NVS_LIVE_CHANNEL_BOUND : 0);
	row->gpu = get_gpu_row(page, c->object->gpu);
	row->object_class = c->object->object_class;
	row->engine = c->engine;
	row->token = c->token;
	row->entries = c->entries;
	row->put = put;
	row->get = bound && get < c->entries ? get : NVS_NONE;
	row->used = row->get == NVS_NONE ? NVS_NONE : (put + c->entries - get) % c->entries;
	if (claim >> NVS_PUT_BITS != row->submitted)
		store_relaxed(&row->submitted_at, now);
	store_relaxed(&row->submitted, claim >> NVS_PUT_BITS);
	__atomic_store_n(&ring->claim, &c->slot->claim, __ATOMIC_RELAXED);
	if (row->used != NVS_NONE && nvs_live_is_full(row->used, c->entries))
		store_relaxed(&ring->full_at, now);
	fill_release(row, ring, c, now);
}

static void begin_write(struct nvs_live_channel *row)
{
	__atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end_write(struct nvs_live_channel *row)
{
	__atomic_store_n(&row->sequence, row->sequence + 1, __ATOMIC_RELEASE);
}

/* The channel's row. Returns NULL if it has none. */
static struct nvs_live_channel *find_row(const struct nvs_live_page *page,
					 const struct nvs_channel_entry *c)
{
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS);
	uint32_t at = c->live_row - 1;

	return c->live_row && at < page->head->tables[NVS_LIVE_CHANNELS].used &&
			       rows[at].channel == c->number
		       ? &rows[at]
		       : NULL;
}

/* Adds a row, or reuses one whose channel has been freed. */
static struct nvs_live_channel *new_row(struct nvs_live_page *page, struct nvs_channel_entry *c)
{
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS), *row;
	uint32_t used = page->head->tables[NVS_LIVE_CHANNELS].used, n;

	row = used < page->ready[NVS_LIVE_CHANNELS] ? nvs_live_row_new(page, NVS_LIVE_CHANNELS, &n)
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
	begin_write(row);
	page->rings[n] = (struct nvs_live_ring){0};
	/* Everything except the sequence, which a reader must never see as 0. */
	memset((char *)row + sizeof(row->sequence), 0, sizeof(*row) - sizeof(row->sequence));
	row->channel = c->number;
	end_write(row);
	c->live_row = n + 1;
	return row;
}

/* Marks rows whose channel no longer exists. */
static void mark_gone(struct nvs_live_page *page, uint64_t look)
{
	struct nvs_live_channel *rows = nvs_live_table(page, NVS_LIVE_CHANNELS);

	for (uint32_t i = 0; i < page->head->tables[NVS_LIVE_CHANNELS].used; i++) {
		if (!(rows[i].flags & NVS_LIVE_CHANNEL_ALIVE) || page->rings[i].look == look)
			continue;
		begin_write(&rows[i]);
		rows[i].flags &= ~NVS_LIVE_CHANNEL_ALIVE;
		end_write(&rows[i]);
	}
}

static void update_page(struct nvs_live_page *page, uint64_t now)
{
	struct nvs_live_channel *row;
	struct nvs_channel_entry *c;
	bool full = false;

	nvs_live_set_driver(nvs_rm_driver_version());
	DL_FOREACH(nvs_rm()->channels, c)
	if (find_row(page, c))
		page->rings[c->live_row - 1].look = now;
	mark_gone(page, now);
	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->slot || c->hidden)
			continue;
		row = find_row(page, c);
		row = row || full ? row : new_row(page, c);
		full = full || !row;
		if (!row)
			continue;
		begin_write(row);
		fill_row(page, row, c, now);
		end_write(row);
	}
}

void nvs_live_update_channels(void)
{
	struct nvs_live_page *page = nvs_live_page();

	if (!page)
		return;
	NVS_LOCK_SCOPE();
	if (nvs_rm())
		update_page(page, nvs_clock_now());
}
