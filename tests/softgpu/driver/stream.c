/* SPDX-License-Identifier: MIT */
/*
 * Streams and events. A stream uses one compute channel and several copy channels; where its order
 * crosses channels, later work acquires the progress of earlier work. The null stream and blocking
 * streams wait for each other in the same way.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "push.h"

#define ACQUIRE_SWITCH 0x1003 /* ACQ_CIRC_GEQ, SWITCH_TSG */
#define RELEASE_WFI 0x100001 /* RELEASE, 32 bits, RELEASE_WFI_EN */

struct CUevent_st {
	struct sg_context *ctx;
	uint32_t slot, count; /* count: number of records, and payload of the last one */
	volatile uint32_t *at;
	bool recorded;
	struct sg_captured captured; /* if it was last recorded in a captured stream */
};

/* ---- streams ---- */

static struct CUstream_st *stream_new(struct sg_context *ctx, bool null, unsigned flags)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));
	uint32_t n = ctx->stream_count++;

	s->ctx = ctx;
	s->null = null;
	s->non_blocking = flags & CU_STREAM_NON_BLOCKING;
	s->compute = &ctx->ch[null ? 0 : 1 + (n - 1) % 7];
	s->up = &ctx->ch[null ? 8 : 9 + (n - 1) % 3];
	s->down = &ctx->ch[null ? 12 : 13 + (n - 1) % 3];
	pthread_mutex_init(&s->lock, NULL);
	s->next = ctx->streams;
	ctx->streams = s;
	return s;
}

struct CUstream_st *sg_stream(CUstream s)
{
	struct sg_context *ctx = sg_current();

	if (s && s != (CUstream)1 && s != (CUstream)2)
		return s;
	if (!ctx)
		return NULL;
	if (!__atomic_load_n(&ctx->null_stream, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&ctx->lock);
		if (!ctx->null_stream)
			__atomic_store_n(&ctx->null_stream, stream_new(ctx, true, 0),
					 __ATOMIC_RELEASE);
		pthread_mutex_unlock(&ctx->lock);
	}
	return ctx->null_stream;
}

static void wait_for(struct CUstream_st *s, struct sg_point p)
{
	for (uint32_t i = 0; i < s->nwait; i++) {
		if (s->wait[i].ch == p.ch) {
			if ((int32_t)(p.payload - s->wait[i].payload) > 0)
				s->wait[i].payload = p.payload;
			return;
		}
	}
	if (s->nwait < 16)
		s->wait[s->nwait++] = p;
}

/* Collects the positions that the next work of S must wait for. */
static void gather(struct CUstream_st *s)
{
	struct sg_context *ctx = s->ctx;

	struct sg_point p = sg_unpack(ctx, &s->last);

	if (p.ch)
		wait_for(s, p);
	if (s->non_blocking || !ctx->streams || (ctx->stream_count <= 1))
		return;
	pthread_mutex_lock(&ctx->lock);
	if (!s->null) {
		p = sg_unpack(ctx, &ctx->null_last);
		if (p.ch)
			wait_for(s, p);
	} else {
		for (struct CUstream_st *o = ctx->streams; o; o = o->next) {
			p = sg_unpack(ctx, &o->last);
			if (o != s && !o->non_blocking && p.ch)
				wait_for(s, p);
		}
	}
	pthread_mutex_unlock(&ctx->lock);
}

static uint32_t *begin(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t ndwords)
{
	uint32_t *p;

	pthread_mutex_lock(&s->lock);
	gather(s);
	p = sg_channel_begin(ch, ndwords + (s->nwait + 1) * 6);
	if (!p) {
		pthread_mutex_unlock(&s->lock);
		return NULL;
	}
	for (uint32_t i = 0; i < s->nwait; i++) {
		struct sg_point *w = &s->wait[i];

		/* A channel executes in order, and completed work needs no acquire. */
		if (w->ch != ch && !sg_channel_done(w->ch, w->payload))
			p = push_acquire(p, w->ch->progress_va, w->payload, ACQUIRE_SWITCH);
	}
	s->nwait = 0;
	return p;
}

uint32_t *sg_stream_begin(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t ndwords)
{
	uint32_t *p = begin(s, ch, ndwords);

	if (p && s->kernel_sem) {
		p = push_acquire(p, s->kernel_sem, s->kernel_payload, 3);
		s->kernel_sem = 0;
	}
	return p;
}

uint32_t *sg_stream_begin_launch(struct CUstream_st *s, uint32_t ndwords)
{
	return begin(s, s->compute, ndwords);
}

