/* SPDX-License-Identifier: MIT */
/* Kernel launches: the constants of a launch, an empty descriptor after it, its own descriptor, its
 * semaphore, and the scheduling calls, all inline in one segment as in the real driver. */
#include <string.h>
#include "driver.h"
#include "push.h"

/* Descriptors and constants of a channel, used in turn: a channel executes in order. */
#define SLOTS 8
#define SEMAPHORES 128

static uint32_t launches;

uint32_t sg_launch_number(void)
{
	return __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
}

static void put_va(uint32_t *w, uint64_t va)
{
	w[0] = (uint32_t)va;
	w[1] = (uint32_t)(va >> 32);
}

void sg_fill_consts(uint32_t *w, const struct sg_launch *l, uint64_t consts, uint64_t qmd,
		    uint32_t number)
{
	memset(w, 0, SG_CONSTS_WORDS * 4);
	memcpy(w, l->block, 12);
	memcpy(w + 3, l->grid, 12);
	put_va(w + 8, 0x7f188d000000);
	w[7] = 0x7f19;
	w[10] = 0xfffdc0;
	w[12] = number;
	put_va(w + 14, qmd);
	w[16] = 0x38432c8;
	w[22] = 1;
	put_va(w + 48, consts);
	w[67] = 0x84;
	put_va(w + 70, l->fn->code);
	w[81] = w[82] = w[83] = 1;
	w[84] = w[85] = w[86] = 0x3f800000;
	memcpy(w + 87, l->grid, 12);
	w[91] = 0x1000000;
	w[93] = 0x7f19;
	w[98] = 1;
	put_va(w + 102, consts + SG_CONSTS_WORDS * 4);
	put_va(w + 104, consts + SG_CONSTS_WORDS * 4 + l->params_bytes);
}

/* Fills the fields that all launches share; the caller sets release, dependences and type. */
void sg_fill_qmd(uint32_t *w, const struct sg_launch *l, uint64_t consts)
{
	memset(w, 0, SG_QMD_WORDS * 4);
	w[16] = 0x90000000;
	w[17] = 0x3000640;
	w[18] = 0xbc040040 + (l->shared ? ((l->shared + 1023) / 1024) << 20 : 0);
	w[19] = 0x9e83;
	memcpy(w + 32, l->grid, 12);
	w[35] = 0x80010000;
	w[36] = l->block[1] << 16 | l->block[0];
	w[37] = 0x8100000 | l->block[2];
	put_va(w + 38, l->fn->code);
	w[42] = (uint32_t)(l->fn->code >> 8);
	w[43] = 0x140000 | (uint32_t)(l->fn->code >> 40);
	w[46] = 0x38;
	w[48] = w[56] = (uint32_t)(consts >> 6);
	w[49] = w[57] = 0x1800000 | (uint32_t)(consts >> 38);
}

/* The empty descriptor of a launch: type GRID_NULL, waits for two others, schedules the next
 * launch's. */
static void fill_null(uint32_t *w, uint64_t next)
{
	memset(w, 0, SG_QMD_WORDS * 4);
	w[0] = 0x800002;
	w[11] = 0x4030000;
	w[14] = (uint32_t)(next >> 8);
	w[17] = 0x2000000;
	w[18] = 0x40;
	w[36] = 0x10001;
	w[37] = 0x80001;
}

uint32_t *sg_push_pcas(uint32_t *p, uint64_t qmd, uint32_t action)
{
	p = push1(p, SUBCH_COMPUTE, 0x2b4, (uint32_t)(qmd >> 8));
	return push1(p, SUBCH_COMPUTE, 0x2c0, action);
}

static uint32_t *push_null(uint32_t *p, uint64_t null, uint64_t next)
{
	uint32_t w[SG_QMD_WORDS];

	fill_null(w, next);
	p = push_upload(p, null, w, SG_QMD_WORDS * 4);
	return sg_push_pcas(p, null, SG_PCAS_SCHEDULE);
}

