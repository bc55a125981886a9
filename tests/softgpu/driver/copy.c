/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills. The method depends on direction, size and host memory, as measured: pageable to
 * device up to 64 KiB inline, more through a staging buffer by the copy engine; page-locked to
 * device inline below 64 bytes, up to 4 KiB fetched by the compute engine, more by the copy engine
 * (limits between the measured sizes are guesses); device to host by the copy engine; device to
 * device and 2D fills by kernels; other fills inline.
 */
#include <string.h>
#include "../gpu/builtin.h"
#include "driver.h"
#include "push.h"

#define INLINE_MAX 65536
#define INLINE_MAX_PINNED 24576 /* if nothing is in flight */
#define INLINE_MAX_NEXT 4096
#define INLINE_MAX_BUSY 4095
#define FETCH_MIN 64
#define FETCH_MAX 4096
#define STAGING 0x100000u

LEVEL static CUresult copy_inline(struct CUstream_st *s, CUdeviceptr to, const void *from,
				  uint32_t n)
{
	uint32_t *p = sg_stream_begin(s, s->compute, push_upload_words(n) + 5);

	if (!p)
		return sg_context_failed(s->ctx);
	p = push_upload(p, to, from, n);
	p = sg_push_progress(s->compute, p, 0);
	return sg_stream_submit(s, s->compute, p);
}

/* The compute engine reads the page-locked source itself. */
LEVEL static CUresult copy_fetch(struct CUstream_st *s, CUdeviceptr to, uint64_t from, uint32_t n)
{
	uint32_t *p = sg_stream_begin(s, s->compute, 24);

	if (!p)
		return sg_context_failed(s->ctx);
	p = push4(p, SUBCH_COMPUTE, 0x180, n, 1, (uint32_t)(to >> 32), (uint32_t)to);
	p = push1(p, SUBCH_COMPUTE, 0x1b0, 0x41);
	p = push_va(p, SUBCH_COMPUTE, 0x3808, from);
	p = push1(p, SUBCH_COMPUTE, 0x380c, n / 4);
	p = sg_push_progress(s->compute, p, 0);
	return sg_stream_submit(s, s->compute, p);
}

LEVEL static CUresult copy_engine(struct CUstream_st *s, struct softgpu_channel *ch, uint64_t to,
				  uint64_t from, uint32_t n)
{
	uint32_t *p = sg_stream_begin(s, ch, 24);

	if (!p)
		return sg_context_failed(s->ctx);
	p = push4(p, SUBCH_COPY, 0x400, (uint32_t)(from >> 32), (uint32_t)from,
		  (uint32_t)(to >> 32), (uint32_t)to);
	p = push1(p, SUBCH_COPY, 0x418, n);
	p = push1(p, SUBCH_COPY, 0x300, 0x182);
	p = sg_push_progress(ch, p, 0);
	return sg_stream_submit(s, ch, p);
}

/* For copies larger than the length register. */
static CUresult copy_engine_all(struct CUstream_st *s, struct softgpu_channel *ch, uint64_t to,
				uint64_t from, uint64_t n)
{
	CUresult r = CUDA_SUCCESS;

	while (n && !r) {
		uint32_t part = n < 0x40000000 ? (uint32_t)n : 0x40000000;

		r = copy_engine(s, ch, to, from, part);
		to += part;
		from += part;
		n -= part;
	}
	return r;
}

/* Takes one of the direction's two buffers and waits until it is free. */
static uint32_t staging_take(struct sg_context *ctx, uint32_t direction)
{
	uint32_t i = direction * 2 + (ctx->staging_turn[direction]++ & 1);

	if (ctx->staging_busy[i].ch)
		sg_channel_wait(ctx->staging_busy[i].ch, ctx->staging_busy[i].payload);
	return i;
}

LEVEL static CUresult staged_up(struct CUstream_st *s, CUdeviceptr to, const char *from, uint64_t n)
{
	struct sg_context *ctx = s->ctx;
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&ctx->staging_lock);
	while (n && !r) {
		uint32_t part = n < STAGING ? (uint32_t)n : STAGING, i = staging_take(ctx, 0);

		memcpy(ctx->staging[i], from, part);
		r = copy_engine(s, s->up, to, (uint64_t)ctx->staging[i], part);
		ctx->staging_busy[i] = sg_unpack(ctx, &s->last);
		to += part;
		from += part;
		n -= part;
	}
	pthread_mutex_unlock(&ctx->staging_lock);
	return r;
}

