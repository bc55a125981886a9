/* SPDX-License-Identifier: MIT */
/*
 * A channel: pushbuffer space in a cyclic chunk, ring entries, the doorbell, and waiting for
 * progress. Every submission ends with a release of the next payload; its space is reused after
 * that release.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include "../sys.h"
#include "driver.h"
#include "push.h"

#define USERD_GET (0x88 / 4)
#define USERD_PUT (0x8c / 4)
#define OWN_OBJECT 0x10000 /* size of an own ring object */

softgpu_store sg_store = sg_ring_doorbell;

bool sg_channel_dead(const struct softgpu_channel *ch)
{
	return ch->notifier && __atomic_load_n(&ch->notifier[3], __ATOMIC_ACQUIRE) >> 16;
}

bool sg_channel_done(const struct softgpu_channel *ch, uint32_t payload)
{
	return (int32_t)(__atomic_load_n(ch->progress, __ATOMIC_ACQUIRE) - payload) >= 0;
}

/* One step of waiting: polls at first, then yields to other threads. */
static void pause_turn(struct softgpu_channel *ch, uint32_t *turn)
{
	if (++*turn < 64) {
		nvs_pause();
		return;
	}
	if (*turn % 32 == 0 && softgpu_kick)
		softgpu_kick(ch->ctx->device->minor);
	if (*turn > 4096) {
		struct timespec ts = {0, 50000};

		nanosleep(&ts, NULL);
	} else {
		sched_yield();
	}
}

CUresult sg_channel_wait(struct softgpu_channel *ch, uint32_t payload)
{
	uint32_t turn = 0;

	while (!sg_channel_done(ch, payload)) {
		if (sg_channel_dead(ch))
			return sg_channel_error(ch);
		pause_turn(ch, &turn);
	}
	return sg_channel_error(ch);
}

/* ---- space ---- */

static uint32_t waits[SOFTGPU_WAITS];

/* Reports the wait once, before the first step. */
static void pause_for(struct softgpu_channel *ch, uint32_t *turn, uint32_t what)
{
	if (!*turn)
		__atomic_fetch_add(&waits[what], 1, __ATOMIC_RELEASE);
	pause_turn(ch, turn);
}

uint32_t sg_waits(uint32_t what)
{
	return __atomic_load_n(&waits[what], __ATOMIC_ACQUIRE);
}

/* Entries without a release are done when GP_GET has passed them. */
static bool raw_gone(const struct softgpu_channel *ch, const struct sg_inflight *f)
{
	uint32_t mask = ch->entries - 1, end = f->slot + f->count;
	uint32_t get = __atomic_load_n(&ch->userd[USERD_GET], __ATOMIC_ACQUIRE);

	return ((get - end) & mask) <= ((ch->put - end) & mask);
}

static void retire(struct softgpu_channel *ch)
{
	while (ch->fly_tail != ch->fly_head) {
		struct sg_inflight *f = &ch->fly[ch->fly_tail % SG_RING];

		if (f->raw ? !raw_gone(ch, f) : !sg_channel_done(ch, f->payload))
			return;
		ch->fly_tail++;
	}
}

static bool ring_has_room(struct softgpu_channel *ch, uint32_t entries)
{
	struct sg_inflight *f = &ch->fly[ch->fly_tail % SG_RING];
	uint32_t used;

	if (ch->fly_head - ch->fly_tail >= SG_RING - 1)
		return false;
	used = ch->fly_head == ch->fly_tail ? 0 : (ch->put - f->slot) & (ch->entries - 1);
	return used + entries < ch->entries;
}

/* Oldest byte of the pushbuffer in flight. Returns false if nothing is in flight. */
static bool pb_tail(const struct softgpu_channel *ch, uint32_t *tail)
{
	for (uint32_t i = ch->fly_tail; i != ch->fly_head; i++) {
		if (ch->fly[i % SG_RING].start != ch->fly[i % SG_RING].end) {
			*tail = ch->fly[i % SG_RING].start;
			return true;
		}
	}
	return false;
}