LEVEL CUresult sg_stream_submit(struct CUstream_st *s, struct softgpu_channel *ch, uint32_t *end)
{
	uint64_t point = sg_pack((struct sg_point){ch, ch->payload});

	sg_channel_submit(ch, end);
	if (s->null)
		__atomic_store_n(&s->ctx->null_last, point, __ATOMIC_RELEASE);
	__atomic_store_n(&s->last, point, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&s->lock);
	return CUDA_SUCCESS;
}

void sg_stream_kernel(struct CUstream_st *s, uint64_t sem, uint32_t payload)
{
	__atomic_store_n(&s->kernel_payload, payload, __ATOMIC_RELAXED);
	__atomic_store_n(&s->kernel_sem, sem, __ATOMIC_RELEASE);
}

/* The channel's slot shows that the launch was passed, its semaphore that the grid has ended. Does
 * not take the stream's lock, which a launch holds while the ring is full. */
static bool kernel_runs(const struct CUstream_st *s)
{
	const uint32_t *at = (const uint32_t *)__atomic_load_n(&s->kernel_sem, __ATOMIC_ACQUIRE);

	return at && (int32_t)(__atomic_load_n(at, __ATOMIC_ACQUIRE) -
			       __atomic_load_n(&s->kernel_payload, __ATOMIC_RELAXED)) < 0;
}

/* The next launch has no acquire for what was waited for here, as in the real driver. */
CUresult sg_stream_wait(struct CUstream_st *s)
{
	uint64_t last = __atomic_load_n(&s->last, __ATOMIC_ACQUIRE);
	struct sg_point p = sg_unpack(s->ctx, &last);
	struct timespec ts = {0, 20000};
	CUresult r = p.ch ? sg_channel_wait(p.ch, p.payload) : CUDA_SUCCESS;

	while (!r && __atomic_load_n(&s->last, __ATOMIC_ACQUIRE) == last && kernel_runs(s)) {
		if (sg_channel_dead(s->compute))
			r = sg_channel_error(s->compute);
		nanosleep(&ts, NULL);
	}
	if (r)
		return r;
	pthread_mutex_lock(&s->lock);
	if (__atomic_load_n(&s->last, __ATOMIC_ACQUIRE) == last)
		s->kernel_sem = 0;
	pthread_mutex_unlock(&s->lock);
	return CUDA_SUCCESS;
}

bool sg_streams_run(struct sg_context *ctx)
{
	bool runs = false;

	pthread_mutex_lock(&ctx->lock);
	for (struct CUstream_st *s = ctx->streams; s && !runs; s = s->next)
		runs = kernel_runs(s) && !sg_channel_dead(s->compute);
	pthread_mutex_unlock(&ctx->lock);
	return runs;
}

API CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	struct sg_context *ctx = sg_current();

	if (!ctx || !out)
		return ctx ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
	sg_wait_settled(ctx);
	sg_stream(NULL);
	pthread_mutex_lock(&ctx->lock);
	*out = stream_new(ctx, false, flags);
	pthread_mutex_unlock(&ctx->lock);
	return CUDA_SUCCESS;
}

API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
	return cuStreamCreate(out, flags);
}

API CUresult cuStreamDestroy_v2(CUstream s)
{
	struct CUstream_st **p;
	CUresult r;

	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	r = sg_stream_wait(s);
	pthread_mutex_lock(&s->ctx->lock);
	for (p = &s->ctx->streams; *p && *p != s; p = &(*p)->next)
		;
	if (*p)
		*p = s->next;
	pthread_mutex_unlock(&s->ctx->lock);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return r;
}

API CUresult cuStreamSynchronize(CUstream handle)
{
	struct CUstream_st *s = sg_stream(handle);

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	return s->null ? cuCtxSynchronize() : sg_stream_wait(s);
}

API CUresult cuStreamQuery(CUstream handle)
{
	struct CUstream_st *s = sg_stream(handle);
	struct sg_point p;

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	p = sg_unpack(s->ctx, &s->last);
	if (sg_channel_error(s->compute))
		return s->ctx->error;
	if (p.ch && !sg_channel_done(p.ch, p.payload))
		return CUDA_ERROR_NOT_READY;
	return kernel_runs(s) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* ---- events ---- */

/* Slots go down from the 64 KiB mark of the event object, then up from there. */
static uint64_t slot_va(const struct sg_context *ctx, uint32_t slot)
{
	uint64_t top = ctx->base + 0x4810000;

	return slot < 4096 ? top - 16 * (slot + 1ull) : top + 16 * (slot - 4096ull);
}

API CUresult cuEventCreate(CUevent *out, unsigned flags)
{
	struct sg_context *ctx = sg_current();
	struct CUevent_st *e;
	uint32_t i;

	if (!ctx || !out)
		return ctx ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
	e = calloc(1, sizeof(*e));
	e->ctx = ctx;
	pthread_mutex_lock(&ctx->lock);
	for (i = 0; i < 65536 && ctx->event_used[i / 8] >> i % 8 & 1; i++)
		;
	if (i < 65536)
		ctx->event_used[i / 8] |= (uint8_t)(1 << i % 8);
	pthread_mutex_unlock(&ctx->lock);
	if (i == 65536) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	e->slot = i;
	e->at = (volatile uint32_t *)slot_va(ctx, i);
	memset((void *)e->at, 0, 16);
	*out = e;
	return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent e)
{
	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->recorded)
		cuEventSynchronize(e);
	pthread_mutex_lock(&e->ctx->lock);
	e->ctx->event_used[e->slot / 8] &= (uint8_t) ~(1 << e->slot % 8);
	pthread_mutex_unlock(&e->ctx->lock);
	free(e);
	return CUDA_SUCCESS;
}