LEVEL static CUresult staged_down(struct CUstream_st *s, char *to, CUdeviceptr from, uint64_t n)
{
	struct sg_context *ctx = s->ctx;
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&ctx->staging_lock);
	while (n && !r) {
		uint32_t part = n < STAGING ? (uint32_t)n : STAGING, i = staging_take(ctx, 1);

		r = copy_engine(s, s->down, (uint64_t)ctx->staging[i], from, part);
		ctx->staging_busy[i] = sg_unpack(ctx, &s->last);
		if (!r)
			r = sg_channel_wait(ctx->staging_busy[i].ch, ctx->staging_busy[i].payload);
		memcpy(to, ctx->staging[i], part);
		to += part;
		from += part;
		n -= part;
	}
	pthread_mutex_unlock(&ctx->staging_lock);
	return r;
}

LEVEL static CUresult up(struct CUstream_st *s, CUdeviceptr to, const void *from, size_t n)
{
	bool pinned = sg_host_pinned(from, n);

	if (s->capture.graph)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!n)
		return CUDA_SUCCESS;
	if (pinned && sg_driver.idle && n <= INLINE_MAX_PINNED)
		return copy_inline(s, to, from, (uint32_t)n);
	if (pinned && n > (sg_driver.next ? FETCH_MIN : FETCH_MAX) - 1)
		return copy_engine_all(s, s->up, to, (uint64_t)from, n);
	if (pinned && n >= FETCH_MIN && n % 4 == 0 && (uint64_t)from % 4 == 0)
		return copy_fetch(s, to, (uint64_t)from, (uint32_t)n);
	if (n <= (sg_driver.next ? INLINE_MAX_NEXT : sg_driver.busy ? INLINE_MAX_BUSY : INLINE_MAX))
		return copy_inline(s, to, from, (uint32_t)n);
	return staged_up(s, to, from, n);
}

LEVEL static CUresult down(struct CUstream_st *s, void *to, CUdeviceptr from, size_t n)
{
	if (s->capture.graph)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!n)
		return CUDA_SUCCESS;
	if (sg_host_pinned(to, n))
		return copy_engine_all(s, s->down, (uint64_t)to, from, n);
	return staged_down(s, to, from, n);
}

LEVEL static CUresult across(struct CUstream_st *s, CUdeviceptr to, CUdeviceptr from, size_t n)
{
	uint64_t p[3] = {to, from, n};

	if (!n)
		return CUDA_SUCCESS;
	return sg_launch_builtin(s, SG_PROGRAM_COPY, p, 3, 256);
}

/* ---- fills ---- */

LEVEL static CUresult fill_inline(struct CUstream_st *s, CUdeviceptr to, uint32_t v, uint32_t bytes)
{
	uint32_t *p = sg_stream_begin(s, s->compute, 20);

	if (!p)
		return sg_context_failed(s->ctx);
	p = push4(p, SUBCH_COMPUTE, 0x180, bytes, 1, (uint32_t)(to >> 32), (uint32_t)to);
	p = push1(p, SUBCH_COMPUTE, 0x1b0, 0x41);
	p = push2(p, SUBCH_COMPUTE, 0x3800, (bytes + 3) / 4, v);
	p = sg_push_progress(s->compute, p, 0);
	return sg_stream_submit(s, s->compute, p);
}

LEVEL static CUresult fill(CUstream handle, CUdeviceptr to, uint32_t v, size_t count, uint32_t size)
{
	struct CUstream_st *s = sg_stream(handle);
	uint64_t bytes = count * size, p[4] = {to, v, bytes, size};

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!count)
		return CUDA_SUCCESS;
	if (size == 1)
		v = (v & 0xff) * 0x01010101u;
	else if (size == 2)
		v = (v & 0xffff) * 0x00010001u;
	if (bytes <= INLINE_MAX && !s->capture.graph)
		return fill_inline(s, to, v, (uint32_t)bytes);
	return sg_launch_builtin(s, SG_PROGRAM_FILL, p, 4, 512);
}

/* ---- the API ---- */

