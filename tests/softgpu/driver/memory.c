/* SPDX-License-Identifier: MIT */
/* Memory: device memory in blocks of 2 MiB at addresses reserved in the program, and page-locked
 * host memory at the same address on CPU and GPU. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "driver.h"

#define BLOCK 0x200000ull
#define GRAIN 512ull

/* A memory object; small allocations share one. */
struct piece {
	uint32_t start, count; /* grains */
};
struct sg_block {
	struct sg_block *next;
	uint64_t va, size;
	uint32_t handle;
	uint32_t npieces, room;
	struct piece *pieces; /* sorted; NULL if the block is a single allocation */
};

struct host {
	struct host *next;
	struct sg_context *ctx;
	uint8_t *p;
	uint64_t size;
	uint32_t handle;
	bool registered; /* memory that the program registered */
};

static struct host *hosts;
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- device memory ---- */

static uint64_t reserve(uint64_t size)
{
	uint64_t at = (uint64_t)mmap(NULL, size + BLOCK, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t va = (at + BLOCK - 1) & ~(BLOCK - 1);

	if (at == (uint64_t)MAP_FAILED)
		return 0;
	if (va != at)
		munmap((void *)at, va - at);
	if (va + size != at + size + BLOCK)
		munmap((void *)(va + size), at + BLOCK - va);
	return va;
}

static bool show(struct sg_block *b, struct sg_device *d)
{
	return !sg_external_show(d, b->va, b->size, b->handle);
}

bool sg_device_show(struct sg_context *ctx, struct sg_device *d)
{
	bool ok = true;

	for (struct sg_block *b = ctx->blocks; b; b = b->next)
		ok = show(b, d) && ok;
	return ok;
}

void sg_device_hide(struct sg_context *ctx, struct sg_device *d)
{
	for (struct sg_block *b = ctx->blocks; b; b = b->next)
		sg_external_hide(d, b->va, b->size);
}

static struct sg_block *block_new(struct sg_context *ctx, uint64_t size)
{
	struct sg_block *b = calloc(1, sizeof(*b));

	b->size = (size + BLOCK - 1) & ~(BLOCK - 1);
	b->va = reserve(b->size);
	b->handle = sg_handle();
	if (!b->va || sg_memory_alloc(ctx->device, b->handle, 0x40, b->size) ||
	    sg_external_map(ctx->device, b->va, b->size, b->handle)) {
		if (b->va)
			munmap((void *)b->va, b->size);
		free(b);
		return NULL;
	}
	b->next = ctx->blocks;
	ctx->blocks = b;
	for (int i = 0; i < SG_DEVICES; i++)
		if (ctx->reader[i])
			show(b, ctx->reader[i]->device);
	return b;
}

static void block_free(struct sg_context *ctx, struct sg_block *b)
{
	struct sg_block **p = &ctx->blocks;

	while (*p != b)
		p = &(*p)->next;
	*p = b->next;
	sg_external_free(b->va, b->size);
	sg_memory_free(ctx->device, b->handle);
	munmap((void *)b->va, b->size);
	free(b->pieces);
	free(b);
}

/* Reserves COUNT grains in B. Returns their address, 0 if there is no space. */
static uint64_t piece_take(struct sg_block *b, uint32_t count)
{
	uint32_t at = 0, i;

	for (i = 0; i < b->npieces && b->pieces[i].start - at < count; i++)
		at = b->pieces[i].start + b->pieces[i].count;
	if (i == b->npieces && b->size / GRAIN - at < count)
		return 0;
	if (b->npieces == b->room) {
		b->room = b->room ? b->room * 2 : 16;
		b->pieces = realloc(b->pieces, b->room * sizeof(*b->pieces));
	}
	memmove(b->pieces + i + 1, b->pieces + i, (b->npieces - i) * sizeof(*b->pieces));
	b->pieces[i] = (struct piece){at, count};
	b->npieces++;
	return b->va + at * GRAIN;
}

CUdeviceptr sg_device_alloc(struct sg_context *ctx, uint64_t size)
{
	uint32_t count = (uint32_t)((size + GRAIN - 1) / GRAIN);
	struct sg_block *b;
	uint64_t va;

	if (size > BLOCK / 2) {
		b = block_new(ctx, size);
		return b ? b->va : 0;
	}
	for (b = ctx->blocks; b; b = b->next) {
		va = b->pieces ? piece_take(b, count) : 0;
		if (va)
			return va;
	}
	b = block_new(ctx, BLOCK);
	return b ? piece_take(b, count) : 0;
}

bool sg_device_free(struct sg_context *ctx, CUdeviceptr p)
{
	struct sg_block *b;
	uint32_t i;

	for (b = ctx->blocks; b && p - b->va >= b->size; b = b->next)
		;
	if (!b || (!b->pieces && p != b->va))
		return false;
	if (b->pieces) {
		for (i = 0; i < b->npieces && b->va + b->pieces[i].start * GRAIN != p; i++)
			;
		if (i == b->npieces)
			return false;
		b->npieces--;
		memmove(b->pieces + i, b->pieces + i + 1, (b->npieces - i) * sizeof(*b->pieces));
		if (b->npieces)
			return true;
	}
	block_free(ctx, b);
	return true;
}

void sg_device_free_all(struct sg_context *ctx)
{
	while (ctx->blocks)
		block_free(ctx, ctx->blocks);
}

bool sg_is_device(struct sg_context *ctx, CUdeviceptr p)
{
	struct sg_block *b;

	for (b = ctx->blocks; b && p - b->va >= b->size; b = b->next)
		;
	return b;
}

/* ---- host memory ---- */

bool sg_is_pinned(CUdeviceptr p)
{
	const struct host *h;

	pthread_mutex_lock(&host_lock);
	for (h = hosts; h && p - (uint64_t)h->p >= h->size; h = h->next)
		;
	pthread_mutex_unlock(&host_lock);
	return h;
}

static struct host *host_add(struct sg_context *ctx, void *p, uint64_t size, bool registered)
{
	struct host *h = calloc(1, sizeof(*h));

	h->ctx = ctx;
	h->p = p;
	h->size = size;
	h->registered = registered;
	h->handle = sg_handle();
	if (sg_pin(ctx->device, h->handle, p, size) ||
	    sg_external_map(ctx->device, (uint64_t)p, size, h->handle)) {
		free(h);
		return NULL;
	}
	pthread_mutex_lock(&host_lock);
	h->next = hosts;
	hosts = h;
	pthread_mutex_unlock(&host_lock);
	return h;
}

void *sg_host_alloc(struct sg_context *ctx, uint64_t size)
{
	uint64_t at;

	size = (size + BLOCK - 1) & ~(BLOCK - 1);
	at = reserve(size);
	if (!at || mprotect((void *)at, size, PROT_READ | PROT_WRITE))
		return NULL;
	if (!host_add(ctx, (void *)at, size, false)) {
		munmap((void *)at, size);
		return NULL;
	}
	return (void *)at;
}

static bool host_drop(void *p, bool registered)
{
	struct host **at = &hosts, *h;

	pthread_mutex_lock(&host_lock);
	while (*at && ((*at)->p != p || (*at)->registered != registered))
		at = &(*at)->next;
	h = *at;
	if (h)
		*at = h->next;
	pthread_mutex_unlock(&host_lock);
	if (!h)
		return false;
	sg_external_free((uint64_t)h->p, h->size);
	sg_rm_free(h->ctx->device->handle, h->handle);
	if (!registered)
		munmap(h->p, h->size);
	free(h);
	return true;
}

bool sg_host_free(void *p)
{
	return host_drop(p, false);
}

void sg_host_unregister_all(struct sg_context *ctx)
{
	struct host *h;

	do {
		pthread_mutex_lock(&host_lock);
		for (h = hosts; h && (h->ctx != ctx || !h->registered); h = h->next)
			;
		pthread_mutex_unlock(&host_lock);
	} while (h && host_drop(h->p, true));
}

bool sg_host_repin(struct sg_context *ctx, bool again)
{
	bool all = true;

	pthread_mutex_lock(&host_lock);
	for (struct host *h = hosts; h; h = h->next) {
		if (h->ctx != ctx || !h->registered)
			continue;
		if (!again) {
			sg_external_free((uint64_t)h->p, h->size);
			sg_rm_free(ctx->device->handle, h->handle);
			continue;
		}
		h->handle = sg_handle();
		all = all && !sg_pin(ctx->device, h->handle, h->p, h->size) &&
		      !sg_external_map(ctx->device, (uint64_t)h->p, h->size, h->handle);
	}
	pthread_mutex_unlock(&host_lock);
	return all;
}

bool sg_host_pinned(const void *p, uint64_t n)
{
	const uint8_t *q = p;
	bool found = false;

	pthread_mutex_lock(&host_lock);
	for (struct host *h = hosts; h && !found; h = h->next)
		found = q >= h->p && n <= h->size && (uint64_t)(q - h->p) <= h->size - n;
	pthread_mutex_unlock(&host_lock);
	return found;
}

/* ---- the API ---- */

#define NEED_CONTEXT(ctx)                      \
	struct sg_context *ctx = sg_current(); \
	if (!ctx)                              \
	return CUDA_ERROR_INVALID_CONTEXT

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size)
{
	NEED_CONTEXT(ctx);

	if (!p || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx->error)
		return ctx->error;
	sg_wait_settled(ctx);
	pthread_mutex_lock(&ctx->lock);
	*p = sg_device_alloc(ctx, size);
	pthread_mutex_unlock(&ctx->lock);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemFree_v2(CUdeviceptr p)
{
	CUresult r;
	bool ok;
	NEED_CONTEXT(ctx);

	if (!p)
		return CUDA_SUCCESS;
	r = cuCtxSynchronize();
	if (sg_pool_free(p))
		return r;
	pthread_mutex_lock(&ctx->lock);
	ok = sg_device_free(ctx, p);
	pthread_mutex_unlock(&ctx->lock);
	/* Managed memory is page-locked host memory here. */
	return ok || sg_host_free((void *)(uintptr_t)p) ? r : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
	*left = sg_option("full") ? 10ull << 20 : 100ull << 30;
	*total = 139ull << 30;
	return CUDA_SUCCESS;
}

API CUresult cuMemAllocHost_v2(void **p, size_t size)
{
	NEED_CONTEXT(ctx);

	if (!p || !size)
		return CUDA_ERROR_INVALID_VALUE;
	*p = sg_host_alloc(ctx, size);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* CU_MEMHOSTALLOC_PORTABLE: maps it for the other devices that have a context. */
static void host_show(struct sg_context *ctx, const void *p)
{
	struct host *h;

	pthread_mutex_lock(&host_lock);
	for (h = hosts; h->p != p; h = h->next)
		;
	for (uint32_t i = 0; i < sg_driver.ndevices; i++)
		if (sg_driver.device[i].up && &sg_driver.device[i] != ctx->device)
			sg_external_show(&sg_driver.device[i], (uint64_t)p, h->size, h->handle);
	pthread_mutex_unlock(&host_lock);
}

API CUresult cuMemHostAlloc(void **p, size_t size, unsigned flags)
{
	CUresult r = cuMemAllocHost_v2(p, size);

	if (!r && flags & 1)
		host_show(sg_current(), *p);
	return r;
}

API CUresult cuMemFreeHost(void *p)
{
	CUresult r = cuCtxSynchronize();

	return sg_host_free(p) ? r : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemHostRegister_v2(void *p, size_t size, unsigned flags)
{
	uint64_t start = (uint64_t)p & ~4095ull, end = ((uint64_t)p + size + 4095) & ~4095ull;
	NEED_CONTEXT(ctx);

	if (!p || !size)
		return CUDA_ERROR_INVALID_VALUE;
	sg_registered(ctx);
	return host_add(ctx, (void *)start, end - start, true) ? CUDA_SUCCESS
							       : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemHostUnregister(void *p)
{
	CUresult r = cuCtxSynchronize();

	return host_drop((void *)((uint64_t)p & ~4095ull), true) ? r : CUDA_ERROR_INVALID_VALUE;
}