static uint32_t *push_launch(struct CUstream_st *s, uint32_t *p, const struct sg_launch *l)
{
	struct softgpu_channel *ch = s->compute;
	struct sg_context *ctx = s->ctx;
	uint32_t n = ch->launches++, k = n % SLOTS, w[SG_CONSTS_WORDS], five = 5;
	uint64_t consts = ctx->consts + ch->index * 0x80000ull + k * 0x10000ull;
	uint64_t qmds = ctx->base + 0x4e54000 + ch->index * 0x8000ull;
	uint64_t qmd = qmds + k * 0x800, null = qmd + 0x4000;
	uint64_t next = qmds + (k + 1) % SLOTS * 0x800;
	uint64_t sem = ctx->base + 0x4630abc + ch->index * 0x1000ull - n % SEMAPHORES * 8;

	if (sg_driver.next)
		p = push_null(push1(p, SUBCH_COMPUTE, 0x100, 0), null, next);
	sg_fill_consts(w, l, consts, qmd, sg_launch_number());
	p = push_upload(p, consts, w, SG_CONSTS_WORDS * 4);
	if (l->params_bytes)
		p = push_upload(p, consts + SG_CONSTS_WORDS * 4, l->params, l->params_bytes);
	if (!sg_driver.next)
		p = push_null(p, null, next);
	sg_fill_qmd(w, l, consts);
	w[0] = 0x113f0000;
	w[10] = 3; /* RELEASE_ENABLE, one word */
	w[11] = 0x190000; /* dependent 0: DECREMENT_DEPENDENCE */
	w[13] = 0x10300011;
	w[14] = (uint32_t)(null >> 8);
	put_va(w + 20, sem);
	w[22] = 6;
	p = push_upload(p, qmd, w, SG_QMD_WORDS * 4);
	if (s->kernel_sem)
		p = push_acquire(p, s->kernel_sem, s->kernel_payload, 3);
	p = push_upload(p, sem, &five, 4);
	p = sg_push_pcas(p, qmd, SG_PCAS_SCHEDULE);
	sg_stream_kernel(s, sem, 6);
	return p;
}

LEVEL CUresult sg_launch(struct CUstream_st *s, const struct sg_launch *l)
{
	uint32_t *p;

	if (s->capture.graph)
		return sg_capture_launch(s, l);
	p = sg_stream_begin_launch(s, 400 + push_upload_words(l->params_bytes));
	if (!p)
		return sg_context_failed(s->ctx);
	p = push_launch(s, p, l);
	p = sg_push_progress(s->compute, p, 4);
	return sg_stream_submit(s, s->compute, p);
}

LEVEL CUresult sg_launch_builtin(struct CUstream_st *s, uint32_t op, const uint64_t *params,
				 uint32_t n, uint32_t threads)
{
	struct sg_launch l = {.grid = {1, 1, 1}, .block = {threads, 1, 1}, .params_bytes = n * 8};

	for (l.fn = s->ctx->builtin->functions; l.fn && l.fn->nparams != op; l.fn = l.fn->next)
		;
	if (!l.fn)
		return CUDA_ERROR_NOT_FOUND;
	memcpy(l.params, params, n * 8);
	return sg_launch(s, &l);
}

CUresult sg_take_params(struct sg_launch *l, void **params, void **extra)
{
	struct CUfunc_st *f = l->fn;

	l->params_bytes = f->params_bytes;
	if (params) {
		for (uint32_t i = 0; i < f->nparams; i++)
			memcpy(l->params + f->param_offset[i], params[i], f->param_size[i]);
		return CUDA_SUCCESS;
	}
	for (; extra && extra[0]; extra += 2) {
		if (extra[0] == (void *)2 && *(size_t *)extra[1] <= sizeof(l->params))
			l->params_bytes = (uint32_t) * (size_t *)extra[1];
		else if (extra[0] == (void *)1)
			memcpy(l->params, extra[1], f->params_bytes);
	}
	return f->nparams && !extra ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			    unsigned by, unsigned bz, unsigned shared, CUstream handle,
			    void **params, void **extra)
{
	struct CUstream_st *s = sg_stream(handle);
	struct sg_launch l = {
		.fn = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
	CUresult r;

	if (!s || !f)
		return s ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	r = sg_take_params(&l, params, extra);
	return r ? r : sg_launch(s, &l);
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	return cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
			      c->blockDimZ, c->sharedMemBytes, c->hStream, params, extra);
}

API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
				       unsigned bx, unsigned by, unsigned bz, unsigned shared,
				       CUstream s, void **params)
{
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, NULL);
}

API CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
				 unsigned by, unsigned bz, unsigned shared, CUstream s,
				 void **params, void **extra)
{
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, extra);
}

/* The caller's thread waits and runs the function itself. */
API CUresult cuLaunchHostFunc(CUstream handle, void (*fn)(void *), void *user)
{
	struct CUstream_st *s = sg_stream(handle);
	CUresult r;

	if (!s || !fn)
		return s ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
	r = sg_stream_wait(s);
	if (!r)
		fn(user);
	return r;
}