static bool pb_has_room(struct softgpu_channel *ch, uint32_t bytes)
{
	uint32_t tail;

	if (!pb_tail(ch, &tail)) {
		if (ch->pb_pos + bytes > ch->pb_size)
			ch->pb_pos = 0;
		return bytes <= ch->pb_size;
	}
	if (ch->pb_pos < tail)
		return ch->pb_pos + bytes < tail;
	if (ch->pb_pos + bytes <= ch->pb_size)
		return true;
	if (bytes >= tail)
		return false;
	ch->pb_pos = 0;
	return true;
}

bool sg_channel_room(struct softgpu_channel *ch, uint32_t entries)
{
	uint32_t turn = 0;

	while (retire(ch), !ring_has_room(ch, entries)) {
		if (sg_channel_dead(ch))
			return false;
		pause_for(ch, &turn, SOFTGPU_WAITS_RING);
	}
	return true;
}

uint32_t *sg_channel_begin(struct softgpu_channel *ch, uint32_t ndwords)
{
	uint32_t turn = 0;

	pthread_mutex_lock(&ch->lock);
	if (ndwords * 4ull > ch->pb_size || ch->ctx->error || sg_channel_dead(ch) ||
	    !sg_channel_room(ch, 1)) {
		pthread_mutex_unlock(&ch->lock);
		return NULL;
	}
	while (retire(ch), !pb_has_room(ch, ndwords * 4)) {
		if (sg_channel_dead(ch)) {
			pthread_mutex_unlock(&ch->lock);
			return NULL;
		}
		pause_for(ch, &turn, SOFTGPU_WAITS_PUSHBUFFER);
	}
	return (uint32_t *)(ch->pb + ch->pb_pos);
}

void sg_channel_cancel(struct softgpu_channel *ch)
{
	pthread_mutex_unlock(&ch->lock);
}

uint32_t *sg_push_progress(struct softgpu_channel *ch, uint32_t *p, uint32_t d)
{
	ch->payload++;
	return ch->copy ? push_copy_release(p, ch->progress_va, ch->payload)
			: push_report(p, ch->progress_va, ch->payload, d);
}

/* ---- the doorbell ---- */

static uint32_t entry_bytes(uint64_t entry)
{
	return ((uint32_t)(entry >> 42) & 0x1fffff) * 4;
}

/* The driver's mapping of a segment. */
static const void *segment(const struct softgpu_channel *ch, uint64_t va)
{
	return va - ch->pb_va < ch->pb_size ? ch->pb + (va - ch->pb_va) : (void *)va;
}

/* Logs the doorbell before any of its entries is visible. */
static void *log_doorbell(struct softgpu_channel *ch, const uint64_t *entries, uint32_t n)
{
	struct sg_log_doorbell *r;
	struct sg_log_entry *e;
	uint64_t size = sizeof(*r) + n * sizeof(*e), ext = ch->ext_base;
	uint8_t *data;

	for (uint32_t i = 0; i < n; i++)
		size += entry_bytes(entries[i]);
	r = sg_log_begin(SG_LOG_DOORBELL, (uint32_t)size, ch->ctx->device->minor);
	if (!r)
		return NULL;
	r->serial = ch->serial;
	r->token = ch->token;
	r->old_put = ch->put;
	r->new_put = (ch->put + n) & (ch->entries - 1);
	r->nentries = n;
	r->number = ch->doorbells;
	e = (struct sg_log_entry *)(r + 1);
	data = (uint8_t *)(e + n);
	for (uint32_t i = 0; i < n; i++, e++) {
		e->entry = entries[i];
		e->bytes = entry_bytes(entries[i]);
		if (!e->bytes && (entries[i] >> 32 & 0xff) == 4)
			ext = (entries[i] >> 8 & 0x1ffff) << 40;
		memcpy(data, segment(ch, ext | (entries[i] & 0xfffffffffcull)), e->bytes);
		data += e->bytes;
	}
	sg_log_commit(r);
	return r;
}