static CUresult finish(CUresult r, struct CUstream_st *s)
{
	return r ? r : sg_stream_wait(s);
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
	struct CUstream_st *s = sg_stream(NULL);

	return s ? finish(up(s, to, from, n), s) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
	struct CUstream_st *s = sg_stream(NULL);

	return s ? finish(down(s, to, from, n), s) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n)
{
	struct CUstream_st *s = sg_stream(NULL);

	return s ? across(s, to, from, n) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream h)
{
	struct CUstream_st *s = sg_stream(h);

	return s ? up(s, to, from, n) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream h)
{
	struct CUstream_st *s = sg_stream(h);

	return s ? down(s, to, from, n) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream h)
{
	struct CUstream_st *s = sg_stream(h);

	return s ? across(s, to, from, n) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream h)
{
	struct CUstream_st *s = sg_stream(h);
	uint64_t p[6];
	CUresult r = CUDA_SUCCESS;

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	p[0] = c->dstDevice + c->dstY * c->dstPitch + c->dstXInBytes;
	p[1] = c->srcDevice + c->srcY * c->srcPitch + c->srcXInBytes;
	p[2] = c->WidthInBytes;
	p[3] = c->Height;
	p[4] = c->dstPitch;
	p[5] = c->srcPitch;
	if (c->srcMemoryType == CU_MEMORYTYPE_DEVICE && c->dstMemoryType == CU_MEMORYTYPE_DEVICE)
		return sg_launch_builtin(s, SG_PROGRAM_COPY_2D, p, 6, 128);
	for (size_t y = 0; y < c->Height && !r; y++) {
		if (c->srcMemoryType == CU_MEMORYTYPE_HOST &&
		    c->dstMemoryType == CU_MEMORYTYPE_DEVICE)
			r = up(s, p[0] + y * p[4],
			       (const char *)c->srcHost + (c->srcY + y) * c->srcPitch +
				       c->srcXInBytes,
			       p[2]);
		else if (c->dstMemoryType == CU_MEMORYTYPE_HOST &&
			 c->srcMemoryType == CU_MEMORYTYPE_DEVICE)
			r = down(s,
				 (char *)c->dstHost + (c->dstY + y) * c->dstPitch + c->dstXInBytes,
				 p[1] + y * p[5], p[2]);
		else
			r = CUDA_ERROR_NOT_SUPPORTED;
	}
	return r;
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c)
{
	struct CUstream_st *s = sg_stream(NULL);

	return s ? finish(cuMemcpy2DAsync_v2(c, NULL), s) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char v, size_t n)
{
	return fill(NULL, to, v, n, 1);
}

API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short v, size_t n)
{
	return fill(NULL, to, v, n, 2);
}

API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned v, size_t n)
{
	return fill(NULL, to, v, n, 4);
}

API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream s)
{
	return fill(s, to, v, n, 1);
}

API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short v, size_t n, CUstream s)
{
	return fill(s, to, v, n, 2);
}

API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned v, size_t n, CUstream s)
{
	return fill(s, to, v, n, 4);
}

API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char v, size_t width,
			       size_t height, CUstream h)
{
	struct CUstream_st *s = sg_stream(h);
	uint64_t p[6] = {to, v, width, pitch, height, 1};

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_launch_builtin(s, SG_PROGRAM_FILL_2D, p, 6, 32);
}

/* ---- batches ---- */

static CUresult either_way(struct CUstream_st *s, CUdeviceptr to, CUdeviceptr from, size_t n)
{
	bool to_device = sg_is_device(s->ctx, to), from_device = sg_is_device(s->ctx, from);

	if (to_device && from_device)
		return across(s, to, from, n);
	if (to_device)
		return up(s, to, (const void *)(uintptr_t)from, n);
	return from_device ? down(s, (void *)(uintptr_t)to, from, n) : CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream h)
{
	struct CUstream_st *s = sg_stream(h);

	return s ? either_way(s, to, from, n) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n)
{
	struct CUstream_st *s = sg_stream(NULL);

	return s ? finish(either_way(s, to, from, n), s) : CUDA_ERROR_INVALID_CONTEXT;
}

/* The driver knows nothing of memory that was not allocated by or registered with it. */
API CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr p)
{
	struct CUstream_st *s = sg_stream(NULL);

	if (!s)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!sg_is_device(s->ctx, p) && !sg_is_pinned(p))
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)data = sg_is_device(s->ctx, p) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	return CUDA_SUCCESS;
}

API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *n, size_t count,
				   CUmemcpyAttributes *attrs, size_t *attr_from, size_t nattrs,
				   CUstream h)
{
	CUresult r = CUDA_SUCCESS;

	if (!h || !count || !nattrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !r; i++)
		r = either_way(h, to[i], from[i], n[i]);
	return r;
}

/* Boxes given by pointers, without padding. */
API CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
				     unsigned long long flags, CUstream h)
{
	CUresult r = CUDA_SUCCESS;

	if (!h || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !r; i++) {
		CUDA_MEMCPY3D_BATCH_OP *op = &ops[i];

		if (op->src.type != 1 || op->dst.type != 1 || op->src.ptr.rowLength ||
		    op->dst.ptr.rowLength)
			return CUDA_ERROR_NOT_SUPPORTED;
		r = either_way(h, op->dst.ptr.ptr, op->src.ptr.ptr,
			       op->width * op->height * op->depth);
	}
	return r;
}