/* The event's own release, then the channel's. */
API CUresult cuEventRecord(CUevent e, CUstream handle)
{
	struct CUstream_st *s = sg_stream(handle);
	uint64_t va;
	uint32_t *p;

	if (!e || !s)
		return CUDA_ERROR_INVALID_HANDLE;
	e->captured = s->capture;
	if (s->capture.graph)
		return CUDA_SUCCESS;
	va = slot_va(e->ctx, e->slot);
	p = sg_stream_begin(s, s->compute, 16);
	if (!p)
		return sg_context_failed(s->ctx);
	p = push_report(p, va, ++e->count, 0);
	e->recorded = true;
	p = sg_push_progress(s->compute, p, 0);
	return sg_stream_submit(s, s->compute, p);
}

static bool reached(const struct CUevent_st *e)
{
	return !e->recorded || (int32_t)(__atomic_load_n(e->at, __ATOMIC_ACQUIRE) - e->count) >= 0;
}

API CUresult cuEventQuery(CUevent e)
{
	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	return reached(e) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

API CUresult cuEventSynchronize(CUevent e)
{
	struct timespec ts = {0, 20000};

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	while (!reached(e)) {
		if (softgpu_kick)
			softgpu_kick(e->ctx->device->minor);
		for (int i = 0; i < SG_CHANNELS; i++)
			if (sg_channel_dead(&e->ctx->ch[i]))
				return sg_channel_error(&e->ctx->ch[i]);
		nanosleep(&ts, NULL);
	}
	return CUDA_SUCCESS;
}

API CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	uint64_t a, b;

	if (!start || !end || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!reached(start) || !reached(end))
		return CUDA_ERROR_NOT_READY;
	memcpy(&a, (const void *)(start->at + 2), 8);
	memcpy(&b, (const void *)(end->at + 2), 8);
	*ms = (float)((double)(int64_t)(b - a) * 1e-6);
	return CUDA_SUCCESS;
}

/* Acquires the event's slot in a separate submission. */
API CUresult cuStreamWaitEvent(CUstream handle, CUevent e, unsigned flags)
{
	struct CUstream_st *s = sg_stream(handle);
	uint32_t *p;

	if (!e || !s)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->captured.graph)
		sg_capture_join(s, &e->captured);
	if (e->captured.graph || reached(e))
		return CUDA_SUCCESS;
	p = sg_stream_begin(s, s->compute, 16);
	if (!p)
		return sg_context_failed(s->ctx);
	p = push_acquire(p, slot_va(e->ctx, e->slot), e->count, ACQUIRE_SWITCH);
	p = sg_push_progress(s->compute, p, 0);
	return sg_stream_submit(s, s->compute, p);
}

/* Writes or waits for one word, as EXECUTE says, in stream order. */
static CUresult stream_word(CUstream handle, CUdeviceptr at, uint32_t value, unsigned flags,
			    uint32_t execute)
{
	struct CUstream_st *s = sg_stream(handle);
	uint32_t *p;

	if (!s || flags)
		return s ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_CONTEXT;
	p = sg_stream_begin(s, s->compute, 16);
	if (!p)
		return sg_context_failed(s->ctx);
	p = push_acquire(p, at, value, execute);
	p = sg_push_progress(s->compute, p, 0);
	return sg_stream_submit(s, s->compute, p);
}

/* A host release, executed when all previous work is done. */
API CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr at, uint32_t value,
				     unsigned flags)
{
	return stream_word(handle, at, value, flags, RELEASE_WFI);
}

/* Waits until the word has reached VALUE; other conditions are not supported. */
API CUresult cuStreamWaitValue32_v2(CUstream handle, CUdeviceptr at, uint32_t value, unsigned flags)
{
	return stream_word(handle, at, value, flags, ACQUIRE_SWITCH);
}