LEVEL void sg_channel_kick(struct softgpu_channel *ch, const uint64_t *entries, uint32_t n)
{
	struct sg_log_rec *rec = log_doorbell(ch, entries, n);
	uint32_t put = ch->put;

	for (uint32_t i = 0; i < n; i++) {
		if (!entry_bytes(entries[i]) && (entries[i] >> 32 & 0xff) == 4)
			ch->ext_base = (entries[i] >> 8 & 0x1ffff) << 40;
		ch->ring[put] = entries[i];
		put = (put + 1) & (ch->entries - 1);
	}
	if (ch->rung)
		__atomic_store_n(ch->rung, ch->put | SOFTGPU_RINGING, __ATOMIC_RELAXED);
	ch->put = put;
	ch->doorbells++;
	if (n)
		__atomic_store_n(&ch->userd[USERD_PUT], put, __ATOMIC_RELEASE);
	sg_store(ch->ctx->doorbell, ch->token);
	if (ch->rung)
		__atomic_store_n(ch->rung, put, __ATOMIC_RELEASE);
	if (rec)
		__atomic_store_n(&rec->flags, SG_LOG_RUNG, __ATOMIC_RELEASE);
}

LEVEL void sg_channel_submit(struct softgpu_channel *ch, uint32_t *end)
{
	struct sg_inflight *f = &ch->fly[ch->fly_head % SG_RING];
	uint32_t bytes = (uint32_t)((uint8_t *)end - (ch->pb + ch->pb_pos));
	uint64_t entry = (ch->pb_va + ch->pb_pos) | 1ull << 41 | (uint64_t)(bytes / 4) << 42;

	*f = (struct sg_inflight){.start = ch->pb_pos,
				  .end = ch->pb_pos + bytes,
				  .payload = ch->payload,
				  .slot = ch->put,
				  .count = 1};
	ch->fly_head++;
	ch->pb_pos += bytes;
	sg_channel_kick(ch, &entry, 1);
	pthread_mutex_unlock(&ch->lock);
}

/* ---- life ---- */

/* A test's channel: its objects are in its own part of the window, at GPU addresses that differ
 * from the program's. */
