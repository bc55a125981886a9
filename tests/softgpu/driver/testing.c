/* SPDX-License-Identifier: MIT */
/* Functions for tests beyond the CUDA API, see softgpu.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../gpu/builtin.h"
#include "driver.h"
#include "push.h"

#define EXPORT __attribute__((visibility("default"), noinline))
#define EXTRA_CHANNELS 24

struct doorbell {
	struct doorbell *next;
	struct sg_device *device;
	uint32_t handle;
	bool own; /* created the object, not only the mapping */
	volatile uint32_t *page;
};
static struct doorbell *doorbells;

struct allocation {
	struct allocation *next;
	struct sg_context *ctx;
	void *p;
	uint64_t size;
	uint32_t handle;
};
static struct allocation *allocations;

EXPORT uint32_t softgpu_waits(uint32_t what)
{
	return sg_waits(what);
}

/* ---- channels ---- */

EXPORT struct softgpu_channel *softgpu_channel_at(uint32_t index)
{
	struct sg_context *ctx = sg_current();

	sg_wait_settled(ctx);
	return ctx && index < SG_CHANNELS ? &ctx->ch[index] : NULL;
}

EXPORT void softgpu_channel_info(struct softgpu_channel *ch, struct softgpu_channel_info *info)
{
	*info = (struct softgpu_channel_info){.client = sg_driver.client,
					      .handle = ch->handle,
					      .gpu = ch->ctx->device->minor,
					      .token = ch->token,
					      .index = ch->index,
					      .entries = ch->entries,
					      .put = ch->put,
					      .doorbell = ch->ctx->doorbell,
					      .ring = ch->ring,
					      .userd = ch->userd};
}

EXPORT struct softgpu_channel *softgpu_channel_create(bool copy, uint32_t entries, bool own_memory)
{
	struct sg_context *ctx = sg_current();
	struct softgpu_channel *ch;
	uint32_t i, *p;
	CUresult r;

	if (!ctx || entries > SG_RING)
		return NULL;
	sg_wait_settled(ctx);
	pthread_mutex_lock(&sg_driver.lock);
	for (i = 0; i < EXTRA_CHANNELS && ctx->extra_ring >> i & 1; i++)
		;
	ch = i < EXTRA_CHANNELS ? calloc(1, sizeof(*ch)) : NULL;
	if (!ch) {
		pthread_mutex_unlock(&sg_driver.lock);
		return NULL;
	}
	ctx->extra_ring |= 1u << i;
	ch->entries = entries;
	memset((void *)(ctx->base + 0x460fff0 - (SG_CHANNELS + i) * 0x10ull), 0, 16);
	r = sg_channel_create(ch, ctx, SG_CHANNELS + i, copy, ctx->group[copy],
			      copy ? 0 : ctx->share, own_memory);
	pthread_mutex_unlock(&sg_driver.lock);
	if (r) {
		free(ch);
		return NULL;
	}
	p = sg_channel_begin(ch, 16);
	p = push1(p, copy ? SUBCH_COPY : SUBCH_COMPUTE, 0, copy ? 0xc8b5 : 0xcbc0);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return ch;
}

EXPORT void softgpu_channel_destroy(struct softgpu_channel *ch)
{
	struct sg_context *ctx = ch->ctx;

	sg_channel_wait(ch, ch->payload);
	pthread_mutex_lock(&sg_driver.lock);
	sg_channel_destroy(ch);
	ctx->extra_ring &= ~(1u << (ch->index - SG_CHANNELS));
	pthread_mutex_unlock(&sg_driver.lock);
	free(ch);
}

EXPORT bool softgpu_channel_map_again(struct softgpu_channel *ch, bool move)
{
	bool ok;

	pthread_mutex_lock(&sg_driver.lock);
	ok = sg_channel_map_again(ch, move);
	pthread_mutex_unlock(&sg_driver.lock);
	return ok;
}

EXPORT void softgpu_channel_lock(struct softgpu_channel *ch)
{
	pthread_mutex_lock(&ch->lock);
}

EXPORT void softgpu_channel_unlock(struct softgpu_channel *ch)
{
	pthread_mutex_unlock(&ch->lock);
}

/* ---- doorbells ---- */

EXPORT void softgpu_set_store(softgpu_store store)
{
	sg_store = store ? store : sg_ring_doorbell;
}

EXPORT volatile uint32_t *softgpu_map_doorbell(bool bar1, bool use)
{
	struct sg_context *ctx = sg_current();
	struct doorbell *b = calloc(1, sizeof(*b));
	uint8_t params[2] = {1, 0};
	char path[16] = "/dev/nvidia0";

	pthread_mutex_lock(&sg_driver.lock);
	b->device = ctx->device;
	path[11] = (char)('0' + b->device->minor);
	b->handle = sg_handle();
	b->own = !sg_alloc(b->device->subdevice, b->handle, sg_usermode(), bar1 ? params : NULL);
	if (b->own)
		b->page = sg_map(b->device->subdevice, b->handle, 0x10000, path, NULL, PROT_WRITE,
				 true);
	if (b->page) {
		b->next = doorbells;
		doorbells = b;
		if (use)
			ctx->doorbell = b->page + 0x90 / 4;
	}
	pthread_mutex_unlock(&sg_driver.lock);
	return b->page ? b->page + 0x90 / 4 : NULL;
}

