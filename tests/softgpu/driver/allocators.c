/* SPDX-License-Identifier: MIT */
/*
 * Further kinds of memory: pools with asynchronous allocations, managed and pitched memory, arrays,
 * and memory of another process. The number and sizes of the resource manager's objects are those
 * of the real driver. Memory opened from another process has the size of its block, but not its
 * contents.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define BLOCK 0x200000ull
#define WHOLE(size) (((size) + BLOCK - 1) & ~(BLOCK - 1))

#define NEED_CONTEXT(ctx)                      \
	struct sg_context *ctx = sg_current(); \
	if (!ctx)                              \
	return CUDA_ERROR_INVALID_CONTEXT

enum kind { POOLED, KEPT, ARRAY, OPENED };

/* An allocation of any of these kinds. */
struct held {
	struct held *next;
	enum kind kind;
	struct sg_context *ctx;
	uint64_t at, size; /* at: its address, or the object */
	uint32_t handle; /* of an array's memory object */
	CUmemoryPool pool;
};

struct CUmemPoolHandle_st {
	struct sg_context *ctx;
};

static struct held *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct held *hold(struct sg_context *ctx, enum kind kind, uint64_t at, uint64_t size)
{
	struct held *h = calloc(1, sizeof(*h));

	*h = (struct held){.kind = kind, .ctx = ctx, .at = at, .size = size};
	if (!at)
		h->at = (uintptr_t)h;
	pthread_mutex_lock(&lock);
	h->next = all;
	all = h;
	pthread_mutex_unlock(&lock);
	return h;
}

static struct held *find(enum kind kind, uint64_t at)
{
	struct held *h = all;

	while (h && (h->kind != kind || h->at != at))
		h = h->next;
	return h;
}

static void let_go(struct held *h)
{
	struct held **p = &all;

	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
	free(h);
}

/* ---- pools: freed memory is kept for the next allocation until the pool is trimmed ---- */

static struct CUmemPoolHandle_st default_pool;

API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	*pool = &default_pool;
	return CUDA_SUCCESS;
}

API CUresult cuMemPoolCreate(CUmemoryPool *pool, const void *props)
{
	NEED_CONTEXT(ctx);

	*pool = calloc(1, sizeof(**pool));
	(*pool)->ctx = ctx;
	return CUDA_SUCCESS;
}

static CUresult pool_alloc(CUdeviceptr *p, size_t size, CUmemoryPool pool)
{
	struct held *h;
	NEED_CONTEXT(ctx);

	if (!p || !size)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (h = all; h && (h->kind != KEPT || h->pool != pool || h->size != WHOLE(size));
	     h = h->next)
		;
	if (h) {
		h->kind = POOLED;
		*p = h->at;
	}
	pthread_mutex_unlock(&lock);
	if (h)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&ctx->lock);
	*p = sg_device_alloc(ctx, WHOLE(size));
	pthread_mutex_unlock(&ctx->lock);
	if (!*p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	hold(ctx, POOLED, *p, WHOLE(size))->pool = pool;
	return CUDA_SUCCESS;
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream s)
{
	return pool_alloc(p, size, pool);
}

API CUresult cuMemAllocAsync(CUdeviceptr *p, size_t size, CUstream s)
{
	if (s && s->capture.graph)
		return sg_capture_alloc(s, p, size);
	return pool_alloc(p, size, &default_pool);
}

bool sg_pool_free(CUdeviceptr p)
{
	struct held *h;

	pthread_mutex_lock(&lock);
	h = find(POOLED, p);
	if (h)
		h->kind = KEPT;
	pthread_mutex_unlock(&lock);
	return h;
}

API CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
	if (s && s->capture.graph)
		return sg_capture_free(s, p);
	return sg_pool_free(p) ? CUDA_SUCCESS : cuMemFree_v2(p);
}

API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	struct held *h, *next;

	pthread_mutex_lock(&lock);
	for (h = all; h; h = next) {
		next = h->next;
		if (h->kind != KEPT || h->pool != pool)
			continue;
		if (keep >= h->size) {
			keep -= h->size;
			continue;
		}
		pthread_mutex_lock(&h->ctx->lock);
		sg_device_free(h->ctx, h->at);
		pthread_mutex_unlock(&h->ctx->lock);
		let_go(h);
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

API CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult r = cuMemPoolTrimTo(pool, 0);

	if (pool != &default_pool)
		free(pool);
	return r;
}

/* ---- managed and pitched memory ---- */

API CUresult cuMemAllocManaged(CUdeviceptr *p, size_t size, unsigned flags)
{
	NEED_CONTEXT(ctx);

	if (!p || !size || flags < 1 || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*p = (CUdeviceptr)(uintptr_t)sg_host_alloc(ctx, size);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
				unsigned element)
{
	*pitch = (width + 511) & ~511ull;
	return cuMemAlloc_v2(p, *pitch * height);
}

/* ---- arrays ---- */

API CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	static const uint8_t bytes[] = {
		[1] = 1, [2] = 2, [3] = 4, [8] = 1, [9] = 2, [10] = 4, [16] = 2, [32] = 4};
	uint64_t size = d->Width * (d->Height ? d->Height : 1) * (d->Depth ? d->Depth : 1);
	struct held *h;
	NEED_CONTEXT(ctx);

	if (!d->Width || d->Format > 32 || !bytes[d->Format])
		return CUDA_ERROR_INVALID_VALUE;
	h = hold(ctx, ARRAY, 0, WHOLE(size * bytes[d->Format] * d->NumChannels));
	h->handle = sg_handle();
	if (sg_memory_alloc(ctx->device, h->handle, 0x40, h->size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*array = (CUarray)h;
	return CUDA_SUCCESS;
}

API CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = {.Width = d->Width,
					 .Height = d->Height,
					 .Format = d->Format,
					 .NumChannels = d->NumChannels};

	return cuArray3DCreate_v2(array, &whole);
}

API CUresult cuArrayDestroy(CUarray array)
{
	struct held *h;

	pthread_mutex_lock(&lock);
	h = find(ARRAY, (uintptr_t)array);
	if (h) {
		sg_memory_free(h->ctx->device, h->handle);
		let_go(h);
	}
	pthread_mutex_unlock(&lock);
	return h ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- memory of another process ---- */

API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr p)
{
	NEED_CONTEXT(ctx);

	if (!sg_is_device(ctx, p))
		return CUDA_ERROR_INVALID_VALUE;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &p, sizeof(p));
	return CUDA_SUCCESS;
}

API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *p, CUipcMemHandle handle, unsigned flags)
{
	NEED_CONTEXT(ctx);

	pthread_mutex_lock(&ctx->lock);
	*p = sg_device_alloc(ctx, 2 * BLOCK);
	pthread_mutex_unlock(&ctx->lock);
	if (!*p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	hold(ctx, OPENED, *p, 2 * BLOCK);
	return CUDA_SUCCESS;
}

API CUresult cuIpcCloseMemHandle(CUdeviceptr p)
{
	struct held *h;

	pthread_mutex_lock(&lock);
	h = find(OPENED, p);
	if (h)
		let_go(h);
	pthread_mutex_unlock(&lock);
	return h ? cuMemFree_v2(p) : CUDA_ERROR_INVALID_VALUE;
}