static CUresult own_ring(struct softgpu_channel *ch)
{
	struct sg_device *d = ch->ctx->device;
	char path[32] = "/dev/nvidia0";

	path[11] = (char)('0' + d->minor);
	ch->own_ring = sg_handle();
	ch->object_va = ch->ctx->base + 0x8000000 + (ch->index - SG_CHANNELS) * 0x400000ull;
	if (sg_memory_alloc(d, ch->own_ring, 0x40, OWN_OBJECT))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ch->object_cpu = sg_map(d->subdevice, ch->own_ring, OWN_OBJECT, path, NULL,
				PROT_READ | PROT_WRITE, true);
	if (!ch->object_cpu || sg_external_map(d, ch->object_va, OWN_OBJECT, ch->own_ring))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

bool sg_channel_map_again(struct softgpu_channel *ch, bool move)
{
	struct sg_device *d = ch->ctx->device;
	char path[32] = "/dev/nvidia0";
	uint8_t *p;

	path[11] = (char)('0' + d->minor);
	if (!ch->own || ch->first_cpu)
		return false;
	if (move) {
		p = mmap(NULL, OWN_OBJECT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mremap(ch->object_cpu, OWN_OBJECT, OWN_OBJECT, MREMAP_MAYMOVE | MREMAP_FIXED,
			   p) != p)
			return false;
	} else {
		p = sg_map(d->subdevice, ch->own_ring, OWN_OBJECT, path, NULL,
			   PROT_READ | PROT_WRITE, false);
		if (!p)
			return false;
		ch->first_cpu = ch->object_cpu;
	}
	if ((uintptr_t)ch->progress - (uintptr_t)ch->object_cpu < OWN_OBJECT) /* next to USERD */
		ch->progress = (volatile uint32_t *)(p + ((uintptr_t)ch->progress -
							  (uintptr_t)ch->object_cpu));
	ch->object_cpu = p;
	ch->ring = (volatile uint64_t *)(p + ch->ring_at);
	if (!ch->ctx->userd_cpu)
		ch->userd = (volatile uint32_t *)(p + ch->userd_at);
	return true;
}

static CUresult own_pushbuffer(struct softgpu_channel *ch)
{
	struct sg_device *d = ch->ctx->device;

	ch->own_pb = sg_handle();
	ch->pb_size = 0x100000;
	ch->pb_va = ch->ctx->base + 0x8200000 + (ch->index - SG_CHANNELS) * 0x400000ull;
	if (sg_memory_alloc(d, ch->own_pb, 0x3e, ch->pb_size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ch->pb = sg_map(d->handle, ch->own_pb, ch->pb_size, "/dev/nvidiactl", NULL,
			PROT_READ | PROT_WRITE, false);
	if (!ch->pb || sg_external_map(d, ch->pb_va, ch->pb_size, ch->own_pb))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

/* Computes the places of the rings in the context's object and of the pushbuffer chunks. */
static CUresult place(struct softgpu_channel *ch)
{
	uint64_t pb = ch->ctx->base + 0x800000;
	uint32_t i = ch->index;
	CUresult r = CUDA_SUCCESS;

	ch->object_va = ch->ctx->base + 0x600000;
	ch->object_cpu = (uint8_t *)ch->object_va;
	sg_layout_place(sg_driver.layout, ch->own ? i & 1 : i, ch->own ? 0x8000 : 0x100000,
			&ch->ring_at, &ch->userd_at);
	if (sg_driver.layout == SG_LAYOUT_SYSTEM)
		ch->userd_at = i * 0x200ull; /* one object for all of them */
	if (i >= SG_CHANNELS) {
		r = ch->own ? own_ring(ch) : CUDA_SUCCESS;
		return r ? r : own_pushbuffer(ch);
	}
	if (i < SG_COMPUTE_CHANNELS) {
		ch->pb_size = 0x400000;
		ch->pb_va = pb + i * 0x400000ull;
	} else {
		ch->pb_size = 0x200000;
		ch->pb_va = pb + 0x2000000 + (i - SG_COMPUTE_CHANNELS) * 0x200000ull;
	}
	ch->pb = (uint8_t *)ch->pb_va;
	return r;
}

static CUresult notifier(struct softgpu_channel *ch)
{
	struct sg_device *d = ch->ctx->device;

	ch->notifier_handle = sg_handle();
	if (sg_memory_alloc(d, ch->notifier_handle, 0x3e, 0x1000))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ch->notifier = sg_map(d->handle, ch->notifier_handle, 0x1000, "/dev/nvidiactl", NULL,
			      PROT_READ | PROT_WRITE, false);
	return ch->notifier ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate(struct softgpu_channel *ch, uint32_t group, uint32_t share)
{
	uint32_t p[96] = {0}, class_id[4];
	uint32_t ring = ch->own ? ch->own_ring : ch->ctx->ring_handle;
	uint32_t userd = ch->ctx->userd_handle ? ch->ctx->userd_handle : ring;

	ch->handle = sg_handle();
	p[0] = ch->notifier_handle;
	p[1] = ring;
	memcpy(p + 2, &ch->ring_va, 8);
	p[4] = ch->entries;
	p[5] = ch->index % 2 && !ch->copy ? 0x30 : 0x20;
	p[6] = share;
	p[sg_form(SG_CHANNEL_USERD_MEMORY) / 4] = userd;
	memcpy(p + sg_form(SG_CHANNEL_USERD_OFFSET) / 4, &ch->userd_at, 8);
	if (sg_alloc(group, ch->handle, sg_driver.blackwell ? 0xc96f : 0xc86f, p))
		return CUDA_ERROR_OUT_OF_MEMORY;
	sg_control_quiet(ch->ctx->device->handle, 0x0080170d);
	for (uint32_t i = ch->copy; i < 2; i++) {
		ch->engine[i] = sg_handle();
		sg_alloc(ch->handle, ch->engine[i], i ? 0xc8b5 : 0xcbc0, (uint32_t[32]){0, 1});
		class_id[0] = ch->engine[i];
		sg_control(ch->handle, 0x906f0101, class_id, sizeof(class_id));
	}
	if (sg_driver.untold) {
		ch->token = ch->notifier[6];
		return CUDA_SUCCESS;
	}
	return sg_control(ch->handle, 0xc36f0108, &ch->token, 4) ? CUDA_ERROR_UNKNOWN
								 : CUDA_SUCCESS;
}

CUresult sg_channel_create(struct softgpu_channel *ch, struct sg_context *ctx, uint32_t index,
			   bool copy, uint32_t group, uint32_t share, bool own)
{
	uint32_t entries = ch->entries ? ch->entries : SG_RING;
	uint8_t *userd;
	CUresult r;

	memset(ch, 0, sizeof(*ch));
	ch->ctx = ctx;
	ch->index = index;
	ch->copy = copy;
	ch->own = own;
	ch->entries = entries;
	pthread_mutex_init(&ch->lock, NULL);
	if ((r = place(ch)))
		return r;
	ch->ring_va = ch->object_va + ch->ring_at;
	ch->ring = (volatile uint64_t *)(ch->object_cpu + ch->ring_at);
	userd = (ctx->userd_cpu ? ctx->userd_cpu : ch->object_cpu) + ch->userd_at;
	ch->userd = (volatile uint32_t *)userd;
	ch->progress_va = ctx->base + 0x460fff0 - index * 0x10ull;
	ch->progress = (volatile uint32_t *)ch->progress_va;
	if (sg_driver.layout == SG_LAYOUT_BESIDE) {
		ch->progress_va = ch->object_va + ch->userd_at + 0x800;
		ch->progress = (volatile uint32_t *)(userd + 0x800);
		memset(userd + 0x800, 0, 16);
	}
	if ((r = notifier(ch)) || (r = allocate(ch, group, share)))
		return r;
	ch->serial = softgpu_channel_serial ? softgpu_channel_serial(sg_driver.client, ch->handle)
					    : 0xffffffff;
	ch->rung = softgpu_channel_rung ? softgpu_channel_rung(sg_driver.client, ch->handle) : NULL;
	if (!copy)
		sg_control_quiet(ctx->device->subdevice, 0x20801218);
	return CUDA_SUCCESS;
}

/* For channels made by a test; a context's channels end with the context. */
void sg_channel_destroy(struct softgpu_channel *ch)
{
	struct sg_device *d = ch->ctx->device;

	ch->rung = NULL;
	sg_rm_free(ch->ctx->group[0], ch->handle);
	sg_unmap(d->handle, ch->notifier_handle, ch->notifier, 0x1000);
	sg_memory_free(d, ch->notifier_handle);
	if (ch->own) {
		sg_external_free(ch->object_va, OWN_OBJECT);
		sg_unmap(d->subdevice, ch->own_ring, ch->object_cpu, OWN_OBJECT);
		if (ch->first_cpu)
			sg_unmap(d->subdevice, ch->own_ring, ch->first_cpu, OWN_OBJECT);
		sg_memory_free(d, ch->own_ring);
	}
	sg_external_free(ch->pb_va, ch->pb_size);
	sg_unmap(d->handle, ch->own_pb, ch->pb, ch->pb_size);
	sg_memory_free(d, ch->own_pb);
	pthread_mutex_destroy(&ch->lock);
}