EXPORT void softgpu_unmap_doorbell(volatile uint32_t *doorbell)
{
	struct sg_context *ctx = sg_current();
	struct doorbell **p = &doorbells, *b;

	pthread_mutex_lock(&sg_driver.lock);
	while (*p && (*p)->page + 0x90 / 4 != doorbell)
		p = &(*p)->next;
	b = *p;
	if (b) {
		*p = b->next;
		if (ctx && ctx->doorbell == doorbell)
			ctx->doorbell = ctx->device->page[1] + 0x90 / 4;
		sg_unmap(b->device->subdevice, b->handle, (void *)b->page, 0x10000);
		sg_rm_free(b->device->subdevice, b->handle);
		free(b);
	}
	pthread_mutex_unlock(&sg_driver.lock);
}

/* ---- submissions ---- */

EXPORT uint32_t softgpu_submit(struct softgpu_channel *ch, uint32_t nentries,
			       const uint32_t *const *words, const uint32_t *dwords)
{
	struct sg_inflight *f;
	uint64_t entry[64];
	uint32_t total = 8, payload, *p, *start;

	for (uint32_t i = 0; i < nentries; i++)
		total += dwords[i];
	start = p = nentries && nentries <= 64 && nentries < ch->entries
			    ? sg_channel_begin(ch, total)
			    : NULL;
	if (!p)
		return 0;
	if (!sg_channel_room(ch, nentries)) {
		sg_channel_cancel(ch);
		return 0;
	}
	for (uint32_t i = 0; i < nentries; i++) {
		uint32_t *from = p;

		memcpy(p, words[i], dwords[i] * 4);
		p += dwords[i];
		if (i + 1 == nentries)
			p = sg_push_progress(ch, p, 0);
		entry[i] = (ch->pb_va + (uint64_t)((uint8_t *)from - ch->pb)) | 1ull << 41 |
			   (uint64_t)(p - from) << 42;
	}
	payload = ch->payload;
	f = &ch->fly[ch->fly_head++ % SG_RING];
	*f = (struct sg_inflight){.start = ch->pb_pos,
				  .end = ch->pb_pos + (uint32_t)(p - start) * 4,
				  .payload = payload,
				  .slot = ch->put,
				  .count = nentries};
	ch->pb_pos = f->end;
	sg_channel_kick(ch, entry, nentries);
	pthread_mutex_unlock(&ch->lock);
	return payload;
}

EXPORT void softgpu_submit_entries(struct softgpu_channel *ch, uint32_t nentries,
				   const uint64_t *entries)
{
	pthread_mutex_lock(&ch->lock);
	if (sg_channel_room(ch, nentries)) {
		struct sg_inflight *f = &ch->fly[ch->fly_head++ % SG_RING];

		*f = (struct sg_inflight){.slot = ch->put, .count = nentries, .raw = true};
		sg_channel_kick(ch, entries, nentries);
	}
	pthread_mutex_unlock(&ch->lock);
}

/* No-ops of FILL (host method NOP, non-incrementing), then the release. */
static uint32_t *push_nops(struct softgpu_channel *ch, uint32_t *p, uint32_t ndwords, uint32_t fill)
{
	uint32_t tail = ch->copy ? 6 : 5, left = ndwords > tail ? ndwords - tail : 0;

	while (left) {
		uint32_t n = left - 1 < PUSH_RUN ? left - 1 : PUSH_RUN;

		*p++ = n ? PUSH_HEADER(3, 0, 8, n) : 0;
		for (uint32_t i = 0; i < n; i++)
			*p++ = fill + i;
		left -= n + 1;
	}
	return sg_push_progress(ch, p, 0);
}

/* Segments larger than the pushbuffer get their own memory, kept until the process ends. */
static uint32_t submit_big(struct softgpu_channel *ch, uint32_t ndwords, uint32_t fill)
{
	static uint32_t *big[2];
	static uint32_t turn;
	static uint32_t last[2];
	static struct softgpu_channel *last_ch[2];
	uint32_t i, payload, *end;
	uint64_t entry;

	pthread_mutex_lock(&ch->lock);
	i = turn++ & 1;
	if (!big[i])
		big[i] = softgpu_alloc(0x800000, false);
	if (!big[i] || !sg_channel_room(ch, 1)) {
		pthread_mutex_unlock(&ch->lock);
		return 0;
	}
	if (last_ch[i])
		sg_channel_wait(last_ch[i], last[i]);
	end = push_nops(ch, big[i], ndwords, fill);
	payload = ch->payload;
	entry = (uint64_t)big[i] | 1ull << 41 | (uint64_t)(end - big[i]) << 42;
	ch->fly[ch->fly_head++ % SG_RING] =
		(struct sg_inflight){.payload = payload, .slot = ch->put, .count = 1};
	last[i] = payload;
	last_ch[i] = ch;
	sg_channel_kick(ch, &entry, 1);
	pthread_mutex_unlock(&ch->lock);
	return payload;
}

EXPORT uint32_t softgpu_submit_nop(struct softgpu_channel *ch, uint32_t ndwords, uint32_t fill)
{
	uint32_t *p, payload;

	if (ndwords < 8 || ndwords > 0x1fffff)
		return 0;
	if (ndwords * 4ull > ch->pb_size / 2)
		return submit_big(ch, ndwords, fill);
	p = sg_channel_begin(ch, ndwords + 8);
	if (!p)
		return 0;
	p = push_nops(ch, p, ndwords, fill);
	payload = ch->payload;
	sg_channel_submit(ch, p);
	return payload;
}

EXPORT void softgpu_ring(struct softgpu_channel *ch)
{
	pthread_mutex_lock(&ch->lock);
	sg_channel_kick(ch, NULL, 0);
	pthread_mutex_unlock(&ch->lock);
}

EXPORT int softgpu_wait(struct softgpu_channel *ch, uint32_t payload)
{
	return sg_channel_wait(ch, payload);
}

EXPORT uint32_t softgpu_payload(struct softgpu_channel *ch)
{
	return __atomic_load_n(&ch->payload, __ATOMIC_ACQUIRE);
}

static uint64_t counter_va(const struct softgpu_channel *ch)
{
	return ch->ctx->base + 0x4700000 + ch->index * 0x40ull;
}

/* Host semaphore reduction INC-like: IADD of 1. */
EXPORT uint32_t softgpu_submit_count(struct softgpu_channel *ch)
{
	uint32_t *p = sg_channel_begin(ch, 16), n;

	if (!p)
		return 0;
	if (!ch->counted)
		__atomic_store_n((uint32_t *)counter_va(ch), 0, __ATOMIC_RELEASE);
	p = push_acquire(p, counter_va(ch), 1, 6u | 5u << 27 | 1u << 31);
	p = sg_push_progress(ch, p, 0);
	n = ++ch->counted;
	sg_channel_submit(ch, p);
	return n;
}

EXPORT uint32_t softgpu_counted(struct softgpu_channel *ch)
{
	return ch->counted ? __atomic_load_n((uint32_t *)counter_va(ch), __ATOMIC_ACQUIRE) : 0;
}

/* ---- memory ---- */

/* Reserves addresses in steps of 2 MiB. */
static void *reserve(uint64_t size, bool high)
{
	static uint64_t next[2] = {0x1000000000, 0x500000000000};
	void *p;

	for (int i = 0; i < 1000; i++) {
		uint64_t at = __atomic_fetch_add(&next[high], size, __ATOMIC_RELAXED);

		p = mmap((void *)at, size, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == (void *)at)
			return p;
	}
	return NULL;
}

EXPORT void *softgpu_alloc(uint64_t size, bool high)
{
	struct sg_context *ctx = sg_current();
	struct allocation *a = calloc(1, sizeof(*a));

	a->ctx = ctx;
	a->size = (size + 0x1fffff) & ~0x1fffffull;
	a->handle = sg_handle();
	a->p = reserve(a->size, high);
	if (sg_memory_alloc(ctx->device, a->handle, 0x3e, a->size) ||
	    !sg_map(ctx->device->handle, a->handle, a->size, "/dev/nvidiactl", a->p,
		    PROT_READ | PROT_WRITE, false) ||
	    sg_external_map(ctx->device, (uint64_t)a->p, a->size, a->handle)) {
		free(a);
		return NULL;
	}
	pthread_mutex_lock(&sg_driver.lock);
	a->next = allocations;
	allocations = a;
	pthread_mutex_unlock(&sg_driver.lock);
	return a->p;
}

EXPORT bool softgpu_repin(bool again)
{
	return sg_host_repin(sg_current(), again);
}

EXPORT void softgpu_free(void *p)
{
	struct allocation **at = &allocations, *a;

	pthread_mutex_lock(&sg_driver.lock);
	while (*at && (*at)->p != p)
		at = &(*at)->next;
	a = *at;
	if (a)
		*at = a->next;
	pthread_mutex_unlock(&sg_driver.lock);
	if (!a)
		return;
	sg_external_free((uint64_t)p, a->size);
	sg_unmap(a->ctx->device->handle, a->handle, p, a->size);
	sg_memory_free(a->ctx->device, a->handle);
	free(a);
}
